"""Migrations of the shared store: each applied once, what an older server makes of a newer schema, and what `sidemirror
migrate` says."""

import asyncio
import hashlib
from pathlib import Path

import asyncpg
import pytest

from sidemirror_server import cli
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.migrate import MIGRATIONS, PostgresMigration, migrate, read_migrations
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.thinking.store import SessionRecord
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.ids import SessionId
from tests.postgres.databases import Databases
from tests.postgres.opening import KNOWN, NEXT, ONE, newer, refusal, works

OTHER_SERVER = "use the server that has migrated this store, or another store"


async def test_migrating_again_changes_nothing(databases: Databases, name: str) -> None:
    assert await migrate(databases.cluster.url("owner", name), ["sidecar"], 5) == ()
    await works(databases.cluster.url("sidecar", name))


async def test_two_that_migrate_at_once_take_turns(databases: Databases) -> None:
    async with databases.fresh(migrated=False) as name:
        url = databases.cluster.url("owner", name)
        applied = await asyncio.gather(*[migrate(url, ["sidecar"], 5) for _ in range(4)])
        assert sorted(number for one in applied for number in one) == [str(known) for known in KNOWN]
        await works(databases.cluster.url("sidecar", name))


async def test_what_is_missing_is_refused(databases: Databases) -> None:
    async with databases.fresh(migrated=False) as name:
        await migrate(databases.cluster.url("owner", name), ["sidecar"], 0, KNOWN[:3])
        said = "migration 0004_work is missing: run `sidemirror migrate`"
        assert await refusal(databases.cluster.url("sidecar", name)) == said


async def test_an_older_server_goes_on_where_the_newer_schema_says_so(databases: Databases, name: str) -> None:
    later = newer(True, True)
    assert await migrate(databases.cluster.url("owner", name), [], 0, later) == tuple(map(str, later[-2:]))
    await works(databases.cluster.url("sidecar", name))
    await works(databases.cluster.url("sidecar", name), later)


@pytest.mark.parametrize("compatible", [(False,), (True, False), (False, True)])
async def test_an_older_server_refuses_where_it_does_not(
    compatible: tuple[bool, ...], databases: Databases, name: str
) -> None:
    later = newer(*compatible)
    await migrate(databases.cluster.url("owner", name), [], 0, later)
    number = NEXT + compatible.index(False)
    said = f"migration {number}_more_{number} is newer than this server, and says that only newer servers work with it"
    said += f": {OTHER_SERVER}"
    assert await refusal(databases.cluster.url("sidecar", name)) == said
    await works(databases.cluster.url("sidecar", name), later)


async def test_a_rolling_upgrade(databases: Databases, name: str) -> None:
    """A server that runs meets each migration on its next connection."""
    old = await PostgresDatabase.open(databases.cluster.url("sidecar", name))
    sessions = PostgresSessions(old)
    try:
        await migrate(databases.cluster.url("owner", name), [], 0, newer(True))
        await sessions.create(ONE, SessionRecord(SessionId("kept connection"), b"{}", 0, 0))
        old._connections.discard_idle()
        await sessions.create(ONE, SessionRecord(SessionId("new connection"), b"{}", 0, 0))
        await migrate(databases.cluster.url("owner", name), [], 0, newer(True, False))
        old._connections.discard_idle()
        with pytest.raises(StoreUnavailable, match=rf"{newer(True, False)[-1]} is newer than this server"):
            await sessions.get(ONE, SessionId("new connection"))
    finally:
        await old.close()


async def columns(databases: Databases, name: str) -> list[tuple[str, ...]]:
    """The columns of sessions by name, and every migration that was applied."""
    connection = await asyncpg.connect(databases.cluster.url("owner", name))
    try:
        rows = await connection.fetch(
            "SELECT column_name::text, data_type::text FROM information_schema.columns "
            "WHERE table_schema = 'sidemirror' AND table_name = 'sessions' "
            "UNION ALL SELECT number::text, checksum FROM sidemirror.schema_migrations ORDER BY 1"
        )
        return [tuple(row) for row in rows]
    finally:
        await connection.close()


@pytest.mark.parametrize("first", [0, 1])
async def test_migrations_of_two_branches_may_come_in_either_order(first: int, databases: Databases, name: str) -> None:
    """Each is applied once. Seen to fail when what is missing is taken to be what comes after as many as were
    applied."""
    owner, url = databases.cluster.url("owner", name), databases.cluster.url("sidecar", name)
    merged = newer(True, True)
    branches = merged[-2:]
    branch, other = (*KNOWN, branches[first]), (*KNOWN, branches[1 - first])
    assert await migrate(owner, [], 0, branch) == (str(branches[first]),)
    await works(url, branch)
    said = f"migration {branches[1 - first]} is missing: run `sidemirror migrate`"
    assert await refusal(url, other) == await refusal(url, merged) == said
    assert await migrate(owner, [], 1, merged) == (str(branches[1 - first]),)
    assert await migrate(owner, [], 2, merged) == ()
    for known in (other, KNOWN):
        await works(url, known)
    async with databases.fresh() as fresh:
        await migrate(databases.cluster.url("owner", fresh), [], 0, merged)
        assert await columns(databases, name) == await columns(databases, fresh)


@pytest.mark.parametrize("first", [0, 1])
async def test_a_branch_refuses_what_only_the_other_can_work_with(first: int, databases: Databases, name: str) -> None:
    branches = newer(False, False)[-2:]
    await migrate(databases.cluster.url("owner", name), [], 0, newer(False, False))
    said = f"migration {branches[first]} is newer than this server, and says that only newer servers work with it"
    said += f": {OTHER_SERVER}"
    assert await refusal(databases.cluster.url("sidecar", name), (*KNOWN, branches[1 - first])) == said


