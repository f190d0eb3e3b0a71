"""The ledger in SQLite: a running total for each level that can have a cap. One transaction updates all of them."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
from sidemirror_server.storage.sql import columns_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.served import left_out, remove_served
from sidemirror_server.vocabulary.ids import new_id
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Served, Serves

_SQL = load_statements(Path(__file__).with_name("ledger.sql"))


class SqliteLedger:
    """The port `Ledger` on the embedded store."""

    def __init__(self, database: SqliteDatabase) -> None:
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
        values = {**_of(reservation), "lease_until_us": now_us + round(lease_s * 1e6)}

        def change(connection: sqlite3.Connection) -> Reservation | Refusal:
            used = _used(connection, scope, purpose, reservation.day, serves)
            exceeded = refusal(used, reservation, caps)
            if exceeded is not None:
                return exceeded
            connection.executemany(_SQL["take"], [{**values, **row} for row in _levels(scope, purpose).values()])
            connection.execute(_SQL["note"], values)
            return reservation

        return await self._database.write(change)

    async def settle(self, reservation: Reservation, actual: Amount, *, is_estimate: bool = False) -> bool:
        values = {
            **_of(reservation),
            "actual_tokens": actual.tokens,
            "actual_nano_usd": actual.nano_usd,
            "is_estimate": is_estimate,
        }

        def change(connection: sqlite3.Connection) -> bool:
            if connection.execute(_SQL["strike"], values).rowcount == 0:
                return False
            rows = _levels(reservation.scope, reservation.purpose).values()
            connection.executemany(_SQL["replace"], [{**values, **row} for row in rows])
            return True

        return await self._database.write(change)

    async def spent(self, scope: Scope, first_day: int, now_us: int) -> tuple[Spend, ...]:
        wanted = {
            **columns_of(scope),
            "first_day": first_day,
            "now_us": now_us,
        }
        rows = self._database.read(lambda connection: connection.execute(_SQL["spent"], wanted).fetchall())
        return tuple(sorted((spend_of(*row) for row in rows), key=lambda spend: (-spend.day, spend.purpose)))

    async def costs(
        self, serves: Serves, first_day: int, last_day: int, today: int, limit: int
    ) -> tuple[ScopeCost, ...]:
        span = {"first_day": first_day, "last_day": last_day, "today": today, "limit": limit}
        wanted = [{**span, "tenant_id": entry.tenant_id, "project_id": entry.project_id} for entry in serves.entries]
        rows = await self._database.search(
            lambda connection: [row for one in wanted for row in connection.execute(_SQL["costs"], one).fetchall()]
        )
        found = {scope: cost_of(scope, *sums) for scope, sums in ((Scope(*row[:2]), row[2:]) for row in rows)}
        return tuple(found[scope] for scope in sorted(found)[:limit])

    async def used(self, scope: Scope, purpose: str, day: int, serves: Serves = SERVES_ALL) -> Mapping[Level, Amount]:
        return self._database.read(lambda connection: _used(connection, scope, purpose, day, serves))

    async def forget(self, serves: Serves, before_day: int, limit: int, now_us: int, but: Sequence[Served] = ()) -> int:
        old = {"before_day": min(before_day, day_of(now_us)), **left_out(but)}

        def change(connection: sqlite3.Connection) -> int:
            forgotten = remove_served(serves, limit, _SQL["forget"], old, connection)
            connection.execute(_SQL["forget_sums"], old)
            connection.execute(_SQL["forget_reservations"], old)
            return forgotten

        return await self._database.write(change, long=True)


def _of(reservation: Reservation) -> dict[str, Any]:
    return {
        **columns_of(reservation.scope),
        "reservation_id": reservation.reservation_id,
        "day": reservation.day,
        "purpose": reservation.purpose,
        "tokens": reservation.most.tokens,
        "nano_usd": reservation.most.nano_usd,
    }


def _levels(scope: Scope, purpose: str) -> dict[Level, dict[str, str]]:
    """The key of each level's total: the row of `ledger_totals` that its cap limits. A call is counted in all of
    them."""
    return {
        Level.TOTAL: {"tenant_id": "", "project_id": "", "purpose": ""},
        Level.PURPOSE: {"tenant_id": "", "project_id": "", "purpose": purpose},
        Level.TENANT: {"tenant_id": scope.tenant_id, "project_id": "", "purpose": ""},
        Level.TENANT_PURPOSE: {"tenant_id": scope.tenant_id, "project_id": "", "purpose": purpose},
        Level.PROJECT: {**columns_of(scope), "purpose": ""},
        Level.PROJECT_PURPOSE: {**columns_of(scope), "purpose": purpose},
    }


def _used(
    connection: sqlite3.Connection, scope: Scope, purpose: str, day: int, serves: Serves = SERVES_ALL
) -> dict[Level, Amount]:
    found = {}
    for level, row in _levels(scope, purpose).items():
        of_all = level in (Level.TOTAL, Level.PURPOSE)
        rows = [{**row, **_total_of(entry)} for entry in serves.entries] if of_all else [row]
        used = [connection.execute(_SQL["used"], {**one, "day": day}).fetchone() or (0, 0) for one in rows]
        found[level] = Amount(*map(sum, zip(*used, strict=True)))
    return found


def _total_of(entry: Served) -> dict[str, str]:
    """The key of the total of an entry's scopes, without its purpose."""
    return {"tenant_id": entry.tenant_id or "", "project_id": entry.project_id or ""}
