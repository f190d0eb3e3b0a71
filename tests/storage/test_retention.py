"""What a server forgets by itself, and how a shared store that has records already begins to."""

from pathlib import Path

import pytest

from sidemirror_server.memory.trials import Trial
from sidemirror_server.models.ledger import US_PER_DAY, Amount, Reservation, day_of
from sidemirror_server.settings import Settings
from sidemirror_server.storage.postgres.critiques import PostgresCritiques
from sidemirror_server.storage.postgres.database import Database
from sidemirror_server.storage.postgres.ledger import PostgresLedger
from sidemirror_server.storage.postgres.migrate import migrate, read_migrations
from sidemirror_server.vocabulary.clock import SystemClock
from tests.conformance.critiques import critique
from tests.conformance.ledger import DAY, DAY_US, ONE, OTHER, T0
from tests.faults.sidecars import running
from tests.postgres.databases import Databases


@pytest.mark.parametrize(
    ("spend", "critiques", "spend_days", "critique_days"),
    [
        ("90", "365", [0, 90], [0, 364]),
        ("null", "null", [0, 90, 91], [0, 364, 366]),
        ("1", "365", [0], [0, 364]),
    ],
)
async def test_the_sweep_removes_what_is_too_old(
    spend: str,
    critiques: str,
    spend_days: list[int],
    critique_days: list[int],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Spending and critiques of as many days as the settings say, and a line of the log with counts."""
    now_us = SystemClock().now_us()
    async with running(tmp_path, retention__spend_days=spend, retention__critique_days=critiques) as served:
        stores = served.sidecar._stores
        for days in (0, 90, 91):
            given = await stores.ledger.reserve(ONE, "reflect", Amount(1, 1), {}, 30.0, now_us - days * US_PER_DAY)
            assert isinstance(given, Reservation)
        for days in (0, 364, 366):
            await stores.critiques.keep(OTHER, critique(f"c{days}", now_us - days * US_PER_DAY))
        with caplog.at_level("INFO"):
            await served.sidecar._forget()
            await served.sidecar._forget()
        spent = await stores.ledger.spent(ONE, 0, now_us)
        kept = await stores.critiques.list(OTHER, None, None, None, 10)
    assert [day_of(now_us) - spend.day for spend in spent] == spend_days
    assert [one.critique_id for one in kept] == [f"c{days}" for days in critique_days]
    removed = {"spend": 3 - len(spend_days), "critiques": 3 - len(critique_days)}
    lines = [record.__dict__ for record in caplog.records if record.message == "forgotten"]
    # Once, since there was nothing left the second time.
    assert [{name: line.get(name, 0) for name in removed} for line in lines] == (
        [removed] if any(removed.values()) else []
    )


async def test_what_tasks_came_to_counts_for_a_year(tmp_path: Path) -> None:
    now_us = SystemClock().now_us()
    async with running(tmp_path) as served:
        trials = served.sidecar._stores.trials
        for days in (364, 366):
            await trials.assign(ONE, f"r{days}", [Trial("m", 1)], now_us - days * US_PER_DAY)
        await served.sidecar._forget()
        assert [len(await trials.of_receipt(ONE, f"r{days}")) for days in (364, 366)] == [1, 0]


async def test_a_shared_store_with_records_begins_to_forget(databases: Databases) -> None:
    """What was there before the migration is forgotten like the rest, and is under row level security again. Seen to
    fail when the migration copies nothing."""
    earlier = read_migrations()[:6]
    async with databases.fresh(migrated=False) as name:
        owner, url = databases.cluster.url("owner", name), databases.cluster.url("sidecar", name)
        await migrate(owner, ["sidecar"], 1, earlier)
        before = await Database.open(url, known=earlier)
        await PostgresCritiques(before).keep(ONE, critique("c", T0))
        await PostgresLedger(before).reserve(OTHER, "reflect", Amount(1, 1), {}, 30.0, T0)
        await before.close()
        await migrate(owner, [], 2)
        assert await databases.strays(name) == []
        # Opening it looks at row level security.
        after = await Database.open(url)
        assert await PostgresCritiques(after).forget(T0 + 1, 10) == 1
        assert await PostgresLedger(after).forget(DAY + 1, 10, T0 + DAY_US) == 1
        await after.close()


def test_the_defaults() -> None:
    """As the README says them."""
    assert (Settings().retention.spend_days, Settings().retention.critique_days) == (90, 365)
