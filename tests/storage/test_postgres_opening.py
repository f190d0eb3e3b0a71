"""Who may open the shared store, and with which schema: what is refused, and what is said about it."""

import asyncio
import contextlib
import hashlib
import logging
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import asyncpg
import pytest

from sidemirror_server import cli
from sidemirror_server.settings import load, sources
from sidemirror_server.storage.postgres import database
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.migrate import MIGRATIONS, PostgresMigration, migrate, read_migrations
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.thinking.store import SessionRecord
from sidemirror_server.vocabulary.errors import StoreRefused, StoreUnavailable
from sidemirror_server.vocabulary.ids import SessionId
from sidemirror_server.vocabulary.scope import Scope
from tests.faults.waiting import until
from tests.postgres.cluster import Cluster
from tests.postgres.databases import Databases

ONE = Scope("acme", "shop")
KNOWN = read_migrations()
FORCE = "as the owner, ALTER TABLE … ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
OTHER_SERVER = "use the server that has migrated this store, or another store"


@pytest.fixture
async def name(databases: Databases) -> AsyncIterator[str]:
    """A migrated database of the test's own."""
    async with databases.fresh() as fresh:
        yield fresh


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


@pytest.mark.parametrize(
    ("role", "reason"),
    [
        ("superuser", "role 'superuser' is a superuser, or may become one"),
        ("bypass", "role 'bypass' has BYPASSRLS, or may take it"),
        ("owner", "role 'owner' owns the tables, or may act as their owner"),
    ],
)
async def test_a_role_that_could_look_past_the_policies_is_refused(
    role: str, reason: str, databases: Databases, name: str
) -> None:
    assert reason in await refusal(databases.cluster.url(role, name))


@pytest.mark.parametrize(("of", "reason"), [("superuser", "superuser"), ("bypass", "BYPASSRLS"), ("owner", "owns")])
@pytest.mark.parametrize("inherit", ["TRUE", "FALSE"])
async def test_so_is_a_member_of_such_a_role(
    of: str, reason: str, inherit: str, databases: Databases, name: str
) -> None:
    member = f"member_of_{of}_{inherit.lower()}"
    await databases.as_superuser(f"CREATE ROLE {member} LOGIN; GRANT {of} TO {member} WITH INHERIT {inherit}")
    assert reason in await refusal(databases.cluster.url(member, name))


async def test_a_role_that_was_granted_nothing_is_refused(databases: Databases, name: str) -> None:
    await databases.as_superuser("CREATE ROLE stranger LOGIN")
    said = "role 'stranger' may not use the schema: run `sidemirror migrate --grant-to stranger`"
    assert await refusal(databases.cluster.url("stranger", name)) == said


@pytest.mark.parametrize("switch", ["DISABLE ROW LEVEL SECURITY", "NO FORCE ROW LEVEL SECURITY"])
async def test_tables_without_protection_are_refused(switch: str, databases: Databases, name: str) -> None:
    await databases.as_superuser(f"ALTER TABLE sidemirror.turns {switch}", name)
    said = f"row level security is not in force on turns: {FORCE}"
    assert await refusal(databases.cluster.url("sidecar", name)) == said


@pytest.mark.parametrize(("table", "switch"), [("job_envelopes", "NO FORCE"), ("role_tenants", "DISABLE")])
async def test_so_are_envelopes_and_bindings(table: str, switch: str, databases: Databases, name: str) -> None:
    await databases.as_superuser(f"ALTER TABLE sidemirror.{table} {switch} ROW LEVEL SECURITY", name)
    said = f"row level security is not in force on {table}: {FORCE}"
    assert await refusal(databases.cluster.url("sidecar", name)) == said


async def test_a_database_without_our_schema_is_refused(databases: Databases) -> None:
    async with databases.fresh(migrated=False) as name:
        said = "this database has no schema of ours: run `sidemirror migrate`"
        assert await refusal(databases.cluster.url("sidecar", name)) == said


