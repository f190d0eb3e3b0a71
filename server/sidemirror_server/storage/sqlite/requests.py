"""Answers by request_id in SQLite."""

import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

from sidemirror_server.storage.sql import columns_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.served import remove_served
from sidemirror_server.storage.sqlite.sources import is_any_erased, note_sources
from sidemirror_server.trace.requests import Answered
from sidemirror_server.trace.sources import request_key
from sidemirror_server.vocabulary.ids import RequestId
from sidemirror_server.vocabulary.scope import Scope, Serves

_SQL = load_statements(Path(__file__).with_name("requests.sql"))


class SqliteRequests:
    """The port `Requests` on the embedded store."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def recall(self, scope: Scope, method: str, request_id: RequestId, now_us: int) -> Answered | None:
        wanted = {**_key(scope, method, request_id), "now_us": now_us}
        row = self._database.read(lambda connection: connection.execute(_SQL["recall"], wanted).fetchone())
        return None if row is None else Answered(*row)

    async def remember(
        self,
        scope: Scope,
        method: str,
        request_id: RequestId,
        answered: Answered,
        now_us: int,
        expires_us: int,
        sources: tuple[str, ...] = (),
    ) -> Answered:
        values = {
            **_key(scope, method, request_id),
            "digest": answered.digest,
            "answer": answered.answer,
            "now_us": now_us,
            "expires_us": expires_us,
        }

        def change(connection: sqlite3.Connection) -> Answered:
            if is_any_erased(connection, scope, sources, now_us):
                return answered
            if connection.execute(_SQL["remember"], values).rowcount:
                note_sources(connection, scope, request_key(method, request_id), sources)
            return Answered(*connection.execute(_SQL["kept"], values).fetchone())

        return await self._database.write(change)

    async def forget(self, serves: Serves, now_us: int, limit: int) -> int:
        forget = partial(remove_served, serves, limit, _SQL["forget"], {"now_us": now_us})
        return await self._database.write(forget, long=True)


def _key(scope: Scope, method: str, request_id: RequestId) -> dict[str, Any]:
    return {
        **columns_of(scope),
        "method": method,
        "request_id": request_id,
    }
