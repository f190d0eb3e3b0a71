"""The port to the ledger, which records what was spent on models and limits what may be spent today.

`spending.py` reserves an amount before a call and settles it after the call. A reservation counts as spent at once, so
a crash in between needs no repair: the orphaned amount stays spent (decision 024).
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from sidemirror_server.policy.record import Cap
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Served, Serves

US_PER_DAY = 86_400_000_000
NANO = 1_000_000_000


def day_of(now_us: int) -> int:
    """The number of the UTC day since 1970-01-01."""
    return now_us // US_PER_DAY


class Amount(msgspec.Struct, frozen=True):
    """Tokens in and out, and their price in billionths of a USD: whole numbers, so that sums are exact."""

    tokens: int = 0
    nano_usd: int = 0

    def at_most(self, most: "Amount") -> "Amount":
        """This amount, with its tokens and its price each limited to those of `most`."""
        return Amount(min(self.tokens, most.tokens), min(self.nano_usd, most.nano_usd))

    def plus(self, other: "Amount") -> "Amount":
        """The sum of both."""
        return Amount(self.tokens + other.tokens, self.nano_usd + other.nano_usd)

    @property
    def usd(self) -> float:
        """The price in USD, for people."""
        return self.nano_usd / NANO


class Level(StrEnum):
    """The level at which a cap counts a day's spending. Caps are checked in this order."""

    # Everything in this ledger, or what a sidecar serves of it.
    TOTAL = "total"
    # The same for one purpose.
    PURPOSE = "purpose"
    # All projects of a tenant, and that for one purpose.
    TENANT = "tenant"
    TENANT_PURPOSE = "tenant_purpose"
    # One project, and its spending for one purpose.
    PROJECT = "project"
    PROJECT_PURPOSE = "project_purpose"


class Reservation(msgspec.Struct, frozen=True):
    """The most that one call may cost, deducted from the day's caps."""

    reservation_id: str
    scope: Scope
    purpose: str
    day: int
    most: Amount


class Refusal(msgspec.Struct, frozen=True):
    """Why a reservation was refused: `used` plus `wanted` exceeds `limit`, in tokens or in nano_usd."""

    level: Level
    unit: str
    limit: int
    used: int
    wanted: int
    until_us: int


class Spend(msgspec.Struct, frozen=True):
    """A scope's spending for a purpose in a day.

    `calls`: reservations made. `settled`: the cost of ended calls. `in_flight`: reserved by open calls. `orphaned`:
    reserved by calls whose lease has expired. `settled`, `in_flight` and `orphaned` count against the caps.
    `unanswered`: how many calls nobody knows the cost of. `estimated`: the part of `settled` that is an estimate of it.
    """

    day: int
    purpose: str
    calls: int
    settled: Amount
    in_flight: Amount
    orphaned: Amount
    unanswered: int = 0
    estimated: Amount = Amount()


class ScopeCost(msgspec.Struct, frozen=True):
    """What one scope spent in a span of days, for all purposes.

    `reserved`: by calls in progress, and by those whose end was never recorded. `today`: what counts against
    today's caps. The rest is as in `Spend`.
    """

    scope: Scope
    calls: int
    settled: Amount
    reserved: Amount
    unanswered: int
    estimated: Amount
    today: Amount = Amount()


def refusal(used: Mapping[Level, Amount], reservation: Reservation, caps: Mapping[Level, Cap]) -> Refusal | None:
    """The first cap that the reservation would exceed, in the order of `Level`; None if it fits. `used`: spent and
    reserved so far, for every level."""
    most, until_us = reservation.most, (reservation.day + 1) * US_PER_DAY
    for level in Level:
        cap = caps.get(level, Cap())
        for unit, limit, taken, wanted in (
            ("tokens", cap.tokens, used[level].tokens, most.tokens),
            ("nano_usd", cap.nano_usd, used[level].nano_usd, most.nano_usd),
        ):
            if limit is not None and taken + wanted > limit:
                return Refusal(level, unit, limit, taken, wanted, until_us)
    return None


def spend_of(
    day: int, purpose: str, calls: int, tokens: int, nano_usd: int, reserved_tokens: int, reserved_nano_usd: int,
    orphaned_tokens: int, orphaned_nano_usd: int, unanswered: int, estimated_tokens: int, estimated_nano_usd: int,
) -> Spend:  # fmt: skip
    """A day's spending from a row. The row's reserved amount includes the orphaned amount."""
    in_flight = Amount(reserved_tokens - orphaned_tokens, reserved_nano_usd - orphaned_nano_usd)
    orphaned = Amount(orphaned_tokens, orphaned_nano_usd)
    estimated = Amount(estimated_tokens, estimated_nano_usd)
    return Spend(day, purpose, calls, Amount(tokens, nano_usd), in_flight, orphaned, unanswered, estimated)