CHANGE = "SIDEMIRROR_DATABASE_URL (serve) or --database-url (migrate)"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mysql://role:hunter2@localhost/x", "its URL cannot be used"),
        ("postgresql://role:hunter2@localhost:port/x", "its URL cannot be used"),
        (
            "postgresql://sidecar:hunter2@/no_such?host=%s",
            f"InvalidCatalogNameError (3D000): there is no such database: change its name in {CHANGE}, or create it",
        ),
        ("postgresql://nobody:hunter2@/postgres?host=%s", "(28000): the server does not let this role in"),
    ],
)
async def test_wrong_settings_are_named(url: str, reason: str, databases: Databases) -> None:
    assert reason in await refusal(url.replace("%s", str(databases.cluster.socket)))


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://role:hunter2@127.0.0.1:1/x", "ConnectionRefusedError: nobody listens there: start the server"),
        ("postgresql://role:hunter2@/x?host=/nowhere", "FileNotFoundError: nobody listens there: start the server"),
    ],
)
async def test_nobody_answers_there(url: str, reason: str) -> None:
    assert await refusal(url, kind=StoreUnavailable) == f"{reason}, or change host and port in {CHANGE}"


async def test_a_wrong_password(databases: Databases, name: str) -> None:
    await databases.as_superuser(
        "CREATE ROLE guarded LOGIN PASSWORD 'another' IN ROLE asked_for_password; CREATE ROLE locked_out NOLOGIN"
    )
    said = f"InvalidPasswordError (28P01): the password is wrong, or the role does not exist: change them in {CHANGE}"
    assert await refusal(databases.cluster.url("guarded", name)) == said
    assert "may lack LOGIN" in await refusal(databases.cluster.url("locked_out", name))


async def test_no_right_to_connect(databases: Databases, name: str) -> None:
    await databases.as_superuser(f"REVOKE CONNECT ON DATABASE {name} FROM PUBLIC")
    said = (
        "InsufficientPrivilegeError (42501): the role may not connect to this database: "
        "GRANT CONNECT ON DATABASE … TO the role"
    )
    assert await refusal(databases.cluster.url("sidecar", name)) == said


async def test_no_connection_left(databases: Databases, name: str) -> None:
    await databases.as_superuser("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0")
    said = await refusal(databases.cluster.url("crowded", name), kind=StoreUnavailable)
    assert said.startswith("TooManyConnectionsError (53300): the server has no connection left: raise its max_conn")


