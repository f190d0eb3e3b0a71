"""The log: numbered entries of events and messages, which are appended and never changed.

`turns/recorder.py` writes `TurnLog` and `turns/` reads it; rooms with stand-alone entries write `Journal`; the watches
of all services read `Log`. An entry's body is JSON that the store never parses. An entry has two numbers. Its
`position` is unique in the scope and rises over all topics; a watch uses it as a cursor. Its `sequence` counts the
entries of its key (a turn), from 1 without holes. Adapters: `storage/*/turn_log.py`, `storage/*/journal.py`.
"""

import enum
from collections.abc import Collection
from typing import Any, Protocol

import msgspec

from sidemirror_server.vocabulary.ids import JobId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope, Serves


class Entry(msgspec.Struct, frozen=True):
    """One stored entry. A watch can filter by `group`: for a turn's entry, the session."""

    position: int
    key: str
    group: str
    sequence: int
    at_us: int
    body: bytes


class Draft(msgspec.Struct, frozen=True):
    """One entry to append. `sequence`: its place within its key; `body`: a JSON object."""

    sequence: int
    at_us: int
    body: bytes


class TurnStanding(enum.StrEnum):
    """Where a turn stands."""

    OPEN = "open"
    FINISHED = "finished"
    ABANDONED = "abandoned"


class TurnHead(msgspec.Struct, frozen=True):
    """The state of a turn, for lists that do not read entries. `body`: JSON that the store does not parse. `rewritten`:
    how often an erasure took a part of the turn away; `append` compares it, and does not store it. `outcome`: how the
    turn's task ended, as the agent reported it; else empty."""

    turn_id: TurnId
    session_id: SessionId
    turn_count: int
    standing: TurnStanding
    last_sequence: int
    started_us: int
    updated_us: int
    body: bytes
    rewritten: int = 0
    outcome: str = ""


def head_of(turn_id: TurnId, session_id: SessionId, turn_count: int, standing: str, *others: Any) -> TurnHead:
    """A head from the columns of its row, in their order."""
    return TurnHead(turn_id, session_id, turn_count, TurnStanding(standing), *others)


class Sequel(msgspec.Struct, frozen=True):
    """The job that a turn's end puts into the durable queue (`work/queue.py`)."""

    job_id: JobId
    kind: str
    payload: bytes


class Batch(msgspec.Struct, frozen=True):
    """Entries of one turn that are appended together, and the turn's head after them.

    `session_body`: creates the turn's session if it does not exist; None in every batch but a turn's first, and one
    that moves it. `subject_ids`: whom the drafts are about. `session_was`: the session that the turn leaves for that of
    its head. `sequel`: comes with the turn's last entry. `began_with`: the turns whose state the drafts bring into
    this one, each with its `rewritten` at that time. `rests_on`: keys of other sources of the drafts, each with the
    time since which it counts as heard.
    """

    head: TurnHead
    drafts: tuple[Draft, ...]
    session_body: bytes | None = None
    subject_ids: tuple[str, ...] = ()
    session_was: SessionId | None = None
    sequel: Sequel | None = None
    began_with: tuple[tuple[TurnId, int], ...] = ()
    rests_on: tuple[tuple[str, int], ...] = ()


class HeadKey(msgspec.Struct, frozen=True):
    """A position in the order of heads: latest start first, then descending id."""

    started_us: int
    turn_id: TurnId


FIRST_HEAD = HeadKey(2**63 - 1, TurnId(""))  # sorts before every head


class Log(Protocol):
    """Reads a scope's numbered log, with the entries of all rooms.

    LG1  `tail` returns at most `limit` entries of the topic with a position above `after`, in rising order.
    LG2  `tail` with a group returns that group's entries only.
    LG3  `tail` shows an entry only if every lower position is already visible or will never be visible.
    LG4  `last_position` is the scope's highest position, 0 if there is none.
    LG5  `tail` stops once its entries' bodies add up to `max_bytes`, but returns at least one entry if there is one.
    LG6  Entries of another scope are never shown.
    Raises StoreUnavailable.
    """

    async def tail(
        self, scope: Scope, topic: str, group: str | None, after: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]: ...

    async def last_position(self, scope: Scope) -> int: ...


class Note(msgspec.Struct, frozen=True):
    """A stand-alone entry: the only entry of its key. `body`: a JSON object."""

    key: str
    group: str
    at_us: int
    body: bytes


