"""The log of dreams in Postgres."""

from pathlib import Path

from msgspec.structs import astuple

from sidemirror_server.memory.dreams.dreams import Dream, DreamHistory, Waiting, dream_body, dream_in
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.vocabulary.errors import WrongState
from sidemirror_server.vocabulary.scope import Scope, Serves

_SQL = load_statements(Path(__file__).with_name("dreams.sql"))
_LAST_NUMBER = 2**63 - 1


class PostgresDreams:
    """The port `Dreams` on the shared store. Triggers on `memories` keep the list of unread memories."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def unread(self, scope: Scope, limit: int) -> tuple[str, ...]:
        rows = await self._database.fetch(scope, _SQL["unread"], limit)
        return tuple(row[0] for row in rows)

    async def close(self, scope: Scope, dream: Dream, read_ids: tuple[str, ...], rest_until_us: int) -> Dream:
        async with self._database.transaction(scope) as transaction:
            await transaction.change(_SQL["make"], *ids_of(scope))
            (standing,) = await transaction.fetch(_SQL["hold"], *ids_of(scope))
            kept = await transaction.first(_SQL["kept"], *ids_of(scope), dream.number)
            if kept is not None:
                return dream_in(kept[0])
            if dream.number != standing[0] + 1:
                raise WrongState("dream", dream.dream_id, "another pass has its place")
            await transaction.change(_SQL["add"], *ids_of(scope), dream.number, dream.dream_id, dream_body(dream))
            counted = (dream.number, dream.changed, int(dream.was_idle), dream.ended_us, rest_until_us)
            await transaction.change(_SQL["count"], *ids_of(scope), *counted)
            await transaction.change(_SQL["read"], *ids_of(scope), list(read_ids))
        return dream

    async def standing(self, scope: Scope) -> DreamHistory:
        row = await self._database.first(scope, _SQL["standing"])
        return DreamHistory() if row is None else DreamHistory(*row)

    async def waiting(self, serves: Serves, now_us: int, limit: int) -> tuple[Waiting, ...]:
        found: list[Waiting] = []
        async with self._database.transaction(None, reads_only=True) as transaction:
            for entry in serves.entries:
                rows = await transaction.fetch(_SQL["waiting"], now_us, limit, *astuple(entry))
                found += [Waiting(Scope(row[0], row[1]), DreamHistory(*row[2:6]), *row[6:]) for row in rows]
        return tuple(sorted(found, key=lambda waiting: (waiting.first_us, waiting.scope))[:limit])

    async def list(self, scope: Scope, before: int | None, limit: int) -> tuple[Dream, ...]:
        below = _LAST_NUMBER if before is None else before
        rows = await self._database.fetch(scope, _SQL["list"], below, limit)
        return tuple(dream_in(row[0]) for row in rows)
