"""Spends within the caps: reserves before a call, settles after it, and describes the cap that refuses a call.

The gateway calls this module, which calls the ledger. Failures are safe: without a reservation there is no call, and
without a settlement the whole reservation stays spent.
"""

import asyncio
import datetime
import logging
from collections.abc import Mapping

import msgspec

from sidemirror_server.models.language_model import Purpose
from sidemirror_server.models.ledger import Amount, Ledger, Level, Refusal, Reservation, Spend, day_of
from sidemirror_server.policy.record import Cap
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import ModelFailed, StoreFull, StoreUnavailable
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus
from sidemirror_server.vocabulary.telemetry import MODEL_CALLS, MODEL_COST, MODEL_TOKENS

_log = logging.getLogger(__name__)

# Chosen here: a call cannot return this long after its deadline.
_LEASE_SLACK_S = 60.0


class Caps(msgspec.Struct, frozen=True):
    """The caps of a day. Those in `purposes` apply to all scopes together."""

    total: Cap = Cap()
    tenant: Cap = Cap()
    project: Cap = Cap()
    purposes: Mapping[Purpose, Cap] = {}

    def of(self, purpose: Purpose) -> dict[Level, Cap]:
        """The caps that limit a call for this purpose."""
        return {
            Level.TOTAL: self.total,
            Level.PURPOSE: self.purposes.get(purpose, Cap()),
            Level.TENANT: self.tenant,
            Level.PROJECT: self.project,
        }


class CapState(msgspec.Struct, frozen=True):
    """A cap and the amount that counts against it today. `purpose` is empty unless the level is PURPOSE."""

    level: Level
    purpose: str
    cap: Cap
    used: Amount


class Spending:
    """Reserves and settles the cost of calls, and reports spending."""

    def __init__(self, ledger: Ledger, caps: Caps, clock: Clock) -> None:
        self._ledger = ledger
        self._caps = caps
        self._clock = clock
        self._settling: set[asyncio.Task[None]] = set()

    async def reserve(self, scope: Scope, purpose: Purpose, most: Amount, left_s: float) -> Reservation:
        """Durably reserves the most that the call may cost. `left_s`: the call's time limit.

        Raises `ModelFailed`: SKIPPED_SPEND if a cap refuses or the ledger does not answer, SKIPPED_DEADLINE.
        """
        caps, lease_s = self._caps.of(purpose), left_s + _LEASE_SLACK_S
        asked = asyncio.ensure_future(
            self._ledger.reserve(scope, purpose.value, most, caps, lease_s, self._clock.now_us())
        )
        try:
            async with asyncio.timeout(left_s):
                given = await asyncio.shield(asked)
        except (StoreUnavailable, StoreFull) as error:
            why = f"nothing is spent that cannot be recorded: {error}"
            raise ModelFailed(ResultStatus.SKIPPED_SPEND, why) from error
        except (TimeoutError, asyncio.CancelledError) as error:
            # The reservation may still succeed, and must then be released.
            asked.add_done_callback(self._give_back)
            if isinstance(error, TimeoutError):
                why = "the ledger did not answer before the deadline"
                raise ModelFailed(ResultStatus.SKIPPED_DEADLINE, why) from error
            raise
        if isinstance(given, Refusal):
            raise ModelFailed(ResultStatus.SKIPPED_SPEND, in_words(given, scope, purpose))
        return given

    def settle(self, reservation: Reservation, actual: Amount) -> None:
        """Records the call's cost in the background. Until then its reservation counts."""
        purpose = {"purpose": reservation.purpose}
        MODEL_CALLS.add(1, purpose)
        MODEL_TOKENS.add(actual.tokens, purpose)
        MODEL_COST.add(actual.usd, purpose)
        task = asyncio.get_running_loop().create_task(self._settle(reservation, actual))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def settled(self) -> None:
        """Returns when the ledger has recorded every ended call."""
        while self._settling:
            await asyncio.wait(tuple(self._settling))

    async def spent(self, scope: Scope, days: int) -> tuple[Spend, ...]:
        """This scope's spending in the last `days` days, including today: newest day first, then by purpose."""
        now_us = self._clock.now_us()
        return await self._ledger.spent(scope, day_of(now_us) - days + 1, now_us)

    async def caps(self, scope: Scope) -> tuple[CapState, ...]:
        """The caps that are set, each with the amount that counts against it today for this scope."""
        day = day_of(self._clock.now_us())
        found: dict[tuple[Level, str], CapState] = {}
        for purpose in Purpose:
            used = await self._ledger.used(scope, purpose.value, day)
            for level, cap in self._caps.of(purpose).items():
                name = purpose.value if level is Level.PURPOSE else ""
                if cap != Cap():
                    found[level, name] = CapState(level, name, cap, used[level])
        return tuple(found.values())

    async def _settle(self, reservation: Reservation, actual: Amount) -> None:
        try:
            await self._ledger.settle(reservation, actual)
        except (StoreUnavailable, StoreFull) as error:
            _log.warning("not_settled", extra={"purpose": reservation.purpose, "reason": str(error)})

    def _give_back(self, asked: "asyncio.Future[Reservation | Refusal]") -> None:
        if asked.cancelled() or asked.exception() is not None:
            return
        given = asked.result()
        if isinstance(given, Reservation):
            self.settle(given, Amount())


def in_words(refusal: Refusal, scope: Scope, purpose: Purpose) -> str:
    """Describes the cap that refuses: how much of it is used, and when it is reset."""
    whose = {
        Level.TOTAL: "of this sidecar",
        Level.PURPOSE: f"for {purpose.value}",
        Level.TENANT: f"of tenant {scope.tenant_id}",
        Level.PROJECT: f"of project {scope.project_id}",
    }[refusal.level]
    until = datetime.datetime.fromtimestamp(refusal.until_us / 1e6, datetime.UTC)
    numbers = (refusal.limit, refusal.used, refusal.wanted)
    limit, used, wanted = (
        f"{Amount(0, n).usd:.4f} USD" if refusal.unit == "nano_usd" else f"{n} tokens" for n in numbers
    )
    return (
        f"the cap {whose} is {limit} a day, {used} are spent or reserved, and this call may take up to {wanted}; "
        f"until {until:%Y-%m-%dT%H:%M:%SZ}"
    )
