"""The ledger in Postgres: a running total for each possible cap, all changed in one transaction.

A cap over all scopes requires that reservations of all scopes are serialised. They always are, which also avoids
deadlocks. The wait is short compared with a call to a model.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from asyncpg import Record

from sidemirror_server.models.ledger import (
    Amount,
    Level,
    Refusal,
    Reservation,
    ScopeCost,
    Spend,
    cost_of,
    day_of,
    refusal,
    spend_of,
)
from sidemirror_server.policy.record import Cap
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.transactions import Transaction
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.vocabulary.errors import NotPermitted
from sidemirror_server.vocabulary.ids import new_id
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Served, Serves

_SQL = load_statements(Path(__file__).with_name("ledger.sql"))
_IN_TURN = ("ledger",)
# How many scopes one transaction adds up, with two round trips each. Chosen here: at 40 ms for one they end within the
# time of a transaction, after which the store would be taken for away.
_PAGE = 100


class PostgresLedger:
    """The port `Ledger` on the shared store."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

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
        reservation = Reservation(new_id(now_us), scope, purpose, day_of(now_us), most)
        async with self._database.transaction(scope, in_turn=_IN_TURN) as transaction:
            used = await _used(transaction, scope, purpose, reservation.day, serves)
            exceeded = refusal(used, reservation, caps)
            if exceeded is not None:
                return exceeded
            lease_until_us = now_us + round(lease_s * 1e6)
            await transaction.change(_SQL["take"], *_of(reservation), reservation.reservation_id, lease_until_us)
            return reservation

    async def settle(self, reservation: Reservation, actual: Amount, *, is_estimate: bool = False) -> bool:
        scope = reservation.scope
        async with self._database.transaction(scope, in_turn=_IN_TURN) as transaction:
            own = (*ids_of(scope), reservation.reservation_id)
            if await transaction.change(_SQL["strike"], *own) == 0:
                return False
            took = (actual.tokens, actual.nano_usd, int(is_estimate))
            await transaction.change(_SQL["replace"], *_of(reservation), *took)
            return True

    async def spent(self, scope: Scope, first_day: int, now_us: int) -> tuple[Spend, ...]:
        rows = await self._database.fetch(scope, _SQL["spent"], first_day, now_us)
        return tuple(spend_of(*row) for row in rows)

    async def costs(
        self, serves: Serves, first_day: int, last_day: int, today: int, limit: int
    ) -> tuple[ScopeCost, ...]:
        rows: list[Record] = []
        for first in range(0, len(serves.entries), _PAGE):
            async with self._database.transaction(None, reads_only=True) as transaction:
                for entry in serves.entries[first : first + _PAGE]:
                    one = Serves((entry,))
                    rows += await transaction.fetch_served(one, limit, _SQL["spenders"], first_day, last_day)
        scopes = sorted({Scope(*row) for row in rows})[:limit]
        found: list[ScopeCost] = []
        for first in range(0, len(scopes), _PAGE):
            found += await self._costs_of(scopes[first : first + _PAGE], first_day, last_day, today)
        return tuple(found)

    async def _costs_of(self, scopes: Iterable[Scope], *days: int) -> list[ScopeCost]:
        found = []
        async with self._database.transaction(None, reads_only=True) as transaction:
            for scope in scopes:
                # A tenant that was bound since this connection was made: the next one reaches it.
                with contextlib.suppress(NotPermitted):
                    await transaction.enter(scope)
                    # One row, whose sums are NULL if the scope's days have just been forgotten.
                    ((calls, *sums),) = await transaction.fetch(_SQL["cost"], *ids_of(scope), *days)
                    if calls is not None:
                        found.append(cost_of(scope, calls, *sums))
        return found

    async def used(self, scope: Scope, purpose: str, day: int, serves: Serves = SERVES_ALL) -> Mapping[Level, Amount]:
        async with self._database.transaction(scope, reads_only=True) as transaction:
            return await _used(transaction, scope, purpose, day, serves)

    async def forget(self, serves: Serves, before_day: int, limit: int, now_us: int, but: Sequence[Served] = ()) -> int:
        before_day, forgotten = min(before_day, day_of(now_us)), 0
        # `in_turn` avoids deadlocks between two sidecars that remove rows at once.
        async with self._database.transaction(None, in_turn=_IN_TURN) as transaction:
            rows = await transaction.fetch_served(serves, limit, _SQL["old"], before_day, but=but)
            async for scope, days_and_purposes in transaction.by_scope(rows):
                forgotten += await transaction.change(_SQL["forget"], *ids_of(scope), *days_and_purposes)
                await transaction.change(_SQL["forget_reservations"], *ids_of(scope), *days_and_purposes)
            await transaction.leave()
            for tenant_id in {entry.tenant_id for entry in serves.entries}:
                await transaction.change(_SQL["forget_sums"], before_day, tenant_id)
        return forgotten


def _of(reservation: Reservation) -> tuple[Any, ...]:
    scope, most = reservation.scope, reservation.most
    return (
        *(*ids_of(scope), reservation.day, reservation.purpose),
        *(most.tokens, most.nano_usd),
    )


async def _used(transaction: Transaction, scope: Scope, purpose: str, day: int, serves: Serves) -> dict[Level, Amount]:
    found = await _levels(transaction, scope, purpose, day)
    if serves.entries != SERVES_ALL.entries:
        found[Level.TOTAL] = found[Level.PURPOSE] = Amount()
        for entry in serves.entries:
            within = Scope(entry.tenant_id or scope.tenant_id, entry.project_id or scope.project_id)
            # A tenant that this role does not reach is none that this sidecar can serve.
            with contextlib.suppress(NotPermitted):
                await transaction.enter(within)
                own = await _levels(transaction, within, purpose, day)
                for level, part in zip((Level.TOTAL, Level.PURPOSE), _OF_ENTRY[entry.project_id is None], strict=True):
                    found[level] = found[level].plus(own[part])
        await transaction.enter(scope)
    return found


# The levels that count all that an entry of `Serves` spends, and that for one purpose: of a project, and of a tenant.
_OF_ENTRY = ((Level.PROJECT, Level.PROJECT_PURPOSE), (Level.TENANT, Level.TENANT_PURPOSE))


async def _levels(transaction: Transaction, scope: Scope, purpose: str, day: int) -> dict[Level, Amount]:
    rows = await transaction.fetch(_SQL["used"], *ids_of(scope), day, purpose)
    return {**dict.fromkeys(Level, Amount()), **{Level(level): Amount(*used) for level, *used in rows}}
