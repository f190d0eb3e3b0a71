"""The port that stores sessions. Adapters: `storage/*/sessions.py`."""

from typing import Protocol

import msgspec

from sidemirror_server.vocabulary.ids import SessionId
from sidemirror_server.vocabulary.scope import Scope


class SessionRecord(msgspec.Struct, frozen=True):
    """A session as stored. `body`: the JSON of its `ThinkingConfig`.

    `turn_count` and `newest_head` are computed from the session's turns and never written: how many were started, and
    the head body of the newest turn (None without turns). `subject_ids`: whom it is about, in order.
    """

    session_id: SessionId
    body: bytes
    created_us: int
    updated_us: int
    turn_count: int = 0
    newest_head: bytes | None = None
    subject_ids: tuple[str, ...] = ()


class SessionKey(msgspec.Struct, frozen=True):
    """A list cursor: sessions are ordered newest first, then by id, descending."""

    created_us: int
    session_id: SessionId


FIRST_SESSION = SessionKey(2**63 - 1, SessionId(""))  # before every possible session


class Sessions(Protocol):
    """Stores sessions.

    SE1  `create` stores a session; an id that the scope already has is refused (AlreadyExists).
    SE2  `get` returns None for an id that the scope does not have.
    SE3  `get` and `list` return the session's number of turns and its newest turn's head.
    SE4  `update` replaces the body and `updated_us`; an unknown id is refused (NotFound).
    SE5  `list` returns at most `limit` after the cursor `after`, newest first. New ones do not change the order.
    SE6  `delete` removes the session with its turns and their entries; an unknown id is refused (NotFound).
    SE7  `delete` is refused (WrongState) while a turn of the session is open.
    SE8  Scopes are isolated.
    `create` notes the session's subjects, so that an erasure finds it (clause ER13); `get` and `list` return them.
    Raises StoreUnavailable, StoreFull.
    """

    async def create(self, scope: Scope, session: SessionRecord) -> None: ...

    async def get(self, scope: Scope, session_id: SessionId) -> SessionRecord | None: ...

    async def update(self, scope: Scope, session_id: SessionId, body: bytes, now_us: int) -> None: ...

    async def list(self, scope: Scope, after: SessionKey | None, limit: int) -> tuple[SessionRecord, ...]: ...

    async def delete(self, scope: Scope, session_id: SessionId) -> None: ...
