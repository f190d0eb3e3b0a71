"""The removal of old memories and turns in SQLite."""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sidemirror_server.storage.sql import columns_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.memories import remove
from sidemirror_server.storage.sqlite.served import fetch_served, left_out
from sidemirror_server.trace.pruning import Pruned, PrunedKind
from sidemirror_server.vocabulary.scope import Scope, Served, Serves

_SQL = load_statements(Path(__file__).with_name("pruning.sql"))
_LAST_NUMBER = 2**63 - 1


class SqlitePruning:
    """The port `Pruning` on the embedded store."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def prune_memories(
        self, serves: Serves, below: float, before_us: int, limit: int, now_us: int, but: Sequence[Served] = ()
    ) -> int:
        old = {"below": below, "before_us": before_us, "now_us": now_us, **left_out(but)}

        def change(connection: sqlite3.Connection) -> int:
            removed = Counter[Scope]()
            for tenant_id, project_id, memory_id in fetch_served(
                *(serves, limit, _SQL["old_memories"], old, connection)
            ):
                scope = Scope(tenant_id, project_id)
                removed[scope] += remove(connection, scope, memory_id)
            return _noted(connection, PrunedKind.MEMORIES, removed, old)

        return await self._database.write(change, long=True)

    async def prune_surplus(
        self, serves: Serves, most: int, limit: int, now_us: int, but: Sequence[Served] = ()
    ) -> int:
        # Counted on the search thread, not in the write: a million memories take a tenth of a second.
        above = {"most": most, **left_out(but)}
        crowded = await self._database.search(partial(fetch_served, serves, 2**31, _SQL["crowded"], above))
        removed = 0
        for tenant_id, project_id, surplus in crowded:
            if removed < limit:
                scope = Scope(tenant_id, project_id)
                removed += await self._remove_surplus(scope, min(surplus, limit - removed), now_us)
        return removed

    async def _remove_surplus(self, scope: Scope, count: int, now_us: int) -> int:
        def change(connection: sqlite3.Connection) -> int:
            least = connection.execute(_SQL["surplus"], {**columns_of(scope), "limit": count}).fetchall()
            removed = Counter({scope: sum(remove(connection, scope, memory_id) for memory_id, _ in least)})
            if not least:
                return 0
            how = {"below": least[-1][1], "before_us": now_us, "now_us": now_us}
            return _noted(connection, PrunedKind.MEMORIES, removed, how)

        return await self._database.write(change, long=True)

    async def prune_turns(
        self, serves: Serves, before_us: int, limit: int, now_us: int, but: Sequence[Served] = ()
    ) -> int:
        old = {"below": None, "before_us": before_us, "now_us": now_us, **left_out(but)}

        def change(connection: sqlite3.Connection) -> int:
            removed = Counter[Scope]()
            last: dict[Scope, int] = {}
            for tenant_id, project_id, turn_id, session_id in fetch_served(
                *(serves, limit, _SQL["old_turns"], old, connection)
            ):
                scope = Scope(tenant_id, project_id)
                turn = {**columns_of(scope), "turn_id": turn_id, "session_id": session_id, "before_us": before_us}
                (position,) = connection.execute(_SQL["last_entry"], turn).fetchone()
                last[scope] = max(last.get(scope, 0), position or 0)
                connection.execute(_SQL["forget_entries"], turn)
                removed[scope] += connection.execute(_SQL["forget_turn"], turn).rowcount
                connection.execute(_SQL["forget_session"], turn)
            return _noted(connection, PrunedKind.TURNS, removed, old, last)

        return await self._database.write(change, long=True)

    async def turns_gone_up_to(self, scope: Scope) -> int:
        of = columns_of(scope)
        row = self._database.read(lambda connection: connection.execute(_SQL["gone_up_to"], of).fetchone())
        return int(row[0])

    async def list(self, scope: Scope, before: int | None, limit: int) -> tuple[Pruned, ...]:
        wanted = {**columns_of(scope), "before": _LAST_NUMBER if before is None else before, "limit": limit}
        rows = await self._database.search(lambda connection: connection.execute(_SQL["list"], wanted).fetchall())
        return tuple(Pruned(row[0], PrunedKind(row[1]), *row[2:]) for row in rows)


def _noted(
    connection: sqlite3.Connection,
    kind: PrunedKind,
    removed: Counter[Scope],
    old: dict[str, Any],
    last: Mapping[Scope, int] = MappingProxyType({}),
) -> int:
    """Adds a log entry to each scope; returns the number of removals in all scopes. `last`: for each scope the highest
    position among the removed log entries."""
    for scope, count in removed.items():
        noted = {**columns_of(scope), **old, "kind": kind, "count": count, "last_position": last.get(scope)}
        connection.execute(_SQL["note"], noted)
    return removed.total()