async def test_a_server_without_tls() -> None:
    async def without_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(8)  # SSLRequest
        writer.write(b"N")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(without_tls, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        said = await refusal(f"postgresql://role:hunter2@127.0.0.1:{port}/x?sslmode=require", kind=StoreUnavailable)
    assert "no TLS connection could be made: look at sslmode and sslrootcert in SIDEMIRROR_DATABASE_URL" in said


# --- the schema ------------------------------------------------------------------------------------------------------


# A minute after that of every migration there is.
NEXT = 209901010000


def more(number: int, compatible: bool) -> PostgresMigration:
    """A migration that adds a column to sessions."""
    script = f"ALTER TABLE sidemirror.sessions ADD more_{number} text"
    return PostgresMigration(number, f"more_{number}", script, "checksum", compatible)


def newer(*compatible: bool) -> tuple[PostgresMigration, ...]:
    """The migrations of a later server, each of which says whether earlier servers go on."""
    return (*KNOWN, *(more(number, flag) for number, flag in enumerate(compatible, start=NEXT)))


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


# --- the commands ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "reason"), [("bypass", "could look past"), ("owner", "could look past"), ("x", "no role")]
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


async def test_a_refusal_that_lasts_is_logged_once(
    databases: Databases, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Seen to fail when each probe logs what it finds."""
    database = await PostgresDatabase.open(databases.cluster.url("sidecar", name))
    try:
        await databases.as_superuser("ALTER TABLE sidemirror.turns DISABLE ROW LEVEL SECURITY", name)
        database._connections.discard_idle()
        with pytest.raises(StoreRefused, match="not in force on turns"):
            await PostgresSessions(database).get(ONE, SessionId("s"))
        assert not database.is_available()
        with pytest.raises(StoreUnavailable, match="it cannot be used as it is; the log says why"):
            await PostgresSessions(database).get(ONE, SessionId("s"))
        await tried(database, 3)
        await databases.as_superuser("ALTER TABLE sidemirror.requests DISABLE ROW LEVEL SECURITY", name)
        await tried(database, 2)
        for table in ("turns", "requests"):
            await databases.as_superuser(f"ALTER TABLE sidemirror.{table} ENABLE ROW LEVEL SECURITY", name)
        await until(database.is_available)
        assert await PostgresSessions(database).get(ONE, SessionId("s")) is None
    finally:
        await database.close()
    refusals = [vars(record)["reason"] for record in caplog.records if record.message == "store_refused"]
    assert refusals == [
        f"row level security is not in force on turns: {FORCE}",
        f"row level security is not in force on requests, turns: {FORCE}",
    ]


async def tried(database: PostgresDatabase, times: int) -> None:
    """Returns when so many more connections were tried."""
    connect, tries = database._connect, 0

    async def counted(within_s: float) -> asyncpg.Connection:
        nonlocal tries
        try:
            return await connect(within_s)
        finally:
            tries += 1

    database._connect = counted  # type: ignore[assignment, method-assign]
    await until(lambda: tries >= times)
    database._connect = connect  # type: ignore[method-assign]


def test_migrate_says_what_it_did(databases: Databases, capsys: pytest.CaptureFixture[str]) -> None:
    name = asyncio.run(databases.create(migrated=False))
    arguments = ["migrate", "--database-url", databases.cluster.url("owner", name), "--grant-to", "sidecar"]
    assert cli.main(arguments) == 0
    applied = [f"applied {known}" for known in KNOWN]
    assert capsys.readouterr().out.splitlines() == [*applied, "the schema is up to date", "sidecar may use it"]
    assert cli.main(arguments) == 0
    assert capsys.readouterr().out.splitlines() == ["the schema is up to date", "sidecar may use it"]


def test_serve_refuses_a_store_that_it_must_not_use(databases: Databases, tmp_path: Path) -> None:
    name = asyncio.run(databases.create())
    done = run_serve(databases.cluster, "owner", name, tmp_path)
    said = "role 'owner' owns the tables, or may act as their owner: use one that owns nothing"
    assert done == (78, f"database_url (SIDEMIRROR_DATABASE_URL): the store cannot be used: {said}")


def run_serve(cluster: Cluster, role: str, name: str, folder: Path) -> tuple[int, str]:
    """The exit code of `sidemirror serve`, and what it said at last."""
    import subprocess

    from tests.architecture.repository import ROOT

    done = subprocess.run(
        [sys.executable, "-m", "sidemirror_server.cli", "serve", "--address", f"unix:{folder / 's'}"],
        env={"SIDEMIRROR_DATABASE_URL": cluster.url(role, name), "PYTHONPATH": str(ROOT / "server")},
        cwd=folder,
        capture_output=True,
        timeout=60,
        check=False,
    )
    told = done.stderr.decode()
    assert "hunter2" not in told + done.stdout.decode()
    return done.returncode, told.splitlines()[-1].removeprefix("sidemirror: ")


def test_the_url_is_not_shown() -> None:
    settings = load({}, {"SIDEMIRROR_DATABASE_URL": "postgresql://role:hunter2@host/x"})
    assert settings.database_url.reveal() == "postgresql://role:hunter2@host/x"
    shown = {source.name: source.value for source in sources(settings, {}, {})}["database_url"]
    assert (str(shown), f"{shown}", repr(shown)) == ("[secret]", "[secret]", "[secret]")
    assert "hunter2" not in repr(settings)
    assert not load({}, {}).database_url


async def test_an_outage_is_one_warning(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever reasons follow; one for which the settings must change is an error. Seen to fail with a second
    warning."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(database, "_PROBE_EVERY_S", 0.0)
    opened = PostgresDatabase("postgresql://role:hunter2@db:5432/x", (), 1, 60, 60)
    reasons: list[StoreUnavailable] = [
        StoreUnavailable(store="postgres", reason="nobody listens"),
        StoreRefused(store="postgres", reason="a wrong password"),
    ]

    async def connect(_: float) -> None:
        if reasons:
            raise reasons.pop(0)
        raise asyncio.CancelledError

    monkeypatch.setattr(opened, "_connect", connect)
    opened._away(StoreUnavailable(store="postgres", reason="it hung up"))
    with contextlib.suppress(asyncio.CancelledError):
        await cast("asyncio.Task[None]", opened._probing)
    lines = [vars(one) for one in caplog.records]
    assert [(one["levelname"], one["message"], one["at"], one["reason"]) for one in lines] == [
        ("WARNING", "store_away", "db:5432/x", "it hung up"),
        ("INFO", "store_still_away", "db:5432/x", "nobody listens"),
        ("ERROR", "store_refused", "db:5432/x", "a wrong password"),
    ]
