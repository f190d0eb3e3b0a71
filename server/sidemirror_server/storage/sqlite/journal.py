"""The journal in SQLite: single entries in the table that the log of turns uses too."""

import sqlite3
from collections.abc import Collection
from pathlib import Path

from sidemirror_server.storage.sql import columns_of, load_statements
from sidemirror_server.storage.sqlite.sources import is_any_erased, note_sources
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.trace.log import FORGET_AT_ONCE, Note, forgotten_before_us
from sidemirror_server.trace.sources import published_key
from sidemirror_server.vocabulary.scope import Scope

_SQL = load_statements(Path(__file__).with_name("journal.sql"))


class SqliteJournal(SqliteTurnLog):
    """The port `Journal` on the embedded store. It inherits reading from the log of turns."""

    async def add(self, scope: Scope, topic: str, note: Note, kept_us: int, sources: Collection[str] = ()) -> bool:
        values = {
            **columns_of(scope),
            "topic": topic,
            "key": note.key,
            "group_id": note.group,
            "at_us": note.at_us,
            "body": note.body,
            "until_us": forgotten_before_us(note, kept_us),
            "limit": FORGET_AT_ONCE,
        }

        def change(connection: sqlite3.Connection) -> bool:
            if is_any_erased(connection, scope, sources, note.at_us):
                return False
            is_new = connection.execute(_SQL["add"], values).rowcount == 1
            note_sources(connection, scope, published_key(note.key, note.group), sources)
            gone = [position for (position,) in connection.execute(_SQL["forget"], values)]
            if gone:
                connection.execute(_SQL["mark"], {**values, "gone_up_to": str(max(gone))})
            return is_new

        return await self._database.write(change)

    async def remove(self, scope: Scope, topic: str, group: str) -> int:
        values = {**columns_of(scope), "topic": topic, "group_id": group}
        return await self._database.write(lambda connection: connection.execute(_SQL["remove"], values).rowcount)

    async def drop(self, scope: Scope, topic: str, key: str) -> bool:
        values = {**columns_of(scope), "topic": topic, "key": key}
        return await self._database.write(lambda connection: connection.execute(_SQL["drop"], values).rowcount) > 0

    async def gone_up_to(self, scope: Scope, topic: str) -> int:
        values = {**columns_of(scope), "topic": topic}
        row = self._database.read(lambda connection: connection.execute(_SQL["gone_up_to"], values).fetchone())
        return int(row[0]) if row else 0