def cost_of(
    scope: Scope, calls: int, tokens: int, nano_usd: int, reserved_tokens: int, reserved_nano_usd: int,
    unanswered: int, estimated_tokens: int, estimated_nano_usd: int,
    today_tokens: int | None, today_nano_usd: int | None,
) -> ScopeCost:  # fmt: skip
    """What a scope spent, from a row of sums. None of today: nothing was spent."""
    settled, reserved = Amount(tokens, nano_usd), Amount(reserved_tokens, reserved_nano_usd)
    estimated, today = Amount(estimated_tokens, estimated_nano_usd), Amount(today_tokens or 0, today_nano_usd or 0)
    return ScopeCost(scope, calls, settled, reserved, unanswered, estimated, today)


class Ledger(Protocol):
    """Reservations and spending, by scope, purpose and UTC day.

    LE1  A reservation counts as spent, durably, from the moment `reserve` returns.
    LE2  Check and reservation are one atomic step: concurrent callers never exceed a cap together.
    LE3  A refusal takes nothing. It names the first cap in the order of `Level`, tokens before USD, and lasts until the
         day ends.
    LE4  TOTAL counts all scopes, TENANT all projects of a tenant, PROJECT one; PURPOSE, TENANT_PURPOSE and
         PROJECT_PURPOSE count the same for one purpose.
    LE5  Settling replaces the reserved amount by the actual amount, lower or higher, on the reservation's day.
    LE6  A reservation is settled once; settling it again, or an unknown one, changes nothing and returns False.
    LE7  An unsettled reservation stays spent. It is reported as orphaned once its lease has expired.
    LE8  A day ends at 00:00 UTC of `now_us`: earlier spending does not count against later caps.
    LE9  `spent` has one entry per day and purpose of this scope alone, newest day first, then by purpose.
    LE10 `forget` removes spending of days before `before_day`, the oldest first: at most `limit` entries as
         `spent` lists them, with the reservations and sums of those days. It returns their number. Today is never
         forgotten.
    LE11 `forget` keeps the spending of scopes that are not served, and the sums of their days. These entries
         do not count towards `limit`.
    LE12 It treats scopes of the entries `but` as if they were not served.
    LE13 With `serves`, TOTAL and PURPOSE count the spending of these scopes alone, in checks and in `used`.
    LE14 A call that is settled by an estimate counts like any other, and `spent` tells these calls and their estimates
         apart.
    LE15 `costs` has one entry for each of the scopes `serves` that has spending from `first_day` to `last_day`, both
         included, in the order of the scopes: at most `limit`, each once, also where entries of `serves` overlap. It
         has what counts on the day `today` too, also where that is none of these days.
    """

    async def reserve(
        self,
        scope: Scope,
        purpose: str,
        most: Amount,
        caps: Mapping[Level, Cap],
        lease_s: float,
        now_us: int,
        serves: Serves = SERVES_ALL,
    ) -> Reservation | Refusal:
        """Deducts `most` from today's caps. `lease_s`: how long the call can take. Raises StoreUnavailable,
        StoreFull."""
        ...

    async def settle(self, reservation: Reservation, actual: Amount, *, is_estimate: bool = False) -> bool:
        """Records the cost of an ended call, or an estimate of it. Raises StoreUnavailable, StoreFull: the amount then
        stays reserved."""
        ...

    async def spent(self, scope: Scope, first_day: int, now_us: int) -> tuple[Spend, ...]:
        """The entries from `first_day` until today. Raises StoreUnavailable."""
        ...

    async def costs(
        self, serves: Serves, first_day: int, last_day: int, today: int, limit: int
    ) -> tuple[ScopeCost, ...]:
        """What scopes spent in a span of days, across scopes. Raises StoreUnavailable."""
        ...

    async def used(self, scope: Scope, purpose: str, day: int, serves: Serves = SERVES_ALL) -> Mapping[Level, Amount]:
        """The amount that counts against each level's cap for this scope and purpose. Raises StoreUnavailable."""
        ...

    async def forget(self, serves: Serves, before_day: int, limit: int, now_us: int, but: Sequence[Served] = ()) -> int:
        """Removes old entries across scopes. Raises StoreUnavailable, StoreFull."""
        ...
