"""Sessions in Postgres."""

from pathlib import Path

import asyncpg

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.sources import note_sources
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.thinking.store import FIRST_SESSION, SessionKey, SessionRecord
from sidemirror_server.trace.log import TURN_TOPIC
from sidemirror_server.trace.sources import SourceKind, key, keys
from sidemirror_server.vocabulary.errors import AlreadyExists, NotFound, WrongState
from sidemirror_server.vocabulary.ids import SessionId
from sidemirror_server.vocabulary.scope import Scope

_SQL = load_statements(Path(__file__).with_name("sessions.sql"))


class PostgresSessions:
    """The port `Sessions` on the shared store."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def create(self, scope: Scope, session: SessionRecord) -> None:
        values = (session.created_us, session.updated_us, session.body)
        async with self._database.transaction(scope, derives=True) as transaction:
            if await transaction.change(_SQL["create"], *ids_of(scope), session.session_id, *values) == 0:
                raise AlreadyExists("session", session.session_id)
            subjects = keys(SourceKind.SUBJECT, session.subject_ids)
            await note_sources(transaction, scope, key(SourceKind.SESSION, session.session_id), subjects)

    async def get(self, scope: Scope, session_id: SessionId) -> SessionRecord | None:
        row = await self._database.first(scope, _SQL["get"], session_id)
        return None if row is None else _session(row)

    async def update(self, scope: Scope, session_id: SessionId, body: bytes, now_us: int) -> None:
        if await self._database.change(scope, _SQL["update"], session_id, body, now_us) == 0:
            raise NotFound("session", session_id)

    async def list(self, scope: Scope, after: SessionKey | None, limit: int) -> tuple[SessionRecord, ...]:
        place = after or FIRST_SESSION
        rows = await self._database.fetch(scope, _SQL["list"], place.created_us, place.session_id, limit)
        return tuple(_session(row) for row in rows)

    async def delete(self, scope: Scope, session_id: SessionId) -> None:
        key = (*ids_of(scope), session_id)
        # Serialised with the scope's appends, so that no turn opens between the check and the deletion.
        async with self._database.transaction(scope, log="changes") as transaction:
            if await transaction.first(_SQL["any_open"], *key) is not None:
                raise WrongState("session", session_id, "a turn is open")
            if await transaction.change(_SQL["delete"], *key) == 0:
                raise NotFound("session", session_id)
            await transaction.change(_SQL["delete_entries"], *key, TURN_TOPIC)
            await transaction.change(_SQL["delete_turns"], *key)


def _session(row: asyncpg.Record) -> SessionRecord:
    session_id, body, created_us, updated_us, turn_count, newest_head, subject_ids = row
    return SessionRecord(session_id, body, created_us, updated_us, turn_count, newest_head, tuple(subject_ids))
