"""Messages that no client of ours would send, made from the contract's descriptors by chance.

Five ways: bytes at random; a message with bytes changed, cut or doubled; a message whose values are the largest, the
smallest, NaN, or odd texts; fields of the wrong wire type and text that is no UTF-8; and messages that are right but
for a value here and there, which lead deeper into the server before they go wrong.
"""

import math
import random
from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

_TEXTS = (
    *(
        "",
        "t",
        "s",
        "t0",
        "\x00",
        "\x00" * 50,
        "\n\r\t",
        "\u202e\u2066",
        "\ufeff",
        "\ufffd",
        "\U0001f642" * 40,
        "%s%n{}",
    ),
    *("' OR 1=1 --", "$.a[*]", "../../etc/passwd", "x" * 129, "e\u0301" * 200, "a" * 5_000, "-1", "null", "\u2028"),
)
_INTEGERS = (0, 1, -1, 2, 7, 100, 1_001, 2**31 - 1, -(2**31), 2**32 - 1, 2**53, 2**63 - 1, -(2**63), 2**64 - 1)
_FLOATS = (0.0, -0.0, 0.5, 1.0, 1.0000001, -1.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan)
_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_ENUM: (-(2**31), 2**31 - 1),
}
_REALS = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)
_DEEPEST = 6


class Maker:
    """Makes messages; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._ways: tuple[Callable[[Descriptor], bytes], ...] = (
            self._noise,
            self._changed,
            self._odd,
            self._wrong_wire,
            self._nearly_right,
            self._nearly_right,
        )

    def message(self, descriptor: Descriptor) -> bytes:
        """One message that is, or is not, of this type."""
        return self._chance.choice(self._ways)(descriptor)

    def _noise(self, descriptor: Descriptor) -> bytes:
        return self._chance.randbytes(self._chance.choice((0, 1, 2, 8, 60, 500)))

    def _odd(self, descriptor: Descriptor) -> bytes:
        return self._filled(descriptor, 0, odd=0.7).SerializeToString()

    def _nearly_right(self, descriptor: Descriptor) -> bytes:
        return self._filled(descriptor, 0, odd=0.03).SerializeToString()

    def _changed(self, descriptor: Descriptor) -> bytes:
        raw = bytearray(self._odd(descriptor))
        for _ in range(self._chance.randint(1, 4)):
            place = self._chance.randrange(len(raw) + 1)
            match self._chance.randrange(4):
                case 0 if place < len(raw):
                    raw[place] = self._chance.randrange(256)
                case 1:
                    del raw[place:]
                case 2:
                    raw[place:place] = self._chance.randbytes(3)
                case _:
                    raw += raw[place:][:1_000]
        return bytes(raw)

    def _wrong_wire(self, descriptor: Descriptor) -> bytes:
        """Known field numbers with whatever wire type: varint, 64 bit, bytes, 32 bit, and groups, which are nested as
        deep as chance wants."""
        raw = bytearray(self._odd(descriptor) if self._chance.random() < 0.5 else b"")
        for _ in range(self._chance.randint(1, 6)):
            number = self._chance.choice([field.number for field in descriptor.fields] or [1])
            wire_type = self._chance.choice((0, 1, 2, 2, 2, 3, 5))
            raw += _varint(number << 3 | wire_type)
            if wire_type == 0:
                raw += _varint(self._chance.choice(_INTEGERS) % 2**64)
            elif wire_type == 2:
                body = self._chance.choice((b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", b"\x00", b"\x0a\x02\xff\xff"))
                raw += _varint(len(body)) + body
            elif wire_type == 3:
                raw += _varint(number << 3 | 3) * self._chance.choice((1, 50, 500))
            else:
                raw += self._chance.randbytes(8 if wire_type == 1 else 4)
        return bytes(raw)

    def _filled(self, descriptor: Descriptor, depth: int, odd: float) -> Message:
        message: Any = GetMessageClass(descriptor)()
        for field in descriptor.fields:
            if self._chance.random() < 0.5:
                continue
            if field.is_repeated:
                self._fill_repeated(message, field, depth, odd)
            elif field.message_type is not None:
                if depth < _DEEPEST:
                    getattr(message, field.name).CopyFrom(self._filled(field.message_type, depth + 1, odd))
            else:
                setattr(message, field.name, self._value(field, odd))
        return message  # type: ignore[no-any-return]

    def _fill_repeated(self, message: Any, field: FieldDescriptor, depth: int, odd: float) -> None:
        count = self._chance.choice(
            (0, 1, 1, 2, 3, 30 if depth == 0 else 1, 1_001 if self._chance.random() < 0.01 else 1)
        )
        into = getattr(message, field.name)
        for _ in range(count):
            if field.message_type is None:
                into.append(self._value(field, odd))
            elif not field.message_type.GetOptions().map_entry and depth < _DEEPEST:
                into.append(self._filled(field.message_type, depth + 1, odd))

    def _value(self, field: FieldDescriptor, odd: float) -> object:
        return self._odd_value(field) if self._chance.random() < odd else self._right_value(field)

    def _right_value(self, field: FieldDescriptor) -> object:
        kind = field.cpp_type
        if kind == FieldDescriptor.CPPTYPE_STRING:
            return self._chance.choice(("t", "t0", "s"))
        if field.enum_type is not None:
            return self._chance.choice(field.enum_type.values).number
        return kind == FieldDescriptor.CPPTYPE_BOOL or (0.5 if kind in _REALS else 1)

    def _odd_value(self, field: FieldDescriptor) -> object:
        kind = field.cpp_type
        if kind == FieldDescriptor.CPPTYPE_STRING:
            text = self._chance.choice(_TEXTS)
            return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text
        if kind == FieldDescriptor.CPPTYPE_BOOL:
            return self._chance.random() < 0.5
        if kind in _REALS:
            return self._chance.choice(_FLOATS)
        if field.enum_type is not None and self._chance.random() < 0.7:
            return self._chance.choice(field.enum_type.values).number
        low, high = _RANGES[kind]
        return self._chance.choice([number for number in _INTEGERS if low <= number <= high])


def _varint(number: int) -> bytes:
    raw = bytearray()
    while number > 0x7F:
        raw.append(number & 0x7F | 0x80)
        number >>= 7
    raw.append(number)
    return bytes(raw)
