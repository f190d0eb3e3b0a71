"""200 texts that a stranger may have written, and a server that answers every call with them in every field."""

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

import grpc
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from sidemirror_client.client import SERVICES

# What a terminal, a browser or a reader takes for more than text.
_PIECES = (
    *("\x1b]0;pwned\x07", "\x1b[2J", "\x9b2J", "\x1b[31mred", "\x1bP+q544e\x1b\\", "\x1b]8;;http://x\x07link\x1b]8;;\x07"),
    *("\u202eend", "\u2066a\u2069", "\u200f", "\u200b", "\ufeff", "\U000e0041", "\u2028line", "\u2029", "\x85", "\x0b"),
    *("\r\nsidemirror: forged", "\n\n\n", "\t\t", "\b\b\b", "\x00", "\x7f"),
    *("a\u0300\u0301\u0302", "漢字", "\U0001f469\u200d\U0001f680"),
    *("<script>alert(1)</script>", "![x](http://example.com/x.png)", "[bold]x[/bold]", "[red", "{{7*7}}", "$(id)"),
    *("%s%n", "' OR 1=1 --", ":smile:", "[/]", "\\x1b[2J", "=cmd|' /C calc'!A0"),
)  # fmt: skip


def _made() -> Iterator[str]:
    drawn = random.Random(20)
    yield from _PIECES
    yield from ("", "x" * 256 * 1024, "\x1b[2J" * 70_000, "漢" * 90_000, "\n" * 10_000)
    while True:
        yield "".join(drawn.choices((*_PIECES, "words of an agent ", "id"), k=drawn.randint(2, 9)))


TEXTS = tuple(islice(dict.fromkeys(islice(_made(), 1_000)), 200))
# A message of gRPC has 4 MiB at most: of a long text fewer bytes stand in the later fields.
# The fields by which a request names one record.
_NAMES = ("turn_id", "reflection_id", "goal_id", "lesson_id", "signature", "query_text", "reflection_ids")
_ROOM_BYTES, _CUT = 3 * 1024 * 1024, 300
_NUMBERS = {FieldDescriptor.CPPTYPE_DOUBLE: 0.5, FieldDescriptor.CPPTYPE_FLOAT: 0.5, FieldDescriptor.CPPTYPE_BOOL: True}


class Hostile(grpc.GenericRpcHandler):
    """Answers each call: each record of a list has the next text in all its fields; a single record has the text that
    the request names, else the next one. A stream ends after one round."""

    def __init__(self) -> None:
        self.methods = {
            f"/{service.full_name}/{method.name}": method for service in SERVICES for method in service.methods
        }
        self._turn = 0

    def service(self, handler_call_details: Any) -> Any:
        method = self.methods[handler_call_details.method]
        request_type, answer_type = GetMessageClass(method.input_type), method.output_type

        def answer(request: Any, _: Any) -> Message:
            return self.answer(answer_type, named_in(request))

        def answers(request: Any, _: Any) -> Iterator[Message]:
            for text in TEXTS:
                yield self.answer(answer_type, text)

        made = {
            "request_deserializer": request_type.FromString,
            "response_serializer": lambda message: message.SerializeToString(),
        }
        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(answers, **made)
        return grpc.unary_unary_rpc_method_handler(answer, **made)

    def answer(self, kind: Descriptor, text: str | None) -> Message:
        self._turn += 1
        room = [_ROOM_BYTES]
        message = GetMessageClass(kind)()
        lists = [field for field in kind.fields if field.is_repeated and field.message_type]
        for field in kind.fields:
            if field in lists and text is None:
                for number, one in enumerate(TEXTS):
                    fill_field(message, field, one, number, room)
            elif field.name != "next_page_token":
                fill_field(message, field, TEXTS[self._turn % 200] if text is None else text, self._turn, room)
        return message


def named_in(request: Any) -> str | None:
    """The text by which a request names a record; None if it names none."""
    named = (value for field, value in request.ListFields() if field.name in _NAMES)
    singles = (value if isinstance(value, str) else next(iter(value), "") for value in named)
    return next((value for value in singles if value in TEXTS), None)


def fill(message: Message, text: str, number: int, room: list[int], depth: int = 0) -> None:
    """Fills every field; of a oneof the one that `number` chooses."""
    for each in message.DESCRIPTOR.fields:
        one_of = each.containing_oneof
        if one_of is None or one_of.fields[number % len(one_of.fields)] is each:
            fill_field(message, each, text, number, room, depth)


def fill_field(message: Message, field: Any, text: str, number: int, room: list[int], depth: int = 0) -> None:
    place: Any = getattr(message, field.name)
    if field.message_type and field.message_type.GetOptions().map_entry:
        if field.message_type.fields_by_name["value"].message_type is None:
            is_text = field.message_type.fields_by_name["value"].cpp_type == FieldDescriptor.CPPTYPE_STRING
            place[text[:_CUT]] = text[:_CUT] if is_text else 3
    elif field.message_type and field.message_type.full_name == "google.protobuf.Struct":
        place.update({"task_description": text[:_CUT], text[:_CUT]: text[:_CUT], "turn_ids": [text[:_CUT]]})
    elif field.message_type and field.message_type.file.package == "google.protobuf":
        message.__getattribute__(field.name).FromSeconds(1_700_000_000)
    elif field.message_type and depth < 6:
        fill(place.add() if field.is_repeated else place, text, number, room, depth + 1)
        if not field.is_repeated:
            place.SetInParent()
    elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        value = text if room[0] > len(text.encode()) else text[:_CUT]
        room[0] -= len(value.encode())
        _put(message, field, value)
    elif field.enum_type is not None:
        _put(message, field, field.enum_type.values[number % len(field.enum_type.values)].number)
    elif field.message_type is None and field.cpp_type != FieldDescriptor.CPPTYPE_STRING:
        _put(message, field, _NUMBERS.get(field.cpp_type, 3))


def _put(message: Message, field: FieldDescriptor, value: Any) -> None:
    if field.is_repeated:
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)
