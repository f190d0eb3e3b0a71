"""Spends within the caps: reserves before a call, settles after it, and logs the cap that refuses a call.

The gateway calls this module, which calls the ledger. Failures are safe: without a reservation there is no call, and
without a settlement the whole reservation stays spent. What a call without an answer may have cost is settled as an
estimate, which people are told apart.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from sidemirror_server.models.caps import (
    NO_CAP,
    OF_ONE_PURPOSE,
    CapOwner,
    Caps,
    OwnedCap,
    figures,
    in_words,
    owner_of,
    tighter,
    tightest,
    whose_spending,
)
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.models.ledger import Amount, Ledger, Level, Refusal, Reservation, ScopeCost, Spend, day_of
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.record import Cap, ScopePolicies
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import ModelFailed, StoreFull, StoreUnavailable
from sidemirror_server.vocabulary.outage import Outage
from sidemirror_server.vocabulary.scope import Scope, Serves, whose
from sidemirror_server.vocabulary.status import ResultStatus
from sidemirror_server.vocabulary.telemetry import MODEL_CALLS, MODEL_COST, MODEL_TOKENS

_log = logging.getLogger(__name__)

# Chosen here: a call cannot return this long after its deadline.
_LEASE_SLACK_S = 60.0
# The fields of an amount.
_UNITS = ("tokens", "nano_usd")


# Whose cap it is, whose spending it counts, and the question's purpose.
_Refusing = tuple[CapOwner, Level, tuple[str, ...], Purpose]


class PreventedBy(NamedTuple):
    """How many questions in a row a cap prevents, why the last of them, and whose it was."""

    questions: int
    last: Refusal
    scope: Scope


class CapState(msgspec.Struct, frozen=True):
    """A cap and the amount that counts against it today. `purpose` is empty unless the cap counts one purpose.
    `refused`: how many questions in a row it prevented at this process; `wanted`: what the last of them might have
    cost, in the units in which it was too much."""

    owner: CapOwner
    level: Level
    purpose: str
    cap: Cap
    used: Amount
    refused: int = 0
    wanted: Amount = Amount()


class Spending:
    """Reserves and settles the cost of calls, and reports spending."""

    def __init__(
        self,
        ledger: Ledger,
        caps: Caps,
        clock: Clock,
        policies: PoliciesInForce | None = None,
        counts_apart: Callable[[], bool] = lambda: False,
    ) -> None:
        """`policies` None: only `caps` hold. `counts_apart`: whether the ledger's sum over everything is that of the
        call's tenant alone."""
        self._ledger = ledger
        self._caps = caps
        self._counts_apart = counts_apart
        self._clock = clock
        self._policies = policies
        self._settling: set[asyncio.Task[None]] = set()
        self._adding_up = asyncio.Lock()
        self._outage = Outage(_log, "not_settled", "settled_again", clock)
        # The caps of the day whose reaching was logged.
        self._told: set[tuple[int, CapOwner, tuple[str, ...], Purpose]] = set()
        # The caps that prevent questions now. As many as were told today.
        self._refusing: dict[_Refusing, PreventedBy] = {}

    async def reserve(self, scope: Scope, purpose: Purpose, most: Amount, left_s: float) -> Reservation:
        """Durably reserves the most that the call may cost. `left_s`: the call's time limit.

        Raises `ModelFailed`: SKIPPED_SPEND if a cap refuses or the store does not answer, SKIPPED_DEADLINE.
        """
        asked = asyncio.ensure_future(self._ask(scope, purpose, most, left_s + _LEASE_SLACK_S))
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
        if isinstance(given, str):
            raise ModelFailed(ResultStatus.SKIPPED_SPEND, given)
        return given

    def settle(self, reservation: Reservation, actual: Amount, *, is_estimate: bool = False) -> None:
        """Records the call's cost, or an estimate of it, in the background. Until then its reservation counts."""
        purpose = {"purpose": reservation.purpose}
        MODEL_CALLS.add(1, purpose)
        MODEL_TOKENS.add(actual.tokens, purpose)
        MODEL_COST.add(actual.usd, purpose)
        task = asyncio.get_running_loop().create_task(self._settle(reservation, actual, is_estimate=is_estimate))
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

    async def costs(
        self, serves: Serves, first_day: int, last_day: int, limit: int
    ) -> list[tuple[ScopeCost, dict[Level, Cap]]]:
        """What each of these scopes spent in a span of days and today, in the order of the scopes: at most `limit`.
        Each with the tightest caps that hold for it and count every purpose, by their level.

        Raises StoreUnavailable."""
        # Of callers that ask for many projects one at a time: on a shared store each takes thousands of round trips.
        many = any(entry.project_id is None for entry in serves.entries)
        async with self._adding_up if many else contextlib.nullcontext():
            today = day_of(self._clock.now_us())
            costs = await self._ledger.costs(serves, first_day, last_day, today, limit)
            scopes = [one.scope for one in costs]
            policies = {} if self._policies is None else await self._policies.of_each(scopes, serves)
        return [(one, self._on_all(policies.get(one.scope, ScopePolicies()))) for one in costs]

    def _on_all(self, policies: ScopePolicies) -> dict[Level, Cap]:
        owned = self._own_caps().of(Purpose.MID_TURN_REFLECTION, policies)
        return {level: cap for level, cap in tightest(owned).items() if level not in OF_ONE_PURPOSE}

    async def caps(self, scope: Scope) -> tuple[CapState, ...]:
        """The caps that hold for this scope, each with the amount that counts against it today: those on all purposes
        first, then in the order of `Level`."""
        day = day_of(self._clock.now_us())
        found: dict[tuple[CapOwner, Level, str], CapState] = {}
        for purpose in Purpose:
            of: dict[tuple[CapOwner, Level, str], Cap] = {}
            for one in await self._of(scope, purpose):
                key = (one.owner, one.level, purpose.value if one.level in OF_ONE_PURPOSE else "")
                of[key] = tighter(one.cap, of.get(key, NO_CAP))
            # A cap on all purposes holds for each of them, and the ledger is asked about it once.
            if of.keys() <= found.keys():
                continue
            used = await self._ledger.used(scope, purpose.value, day, self._caps.serves)
            for (owner, level, name), cap in of.items():
                state = CapState(owner, level, name, cap, used[level])
                found[owner, level, name] = self._with_refused(state, scope)
        levels = tuple(Level)
        return tuple(sorted(found.values(), key=lambda one: (bool(one.purpose), levels.index(one.level))))

    def _with_refused(self, state: CapState, scope: Scope) -> CapState:
        """The state with the questions that the cap prevents now, of all the purposes that it counts."""
        now_us, of = self._clock.now_us(), (state.owner, state.level, whose_spending(state.level, scope))
        found = [
            one
            for (owner, level, whose_it_is, purpose), one in self._refusing.items()
            if (owner, level, whose_it_is) == of and state.purpose in ("", purpose.value) and one.last.until_us > now_us
        ]
        lasts = [one.last for one in found]
        wanted = {unit: max((one.wanted for one in lasts if one.unit == unit), default=0) for unit in _UNITS}
        return msgspec.structs.replace(state, refused=sum(one.questions for one in found), wanted=Amount(**wanted))

    async def refusing(self, is_told: Callable[[Level, Scope], bool], most: int) -> tuple[tuple[Scope, CapState], ...]:
        """The caps that prevent questions now, each with a scope whose spending it counts, the one that prevented most
        of them first. `is_told`: which of them are wanted. A cap that was raised or removed since is left out.

        Raises StoreUnavailable."""
        now_us = self._clock.now_us()
        of: dict[tuple[CapOwner, Level, tuple[str, ...], str], list[tuple[Purpose, PreventedBy]]] = {}
        for (owner, level, whose_it_is, purpose), one in self._refusing.items():
            if one.last.until_us > now_us and is_told(level, one.scope):
                name = purpose.value if level in OF_ONE_PURPOSE else ""
                of.setdefault((owner, level, whose_it_is, name), []).append((purpose, one))
        found: list[tuple[Scope, CapState]] = []
        for (owner, level, _, name), refused in sorted(of.items(), key=_prevented, reverse=True):
            if len(found) == most:
                break
            purpose, one = refused[-1]
            if (cap := await self._as_refused(owner, purpose, one)) is not None:
                state = CapState(owner, level, name, cap, Amount(**{one.last.unit: one.last.used}))
                found.append((one.scope, self._with_refused(state, one.scope)))
        return tuple(found)

    async def _as_refused(self, owner: CapOwner, purpose: Purpose, refused: PreventedBy) -> Cap | None:
        """The cap that refused; None if it is not in force any more."""
        last = refused.last
        for one in await self._of(refused.scope, purpose):
            if (one.owner, one.level) == (owner, last.level) and getattr(one.cap, last.unit) == last.limit:
                return one.cap
        return None

    async def _of(self, scope: Scope, purpose: Purpose) -> tuple[OwnedCap, ...]:
        policies = ScopePolicies() if self._policies is None else await self._policies.of(scope)
        return self._own_caps().of(purpose, policies)

    def _own_caps(self) -> Caps:
        """Those of the settings, as the store counts now."""
        return self._caps.apart() if self._counts_apart() else self._caps

    async def _ask(self, scope: Scope, purpose: Purpose, most: Amount, lease_s: float) -> Reservation | str:
        """A reservation, or why there is none. Raises StoreUnavailable, StoreFull."""
        caps = await self._of(scope, purpose)
        given = await self._ledger.reserve(
            scope, purpose.value, most, tightest(caps), lease_s, self._clock.now_us(), self._caps.serves
        )
        if isinstance(given, Reservation):
            if self._refusing:
                for one in caps:
                    self._refusing.pop((one.owner, one.level, whose_spending(one.level, scope), purpose), None)
            return given
        owner = owner_of(given, caps)
        key = (owner, given.level, whose_spending(given.level, scope), purpose)
        before = self._refusing.get(key)
        count = before.questions if before is not None and before.last.until_us == given.until_us else 0
        self._refusing[key] = PreventedBy(count + 1, given, scope)
        self._tell(given, owner, scope, purpose)
        return in_words(given, owner, scope, purpose)

    def _tell(self, refusal: Refusal, owner: CapOwner, scope: Scope, purpose: Purpose) -> None:
        """Logs that a cap is reached: once a day for each cap and purpose."""
        counted = (refusal.level, *whose_spending(refusal.level, scope))
        told = (refusal.until_us, owner, counted, purpose)
        if told in self._told:
            return
        self._told = {one for one in self._told if one[0] == refusal.until_us} | {told}
        # Those of another day have ended.
        self._refusing = {key: one for key, one in self._refusing.items() if one.last.until_us == refusal.until_us}
        _log.warning(
            "spend_cap_reached",
            extra={
                **whose(scope),
                "purpose": purpose.value,
                "owner": owner.value,
                "counts": refusal.level.value,
                **figures(refusal),
            },
        )

    async def _settle(self, reservation: Reservation, actual: Amount, *, is_estimate: bool) -> None:
        told = {**whose(reservation.scope), "purpose": reservation.purpose}
        try:
            await self._ledger.settle(reservation, actual, is_estimate=is_estimate)
        except (StoreUnavailable, StoreFull) as error:
            self._outage.failed({**told, "reason": str(error)})
        else:
            self._outage.worked(told)

    def _give_back(self, asked: "asyncio.Future[Reservation | str]") -> None:
        if asked.cancelled() or asked.exception() is not None:
            return
        given = asked.result()
        if isinstance(given, Reservation):
            self.settle(given, Amount())


def _prevented(of_a_cap: tuple[object, list[tuple[Purpose, PreventedBy]]]) -> int:
    """How many questions the cap prevents, of all the purposes that it counts."""
    return sum(one.questions for _, one in of_a_cap[1])
