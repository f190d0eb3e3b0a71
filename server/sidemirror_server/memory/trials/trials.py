"""The port of trials: the tasks for which each lesson was shown or held back, and the outcomes of these tasks.

Adapters: `storage/sqlite/trials.py`, `storage/postgres/trials.py`.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from sidemirror_server.memory.trials.evidence import Arm, ArmTally
from sidemirror_server.trace.receipts import Receipt
from sidemirror_server.vocabulary.scope import Scope, Serves

# How long a trial counts. Chosen here: older evidence says little about the present agent. An outcome needs its
# receipt, which is kept for a month.
KEPT_FOR_US = 365 * 24 * 3600 * 1_000_000


class Trial(msgspec.Struct, frozen=True):
    """One lesson and one receipt. `version`: the version of the memory that was shown or held back. `fraction`: the
    share of tasks from which it was to be held back; 0 if it was shown without a draw."""

    memory_id: str
    version: int
    arm: Arm = Arm.SHOWN
    fraction: float = 0.0


class Settled(msgspec.Struct, frozen=True):
    """The outcome of a trial. `returned`: whether the lesson's error came up again; None if unknown."""

    trial: Trial
    succeeded: bool
    returned: bool | None = None


class TrialResult(msgspec.Struct, frozen=True):
    """A trial and what came of it so far. `succeeded`, `returned`: as in `Settled`; None while unknown."""

    trial: Trial
    succeeded: bool | None = None
    returned: bool | None = None


class Trials(Protocol):
    """Stores trials. Each verb is one transaction, durable when it returns.

    LT1  `issue` stores a receipt as `Receipts.issue` does, and its trials, assigned at its time: all of it or nothing.
         Where the id has a receipt, it stores nothing and returns that one. A trial that is there is kept.
    LT2  `of_receipt` returns the trials of a receipt, in the order of their ids; none for an unknown receipt.
    LT3  `settle` stores the outcomes of trials and replaces earlier ones. It keeps an existing assignment; a trial
         without one is assigned at `now_us`.
    LT4  `tallies` counts each lesson's trials from a version on, by fraction and arm; nothing for an unknown lesson.
    LT5  `lessons` returns at most `limit` ids of lessons with trials, descending, below `before`.
    LT6  `forget` removes at most `limit` trials of the scopes served that were assigned before `before_us`, the oldest
         first, and returns how many.
    LT7  Scopes are isolated.
    LT8  `forget` keeps trials of scopes that are not served; they do not count towards `limit`.
    LT9  `results` returns the trials of receipts with what came of them, by receipt and in the order of their ids; a
         receipt without trials is left out.
    Raises StoreUnavailable, StoreFull; `issue` also what `Receipts.issue` raises.
    """

    async def issue(self, scope: Scope, receipt: Receipt, trials: Sequence[Trial]) -> Receipt: ...

    async def of_receipt(self, scope: Scope, receipt_id: str) -> tuple[Trial, ...]: ...

    async def settle(self, scope: Scope, receipt_id: str, settled: Sequence[Settled], now_us: int) -> None: ...

    async def tallies(self, scope: Scope, lessons: Collection[tuple[str, int]]) -> dict[str, tuple[ArmTally, ...]]: ...

    async def results(self, scope: Scope, receipt_ids: Collection[str]) -> dict[str, tuple[TrialResult, ...]]: ...

    async def lessons(self, scope: Scope, before: str | None, limit: int) -> tuple[str, ...]: ...

    async def forget(self, serves: Serves, before_us: int, limit: int) -> int: ...
