"""Erases: takes the steps of an erasure, in the stores and in memory. The handler of an erasure's job.

A job may run again after a crash at any moment: `trace/erasure.py` keeps what is left. When nothing is left, all
records are removed once more: a write that was under way beside the first time may have kept something that was derived
from them. Later writes see the tombstones and are refused.
"""

import asyncio
import logging
from typing import Protocol

from sidemirror_server.goals.publish import TOPIC
from sidemirror_server.goals.store import GoalReflections
from sidemirror_server.trace.erasure import Erasures, Tombstone
from sidemirror_server.trace.log import Journal
from sidemirror_server.trace.receipts import Receipts
from sidemirror_server.trace.sources import SourceKind, parsed
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.ids import SessionId, TurnId, new_id
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.work.worker import ClaimedJob

_log = logging.getLogger(__name__)

# The kind of the jobs. Stored; never changes. A job's id is that of its erasure.
KIND = "erasure"
# Chosen here: with the worker's backoff, at most 5 minutes, a store may be away for days.
MAX_ATTEMPTS = 1_000
# How long to wait before all records are removed once more. Chosen here: no transaction of a store takes as long.
SETTLE_S = 2.0
_AT_ONCE = 200


class InMemory(Protocol):
    """What a process has of turns in memory. `turns/conductor.py` describes the verbs."""

    def let_go(self, scope: Scope, turn_id: TurnId, *, is_erased: bool = False) -> None: ...

    def let_go_session(self, scope: Scope, session_id: SessionId) -> None: ...

    async def put_down(self, scope: Scope, turn_id: TurnId) -> None: ...


class _Nothing:
    def let_go(self, scope: Scope, turn_id: TurnId, *, is_erased: bool = False) -> None:
        pass

    def let_go_session(self, scope: Scope, session_id: SessionId) -> None:
        pass

    async def put_down(self, scope: Scope, turn_id: TurnId) -> None:
        pass


# For a process that serves no turns.
NOTHING_IN_MEMORY: InMemory = _Nothing()


class Eraser:
    """Runs erasures. `settle_s`: see SETTLE_S; less where one process has the store to itself."""

    def __init__(
        self,
        erasures: Erasures,
        reflections: GoalReflections,
        journal: Journal,
        receipts: Receipts,
        in_memory: InMemory,
        clock: Clock,
        settle_s: float = SETTLE_S,
    ) -> None:
        self._erasures = erasures
        self._reflections = reflections
        self._journal = journal
        self._receipts = receipts
        self._in_memory = in_memory
        self._clock = clock
        self._settle_s = settle_s

    async def handle(self, task: ClaimedJob) -> None:
        """The worker's handler. Raises what the stores raise."""
        await self.erase(task.job.scope, task.job.job_id)

    async def erase(self, scope: Scope, erasure_id: str) -> None:
        """Takes all steps of an erasure that has begun. Raises what the stores raise."""
        while True:
            left = await self._erasures.left(scope, erasure_id, _AT_ONCE)
            for name in left:
                await self._remove(scope, erasure_id, name)
            if not left:
                await asyncio.sleep(self._settle_s)
                if not await self._erasures.again(scope, erasure_id):
                    break
        await self._erasures.finish(scope, erasure_id, self._clock.now_us())
        await self._erasures.tidy()
        _log.info("erased", extra={"erasure_id": erasure_id})

    async def erase_again(self, scope: Scope, tombstones: tuple[Tombstone, ...]) -> int:
        """Applies tombstones to a store that came from a backup: adds them, and erases what has one. Returns how many
        records had one. Raises what the stores raise."""
        await self._erasures.put_tombstones(scope, tombstones)
        survivors = await self._erasures.survivors(scope)
        if survivors:
            now_us = self._clock.now_us()
            erasure_id = new_id(now_us)
            await self._erasures.begin(scope, erasure_id, survivors, now_us)
            await self.erase(scope, erasure_id)
        return len(survivors)

    async def _remove(self, scope: Scope, erasure_id: str, name: str) -> None:
        kind, record_id = parsed(name)
        match kind:
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
            case _:
                pass
        await self._erasures.remove(scope, erasure_id, name, self._clock.now_us())
