"""The port for erasure: removes a source with everything that was derived from it, record by record.

An erasure is a list of records that are left to remove, which is stored. `remove` takes one of them: in one transaction
it removes the record's rows, adds what was derived from it to the list, and leaves a tombstone. So an erasure goes on
where a crash stopped it, and a step may be repeated without effect. `turns/erasing.py` takes the steps. Adapters:
`storage/*/erasures.py`.
"""

from collections.abc import Collection, Mapping
from hashlib import blake2b
from typing import Protocol

import msgspec

from sidemirror_server.trace.sources import SourceKind, parsed
from sidemirror_server.vocabulary.scope import Scope

# The kinds that leave a tombstone.
LASTING = frozenset(
    (
        SourceKind.SUBJECT,
        SourceKind.SESSION,
        SourceKind.TURN,
        SourceKind.CRITIQUE,
        SourceKind.MEMORY,
        SourceKind.GOAL_REPORT,
        SourceKind.GOAL_REFLECTION,
    )
)
# Of these there may be something new under the same id later: their tombstones speak of what was stored before.
RETURNING = frozenset((SourceKind.SUBJECT, SourceKind.SESSION))
# What a caller names, so that its tombstone stands before anything is removed. Others have theirs once they are gone.
NAMED = RETURNING | {SourceKind.TURN}
# The kind of an erasure's job, whose id is the erasure's. Stored; never changes.
JOB_KIND = "erasure"
# Chosen here: with the worker's backoff, at most 5 minutes, a store may be away for days.
JOB_ATTEMPTS = 1_000
# How long an erasure that has ended is known, and how many `begin` forgets. Chosen here: a month for whoever asks what
# became of it, and more than one `begin` adds.
ENDED_KEPT_US = 30 * 24 * 3600 * 1_000_000
FORGOTTEN_AT_ONCE = 4
# The setting's name, in LimitReached.
LIMIT = "tombstones"
# In WrongState: the state of an erased record, and of a turn of which an erasure took a part.
ERASED = "erased"
REWRITTEN = "erased in part"
_DIGEST_BYTES = 16


class Tombstone(msgspec.Struct, frozen=True, order=True):
    """What is left of an erased record. `digest`: of scope, kind and id (`digest_of`)."""

    kind: SourceKind
    digest: bytes
    erased_us: int


class Erasure(msgspec.Struct, frozen=True):
    """One erasure. `ended_us`: None while records are left. `counts`: how many rows were removed, by kind."""

    erasure_id: str
    began_us: int
    ended_us: int | None
    counts: Mapping[str, int]


def digest_of(scope: Scope, name: str) -> bytes:
    """The digest of a key (`sources.key`) in a scope: 16 bytes of BLAKE2b. It is stored and never changes."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for part in (scope.tenant_id, scope.project_id, name):
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.digest()


def is_erased(erased_us: int | None, name: str, heard_us: int) -> bool:
    """Whether a tombstone speaks of the source `name` of something whose texts came at `heard_us`. `erased_us`: the
    time of the source's tombstone, None without one."""
    return erased_us is not None and (heard_us <= erased_us or parsed(name)[0] not in RETURNING)


class Erasures(Protocol):
    """Removes sources with what was derived from them.

    ER1  `begin` notes an erasure and its first records, puts the job that takes its steps, and leaves the tombstones of
         subjects, sessions and turns among them: all or nothing. A known id changes nothing; `begin` then returns the
         erasure as it stands. It also forgets erasures of the scope that ended 30 days ago, a few at a time.
    ER2  `left` returns records that an erasure has not removed yet, at most `limit`; each once.
    ER3  `remove` removes a record's rows, adds the records that were derived from it to those left, and counts the rows
         it removed. A repeated call adds what is new and counts only what it removes.
    ER4  A turn is removed with its entries, critiques and receipts; a session with its turns, critiques and receipts.
    ER5  A memory is removed with its versions, keys, links, index terms, vectors and trials. If another source that is
         not erased taught it in the same words, it is made anew from these words, by another id (`record.without`).
    ER6  A receipt of another turn stays, without the erased lesson, and so do this turn's entries, without its text.
    ER7  A later turn of the session stays, without the state that it began with and what its reflections said.
    ER8  `again` puts all records of an erasure back to those left, once; a second call returns False.
    ER9  `forget_records` forgets the ids of an erasure's records and keeps the counts; `finish` ends it. `get` returns
         it, None if unknown.
    ER10 `erased` returns the time of the tombstone of each of these keys that has one.
    ER11 `tombstones` returns a scope's tombstones after `after`, in order, at most `limit`; `put_tombstones` adds those
         of another copy of the scope, and the later time of two counts.
    ER12 `survivors` returns what is left to erase in a backup from before an erasure: the keys of all records that have
         a tombstone and are stored all the same, and of erased sources that something stored came from, each once.
    ER13 The other ports note the sources of what they store, so that an erasure finds it: turns, sessions, critiques,
         receipts, memories, goals' reports and stored answers, by subject, session, turn or lesson.
    ER14 They refuse (WrongState) what comes of an erased source: a turn of its id, its critique, its lesson, its
         report; the reflection of an erased report is not put, and an answer is not kept. Of a subject and a session
         they refuse what was heard before its erasure, whenever it is stored.
    ER15 Scopes never meet.
    ER16 What came of a record that was removed before, by a caller or as old, is found by that record's sources.
    ER17 What an erasure has taken out of a turn is not put back by whoever read the turn before: refused (WrongState)
         are a batch of a turn that was rewritten since, and a new turn that began with the state of a turn that was
         erased or rewritten since. So are entries that show an erased lesson, or whose subject was erased since.
    ER18 With `most`, `begin` raises LimitReached, and notes nothing, if the scope has as many tombstones and nothing is
         stored of what it is to erase.
    ER19 A receipt that held the erased lesson back, or left it out, stays and does not name it, nor do its turn's
         entries.
    Raises StoreUnavailable, StoreFull.
    """

    async def begin(
        self, scope: Scope, erasure_id: str, names: Collection[str], now_us: int, most: int | None = None
    ) -> Erasure: ...

    async def get(self, scope: Scope, erasure_id: str) -> Erasure | None: ...

    async def left(self, scope: Scope, erasure_id: str, limit: int) -> tuple[str, ...]: ...

    async def remove(self, scope: Scope, erasure_id: str, name: str, now_us: int) -> None: ...

    async def again(self, scope: Scope, erasure_id: str) -> bool: ...

    async def forget_records(self, scope: Scope, erasure_id: str) -> None: ...

    async def finish(self, scope: Scope, erasure_id: str, now_us: int) -> None: ...

    async def erased(self, scope: Scope, names: Collection[str]) -> Mapping[str, int]: ...

    async def tombstones(self, scope: Scope, after: Tombstone | None, limit: int) -> tuple[Tombstone, ...]: ...

    async def put_tombstones(self, scope: Scope, tombstones: Collection[Tombstone]) -> None: ...

    async def survivors(self, scope: Scope) -> tuple[str, ...]: ...

    async def tidy(self) -> None:
        """Overwrites what removed rows leave in the store's files, as far as the store can. Raises StoreUnavailable,
        StoreFull."""
        ...
