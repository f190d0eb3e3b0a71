"""Removal of old rows in Postgres."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import astuple

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.memories import remove
from sidemirror_server.storage.postgres.transactions import Transaction, left_out
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.trace.pruning import Pruned, PrunedKind
from sidemirror_server.vocabulary.scope import Scope, Served, Serves

_SQL = load_statements(Path(__file__).with_name("pruning.sql"))
_LAST_NUMBER = 2**63 - 1
# Projects per sweep. Chosen here: a transaction takes a second at most where few rows are old.
_PROJECTS = 50


class PostgresPruning:
    """The port `Pruning` on the shared store. Each sweep visits the next projects, so that all get a turn."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        # The cursors: by what was asked for, the last project whose memories were counted.
        self._counted: dict[tuple[Serves, tuple[Served, ...]], tuple[str, str]] = {}

    async def prune_memories(
        self, serves: Serves, below: float, before_us: int, limit: int, now_us: int, but: Sequence[Served] = ()
    ) -> int:
        removed = 0
        async with self._database.transaction(None) as transaction:
            rows = [
                row
                for entry in serves.entries
                for row in await transaction.fetch(_SQL["projects"], _PROJECTS, *astuple(entry), *left_out(but))
            ]
            for scope in [Scope(*row) for row in rows]:
                if removed == limit:
                    break
                await transaction.enter(scope)
                wanted = (below, before_us, limit - removed)
                count = 0
                for row in await transaction.fetch(_SQL["old_memories"], *ids_of(scope), *wanted):
                    count += await remove(transaction, scope, row[0])
                removed += count
                if removed < limit:
                    await transaction.change(_SQL["looked_through"], *ids_of(scope), now_us)
                await _note(transaction, scope, PrunedKind.MEMORIES, count, (now_us, before_us, below, None))
        return removed

    async def prune_surplus(
        self, serves: Serves, most: int, limit: int, now_us: int, but: Sequence[Served] = ()
    ) -> int:
        removed, asked = 0, (serves, tuple(but))
        # Removed here, and set again unless all projects were visited.
        counted = self._counted.pop(asked, ("", ""))
        async with self._database.transaction(None) as transaction:
            rows = await transaction.fetch_served(serves, _PROJECTS, _SQL["projects_after"], *counted, but=but)
            scopes = [Scope(*row) for row in rows]
            for scope in scopes:
                await transaction.enter(scope)
                ((total,),) = await transaction.fetch(_SQL["count"], *ids_of(scope))
                surplus = min(total - most, limit - removed)
                if surplus > 0:
                    removed += await _remove_surplus(transaction, scope, surplus, now_us)
                if total - most > surplus:
                    self._counted[asked] = counted
                    break  # the next sweep continues with this project
                counted = ids_of(scope)
            else:
                if len(scopes) >= _PROJECTS:
                    self._counted[asked] = counted
        return removed

    async def prune_turns(
        self, serves: Serves, before_us: int, limit: int, now_us: int, but: Sequence[Served] = ()
    ) -> int:
        removed = 0
        async with self._database.transaction(None) as transaction:
            rows = await transaction.fetch_served(serves, limit, _SQL["old_turns"], before_us, but=but)
            async for scope, (turn_ids,) in transaction.by_scope(rows):
                ((last,),) = await transaction.fetch(_SQL["forget_entries"], *ids_of(scope), turn_ids)
                gone = await transaction.fetch(_SQL["forget_turns"], *ids_of(scope), turn_ids)
                sessions = list({row[0] for row in gone})
                await transaction.change(_SQL["forget_sessions"], *ids_of(scope), sessions, before_us)
                removed += len(gone)
                await _note(transaction, scope, PrunedKind.TURNS, len(gone), (now_us, before_us, None, last))
        return removed

    async def turns_gone_up_to(self, scope: Scope) -> int:
        ((position,),) = await self._database.fetch(scope, _SQL["gone_up_to"])
        return int(position)

    async def list(self, scope: Scope, before: int | None, limit: int) -> tuple[Pruned, ...]:
        below = _LAST_NUMBER if before is None else before
        rows = await self._database.fetch(scope, _SQL["list"], below, limit)
        return tuple(Pruned(row[0], PrunedKind(row[1]), *row[2:]) for row in rows)


async def _remove_surplus(transaction: Transaction, scope: Scope, count: int, now_us: int) -> int:
    rows = await transaction.fetch(_SQL["surplus"], *ids_of(scope), count)
    removed = 0
    for row in rows:
        removed += await remove(transaction, scope, row[0])
    if rows:
        await _note(transaction, scope, PrunedKind.MEMORIES, removed, (now_us, now_us, rows[-1][1], None))
    return removed


async def _note(
    transaction: Transaction, scope: Scope, kind: PrunedKind, count: int, how: tuple[int, int, float | None, int | None]
) -> None:
    """Records in the scope's log how many rows were removed, if any. `how`: the columns
    pruned_us, before_us, importance_below and last_position of the entry."""
    if count:
        await transaction.change(_SQL["note"], *ids_of(scope), kind, count, *how)
