"""The port `Ledger` on SQLite; and its suite, which is seen to notice a ledger that breaks a clause."""

import asyncio
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import pytest

from sidemirror_server.models.ledger import Amount, Level, Refusal, Reservation, Spend, refusal
from sidemirror_server.policy.record import Cap
from sidemirror_server.storage.sqlite import ledger as adapter
from sidemirror_server.storage.sqlite.ledger import SqliteLedger
from sidemirror_server.storage.sqlite.migrate import migrate, read_migrations
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Serves
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import ledger as suite
from tests.conformance.clauses import clauses_of

CLAUSES = clauses_of(suite)


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: SqliteLedger(database))


async def test_a_reservation_outlives_the_process(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await suite.reserved(SqliteLedger(database))
    async with sqlite_database(tmp_path) as database:
        await suite.le7_what_is_never_settled_stays_spent(lambda: Later(database))


class Later(SqliteLedger):
    """Whose first reservation is the one that is there already."""

    async def reserve(
        self, scope: Scope, purpose: str, most: Amount, caps: Mapping[Level, Cap], lease_s: float, now_us: int,
        serves: Serves = SERVES_ALL,
    ) -> Reservation | Refusal:  # fmt: skip
        if not caps:
            return Reservation("", scope, purpose, suite.DAY, most)
        return await super().reserve(scope, purpose, most, caps, lease_s, now_us)


# (clause that must notice, statement of ledger.sql, a piece of it, what stands there instead)
BROKEN_STATEMENTS = [
    ("LE12", "forget", "but.value ->> 0 = tenant_id", "FALSE"),
    ("LE12", "forget", "coalesce(but.value ->> 1, project_id)", "but.value ->> 1"),
    ("LE12", "forget", "coalesce(but.value ->> 1, project_id)", "project_id"),
    ("LE12", "forget", "but.value ->> 0 = tenant_id", "TRUE"),
    ("LE11", "forget", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("LE11", "forget", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("LE11", "forget_sums", "AND NOT EXISTS", "AND EXISTS"),
    ("LE1", "used", "settled_tokens + reserved_tokens", "settled_tokens"),
    ("LE1", "take", "1, 0, 0, :tokens, :nano_usd)", "1, :tokens, :nano_usd, 0, 0)"),
    ("LE4", "used", "project_id = :project_id", "project_id IS NOT NULL"),
    ("LE5", "replace", "reserved_nano_usd - :nano_usd", "reserved_nano_usd"),
    ("LE5", "replace", "settled_tokens + :actual_tokens", "settled_tokens + min(:actual_tokens, :tokens)"),
    ("LE6", "strike", "project_id = :project_id", "project_id IS NOT NULL"),
    ("LE7", "spent", "open.lease_until_us <= :now_us", "open.lease_until_us < :now_us"),
    ("LE8", "replace", "day = :day", "day >= :day"),
    ("LE9", "spent", "project_id = :project_id AND day >=", "project_id IS NOT NULL AND day >="),
    ("LE9", "spent", "day >= :first_day", "day > :first_day"),
    ("LE10", "forget", "day < :before_day", "day <= :before_day"),
    ("LE10", "forget", "ORDER BY day", "ORDER BY day DESC"),
    ("LE10", "forget", "LIMIT :limit", "LIMIT max(:limit, 10)"),
    ("LE10", "forget_sums", "day < :before_day", "day < :before_day - 1"),
    ("LE10", "forget_sums", "ledger_totals.project_id IN ('', own.project_id)", "TRUE"),
    ("LE10", "forget_reservations", "own.project_id = ledger_reservations.project_id", "TRUE"),
    ("LE10", "forget_reservations", "day < :before_day", "day > :before_day"),
    ("LE14", "replace", "unanswered_calls + :is_estimate", "unanswered_calls + 1"),
    ("LE14", "replace", ":is_estimate * :actual_tokens", ":actual_tokens"),
    ("LE14", "replace", ":is_estimate * :actual_nano_usd", "0"),
    ("LE15", "costs", "day BETWEEN :first_day AND :last_day", "day >= :first_day AND day < :last_day"),
    ("LE15", "costs", "AND purpose > ''", ""),
    ("LE15", "costs", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("LE15", "costs", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("LE15", "costs", "today.day, ", "min(today.day, :last_day), "),
    ("LE15", "costs", "LIMIT :limit", "LIMIT min(:limit, 1)"),
]


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN_STATEMENTS)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in adapter._SQL[name]
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)})
    await noticed(clause, SqliteLedger, tmp_path)


class LooksFirst(SqliteLedger):
    """Looks at the caps in one transaction and takes in another."""

    async def reserve(
        self, scope: Scope, purpose: str, most: Amount, caps: Mapping[Level, Cap], lease_s: float, now_us: int,
        serves: Serves = SERVES_ALL,
    ) -> Reservation | Refusal:  # fmt: skip
        wanted = Reservation("", scope, purpose, now_us // suite.DAY_US, most)
        exceeded = refusal(await self.used(scope, purpose, wanted.day), wanted, caps)
        await asyncio.sleep(0)
        return exceeded or await super().reserve(scope, purpose, most, {}, lease_s, now_us)


class TakesAnyway(SqliteLedger):
    """Counts what it refuses."""

    async def reserve(
        self, scope: Scope, purpose: str, most: Amount, caps: Mapping[Level, Cap], lease_s: float, now_us: int,
        serves: Serves = SERVES_ALL,
    ) -> Reservation | Refusal:  # fmt: skip
        given = await super().reserve(scope, purpose, most, caps, lease_s, now_us)
        if isinstance(given, Refusal):
            await super().reserve(scope, purpose, most, {}, lease_s, now_us)
        return given


class CountsEverything(SqliteLedger):
    """Looks at no list."""

    async def used(self, scope: Scope, purpose: str, day: int, serves: Serves = SERVES_ALL) -> Mapping[Level, Amount]:
        return await super().used(scope, purpose, day)


class ChecksEverything(SqliteLedger):
    """Looks at no list in a check."""

    async def reserve(
        self, scope: Scope, purpose: str, most: Amount, caps: Mapping[Level, Cap], lease_s: float, now_us: int,
        serves: Serves = SERVES_ALL,
    ) -> Reservation | Refusal:  # fmt: skip
        return await super().reserve(scope, purpose, most, caps, lease_s, now_us)


class OldestFirst(SqliteLedger):
    async def spent(self, scope: Scope, first_day: int, now_us: int) -> tuple[Spend, ...]:
        return tuple(reversed(await super().spent(scope, first_day, now_us)))


BROKEN_VERBS = [
    *(("LE2", LooksFirst), ("LE3", TakesAnyway), ("LE9", OldestFirst)),
    *(("LE13", CountsEverything), ("LE13", ChecksEverything)),
]


@pytest.mark.parametrize(("clause", "broken"), BROKEN_VERBS)
async def test_broken_verb_is_noticed(clause: str, broken: type[SqliteLedger], tmp_path: Path) -> None:
    await noticed(clause, broken, tmp_path)


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in [*BROKEN_STATEMENTS, *BROKEN_VERBS]} == set(CLAUSES)


async def noticed(clause: str, broken: type[SqliteLedger], folder: Path) -> None:
    async with sqlite_database(folder) as database:
        with pytest.raises(AssertionError) as caught:
            await CLAUSES[clause](lambda: broken(database))
    assert not isinstance(caught.value, sqlite3.Error)


def test_what_a_tenant_spent_before_counts_for_its_purposes() -> None:
    """On a store that an earlier version filled today. Seen to fail when the migration adds nothing."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    every = read_migrations()
    migrate(connection, [one for one in every if one.name not in ("tenant_purposes", "unanswered_calls")], 0)
    for tenant_id, project_id, purpose in (
        *(("", "", ""), ("", "", "a"), ("acme", "", ""), ("acme", "shop", ""), ("acme", "blog", "")),
        *(("acme", "shop", "a"), ("acme", "blog", "a"), ("acme", "blog", "b")),
    ):
        row = (tenant_id, project_id, suite.DAY, purpose, 1, 2, 3, 4, 5)
        connection.execute("INSERT INTO ledger_totals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    migrate(connection, every, 1)
    used = adapter._used(connection, suite.ONE, "a", suite.DAY)
    assert (used[Level.TENANT_PURPOSE], used[Level.PROJECT_PURPOSE]) == (Amount(12, 16), Amount(6, 8))
    assert used[Level.TENANT] == Amount(6, 8)
    estimates = "SELECT DISTINCT unanswered_calls, estimated_tokens, estimated_nano_usd FROM ledger_totals"
    assert connection.execute(estimates).fetchall() == [(0, 0, 0)]
    connection.close()
