"""The port behind the evidence of lessons: which tasks each was shown for or held back from, and what became of them.
Adapters: `storage/sqlite/trials.py`, `storage/postgres/trials.py`.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from sidemirror_server.memory.trials.evidence import Arm, ArmTally
from sidemirror_server.vocabulary.scope import Scope, Serves

# How long a trial counts. Chosen here: what helped an agent a year ago says little of what it is now; a receipt,
# without which no outcome comes any more, is kept for a month.
KEPT_FOR_US = 365 * 24 * 3600 * 1_000_000


class Trial(msgspec.Struct, frozen=True):
    """One lesson and one receipt. `version`: the memory's, as it was shown or would have been. `fraction`: of the tasks
    that it was to be held back from; 0 when it was shown without a draw."""

    memory_id: str
    version: int
    arm: Arm = Arm.SHOWN
    fraction: float = 0.0


class Settled(msgspec.Struct, frozen=True):
    """What became of a trial. `returned`: whether the lesson's error came up again; None when that is not known."""

    trial: Trial
    succeeded: bool
    returned: bool | None = None


class Trials(Protocol):
    """Keeps trials. Each verb is one transaction, durable when it returns.

    LT1  `assign` keeps the trials of a receipt; of several of one lesson and one receipt the first stays.
    LT2  `of_receipt` returns the trials of a receipt, in the order of their ids; none for an unknown receipt.
    LT3  `settle` says what became of trials, in place of what was said before. One that was assigned stays as it was
         assigned; one that was not is from then on, at that time.
    LT4  `tallies` counts a lesson's trials, from a version on, by fraction and arm; nothing for an unknown lesson.
    LT5  `lessons` returns the ids of lessons that have trials, downwards, at most `limit`, below `before`.
    LT6  `forget` removes trials assigned before `before_us`, of the scopes served, the oldest first, at most `limit`,
         and returns how many.
    LT7  Scopes never meet.
    LT8  `forget` leaves trials of scopes that are not served; they do not count towards `limit`.
    Raises StoreUnavailable, StoreFull.
    """

    async def assign(self, scope: Scope, receipt_id: str, trials: Sequence[Trial], now_us: int) -> None: ...

    async def of_receipt(self, scope: Scope, receipt_id: str) -> tuple[Trial, ...]: ...

    async def settle(self, scope: Scope, receipt_id: str, settled: Sequence[Settled], now_us: int) -> None: ...

    async def tallies(self, scope: Scope, lessons: Collection[tuple[str, int]]) -> dict[str, tuple[ArmTally, ...]]: ...

    async def lessons(self, scope: Scope, before: str | None, limit: int) -> tuple[str, ...]: ...

    async def forget(self, serves: Serves, before_us: int, limit: int) -> int: ...
