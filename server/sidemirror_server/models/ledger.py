"""The port to the ledger: what models were paid, and what they may still be paid today.

`spending.py` reserves before a call goes out and settles when it has come back. What is reserved counts as spent from
the start, so a crash in between needs no repair: an orphan simply stays spent (decision 024).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

import msgspec

from sidemirror_server.vocabulary.scope import Scope

US_PER_DAY = 86_400_000_000
NANO = 1_000_000_000


def day_of(now_us: int) -> int:
    """The number of the UTC day since 1970-01-01."""
    return now_us // US_PER_DAY


class Amount(msgspec.Struct, frozen=True):
    """Tokens in and out, and their price in billionths of a USD: whole numbers, so that sums are exact."""

    tokens: int = 0
    nano_usd: int = 0

    @property
    def usd(self) -> float:
        """The price in USD, for people."""
        return self.nano_usd / NANO


class Level(StrEnum):
    """Whose spending of a day a cap counts. The order is that in which caps are looked at."""

    # Everything in this ledger.
    TOTAL = "total"
    # Everything in this ledger for one purpose.
    PURPOSE = "purpose"
    TENANT = "tenant"
    PROJECT = "project"


class Cap(msgspec.Struct, frozen=True):
    """The most that may be spent in a day. None is no cap."""

    tokens: int | None = None
    nano_usd: int | None = None


class Reservation(msgspec.Struct, frozen=True):
    """What one call may cost at most, taken out of the day's caps."""

    reservation_id: str
    scope: Scope
    purpose: str
    day: int
    most: Amount


class Refusal(msgspec.Struct, frozen=True):
    """Why there is no reservation: `used` and `wanted` together are more than `limit`, in tokens or in nano_usd."""

    level: Level
    unit: str
    limit: int
    used: int
    wanted: int
    until_us: int


class Spend(msgspec.Struct, frozen=True):
    """What a scope has spent for a purpose in a day.

    `calls`: reservations made. `settled`: what ended calls took. `in_flight`: reserved by calls that have not come
    back. `orphaned`: reserved by calls that never will, their lease being over. All three count against the caps.
    """

    day: int
    purpose: str
    calls: int
    settled: Amount
    in_flight: Amount
    orphaned: Amount


def refusal(used: Mapping[Level, Amount], reservation: Reservation, caps: Mapping[Level, Cap]) -> Refusal | None:
    """The first cap that the reservation would exceed, in the order of `Level`; None when it fits. `used`: what is
    spent and reserved already, of every level."""
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
    orphaned_tokens: int, orphaned_nano_usd: int,
) -> Spend:  # fmt: skip
    """A day's spending out of a row. What is reserved includes what is orphaned."""
    in_flight = Amount(reserved_tokens - orphaned_tokens, reserved_nano_usd - orphaned_nano_usd)
    orphaned = Amount(orphaned_tokens, orphaned_nano_usd)
    return Spend(day, purpose, calls, Amount(tokens, nano_usd), in_flight, orphaned)


class Ledger(Protocol):
    """What was reserved and spent, by scope, purpose and UTC day.

    LE1  What is reserved is spent, durably, from the moment `reserve` returns.
    LE2  Of any number of callers at once, none is given what would exceed a cap: look and take are one step.
    LE3  A refusal takes nothing. It names the first cap in the order of `Level`, tokens before USD, and ends with the
         day.
    LE4  TOTAL counts all scopes, PURPOSE one purpose of all scopes, TENANT all projects of a tenant, PROJECT one.
    LE5  Settling puts what a call took, less or more, in the place of what was reserved, on the reservation's day.
    LE6  A reservation is settled once; settling it again, or one that is not known, changes nothing and says False.
    LE7  What is never settled stays spent, and is reported as orphaned once its lease is over.
    LE8  A day ends at 00:00 UTC of `now_us`: what was spent before then limits nothing after it.
    LE9  `spent` has one entry per day and purpose of this scope alone, newest day first, then by purpose.
    LE10 `forget` removes what was spent on days before `before_day`, the oldest first: at most `limit` entries as
         `spent` lists them, and with them what is open and summed up of those days. It returns how many. Today is never
         forgotten.
    """

    async def reserve(
        self, scope: Scope, purpose: str, most: Amount, caps: Mapping[Level, Cap], lease_s: float, now_us: int
    ) -> Reservation | Refusal:
        """Takes `most` out of the caps of today. `lease_s`: how long the call can take. Raises StoreUnavailable,
        StoreFull."""
        ...

    async def settle(self, reservation: Reservation, actual: Amount) -> bool:
        """The call has ended and took `actual`. Raises StoreUnavailable, StoreFull: it then stays reserved."""
        ...

    async def spent(self, scope: Scope, first_day: int, now_us: int) -> tuple[Spend, ...]:
        """From `first_day` until today. Raises StoreUnavailable."""
        ...

    async def used(self, scope: Scope, purpose: str, day: int) -> Mapping[Level, Amount]:
        """What counts against each level's cap for a call of this scope and purpose. Raises StoreUnavailable."""
        ...

    async def forget(self, before_day: int, limit: int, now_us: int) -> int:
        """Removes old entries. Across scopes. Raises StoreUnavailable, StoreFull."""
        ...
