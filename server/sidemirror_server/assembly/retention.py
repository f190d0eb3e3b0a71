"""Removes old records in batches, and logs how many. Called by `assembly/sidecar.py`."""

import logging

from sidemirror_server.assembly.stores import Stores
from sidemirror_server.goals.report import KIND as GOAL_REPORT
from sidemirror_server.memory.dreams.schedule import KIND as DREAM
from sidemirror_server.memory.trials.trials import KEPT_FOR_US as TRIALS_KEPT_FOR_US
from sidemirror_server.models.ledger import US_PER_DAY, day_of
from sidemirror_server.settings import Retention
from sidemirror_server.trace.receipts import KEPT_FOR_US as RECEIPTS_KEPT_FOR_US
from sidemirror_server.vocabulary.scope import Serves

_log = logging.getLogger(__name__)

_AT_ONCE = 1_000
# How long the reports of finished goals are kept (decision 026): they are shown for 7 days, and the other 9 days allow
# for a clock that runs ahead for a while.
_REPORTS_KEPT_US = 16 * US_PER_DAY
# How long failed jobs of reports and dreams are kept. Chosen here: nobody retries a job after so long.
_DEAD_KEPT_US = 90 * US_PER_DAY
# How long the finished jobs of dreams are kept; the log of dreams is permanent. Chosen here: a client that follows a
# job has seen its end by then.
_DREAMS_KEPT_US = US_PER_DAY
# How often to look for old memories and turns. Chosen here: a record kept for weeks may stay some minutes longer, and a
# project with many unimportant memories is not scanned all the time.
_PRUNE_EVERY_S = 600.0
# The most turns of a batch. Chosen here: one turn may have 10,000 events.
_TURNS_AT_ONCE = 50


class KeptFor:
    """Removes the records of the served scopes that are no longer needed or that exceed the limits in the settings.

    The settings apply to an embedded store. They apply to a shared store only when `serves` or `pin_scope` is set:
    otherwise this sidecar would remove records that other sidecars keep for longer. Nothing is removed while the
    clock is in doubt.
    """

    def __init__(self, kept: Retention, serves: Serves, stores: Stores) -> None:
        self._kept = kept
        self._serves = serves
        self._is_policy = serves.said or not stores.is_shared
        self._stores = stores
        self._clock = stores.clock
        self._prune_at_s = stores.clock.monotonic_s()
        self._told = ""

    async def forget(self) -> None:
        """Removes one batch of each kind of old record. Raises the stores' errors."""
        if self._is_in_doubt():
            return
        stores, serves, now_us = self._stores, self._serves, self._clock.now_us()
        counts = {
            "requests": await stores.requests.forget(serves, now_us, _AT_ONCE),
            "reports": await stores.work.purge(serves, (GOAL_REPORT,), now_us - _REPORTS_KEPT_US, _AT_ONCE),
            "dead": await stores.work.purge_dead(serves, (GOAL_REPORT, DREAM), now_us - _DEAD_KEPT_US, _AT_ONCE),
            "dreams": await stores.work.purge(serves, (DREAM,), now_us - _DREAMS_KEPT_US, _AT_ONCE),
            "receipts": await stores.receipts.forget(serves, now_us - RECEIPTS_KEPT_FOR_US, _AT_ONCE),
            "trials": await stores.trials.forget(serves, now_us - TRIALS_KEPT_FOR_US, _AT_ONCE),
        }
        if self._is_policy:
            counts |= await self._as_chosen(now_us)
        if any(counts.values()):
            _log.info("forgotten", extra=counts)

    def _is_in_doubt(self) -> bool:
        """Whether the store's clock is in doubt; logs each change."""
        doubt = self._clock.doubt
        if bool(doubt) != bool(self._told):
            _log.log(
                logging.ERROR if doubt else logging.INFO,
                "retention_stopped" if doubt else "retention_goes_on",
                extra={"reason": doubt},
            )
        self._told = doubt
        return bool(doubt)

    async def _as_chosen(self, now_us: int) -> dict[str, int]:
        """Removes the records that exceed the limits in the settings; returns the numbers by kind."""
        stores, kept, serves, counts = self._stores, self._kept, self._serves, dict[str, int]()
        if kept.spend_days is not None:
            first_day = day_of(now_us) - kept.spend_days
            counts["spend"] = await stores.ledger.forget(serves, first_day, _AT_ONCE, now_us)
        if kept.critique_days is not None:
            before_us = now_us - kept.critique_days * US_PER_DAY
            counts["critiques"] = await stores.critiques.forget(serves, before_us, _AT_ONCE)
        if self._clock.monotonic_s() >= self._prune_at_s:
            counts |= await self._prune(now_us)
        return counts

    async def _prune(self, now_us: int) -> dict[str, int]:
        """Removes memories and turns. After a full batch, the next call continues at once."""
        pruning, kept, serves = self._stores.pruning, self._kept, self._serves
        memories = surplus = turns = 0
        if kept.memory_days is not None:
            before_us = now_us - kept.memory_days * US_PER_DAY
            memories = await pruning.prune_memories(serves, kept.memory_importance, before_us, _AT_ONCE, now_us)
        if kept.memory_count is not None:
            surplus = await pruning.prune_surplus(serves, kept.memory_count, _AT_ONCE, now_us)
        if kept.trace_days is not None:
            turns = await pruning.prune_turns(serves, now_us - kept.trace_days * US_PER_DAY, _TURNS_AT_ONCE, now_us)
        if max(memories, surplus) < _AT_ONCE and turns < _TURNS_AT_ONCE:
            self._prune_at_s = self._clock.monotonic_s() + _PRUNE_EVERY_S
        return {"memories": memories, "surplus": surplus, "turns": turns}
