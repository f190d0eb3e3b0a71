"""Trials of lessons in Postgres."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from sidemirror_server.memory.trials.evidence import Arm, ArmTally
from sidemirror_server.memory.trials.trials import Settled, Trial, TrialResult
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.receipts import keep_receipt
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.trace.receipts import Receipt
from sidemirror_server.vocabulary.scope import Scope, Serves

_SQL = load_statements(Path(__file__).with_name("trials.sql"))


class PostgresTrials:
    """The port `Trials` on the shared store."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def issue(self, scope: Scope, receipt: Receipt, trials: Sequence[Trial]) -> Receipt:
        values = (*ids_of(scope), receipt.receipt_id, *_columns(trials), receipt.time_us)
        async with self._database.transaction(scope, derives=True) as transaction:
            stored, is_new = await keep_receipt(transaction, scope, receipt)
            if is_new and trials:
                await transaction.change(_SQL["assign"], *values)
        return stored

    async def of_receipt(self, scope: Scope, receipt_id: str) -> tuple[Trial, ...]:
        rows = await self._database.fetch(scope, _SQL["of_receipt"], receipt_id)
        return tuple(Trial(memory_id, version, Arm(arm), fraction) for memory_id, version, arm, fraction in rows)

    async def settle(self, scope: Scope, receipt_id: str, settled: Sequence[Settled], now_us: int) -> None:
        columns = _columns([one.trial for one in settled])
        came_of_it = ([one.succeeded for one in settled], [one.returned for one in settled])
        await self._database.change(scope, _SQL["settle"], receipt_id, *columns, now_us, *came_of_it)

    async def tallies(self, scope: Scope, lessons: Collection[tuple[str, int]]) -> dict[str, tuple[ArmTally, ...]]:
        asked = ([memory_id for memory_id, _ in lessons], [from_version for _, from_version in lessons])
        rows = await self._database.fetch(scope, _SQL["tallies"], *asked)
        found: dict[str, tuple[ArmTally, ...]] = {}
        for memory_id, arm, *counts in rows:
            found[memory_id] = (*found.get(memory_id, ()), ArmTally(Arm(arm), *counts))
        return found

    async def results(self, scope: Scope, receipt_ids: Collection[str]) -> dict[str, tuple[TrialResult, ...]]:
        rows = await self._database.fetch(scope, _SQL["results"], list(receipt_ids))
        found: dict[str, tuple[TrialResult, ...]] = {}
        for receipt_id, memory_id, version, arm, fraction, succeeded, returned in rows:
            result = TrialResult(Trial(memory_id, version, Arm(arm), fraction), succeeded, returned)
            found[receipt_id] = (*found.get(receipt_id, ()), result)
        return found

    async def lessons(self, scope: Scope, before: str | None, limit: int) -> tuple[str, ...]:
        rows = await self._database.fetch(scope, _SQL["lessons"], before, limit)
        return tuple(row[0] for row in rows)

    async def forget(self, serves: Serves, before_us: int, limit: int) -> int:
        forgotten = 0
        async with self._database.transaction(None) as transaction:
            rows = await transaction.fetch_served(serves, limit, _SQL["old"], before_us)
            async for scope, receipts_and_memories in transaction.by_scope(rows):
                forgotten += await transaction.change(_SQL["forget"], *ids_of(scope), *receipts_and_memories)
        return forgotten


def _columns(trials: Sequence[Trial]) -> tuple[list[Any], ...]:
    return (
        [trial.memory_id for trial in trials],
        [trial.version for trial in trials],
        [trial.arm.value for trial in trials],
        [trial.fraction for trial in trials],
    )
