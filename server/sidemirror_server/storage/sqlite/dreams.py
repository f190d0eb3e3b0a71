"""The log of dreams in SQLite."""

import sqlite3
from functools import partial
from pathlib import Path

import msgspec

from sidemirror_server.memory.dreams.dreams import Dream, DreamHistory, Waiting, dream_body, dream_in
from sidemirror_server.storage.sql import columns_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.served import fetch_served
from sidemirror_server.vocabulary.errors import WrongState
from sidemirror_server.vocabulary.scope import Scope, Serves

_SQL = load_statements(Path(__file__).with_name("dreams.sql"))
_LAST_NUMBER = 2**63 - 1


class SqliteDreams:
    """The port `Dreams` on the embedded store. Triggers on `memories` maintain the list of unread memories."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def unread(self, scope: Scope, limit: int) -> tuple[str, ...]:
        wanted = {**columns_of(scope), "limit": limit}
        rows = await self._database.search(lambda connection: connection.execute(_SQL["unread"], wanted).fetchall())
        return tuple(row[0] for row in rows)

    async def close(self, scope: Scope, dream: Dream, read_ids: tuple[str, ...], rest_until_us: int) -> Dream:
        values = {
            **columns_of(scope),
            "number": dream.number,
            "dream_id": dream.dream_id,
            "body": dream_body(dream),
            "changed": int(dream.changed),
            "was_idle": int(dream.was_idle),
            "ended_us": dream.ended_us,
            "rest_until_us": rest_until_us,
            "memory_ids": msgspec.json.encode(read_ids).decode(),
        }

        def change(connection: sqlite3.Connection) -> Dream:
            kept = connection.execute(_SQL["kept"], values).fetchone()
            if kept is not None:
                return dream_in(kept[0])
            if dream.number != _standing(connection, scope).dreams + 1:
                raise WrongState("dream", dream.dream_id, "another pass has its place")
            connection.execute(_SQL["add"], values)
            connection.execute(_SQL["count"], values)
            connection.execute(_SQL["read"], values)
            return dream

        return await self._database.write(change)

    async def standing(self, scope: Scope) -> DreamHistory:
        return self._database.read(lambda connection: _standing(connection, scope))

    async def waiting(self, serves: Serves, now_us: int, limit: int) -> tuple[Waiting, ...]:
        # Fetches up to `limit` projects of each entry, and keeps the longest waiting of them all.
        most = limit * len(serves.entries)
        rows = await self._database.search(partial(fetch_served, serves, most, _SQL["waiting"], {"now_us": now_us}))
        found = [Waiting(Scope(*row[:2]), DreamHistory(*row[2:6]), *row[6:]) for row in rows]
        return tuple(sorted(found, key=lambda waiting: (waiting.first_us, waiting.scope))[:limit])

    async def list(self, scope: Scope, before: int | None, limit: int) -> tuple[Dream, ...]:
        wanted = {**columns_of(scope), "before": _LAST_NUMBER if before is None else before, "limit": limit}
        rows = await self._database.search(lambda connection: connection.execute(_SQL["list"], wanted).fetchall())
        return tuple(dream_in(row[0]) for row in rows)


def _standing(connection: sqlite3.Connection, scope: Scope) -> DreamHistory:
    row = connection.execute(_SQL["standing"], columns_of(scope)).fetchone()
    return DreamHistory() if row is None else DreamHistory(*row)