# How many old notes one `add` forgets (JO4). Chosen here: enough to keep up, too few to slow `add` down.
FORGET_AT_ONCE = 20


def forgotten_before_us(note: Note, kept_us: int) -> int:
    """The time before which notes may be forgotten when `note` is added (clause JO4)."""
    return note.at_us - 4 * kept_us


class Journal(Log, Protocol):
    """Appends stand-alone entries, each once, in topics other than turns.

    JO1  `add` appends a note durably, with sequence 1, and returns True. If the topic has the key already, the first
         note stays and `add` returns False.
    JO2  `tail` shows notes in the order in which they were added.
    JO3  `remove` removes the notes of a group in a topic, and returns how many; they may be added again.
    JO4  `add` also forgets notes of its topic and scope, a few at a time, that are older than the added note by
         `kept_us` × 4 or more. Younger notes stay.
    JO5  Scopes and topics are isolated: the same key in two of them is two notes.
    JO6  `gone_up_to` is the highest position of a topic that JO4 has forgotten, 0 if none. Notes that `remove` removed
         do not count.
    JO7  `drop` removes the note of a key in a topic, and returns whether there was one.
    `sources` are noted, so that an erasure finds the note, also once they are gone (clauses ER13, ER16). A note one of
    whose sources was erased is not added (ER14): `add` returns False.
    Raises StoreUnavailable (the call may or may not have taken effect), StoreFull (it has not).
    """

    async def add(self, scope: Scope, topic: str, note: Note, kept_us: int, sources: Collection[str] = ()) -> bool: ...

    async def remove(self, scope: Scope, topic: str, group: str) -> int: ...

    async def drop(self, scope: Scope, topic: str, key: str) -> bool: ...

    async def gone_up_to(self, scope: Scope, topic: str) -> int: ...


TURN_TOPIC = "turn"


class TurnLog(Log, Protocol):
    """Appends turns' entries and reads them back.

    TL1  `append` is one transaction: it keeps every batch of the call, or none. All are durable when it returns. Bodies
         are returned byte for byte, empty ones too.
    TL2  A draft takes exactly the sequence it names; `append` refuses (WrongState) a batch that would leave a hole.
    TL3  Appending an entry again, with the same sequence and body, changes nothing and succeeds.
    TL4  Appending another body at a taken sequence is refused (WrongState) and changes nothing.
    TL5  A batch with `session_body` creates a missing session, and does not change an existing one.
    TL6  The batch's head replaces the stored head, unless the stored one has a higher `last_sequence`.
    TL7  `read` returns a turn's entries after a sequence, in order, at most `limit`. It stops once their bodies add up
         to `max_bytes`, but returns at least one if there is one.
    TL8  `head` returns None for a turn that the scope does not have.
    TL9  `heads` returns heads after cursor `after`, latest start first, of one session or all, in one standing or any.
         With `outcomes` only heads with one of these outcomes count, and none that started before `from_us`.
    TL10 `newest` returns the head with the highest turn_count of the session; None if the session has no turns.
    TL11 `idle` returns open heads of the scopes served that were not updated since `before_us`, oldest first.
    TL12 A turn_id belongs to one session: a batch that names another is refused (WrongState), unless its `session_was`
         is the one that is stored.
    TL13 Scopes are isolated: the same turn_id in two scopes is two turns.
    TL14 `idle` leaves out turns of scopes that are not served; they do not count towards `limit`.
    TL15 A batch with `session_was` moves the turn to its head's session, with its entries, receipts and critiques. The
         session that it leaves is removed if no turn is left in it, and then counts as derived from the other one.
    TL16 `heads_of` returns the heads of those `turn_ids` that the scope has, in any order.
    A batch's `sequel` is put into the queue of the same store, in the append's transaction; a job that has its id
    already stays as it is.
    `subject_ids` are noted, so that an erasure finds the turn (clause ER13). What comes of an erased source, or of what
    a turn was before an erasure rewrote it, is refused (ER14, ER17).
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
        *,
        outcomes: Collection[str] = (),
        from_us: int = 0,
    ) -> tuple[TurnHead, ...]: ...

    async def heads_of(self, scope: Scope, turn_ids: Collection[TurnId]) -> tuple[TurnHead, ...]: ...

    async def newest(self, scope: Scope, session_id: SessionId) -> TurnHead | None: ...

    async def idle(self, serves: Serves, before_us: int, limit: int) -> tuple[tuple[Scope, TurnHead], ...]: ...
