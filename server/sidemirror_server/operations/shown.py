"""What commands print of the contract: messages as JSON, values by their names, texts that no terminal obeys."""

import json
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message


def print_json(message: Message) -> None:
    """Prints a message, indented, with the contract's names."""
    told = MessageToDict(message, preserving_proto_field_name=True)
    print(json.dumps(told, indent=2, ensure_ascii=False))


def with_defaults(message: Message) -> dict[str, Any]:
    """A message with the contract's names, and also those fields that are not set."""
    told: dict[str, Any] = MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    # JSON has one kind of number; protobuf's writes large ones as texts.
    whole = {field.name for field in message.DESCRIPTOR.fields if field.type == field.TYPE_INT64}
    return {name: int(value) if name in whole else value for name, value in told.items()}


def name_of(enum: Any, number: int) -> str:
    """The name of an enum's value without the enum's own, in lower case; its number where a newer sidecar knows more
    of them."""
    values = enum.DESCRIPTOR.values_by_number
    prefix = values[0].name.removesuffix("UNSPECIFIED")
    return values[number].name.removeprefix(prefix).lower() if number in values else str(number)


def words_of(enum: Any, number: int) -> str:
    """As `name_of`, its words apart."""
    return name_of(enum, number).replace("_", " ")


def plain(text: str) -> str:
    """A text on one line, without anything that a terminal obeys: agents, tools and models wrote it."""
    return "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))
