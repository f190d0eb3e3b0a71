"""Pagination: the size of a page, and the tokens and cursors of the next one.

Tokens are opaque on the wire, and bound to the query that they were made for.
"""

import base64
import binascii
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import NamedTuple, TypeVar

import msgspec
from google.protobuf.message import Message

from sidemirror_server.rpc.wire.common import microseconds
from sidemirror_server.vocabulary.errors import BadInput

T = TypeVar("T")

LARGEST_PAGE = 1_000
# The target size of a page, so that it fits into a message of 4 MiB.
PAGE_BYTES = 2 * 1024 * 1024


class TimeSpan(NamedTuple):
    """A span of time: from `from_us`, and before `until_us`; None: without an end."""

    from_us: int = 0
    until_us: int | None = None


ALL_TIME = TimeSpan()


def span_in(request: Message) -> TimeSpan:
    """The span between `from_time` and `until_time` of a request. Raises BadInput when there is nothing in between."""
    begin, end = (getattr(request, name) if request.HasField(name) else None for name in ("from_time", "until_time"))
    span = TimeSpan(0 if begin is None else microseconds(begin), None if end is None else microseconds(end))
    if span.until_us is not None and span.until_us <= span.from_us:
        raise BadInput([("until_time", "must be later than from_time")])
    return span


def size_of(asked: int, default: int) -> int:
    """How many records a page holds: `asked`, or `default` for 0, at most LARGEST_PAGE (AIP-158)."""
    return min(asked or default, LARGEST_PAGE)


def fitting(
    found: Iterable[T], bytes_of: Callable[[T], int], room_bytes: int = PAGE_BYTES, *, at_least: int = 1
) -> list[T]:
    """The longest prefix of `found` that fits into `room_bytes`; at least `at_least` records, whatever their size."""
    shown: list[T] = []
    for one in found:
        room_bytes -= bytes_of(one)
        if room_bytes < 0 and len(shown) >= at_least:
            break
        shown.append(one)
    return shown


def token_for(place: msgspec.Struct | int, *query: object) -> str:
    """A token for the page after `place` of this query."""
    packed = msgspec.msgpack.encode((_digest(query), place))
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def place_in(token: str, kind: type[T], field: str, *query: object) -> T | None:
    """The place that a token names; None for an empty token. Raises BadInput on `field` when the token is not one of
    this query."""
    if not token:
        return None
    try:
        packed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        digest, place = msgspec.msgpack.decode(packed, type=tuple[bytes, kind])  # type: ignore[valid-type]
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise BadInput([(field, "not a token of this server")]) from error
    if not _is_storable(place):
        raise BadInput([(field, "not a token of this server")])
    if digest != _digest(query):
        raise BadInput([(field, "made for another query")])
    return place


def _is_storable(place: object) -> bool:
    """Whether the numbers fit into a store's 63 bits, and the texts have no NUL, which Postgres refuses. Those of a
    forged token may be otherwise."""
    parts = msgspec.structs.astuple(place) if isinstance(place, msgspec.Struct) else (place,)
    numbers_fit = all(0 <= part < 2**63 for part in parts if isinstance(part, int))
    return numbers_fit and not any("\0" in part for part in parts if isinstance(part, str))


def _digest(query: tuple[object, ...]) -> bytes:
    return blake2b(repr(query).encode(), digest_size=8).digest()
