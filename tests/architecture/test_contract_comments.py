"""Every service, method, message, field, enum and enum value of the contract is documented in the proto itself."""

from collections.abc import Iterator
from functools import cache

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    ServiceDescriptorProto,
)

from tests.architecture.repository import checked, run_tool

# A thing's place in a file as SourceCodeInfo spells it: field numbers of descriptor.proto and indexes, alternating.
Path = tuple[int, ...]
Named = tuple[Path, str]

MESSAGES_OF_FILE = FileDescriptorProto.MESSAGE_TYPE_FIELD_NUMBER
ENUMS_OF_FILE = FileDescriptorProto.ENUM_TYPE_FIELD_NUMBER
SERVICES_OF_FILE = FileDescriptorProto.SERVICE_FIELD_NUMBER
FIELDS = DescriptorProto.FIELD_FIELD_NUMBER
MESSAGES_OF_MESSAGE = DescriptorProto.NESTED_TYPE_FIELD_NUMBER
ENUMS_OF_MESSAGE = DescriptorProto.ENUM_TYPE_FIELD_NUMBER
VALUES = EnumDescriptorProto.VALUE_FIELD_NUMBER
METHODS = ServiceDescriptorProto.METHOD_FIELD_NUMBER


@cache
def contract() -> tuple[FileDescriptorProto, ...]:
    """Our own files, with their comments."""
    image = checked(run_tool("buf", "build", "--as-file-descriptor-set", "--output", "-#format=binpb"))
    return tuple(file for file in FileDescriptorSet.FromString(image).file if file.package.startswith("sidemirror."))


def of_enum(enum: EnumDescriptorProto, path: Path, prefix: str) -> Iterator[Named]:
    yield path, prefix + enum.name
    for index, value in enumerate(enum.value):
        yield (*path, VALUES, index), f"{prefix}{enum.name}.{value.name}"


def of_message(message: DescriptorProto, path: Path, prefix: str) -> Iterator[Named]:
    if message.options.map_entry:  # made by the compiler for a map field; there is no place for a comment
        return
    name = prefix + message.name
    yield path, name
    for index, field in enumerate(message.field):
        yield (*path, FIELDS, index), f"{name}.{field.name}"
    for index, enum in enumerate(message.enum_type):
        yield from of_enum(enum, (*path, ENUMS_OF_MESSAGE, index), f"{name}.")
    for index, nested in enumerate(message.nested_type):
        yield from of_message(nested, (*path, MESSAGES_OF_MESSAGE, index), f"{name}.")


def of_file(file: FileDescriptorProto) -> Iterator[Named]:
    for index, message in enumerate(file.message_type):
        yield from of_message(message, (MESSAGES_OF_FILE, index), "")
    for index, enum in enumerate(file.enum_type):
        yield from of_enum(enum, (ENUMS_OF_FILE, index), "")
    for index, service in enumerate(file.service):
        yield (SERVICES_OF_FILE, index), service.name
        for position, method in enumerate(service.method):
            yield (SERVICES_OF_FILE, index, METHODS, position), f"{service.name}.{method.name}"


def undocumented(file: FileDescriptorProto) -> list[str]:
    documented = {
        tuple(location.path)
        for location in file.source_code_info.location
        if (location.leading_comments + location.trailing_comments).strip()
    }
    return [f"{file.name}: {name}" for path, name in of_file(file) if path not in documented]


def test_everything_in_the_contract_has_a_comment() -> None:
    assert contract(), "no protos found"
    assert [name for file in contract() for name in undocumented(file)] == []


def test_a_missing_comment_is_found() -> None:
    """The check above can fail: without source information nothing is documented."""
    for file in contract():
        bare = FileDescriptorProto()
        bare.CopyFrom(file)
        bare.ClearField("source_code_info")
        assert len(undocumented(bare)) == len(list(of_file(file))) > 0
