"""The log: what happened and what was said, in numbered entries that are only ever appended.

`TurnLog` is written by `turns/recorder.py` and read by `turns/`; `Journal` is written by rooms whose entries stand
alone; `Log` is what a watch reads, of any service. An
entry's body is JSON that the store never looks into. Two numbers lead to an entry: its `position`, unique and rising
within the scope over all topics, which a watch uses as its cursor; and its `sequence` within its key (a turn), from 1
without holes. Adapters: `storage/*/turn_log.py`,
`storage/*/journal.py`.
"""

import enum
from typing import Protocol

import msgspec

from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope, Serves


class Entry(msgspec.Struct, frozen=True):
    """One entry as it is kept. `group` is what a watch can narrow to: for a turn, its session."""

    position: int
    key: str
    group: str
    sequence: int
    at_us: int
    body: bytes


class Draft(msgspec.Struct, frozen=True):
    """One entry to append: the place it must take in its key's numbering, and its body (a JSON object)."""

    sequence: int
    at_us: int
    body: bytes


class TurnStanding(enum.StrEnum):
    """Where a turn stands."""

    OPEN = "open"
    FINISHED = "finished"
    ABANDONED = "abandoned"


class TurnHead(msgspec.Struct, frozen=True):
    """What is known of a turn without reading its entries. `body` is JSON that the store does not look into."""

    turn_id: TurnId
    session_id: SessionId
    turn_count: int
    standing: TurnStanding
    last_sequence: int
    started_us: int
    updated_us: int
    body: bytes


class Batch(msgspec.Struct, frozen=True):
    """Entries of one turn that belong together, and its head as it is after them.

    `session_body` is what the turn's session is made with if it does not exist; None in every batch but a turn's first.
    """

    head: TurnHead
    drafts: tuple[Draft, ...]
    session_body: bytes | None = None


class HeadKey(msgspec.Struct, frozen=True):
    """A place in the order of heads: newest started first, then by id downwards."""

    started_us: int
    turn_id: TurnId


class Log(Protocol):
    """Reads the numbered log of a scope, whatever wrote it.

    LG1  `tail` returns entries of the topic with a position above `after`, in rising order, at most `limit`.
    LG2  `tail` with a group returns that group's entries only.
    LG3  `tail` never shows an entry before one with a lower position is either visible or never will be.
    LG4  `last_position` is the highest position of the scope, 0 when it is empty.
    LG5  `tail` returns no more entries once their bodies add up to `max_bytes`, but at least one if there is one.
    LG6  Entries of another scope are never shown.
    Raises StoreUnavailable.
    """

    async def tail(
        self, scope: Scope, topic: str, group: str | None, after: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]: ...

    async def last_position(self, scope: Scope) -> int: ...


class Note(msgspec.Struct, frozen=True):
    """An entry that stands alone: the only one of its key. `body` is a JSON object."""

    key: str
    group: str
    at_us: int
    body: bytes


class Journal(Log, Protocol):
    """Appends entries that stand alone, of topics other than turns, each once.

    JO1  `add` appends a note under a sequence of 1 and returns True; of one key in a topic the first stays, and another
         add returns False. When it returns, it is durable.
    JO2  `tail` shows notes in the order in which they were added.
    JO3  `remove` removes the notes of a group in a topic, and returns how many; they may be added again.
    JO4  `add` forgets, some at a time, what its topic has in its scope that is older than its own note by four times
         `kept_us` and more; what is younger stays.
    JO5  Scopes and topics never meet: the same key in two of them is two notes.
    JO6  `gone_up_to` is the highest position that JO4 has forgotten of a topic; 0 when it has forgotten nothing. What
         `remove` removed does not count.
    Raises StoreUnavailable (what was asked may or may not have happened), StoreFull (it has not).
    """

    async def add(self, scope: Scope, topic: str, note: Note, kept_us: int) -> bool: ...

    async def remove(self, scope: Scope, topic: str, group: str) -> int: ...

    async def gone_up_to(self, scope: Scope, topic: str) -> int: ...


TURN_TOPIC = "turn"


class TurnLog(Log, Protocol):
    """Appends turns' entries and reads them back.

    TL1  `append` is one transaction: every batch of the call is kept, or none. When it returns, they are durable.
         Bodies come back byte for byte, empty ones too.
    TL2  A draft takes exactly the sequence it names; `append` refuses (WrongState) a batch that would leave a hole.
    TL3  Appending again what is there already, equal in place and body, changes nothing and succeeds.
    TL4  Appending another body in a place that is taken is refused (WrongState) and changes nothing.
    TL5  A batch with `session_body` makes the session when it is missing and leaves an existing one alone.
    TL6  The head is replaced by the batch's, unless the one kept has a higher `last_sequence`.
    TL7  `read` returns a turn's entries after a sequence number, in order: at most `limit`, and no more once their
         bodies add up to `max_bytes` (always at least one if there is one).
    TL8  `head` returns None for a turn that the scope does not have.
    TL9  `heads` returns the newest started first, of one session or of all, in one standing or in any, after `after`.
    TL10 `newest` returns the head with the highest turn_count of the session, None when it has none.
    TL11 `idle` returns heads that are open and were not updated since `before_us`, oldest first, of the scopes served.
    TL12 A turn_id belongs to one session: a batch that names another is refused (WrongState).
    TL13 Scopes never meet: the same turn_id in two scopes is two turns.
    TL14 `idle` leaves out turns of scopes that are not served; they do not count towards `limit`.
    Raises StoreUnavailable when the store does not answer (the append may or may not have happened: append again),
    StoreFull when it has no room (nothing was appended).
    """

    async def append(self, scope: Scope, batches: tuple[Batch, ...]) -> None: ...

    async def read(
        self, scope: Scope, turn_id: TurnId, after_sequence: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]: ...

    async def head(self, scope: Scope, turn_id: TurnId) -> TurnHead | None: ...

    async def heads(
        self,
        scope: Scope,
        session_id: SessionId | None,
        standing: TurnStanding | None,
        after: HeadKey | None,
        limit: int,
    ) -> tuple[TurnHead, ...]: ...

    async def newest(self, scope: Scope, session_id: SessionId) -> TurnHead | None: ...

    async def idle(self, serves: Serves, before_us: int, limit: int) -> tuple[tuple[Scope, TurnHead], ...]: ...
