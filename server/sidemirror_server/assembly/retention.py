"""Removes old records in batches, and logs how many. Called by `assembly/sidecar.py`."""

import logging
from collections import Counter

from sidemirror_server.assembly.stores import Stores
from sidemirror_server.goals.report import KIND as GOAL_REPORT
from sidemirror_server.memory.dreams.schedule import KIND as DREAM
from sidemirror_server.memory.trials.trials import KEPT_FOR_US as TRIALS_KEPT_FOR_US
from sidemirror_server.models.ledger import US_PER_DAY, day_of
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.retention import KeptAlike
from sidemirror_server.telemetry_in.inbox import KIND as ASSEMBLE_TRACE
from sidemirror_server.trace.erasure import JOB_KIND as ERASURE
from sidemirror_server.trace.receipts import KEPT_FOR_US as RECEIPTS_KEPT_FOR_US
from sidemirror_server.turns.teaching import KIND as LEARN_TURN
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
# How long the finished jobs of erasures are kept; what they came to is permanent. Chosen here: as above.
_ERASURES_KEPT_US = US_PER_DAY
# How long the finished jobs of learning are kept. Chosen here: nobody asks for them, and a failure that comes back is
# found by its lesson.
_LEARNED_KEPT_US = US_PER_DAY
# How long the finished jobs of traces are kept. Chosen here: nobody asks for them, and there are many.
_TRACES_KEPT_US = US_PER_DAY // 24
# How often to look for old memories and turns. Chosen here: a record kept for weeks may stay some minutes longer, and a
# project with many unimportant memories is not scanned all the time.
_PRUNE_EVERY_S = 600.0
# The most turns of a batch. Chosen here: one turn may have 10,000 events.
TURNS_AT_ONCE = 50


class KeptFor:
    """Removes the records of the served scopes that are no longer needed, or that exceed the limits of policies and
    settings (`policy/retention.py`). Nothing is removed while the clock is in doubt."""

    def __init__(self, policies: PoliciesInForce, serves: Serves, stores: Stores) -> None:
        self._policies = policies
        self._serves = serves
        self._stores = stores
        self._clock = stores.clock
        self._prune_at_s = stores.clock.monotonic_s()
        self._told = ""
        self._stopped_s = 0.0

    async def forget(self) -> bool:
        """Removes one batch of each kind of old record; whether there were any. Raises the stores' errors."""
        if self._is_in_doubt():
            return False
        stores, serves, now_us = self._stores, self._serves, self._clock.now_us()
        counts = {
            "requests": await stores.requests.forget(serves, now_us, _AT_ONCE),
            "reports": await stores.work.purge(serves, (GOAL_REPORT,), now_us - _REPORTS_KEPT_US, _AT_ONCE),
            "dead": await stores.work.purge_dead(
                serves, (GOAL_REPORT, DREAM, ERASURE, LEARN_TURN, ASSEMBLE_TRACE), now_us - _DEAD_KEPT_US, _AT_ONCE
            ),
            "dreams": await stores.work.purge(serves, (DREAM,), now_us - _DREAMS_KEPT_US, _AT_ONCE),
            "learned": await stores.work.purge(serves, (LEARN_TURN,), now_us - _LEARNED_KEPT_US, _AT_ONCE),
            "traces": await stores.work.purge(serves, (ASSEMBLE_TRACE,), now_us - _TRACES_KEPT_US, _AT_ONCE),
            "erasures": await stores.work.purge(serves, (ERASURE,), now_us - _ERASURES_KEPT_US, _AT_ONCE),
            "receipts": await stores.receipts.forget(serves, now_us - RECEIPTS_KEPT_FOR_US, _AT_ONCE),
            "trials": await stores.trials.forget(serves, now_us - TRIALS_KEPT_FOR_US, _AT_ONCE),
        }
        counts |= await self._as_decided(now_us)
        is_any = any(counts.values())
        if is_any:
            _log.info("forgotten", extra=counts)
        return is_any

    def _is_in_doubt(self) -> bool:
        """Whether the store's clock is in doubt; logs each change."""
        doubt = self._clock.doubt
        if bool(doubt) != bool(self._told):
            now_s = self._clock.monotonic_s()
            if doubt:
                self._stopped_s = now_s
                _log.error("retention_stopped", extra={"reason": doubt})
            else:
                _log.info("retention_goes_on", extra={"lasted_s": round(now_s - self._stopped_s, 1)})
        self._told = doubt
        return bool(doubt)

    async def _as_decided(self, now_us: int) -> dict[str, int]:
        """Removes the records that policies and settings limit; returns the numbers by kind."""
        counts, prunes = Counter[str](), self._clock.monotonic_s() >= self._prune_at_s
        is_full = False
        for kept in await self._policies.kept_alike():
            counts.update(await self._forget(kept, now_us))
            if prunes:
                pruned = await self._prune(kept, now_us)
                is_full |= pruned["turns"] >= TURNS_AT_ONCE
                is_full |= max(pruned[name] for name in ("memories", "surplus", "observations")) >= _AT_ONCE
                counts.update(pruned)
        # After a full batch, the next call continues at once.
        if prunes and not is_full:
            self._prune_at_s = self._clock.monotonic_s() + _PRUNE_EVERY_S
        return dict(counts)

    async def _forget(self, kept: KeptAlike, now_us: int) -> dict[str, int]:
        """Removes spending and critiques."""
        stores, periods, counts = self._stores, kept.periods, dict[str, int]()
        if periods.spend_days:
            first_day = day_of(now_us) - periods.spend_days
            counts["spend"] = await stores.ledger.forget(kept.serves, first_day, _AT_ONCE, now_us, kept.but)
        if periods.critique_days:
            before_us = now_us - periods.critique_days * US_PER_DAY
            counts["critiques"] = await stores.critiques.forget(kept.serves, before_us, _AT_ONCE, kept.but)
        return counts

    async def _prune(self, kept: KeptAlike, now_us: int) -> dict[str, int]:
        """Removes memories, turns, and observations of turns that are not here."""
        pruning, periods, serves = self._stores.pruning, kept.periods, kept.serves
        memories = surplus = turns = observations = 0
        if periods.memory_days:
            before_us = now_us - periods.memory_days * US_PER_DAY
            below = periods.memory_importance or 0.0
            memories = await pruning.prune_memories(serves, below, before_us, _AT_ONCE, now_us, kept.but)
        if periods.memory_count:
            surplus = await pruning.prune_surplus(serves, periods.memory_count, _AT_ONCE, now_us, kept.but)
        if periods.trace_days:
            before_us = now_us - periods.trace_days * US_PER_DAY
            turns = await pruning.prune_turns(serves, before_us, TURNS_AT_ONCE, now_us, kept.but)
            observations = await self._stores.observations.forget(serves, before_us, _AT_ONCE, kept.but)
        return {"memories": memories, "surplus": surplus, "turns": turns, "observations": observations}
