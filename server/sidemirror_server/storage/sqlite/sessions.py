"""Sessions in SQLite."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from sidemirror_server.storage.sql import columns_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.sources import note_sources
from sidemirror_server.thinking.store import FIRST_SESSION, SessionKey, SessionRecord
from sidemirror_server.trace.log import TURN_TOPIC
from sidemirror_server.trace.sources import SourceKind, key, keys
from sidemirror_server.vocabulary.errors import AlreadyExists, NotFound, WrongState
from sidemirror_server.vocabulary.ids import SessionId
from sidemirror_server.vocabulary.scope import Scope

_SQL = load_statements(Path(__file__).with_name("sessions.sql"))


class SqliteSessions:
    """The port `Sessions` on the embedded store."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def create(self, scope: Scope, session: SessionRecord) -> None:
        values = {
            **_key(scope, session.session_id),
            "created_us": session.created_us,
            "updated_us": session.updated_us,
            "body": session.body,
        }

        def change(connection: sqlite3.Connection) -> None:
            if connection.execute(_SQL["create"], values).rowcount == 0:
                raise AlreadyExists("session", session.session_id)
            subjects = keys(SourceKind.SUBJECT, session.subject_ids)
            note_sources(connection, scope, key(SourceKind.SESSION, session.session_id), subjects)

        await self._database.write(change)

    async def get(self, scope: Scope, session_id: SessionId) -> SessionRecord | None:
        wanted = _key(scope, session_id)
        row = self._database.read(lambda connection: connection.execute(_SQL["get"], wanted).fetchone())
        return None if row is None else _session(*row)

    async def update(self, scope: Scope, session_id: SessionId, body: bytes, now_us: int) -> None:
        values = {**_key(scope, session_id), "body": body, "updated_us": now_us}
        if await self._database.write(lambda connection: connection.execute(_SQL["update"], values).rowcount) == 0:
            raise NotFound("session", session_id)

    async def list(self, scope: Scope, after: SessionKey | None, limit: int) -> tuple[SessionRecord, ...]:
        place = after or FIRST_SESSION
        wanted = {**_key(scope, place.session_id), "created_us": place.created_us, "limit": limit}
        # Not on the loop: the statement counts the turns of each session on the page, which may be many.
        rows = await self._database.search(lambda connection: connection.execute(_SQL["list"], wanted).fetchall())
        return tuple(_session(*row) for row in rows)

    async def delete(self, scope: Scope, session_id: SessionId) -> None:
        key = _key(scope, session_id)

        def change(connection: sqlite3.Connection) -> None:
            if connection.execute(_SQL["any_open"], key).fetchone() is not None:
                raise WrongState("session", session_id, "a turn is open")
            if connection.execute(_SQL["delete"], key).rowcount == 0:
                raise NotFound("session", session_id)
            connection.execute(_SQL["delete_entries"], {**key, "topic": TURN_TOPIC})
            connection.execute(_SQL["delete_turns"], key)

        await self._database.write(change, long=True)


def _session(*row: Any) -> SessionRecord:
    """A session from its row, whose last column is a JSON list of its subjects."""
    session_id, body, created_us, updated_us, turn_count, newest_head, subjects = row
    subject_ids = tuple(sorted(json.loads(subjects)))
    return SessionRecord(session_id, body, created_us, updated_us, turn_count, newest_head, subject_ids)


def _key(scope: Scope, session_id: SessionId) -> dict[str, Any]:
    return {**columns_of(scope), "session_id": session_id}
