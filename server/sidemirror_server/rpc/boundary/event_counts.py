"""How many events a request brings, before it is parsed: what they cost is taken before its turn comes (`shares.py`).

A request that waits for its turn stays bytes. Parsed it may take fifty times as many, and a second of the loop.
"""

from collections.abc import Callable
from typing import Final

from google.protobuf.message import Message

from sidemirror_server.rpc.boundary.limit_table import EVENTS

# As many events may a request have. One that has more is refused once it is parsed.
_MOST: Final = EVENTS.most
# A request has fewer other fields. Chosen here.
_FIELDS: Final = _MOST + 16
# Protobuf's wire types (https://protobuf.dev/programming-guides/encoding).
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def event_counter_of(request_type: type[Message]) -> Callable[[bytes], int]:
    """Counts the events of requests of this type: 0 without a field of this name. A request with more fields than one
    may have, or with a group, counts as one that is full of events; of one that cannot be parsed, what is read counts.
    """
    field = request_type.DESCRIPTOR.fields_by_name.get("events")
    if field is None:
        return lambda _: 0
    event = field.number << 3 | _BYTES

    def count(raw: bytes) -> int:
        counted = at = 0
        try:
            for _ in range(_FIELDS):
                if at >= len(raw):
                    return counted
                tag, at = _varint(raw, at)
                kind = tag & 7
                if kind == _BYTES:
                    size, at = _varint(raw, at)
                    at += size
                    counted += tag == event
                elif kind == _VARINT:
                    _, at = _varint(raw, at)
                elif kind in (_FIXED64, _FIXED32):
                    at += 8 if kind == _FIXED64 else 4
                else:
                    return _MOST
        except IndexError:
            return counted
        return _MOST if at < len(raw) else counted

    return count


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """The number that begins there, and where it ends. Raises IndexError if it does not end."""
    byte = raw[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
        if shift > 63:
            raise IndexError  # longer than any number: it is not parsed either
