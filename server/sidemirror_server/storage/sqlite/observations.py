"""Observations of failures in SQLite."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from sidemirror_server.memory.recoveries.observation import Observation
from sidemirror_server.memory.recoveries.observations import (
    MOST_ROWS,
    UnlearnedTurn,
    heard_us,
    key_of,
    observation_body,
    observation_in,
    sources_of,
    subjects_in,
)
from sidemirror_server.storage.sql import columns_of, json_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.served import fetch_served, left_out
from sidemirror_server.storage.sqlite.sources import note_sources, refuse_erased
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.scope import Scope, Served, Serves

_SQL = load_statements(Path(__file__).with_name("observations.sql"))


class SqliteObservations:
    """The port `Observations` on the embedded store. Triggers on `turns` keep the list of unlearned turns."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def claim(self, serves: Serves, now_us: int, until_us: int, limit: int) -> tuple[UnlearnedTurn, ...]:
        def due(connection: sqlite3.Connection) -> list[UnlearnedTurn]:
            rows = fetch_served(serves, limit, _SQL["due"], {"now_us": now_us}, connection)
            return [UnlearnedTurn(Scope(*row[:2]), row[2], row[3], bool(row[4])) for row in rows]

        def change(connection: sqlite3.Connection) -> tuple[UnlearnedTurn, ...]:
            found = due(connection)
            keys = [{**columns_of(one.scope), "turn_id": one.turn_id, "until_us": until_us} for one in found]
            connection.executemany(_SQL["claim"], keys)
            return tuple(found)

        # Usually nothing is due, which takes no write.
        return await self._database.write(change) if self._database.read(due) else ()

    async def keep(
        self,
        scope: Scope,
        turn_id: TurnId,
        observations: Sequence[Observation],
        again_us: int | None = None,
        most: int = MOST_ROWS,
    ) -> None:
        key = {**columns_of(scope), "turn_id": turn_id, "again_us": again_us}
        rows = [{**columns_of(scope), **_values(one)} for one in observations]
        signatures = dict.fromkeys(one.signature for one in observations)
        counted = [{**columns_of(scope), "signature": signature, "most": most} for signature in signatures]

        def change(connection: sqlite3.Connection) -> None:
            connection.executemany(_SQL["put"], rows)
            connection.executemany(_SQL["shorten"], counted)
            connection.execute(_SQL["learned" if again_us is None else "again"], key)

        await self._database.write(change, long=len(rows) > 1)

    async def of_signature(self, scope: Scope, signature: str) -> tuple[Observation, ...]:
        wanted = {**columns_of(scope), "signature": signature}

        def look_up(connection: sqlite3.Connection) -> tuple[Observation, ...]:
            return tuple(observation_in(body) for (body,) in connection.execute(_SQL["of_signature"], wanted))

        return await self._database.search(look_up)

    async def signatures(self, scope: Scope, after: str, limit: int) -> tuple[str, ...]:
        wanted = {**columns_of(scope), "after": after, "limit": limit}
        rows = await self._database.search(lambda connection: connection.execute(_SQL["signatures"], wanted).fetchall())
        return tuple(signature for (signature,) in rows)

    async def put(
        self, scope: Scope, observation: Observation, subjects: Collection[str] = (), most: int = MOST_ROWS
    ) -> bool:
        heard, own_id = heard_us(observation), observation.observation_id
        values = {**columns_of(scope), **_values(observation), "heard_us": heard, "most": most}
        sources = (*sources_of(observation), *subjects)

        def change(connection: sqlite3.Connection) -> bool:
            refuse_erased(connection, scope, sources, heard)
            if connection.execute(_SQL["put_imported"], values).rowcount == 0:
                return False
            connection.execute(_SQL["note_imported"], values)
            note_sources(connection, scope, key_of(observation), sources)
            gone = connection.execute(_SQL["shorten"], values).fetchall()
            return (own_id,) not in gone

        return await self._database.write(change)

    async def forget(self, serves: Serves, before_us: int, limit: int, but: Sequence[Served] = ()) -> int:
        old = {"before_us": before_us, **left_out(but)}

        def due(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
            return fetch_served(serves, limit, _SQL["old_imported"], old, connection)

        def change(connection: sqlite3.Connection) -> int:
            found = due(connection)
            rows = [{**columns_of(Scope(*place)), "observation_id": own_id} for *place, own_id in found]
            connection.executemany(_SQL["forget"], rows)
            return len(found)

        return await self._database.write(change, long=True) if self._database.read(due) else 0

    async def subjects(self, scope: Scope, records: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        wanted = {**columns_of(scope), "records": json_of(records)}
        found: dict[str, list[str]] = {}
        for record, source in await self._database.search(lambda one: one.execute(_SQL["subjects"], wanted).fetchall()):
            found.setdefault(record, []).append(source)
        return {record: subjects_in(sources) for record, sources in found.items()}


def _values(one: Observation) -> dict[str, Any]:
    return {
        "observation_id": one.observation_id,
        "turn_id": one.where.turn_id,
        "last_turn_id": one.last_turn_id or one.where.turn_id,
        "signature": one.signature,
        "at_us": one.at_us,
        "body": observation_body(one),
    }
