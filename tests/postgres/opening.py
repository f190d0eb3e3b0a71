"""Opening a Postgres store with migrations of one's own: whether it works, and why it does not."""

import pytest

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.migrate import PostgresMigration, read_migrations
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.thinking.store import SessionRecord
from sidemirror_server.vocabulary.errors import StoreRefused, StoreUnavailable
from sidemirror_server.vocabulary.ids import SessionId
from sidemirror_server.vocabulary.scope import Scope

ONE = Scope("acme", "shop")
KNOWN = read_migrations()


async def refusal(
    url: str, known: tuple[PostgresMigration, ...] = KNOWN, kind: type[StoreUnavailable] = StoreRefused
) -> str:
    """Why the store cannot be opened."""
    with pytest.raises(StoreUnavailable) as caught:
        await (await PostgresDatabase.open(url, known=known)).close()
    assert type(caught.value) is kind
    assert "hunter2" not in str(caught.value)
    return caught.value.facts["reason"]


async def works(url: str, known: tuple[PostgresMigration, ...] = KNOWN) -> None:
    database = await PostgresDatabase.open(url, known=known)
    try:
        session_id = SessionId(f"of {known[-1]}")
        await PostgresSessions(database).create(ONE, SessionRecord(session_id, b"{}", 0, 0))
        assert await PostgresSessions(database).get(ONE, session_id) is not None
    finally:
        await database.close()


# A minute after that of every migration there is.
NEXT = 209901010000


def more(number: int, compatible: bool) -> PostgresMigration:
    """A migration that adds a column to sessions."""
    script = f"ALTER TABLE sidemirror.sessions ADD more_{number} text"
    return PostgresMigration(number, f"more_{number}", script, "checksum", compatible)


def newer(*compatible: bool) -> tuple[PostgresMigration, ...]:
    """The migrations of a later server, each of which says whether earlier servers go on."""
    return (*KNOWN, *(more(number, flag) for number, flag in enumerate(compatible, start=NEXT)))
