"""Ids: typed names for strings, and how the server makes one.

An id from a client is 1 to 128 printable characters. The server makes UUIDv7s, which sort by time. If a client's
request with a `request_id` makes a record, the record's id is a UUIDv5 derived from the request. So a repeated request
makes no second record, even after a crash.
"""

import os
import uuid
from collections import deque
from typing import NewType

from sidemirror_server.vocabulary.scope import Scope

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
EventId = NewType("EventId", str)
DirectiveId = NewType("DirectiveId", str)
RequestId = NewType("RequestId", str)
JobId = NewType("JobId", str)

# Any fixed UUID serves as the namespace of derived ids (RFC 9562, section 5.5); it may never change.
_NAMESPACE = uuid.UUID("6f1cdd44-0f2b-5f0e-9d0b-7a8d3f5e2c11")


# Random bytes are fetched for many ids at once, because a system call for each id would double its cost. Chosen here:
# about a page of memory.
_RANDOM_BYTES = 10
_IDS_AT_ONCE = 400
_random: deque[int] = deque()


def new_id(now_us: int) -> str:
    """A UUIDv7 (RFC 9562, section 5.7) for the time `now_us` in microseconds since the epoch."""
    try:
        random = _random.pop()
    except IndexError:  # not asked beforehand: another thread may take the last one in between
        fetched = os.urandom(_RANDOM_BYTES * _IDS_AT_ONCE)
        random, *more = (
            int.from_bytes(fetched[at : at + _RANDOM_BYTES], "big") for at in range(0, len(fetched), _RANDOM_BYTES)
        )
        _random.extend(more)
    milliseconds = (now_us // 1000) & 0xFFFF_FFFF_FFFF
    value = milliseconds << 80 | 0x7 << 76 | (random >> 68) << 64 | 0b10 << 62 | (random & (1 << 62) - 1)
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def derived_id(scope: Scope, method: str, request_id: str) -> str:
    """The id of the record that a request of this scope makes: a UUIDv5, equal for equal arguments."""
    return str(uuid.uuid5(_NAMESPACE, "\x00".join((scope.tenant_id, scope.project_id, method, request_id))))
