"""Formats the contract for output: messages as JSON, enum values by name, texts without terminal control sequences."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from shlex import quote
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from sidemirror_server.operations.parsers.arguments import Moment
from sidemirror_server.rpc.wire.common import name_of

if TYPE_CHECKING:
    from rich.text import Text


def print_json(message: Message, **more: Message | Sequence[Message] | None) -> None:
    """Prints a message as indented JSON, with the contract's field names; a list of its own is there if it is empty,
    too. `more`: what stands beside its fields, if it is not None. Characters that are not printable are escaped: JSON
    itself lets some pass that a terminal obeys."""
    beside = {
        name: as_told(one) if isinstance(one, Message) else [as_told(each) for each in one]
        for name, one in more.items()
        if one is not None
    }
    told = json.dumps(as_told(message) | beside, indent=2, ensure_ascii=False)
    print("".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in told))


def as_told(message: Message) -> dict[str, Any]:
    """A message as a dict with the contract's field names: those that are set, and all that are lists."""
    told: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
    fields = message.DESCRIPTOR.fields
    lists = {one.name for one in fields if one.is_repeated and not (one.message_type and _is_map(one.message_type))}
    return {one.name: told.get(one.name, []) for one in fields if one.name in told or one.name in lists}


def _is_map(entry: Any) -> bool:
    return bool(entry.GetOptions().map_entry)


def with_defaults(message: Message) -> dict[str, Any]:
    """A message as a dict with the contract's field names, including unset fields."""
    told: dict[str, Any] = MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    # Protobuf's JSON writes 64-bit integers as strings.
    whole = {field.name for field in message.DESCRIPTOR.fields if field.type == field.TYPE_INT64}
    return {name: int(value) if name in whole else value for name, value in told.items()}


def words_of(enum: Any, number: int) -> str:
    """Like `name_of`, with spaces between the words."""
    return name_of(enum, number).replace("_", " ")


def plain(text: str) -> str:
    """A text on one line without terminal control sequences, because agents, tools and models wrote it."""
    return "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))


def scope_option(scope: Mapping[str, str]) -> str:
    """The option that names this scope in another command, with a space before it; empty for the sidecar's own."""
    tenant, project = scope["tenant_id"], scope["project_id"]
    if tenant and project:
        return f" --scope {quote(plain(f'{tenant}/{project}'))}"
    # A folder's project is one of the sidecar's own tenant, which is not known here.
    parts = (("tenant-id", tenant), ("project-id", project))
    return "".join(f" --{part} {quote(plain(one))}" for part, one in parts if one)


def in_short(text: str, most: int = 200) -> str:
    """A text on one line, cut to so many characters."""
    # Of a long text no more is looked at than can be shown.
    shown = plain(text[: 2 * most])
    return shown if len(shown) <= most and len(text) <= 2 * most else f"{shown[:most]}…"


def clock_time(time: Timestamp) -> str:
    """A time in the zone of this machine, to the second."""
    return f"{datetime.fromtimestamp(time.seconds).astimezone():%Y-%m-%d %H:%M:%S}"


def timestamp_of(moment: Moment | None) -> Timestamp | None:
    """The begin of a moment, for a request; None for none."""
    if moment is None:
        return None
    return Timestamp(seconds=moment.at_us // 1_000_000, nanos=moment.at_us % 1_000_000 * 1_000)


def print_lines(lines: "Iterable[str | Text]", *, cut: bool = True) -> None:
    """Prints lines. `cut`: to the width of a terminal; files and pipes get whole lines."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in lines:
        told = line if isinstance(line, Text) else Text(line)
        if cut and console.is_terminal:
            console.print(told, overflow="ellipsis", no_wrap=True)
        else:
            console.print(told, soft_wrap=True)
        console.file.flush()
