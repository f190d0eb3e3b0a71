"""The journal of single entries in Postgres. It shares the log with turns."""

from collections.abc import Collection
from pathlib import Path

from sidemirror_server.storage.postgres.sources import is_any_erased, note_sources
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.trace.log import FORGET_AT_ONCE, Note, forgotten_before_us
from sidemirror_server.trace.sources import published_key
from sidemirror_server.vocabulary.scope import Scope

_SQL = load_statements(Path(__file__).with_name("journal.sql"))


class PostgresJournal(PostgresTurnLog):
    """The port `Journal` on the shared store. It reads and appends like the log of turns."""

    async def add(self, scope: Scope, topic: str, note: Note, kept_us: int, sources: Collection[str] = ()) -> bool:
        place = (*ids_of(scope), topic)
        async with self._database.transaction(scope, log="appends") as transaction:
            if await is_any_erased(transaction, scope, sources, note.at_us):
                return False
            added = await transaction.change(_SQL["add"], *place, note.key, note.group, note.at_us, note.body)
            await note_sources(transaction, scope, published_key(note.key, note.group), sources)
            gone = await transaction.fetch(_SQL["forget"], *place, forgotten_before_us(note, kept_us), FORGET_AT_ONCE)
            if gone:
                await transaction.change(_SQL["mark"], *place, note.at_us, max(position for (position,) in gone))
        self._tell()
        return added == 1

    async def remove(self, scope: Scope, topic: str, group: str) -> int:
        async with self._database.transaction(scope, log="changes") as transaction:
            return await transaction.change(_SQL["remove"], *ids_of(scope), topic, group)

    async def drop(self, scope: Scope, topic: str, key: str) -> bool:
        async with self._database.transaction(scope, log="changes") as transaction:
            return await transaction.change(_SQL["drop"], *ids_of(scope), topic, key) > 0

    async def gone_up_to(self, scope: Scope, topic: str) -> int:
        found = await self._database.first(scope, _SQL["gone_up_to"], topic)
        return int(found[0]) if found else 0