async def test_an_edited_migration_is_noticed(databases: Databases, name: str) -> None:
    first = KNOWN[0]
    edited = (PostgresMigration(first.number, first.name, first.script, "another", compatible=True), *KNOWN[1:])
    said = f"migration 0001_scopes is not the one this server has: {OTHER_SERVER}"
    assert await refusal(databases.cluster.url("sidecar", name), edited) == said
    with pytest.raises(StoreUnavailable, match="is not the one this server has"):
        await migrate(databases.cluster.url("owner", name), [], 0, edited)


async def test_a_migration_that_fails_leaves_nothing(databases: Databases, name: str) -> None:
    broken = (
        *newer(True),
        PostgresMigration(NEXT + 1, "broken", "CREATE TABLE sidemirror.x (); SELECT 1 / 0", "c", True),
    )
    with pytest.raises(StoreUnavailable):
        await migrate(databases.cluster.url("owner", name), [], 0, broken)
    await works(databases.cluster.url("sidecar", name), newer(True))
    with pytest.raises(asyncpg.UndefinedTableError):
        await databases.as_superuser("TABLE sidemirror.x", name)


@pytest.mark.parametrize(
    ("file", "script"),
    [
        ("0002_a.sql", "-- compatible: yes\n"),
        ("0001_a.sql", "CREATE TABLE x ();"),
        ("0001_a.sql", "-- compatible: maybe\n"),
    ],
)
def test_a_file_that_is_no_migration_is_refused(file: str, script: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(script)
    with pytest.raises(ValueError, match=file):
        read_migrations(tmp_path)


def test_the_servers_own_migrations() -> None:
    """Eighteen have numbers of four digits, no more will, and none of them changes: a store that has them is refused
    otherwise."""
    landed = hashlib.sha256("".join(one.checksum for one in KNOWN[:18]).encode()).hexdigest()
    assert landed == "f6570d8e84ecbed743a867aee8ea76046bad20903c53135fa657dad00ae13d0b"
    numbers = [migration.number for migration in KNOWN]
    assert numbers[:18] == list(range(1, 19))
    assert all(202611220000 < number < NEXT for number in numbers[18:])


def test_every_table_is_protected_or_an_envelope() -> None:
    """By the files: what a test of the schema cannot see is a table that a later file forgets."""
    scripts = [path.read_text(encoding="utf-8") for path in sorted(MIGRATIONS.glob("*.sql"))]
    tables = {line.split()[2] for script in scripts for line in script.splitlines() if line.startswith("CREATE TABLE ")}
    for made in tables - {"sidemirror.role_tenants", "sidemirror.policies"}:  # have a policy of their own
        protect = "protect_envelopes" if made.endswith("_envelopes") else "protect"
        assert any(f"SELECT sidemirror.{protect}('{made}')" in script for script in scripts), made


@pytest.mark.parametrize(
    ("role", "reason"), [("bypass", "could look past"), ("owner", "is the one that migrates"), ("x", "no role")]
)
def test_migrate_grants_to_no_such_role(
    role: str, reason: str, databases: Databases, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is changed before that is said. Seen to fail when roles are looked at as they are granted to."""
    name = asyncio.run(databases.create(migrated=False))
    url = databases.cluster.url("owner", name)
    assert cli.main(["migrate", "--database-url", url, "--grant-to", "sidecar", "--grant-to", role]) == 1
    told = capsys.readouterr()
    assert reason in told.err
    assert told.err.startswith("sidemirror: The store cannot be used.")
    assert told.out == ""
    assert "has no schema of ours" in asyncio.run(refusal(databases.cluster.url("sidecar", name)))


def test_migrate_by_the_sidecars_role_says_whose_role_it_takes(
    databases: Databases, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen to fail with `permission denied for database` alone."""
    name = asyncio.run(databases.create(migrated=False))
    assert cli.main(["migrate", "--database-url", databases.cluster.url("sidecar", name)]) == 1
    assert "permission denied for database" in (said := capsys.readouterr().err)
    assert "connect as the database's owner" in said


class Answers(asyncio.Protocol):
    """Answers the first words of each connection with what it was given to say, and ends it."""

    def __init__(self, says: bytes) -> None:
        self._says = says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(self._says)
        self._transport.close()


# Nothing, HTTP, a request for a password without its salt, and a message of a negative length.
STRANGE = [
    b"",
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"R\x00\x00\x00\x08\x00\x00\x00\x05",
    b"R\xff\xff\xff\xfbxxxx",
]


@pytest.mark.parametrize("says", STRANGE)
async def test_migrate_talks_to_something_else(says: bytes) -> None:
    """Whatever the driver makes of it is told as an error of the store, not as a traceback. Seen to fail without
    InternalClientError among DRIVER_ERRORS."""
    server = await asyncio.get_running_loop().create_server(lambda: Answers(says), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(StoreUnavailable):
            await migrate(f"postgresql://owner:hunter2@127.0.0.1:{port}/x?sslmode=disable", [], 0)


def test_migrate_says_what_it_did(databases: Databases, capsys: pytest.CaptureFixture[str]) -> None:
    name = asyncio.run(databases.create(migrated=False))
    arguments = ["migrate", "--database-url", databases.cluster.url("owner", name), "--grant-to", "sidecar"]
    assert cli.main(arguments) == 0
    applied = [f"applied {known}" for known in KNOWN]
    assert capsys.readouterr().out.splitlines() == [*applied, "the schema is up to date", "sidecar may use it"]
    assert cli.main(arguments) == 0
    assert capsys.readouterr().out.splitlines() == ["the schema is up to date", "sidecar may use it"]
