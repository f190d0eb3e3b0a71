"""Erases: takes the steps of an erasure, in the stores and in memory. The handler of an erasure's job.

A job may run again after a crash at any moment: `trace/erasure.py` keeps what is left. Whoever writes what comes of a
record looks at the tombstones in the transaction that writes, and no such transaction runs beside a step: so either the
step finds it, or it is refused. Servers of versions before this one wait for no step. When nothing is left, all
records are therefore removed once more.
"""

import asyncio
import logging
from typing import Protocol

from sidemirror_server.goals.publish import TOPIC
from sidemirror_server.goals.store import GoalReflections
from sidemirror_server.memory.finding.search import MemorySearch
from sidemirror_server.trace.erasure import Erasures, Tombstone
from sidemirror_server.trace.log import Journal
from sidemirror_server.trace.receipts import Receipts
from sidemirror_server.trace.sources import SourceKind, key, parsed, published_key
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.ids import SessionId, TurnId, new_id
from sidemirror_server.vocabulary.scope import Scope, whose
from sidemirror_server.work.worker import ClaimedJob

_log = logging.getLogger(__name__)

# How long to wait before all records are removed once more, where sidecars of another version may write. Chosen here:
# longer than their transactions take, but for those that wait for a lock.
SETTLE_S = 2.0
_AT_ONCE = 200
_AT_ONCE_BYTES = 4 * 1024 * 1024
# How long files are left alone after they were tidied, as a multiple of the time that it took. Writes of all tenants
# wait meanwhile; so, however many erasures there are, they wait a tenth of the time. Chosen here.
_PAUSE = 9.0


class InMemory(Protocol):
    """What a process has of turns in memory. `turns/evictions.py` describes the verbs."""

    def let_go(self, scope: Scope, turn_id: TurnId, *, is_erased: bool = False) -> None: ...

    def let_go_session(self, scope: Scope, session_id: SessionId) -> None: ...

    async def put_down(self, scope: Scope, turn_id: TurnId) -> None: ...

    async def settle(self, scope: Scope) -> None: ...


class _Nothing:
    def let_go(self, scope: Scope, turn_id: TurnId, *, is_erased: bool = False) -> None:
        pass

    def let_go_session(self, scope: Scope, session_id: SessionId) -> None:
        pass

    async def put_down(self, scope: Scope, turn_id: TurnId) -> None:
        pass

    async def settle(self, scope: Scope) -> None:
        pass


class WaitingRecords(Protocol):
    """Records that wait until a turn is made of them, which no source names yet (`telemetry_in/inbox.py`)."""

    async def forget(self, scope: Scope, kind: SourceKind, record_id: str) -> int:
        """Drops what waits for this record, and returns how much it was. Raises what the store raises."""
        ...


# For a process that serves no turns.
NOTHING_IN_MEMORY: InMemory = _Nothing()


