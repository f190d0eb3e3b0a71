"""Who may open the shared store, and what is said to whom it is refused, by the log and by `sidemirror serve` too."""

import asyncio
import contextlib
import logging
import subprocess
import sys
from pathlib import Path
from typing import cast

import asyncpg
import pytest

from sidemirror_server.settings import load, sources
from sidemirror_server.storage.postgres import database
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.vocabulary.errors import StoreRefused, StoreUnavailable
from sidemirror_server.vocabulary.ids import SessionId
from tests.architecture.repository import ROOT
from tests.faults.waiting import until
from tests.postgres.cluster import Cluster
from tests.postgres.databases import Databases
from tests.postgres.opening import ONE, refusal

FORCE = "as the owner, ALTER TABLE … ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"


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


def test_serve_refuses_a_store_that_it_must_not_use(databases: Databases, tmp_path: Path) -> None:
    name = asyncio.run(databases.create())
    done = run_serve(databases.cluster, "owner", name, tmp_path)
    said = "role 'owner' owns the tables, or may act as their owner: use one that owns nothing"
    assert done == (78, f"database_url (SIDEMIRROR_DATABASE_URL): the store cannot be used: {said}")


def run_serve(cluster: Cluster, role: str, name: str, folder: Path) -> tuple[int, str]:
    """The exit code of `sidemirror serve`, and what it said at last."""
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
