"""Trials of lessons in SQLite."""

import sqlite3
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sidemirror_server.memory.trials.evidence import Arm, ArmTally
from sidemirror_server.memory.trials.trials import Settled, Trial, TrialResult
from sidemirror_server.storage.sql import columns_of, json_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.receipts import keep_receipt
from sidemirror_server.storage.sqlite.served import remove_served
from sidemirror_server.trace.receipts import Receipt
from sidemirror_server.vocabulary.scope import Scope, Serves

_SQL = load_statements(Path(__file__).with_name("trials.sql"))
_FIRST = "\U0010ffff" * 129  # first in descending order: above every lesson id


class SqliteTrials:
    """The port `Trials` on the embedded store."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def issue(self, scope: Scope, receipt: Receipt, trials: Sequence[Trial]) -> Receipt:
        rows = [_values(scope, receipt.receipt_id, trial, receipt.time_us) for trial in trials]

        def change(connection: sqlite3.Connection) -> Receipt:
            stored, is_new = keep_receipt(connection, scope, receipt)
            if is_new:
                connection.executemany(_SQL["assign"], rows)
            return stored

        return await self._database.write(change)

    async def of_receipt(self, scope: Scope, receipt_id: str) -> tuple[Trial, ...]:
        wanted = {**columns_of(scope), "receipt_id": receipt_id}
        rows = self._database.read(lambda connection: connection.execute(_SQL["of_receipt"], wanted).fetchall())
        return tuple(Trial(memory_id, version, Arm(arm), fraction) for memory_id, version, arm, fraction in rows)

    async def settle(self, scope: Scope, receipt_id: str, settled: Sequence[Settled], now_us: int) -> None:
        rows = [
            {
                **_values(scope, receipt_id, one.trial, now_us),
                "succeeded": one.succeeded,
                "returned": one.returned,
            }
            for one in settled
        ]
        await self._database.write(lambda connection: connection.executemany(_SQL["settle"], rows).rowcount)

    async def tallies(self, scope: Scope, lessons: Collection[tuple[str, int]]) -> dict[str, tuple[ArmTally, ...]]:
        def look_up(connection: sqlite3.Connection) -> dict[str, tuple[ArmTally, ...]]:
            found = {}
            for memory_id, from_version in lessons:
                wanted = {**columns_of(scope), "memory_id": memory_id, "from_version": from_version}
                rows = connection.execute(_SQL["tally"], wanted).fetchall()
                if rows:
                    found[memory_id] = tuple(ArmTally(Arm(arm), *counts) for arm, *counts in rows)
            return found

        # Not on the loop: a lesson may have thousands of trials.
        return await self._database.search(look_up)

    async def results(self, scope: Scope, receipt_ids: Collection[str]) -> dict[str, tuple[TrialResult, ...]]:
        wanted = {**columns_of(scope), "receipt_ids": json_of(receipt_ids)}
        rows = await self._database.search(lambda connection: connection.execute(_SQL["results"], wanted).fetchall())
        found: dict[str, tuple[TrialResult, ...]] = {}
        for receipt_id, memory_id, version, arm, fraction, *came_of_it in rows:
            known = (None if one is None else bool(one) for one in came_of_it)
            result = TrialResult(Trial(memory_id, version, Arm(arm), fraction), *known)
            found[receipt_id] = (*found.get(receipt_id, ()), result)
        return found

    async def lessons(self, scope: Scope, before: str | None, limit: int) -> tuple[str, ...]:
        wanted = {**columns_of(scope), "before": _FIRST if before is None else before, "limit": limit}
        rows = await self._database.search(lambda connection: connection.execute(_SQL["lessons"], wanted).fetchall())
        return tuple(memory_id for (memory_id,) in rows)

    async def forget(self, serves: Serves, before_us: int, limit: int) -> int:
        forget = partial(remove_served, serves, limit, _SQL["forget"], {"before_us": before_us})
        return await self._database.write(forget, long=True)


def _values(scope: Scope, receipt_id: str, trial: Trial, now_us: int) -> dict[str, Any]:
    return {
        **columns_of(scope),
        "receipt_id": receipt_id,
        "memory_id": trial.memory_id,
        "version": trial.version,
        "arm": trial.arm,
        "fraction": trial.fraction,
        "assigned_us": now_us,
    }