class Eraser:
    """Runs erasures. `settle_s`: see SETTLE_S; less where one process has the store to itself. `search`: None where no
    vectors are kept beside the memories."""

    def __init__(
        self,
        erasures: Erasures,
        reflections: GoalReflections,
        journal: Journal,
        receipts: Receipts,
        in_memory: InMemory,
        clock: Clock,
        settle_s: float = SETTLE_S,
        waiting: WaitingRecords | None = None,
        search: MemorySearch | None = None,
    ) -> None:
        self._erasures = erasures
        self._waiting = waiting
        self._search = search
        self._reflections = reflections
        self._journal = journal
        self._receipts = receipts
        self._in_memory = in_memory
        self._clock = clock
        self._settle_s = settle_s
        # Which erasures the last `tidy` was for, as their number among all that asked for one, and when one may follow.
        self._tidying = asyncio.Lock()
        self._asked = self._tidied = 0
        self._tidy_at_s = 0.0

    async def handle(self, task: ClaimedJob) -> None:
        """The worker's handler. Raises what the stores raise."""
        await self.erase(task.job.scope, task.job.job_id)

    async def erase(self, scope: Scope, erasure_id: str) -> None:
        """Takes all steps of an erasure that has begun, and none if it has ended. Raises what the stores raise."""
        known = await self._erasures.get(scope, erasure_id)
        if known is None or known.ended_us is not None:
            return
        taken: set[str] = set()
        forgotten = 0
        while True:
            left = await self._erasures.left(scope, erasure_id, _AT_ONCE)
            for name in left:
                if self._waiting is not None:
                    forgotten += await self._waiting.forget(scope, *parsed(name))
                await self._remove(scope, erasure_id, name)
            taken.update(left)
            if not left:
                await asyncio.sleep(self._settle_s)
                if not await self._erasures.again(scope, erasure_id):
                    break
        await self._erasures.forget_records(scope, erasure_id)
        done = await self._erasures.get(scope, erasure_id)
        # A record that was not there has left nothing to overwrite.
        if len(taken) > 1 or forgotten or (done is not None and done.counts):
            await self._tidy()
        await self._erasures.finish(scope, erasure_id, self._clock.now_us())
        _log.info("erased", extra={**whose(scope), "erasure_id": erasure_id})

    async def _tidy(self) -> None:
        """Has the store's files tidied after this call began: once for all erasures that wait, and with a pause."""
        self._asked += 1
        asked = self._asked
        async with self._tidying:
            if self._tidied >= asked:
                return
            await asyncio.sleep(self._tidy_at_s - self._clock.monotonic_s())
            covers, began_s = self._asked, self._clock.monotonic_s()
            try:
                await self._erasures.tidy()
                self._tidied = covers
            finally:
                ended_s = self._clock.monotonic_s()
                self._tidy_at_s = ended_s + _PAUSE * (ended_s - began_s)

    async def erase_again(self, scope: Scope, tombstones: tuple[Tombstone, ...]) -> int:
        """Applies tombstones to a store that came from a backup: adds them, and erases what has one. Returns how many
        records had one. Raises what the stores raise."""
        await self._erasures.put_tombstones(scope, tombstones)
        survivors = (*await self._erasures.survivors(scope), *await self._published(scope))
        if survivors:
            now_us = self._clock.now_us()
            erasure_id = new_id(now_us)
            await self._erasures.begin(scope, erasure_id, survivors, now_us)
            await self.erase(scope, erasure_id)
        return len(survivors)

    async def _published(self, scope: Scope) -> tuple[str, ...]:
        """The keys of goals' reflections that were erased and are there all the same, in their store or the journal."""
        found = {reflection_id: goal_id for goal_id, reflection_id in await self._reflections.every(scope)}
        position = 0
        while notes := await self._journal.tail(scope, TOPIC, None, position, _AT_ONCE, _AT_ONCE_BYTES):
            position = notes[-1].position
            found |= {note.key: note.group for note in notes}
        names = {key(SourceKind.GOAL_REFLECTION, reflection_id): reflection_id for reflection_id in found}
        erased = await self._erasures.erased(scope, names)
        return tuple(published_key(names[name], found[names[name]]) for name in erased)

    async def _remove(self, scope: Scope, erasure_id: str, name: str) -> None:
        kind, record_id = parsed(name)
        match kind:
            case SourceKind.SUBJECT:
                await self._in_memory.settle(scope)
            case SourceKind.TURN:
                self._in_memory.let_go(scope, TurnId(record_id), is_erased=True)
            case SourceKind.SESSION:
                self._in_memory.let_go_session(scope, SessionId(record_id))
            case SourceKind.CARRIED:
                await self._in_memory.put_down(scope, TurnId(record_id))
            case SourceKind.SHOWN:
                receipt = await self._receipts.get(scope, record_id)
                if receipt is not None and receipt.turn_id:
                    await self._in_memory.put_down(scope, TurnId(receipt.turn_id))
            case SourceKind.PUBLISHED:
                reflection_id, _, goal_id = record_id.partition("/")
                await self._reflections.remove(scope, goal_id, reflection_id, self._clock.now_us())
                await self._journal.drop(scope, TOPIC, reflection_id)
            case SourceKind.MEMORY if self._search is not None:
                await self._search.forget(scope, (record_id,))
            case _:
                pass
        await self._erasures.remove(scope, erasure_id, name, self._clock.now_us())
