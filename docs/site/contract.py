"""Writes the reference pages of the contract, made of the protos' descriptors and comments, into a folder. `tools/site`
runs it."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

Field = FieldDescriptorProto
_SCALARS = {
    Field.TYPE_DOUBLE: "double", Field.TYPE_FLOAT: "float", Field.TYPE_INT64: "int64", Field.TYPE_UINT64: "uint64",
    Field.TYPE_INT32: "int32", Field.TYPE_UINT32: "uint32", Field.TYPE_BOOL: "bool", Field.TYPE_STRING: "string",
    Field.TYPE_BYTES: "bytes",
}  # fmt: skip
# Numbers of fields in a descriptor, of which the paths of comments are made.
_MESSAGES, _ENUMS, _SERVICES, _OF_MESSAGE, _OF_SERVICE = 4, 5, 6, 2, 2
_PACKAGE = ".sidemirror.v1."
# In characters: what a page shows without scrolling, beside the command.
_LINE = 60


def descriptors(root: Path) -> FileDescriptorSet:
    """The files of `protos/`, with their comments. Raises CalledProcessError."""
    files = sorted(str(path.relative_to(root / "protos")) for path in (root / "protos/sidemirror").rglob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "set"
        options = ["--include_source_info", f"--descriptor_set_out={made}", "-I", str(root / "protos")]
        subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *options, *files], check=True)
        return FileDescriptorSet.FromString(made.read_bytes())


class _File:
    """A file and its comments, by the path of what they stand at."""

    def __init__(self, file: FileDescriptorProto) -> None:
        self.name = Path(file.name).stem
        self.file = file
        self._said = {tuple(place.path): place.leading_comments for place in file.source_code_info.location}

    def said(self, *path: int) -> str:
        """The comment as prose: paragraphs stay apart."""
        paragraphs = self._said.get(path, "").strip().split("\n\n")
        return "\n\n".join(" ".join(line.strip() for line in one.splitlines()) for one in paragraphs)


def pages(files: FileDescriptorSet, calls: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The text of each page, by its file name. `calls`: one for each RPC, as `calls.jsonl` has them."""
    shown = {call["rpc"]: call for call in calls}
    known = [_File(file) for file in files.file]
    where = {
        f"{_PACKAGE}{name}": file.name
        for file in known
        for name in (
            *(message.name for message in file.file.message_type),
            *(enum.name for enum in file.file.enum_type),
        )
    }
    made = {f"{file.name}.md": "\n".join(_page(file, shown, where)) + "\n" for file in known}
    made["index.md"] = _index(known)
    return made


def _index(files: Sequence[_File]) -> str:
    lines = [
        "# The contract",
        "",
        "Every RPC, message and value of `sidemirror.v1`, made from the protos. The calls are for",
        "[grpcurl](https://github.com/fullstorydev/grpcurl) on a sidecar that listens at its usual address; names in",
        "capitals stand for what an earlier call has answered.",
        "",
        "| file | services | |",
        "|---|---|---|",
    ]
    for file in files:
        services = ", ".join(service.name for service in file.file.service)
        lines.append(f"| [{file.name}]({file.name}.md) | {services} | {_cell(_first(file.said(12)))} |")
    names = "\n".join(file.name for file in files)
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", names, "```", ""])


def _page(file: _File, calls: Mapping[str, Mapping[str, Any]], where: Mapping[str, str]) -> Iterator[str]:
    yield f"# {file.name}.proto\n"
    for number, service in enumerate(file.file.service):
        yield f"## {service.name}\n\n{file.said(_SERVICES, number)}\n"
        for place, method in enumerate(service.method):
            asked = f"{'stream of ' if method.client_streaming else ''}{_linked(method.input_type, where)}"
            answer = f"{'stream of ' if method.server_streaming else ''}{_linked(method.output_type, where)}"
            yield f"### {service.name}.{method.name}\n"
            yield f"{file.said(_SERVICES, number, _OF_SERVICE, place)}\n\nTakes {asked}, answers {answer}.\n"
            yield _call(calls[f"{service.name}/{method.name}"])
    if file.file.message_type:
        yield "## Messages\n"
    for number, message in enumerate(file.file.message_type):
        yield from _message(file, message, (_MESSAGES, number), where)
    if file.file.enum_type:
        yield "## Values\n"
    for number, enum in enumerate(file.file.enum_type):
        yield from _enum(file, enum, (_ENUMS, number))


def _call(call: Mapping[str, Any]) -> str:
    bodies = call.get("stream", [call.get("body")])
    data = "\n".join(_json(body) for body in bodies)
    quoted = data.replace("'", "'\\''")
    return f"```sh\ngrpcurl -plaintext -d '{quoted}' \\\n  127.0.0.1:50051 sidemirror.v1.{call['rpc']}\n```\n"


def _json(body: object) -> str:
    """On one line if that is short."""
    line = json.dumps(body, ensure_ascii=False)
    return line if len(line) <= _LINE else json.dumps(body, ensure_ascii=False, indent=2)


def _message(file: _File, message: DescriptorProto, path: tuple[int, ...], where: Mapping[str, str]) -> Iterator[str]:
    yield f"### {message.name}\n\n{file.said(*path)}\n"
    if not message.field:
        yield "It has no fields.\n"
        return
    yield "| field | type | |\n|---|---|---|"
    for number, field in enumerate(message.field):
        group = ""
        if field.HasField("oneof_index") and not field.proto3_optional:
            group = f"One of `{message.oneof_decl[field.oneof_index].name}`. "
        said = file.said(*path, _OF_MESSAGE, number)
        yield f"| `{field.name}` | {_type(field, where)} | {group}{_cell(said)} |"
    yield ""


def _enum(file: _File, enum: EnumDescriptorProto, path: tuple[int, ...]) -> Iterator[str]:
    yield f"### {enum.name}\n\n{file.said(*path)}\n\n| value | number | |\n|---|---|---|"
    for number, value in enumerate(enum.value):
        yield f"| `{value.name}` | {value.number} | {_cell(file.said(*path, 2, number))} |"
    yield ""


def _type(field: FieldDescriptorProto, where: Mapping[str, str]) -> str:
    if field.type in (Field.TYPE_MESSAGE, Field.TYPE_ENUM):
        name = _linked(field.type_name, where)
    else:
        name = _SCALARS[field.type]
    if field.label == Field.LABEL_REPEATED:
        return f"list of {name}"
    return f"optional {name}" if field.proto3_optional else name


def _linked(name: str, where: Mapping[str, str]) -> str:
    short = name.rpartition(".")[2]
    return f"[{short}]({where[name]}.md#{short.lower()})" if name in where else f"`{name.removeprefix('.')}`"


def _first(prose: str) -> str:
    return re.split(r"(?<=[.:])\s", prose, maxsplit=1)[0]


def _cell(prose: str) -> str:
    return prose.replace("\n\n", " ").replace("|", "\\|")


def main() -> None:
    """Writes the pages."""
    root, folder = Path(__file__).resolve().parents[2], Path(sys.argv[1])
    calls = [json.loads(line) for line in (Path(__file__).parent / "calls.jsonl").read_text("utf-8").splitlines()]
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(descriptors(root), calls).items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
