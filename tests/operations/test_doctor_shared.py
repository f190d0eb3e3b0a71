"""`sidemirror doctor` with a Postgres: it looks as `serve` would, says what to change, and changes nothing."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from sidemirror_server.operations.doctor import as_one, examine
from sidemirror_server.operations.finding import Finding
from sidemirror_server.operations.moments import second
from sidemirror_server.rpc.sidecar.findings import OfStore
from sidemirror_server.storage.postgres import examine as examine_postgres
from sidemirror_server.storage.postgres.failures import connect_failure, place_of
from sidemirror_server.storage.postgres.migrate import migrate, read_migrations
from sidemirror_server.storage.sqlite import disk_pace
from sidemirror_server.vocabulary.clock import SystemClock
from tests.acceptance import product
from tests.faults.clocks import SetClock
from tests.postgres.databases import Databases
from tests.postgres.opening import newer
from tests.postgres.pooler import Pooler, found

KNOWN = len(read_migrations())


@pytest.fixture
async def name(databases: Databases) -> AsyncIterator[str]:
    async with databases.fresh() as fresh:
        yield fresh


async def examined(folder: Path, url: str, clock_us: int | None = None, **settings: str) -> Any:
    clock = SystemClock() if clock_us is None else SetClock(clock_us)
    flags = {"address": "127.0.0.1:0", "data_dir": str(folder / "data"), **settings}
    done = await asyncio.to_thread(examine, flags, clock, {"SIDEMIRROR_DATABASE_URL": url})
    assert "hunter2" not in repr(done)
    assert not (folder / "data").exists()
    return done


async def wrong(folder: Path, url: str, **more: Any) -> list[Finding]:
    return [finding for finding in (await examined(folder, url, **more)).findings if not finding.ok]


async def dump(databases: Databases, name: str) -> list[tuple[Any, ...]]:
    """What could have been changed: tables and their rights, roles, and the schema's record. Estimates of rows are not
    among it: the database renews them by itself."""
    connection = await asyncpg.connect(databases.cluster.url("superuser", name))
    try:
        rows = await connection.fetch(
            "SELECT relname::text, relacl::text, relrowsecurity::text, xmin::text FROM pg_class "
            "UNION ALL SELECT rolname::text, rolcanlogin::text, rolsuper::text, xmin::text FROM pg_authid "
            "UNION ALL SELECT name, checksum, compatible::text, xmin::text FROM sidemirror.schema_migrations ORDER BY 1"
        )
        return [tuple(row) for row in rows]
    finally:
        await connection.close()


async def test_a_store_that_serves(databases: Databases, name: str, tmp_path: Path) -> None:
    before = await dump(databases, name)
    examination = await examined(tmp_path, databases.cluster.url("sidecar", name))
    assert examination.ok
    told = [finding.found for finding in examination.findings if finding.subject == "store"]
    assert told[0].startswith("PostgreSQL 18")
    assert told[1].startswith(f"schema {KNOWN} of {KNOWN}, row level security forced on ")
    assert told[2] == "the operator's role: it reaches every tenant"
    assert told[3].startswith("pgvector 0.")
    assert told[4].startswith("up to 4 connections; ")
    assert "of 117 are taken" in told[4]
    assert re.fullmatch(r"a commit takes \d+\.\d ms", told[5])
    assert told[6] == "fsync is off: what it keeps may not survive a crash"
    assert await dump(databases, name) == before


async def test_commits_that_take_long_are_told(durable: Databases, tmp_path: Path) -> None:
    """First the server waits for a tenth of a second before it asks the disk, then for a standby that is not there."""
    async with durable.fresh() as name:
        url = durable.cluster.url("sidecar", name)
        for setting in ("commit_delay = 100000", "commit_siblings = 0"):
            await durable.as_superuser(f"ALTER DATABASE {name} SET {setting}", name)
        (slow,) = await wrong(tmp_path, url)
        told = re.fullmatch(r"a commit takes (\d+) ms or more, with its way there and back", slow.found)
        assert told is not None, slow
        assert 100 <= int(told[1]) < 2_000
        assert slow.advice.startswith("see what its disk does")
        await durable.as_superuser("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", name)
        await durable.as_superuser("SELECT pg_reload_conf()", name)
        (stuck,) = await wrong(tmp_path, url)
        assert stuck.found == "a commit takes 2,000 ms or more, with its way there and back"
        await durable.as_superuser("ALTER SYSTEM RESET synchronous_standby_names", name)
        await durable.as_superuser("SELECT pg_reload_conf()", name)
    assert examine_postgres.SLOW_S == disk_pace.SLOW_S


async def test_roles_that_serve_would_refuse(databases: Databases, name: str, tmp_path: Path) -> None:
    """Everything that is wrong is said at once."""
    findings = await wrong(tmp_path, databases.cluster.url("superuser", name))
    assert [finding.found for finding in findings] == [
        "role 'superuser' is a superuser, or may become one, and row level security would not hold it",
        "role 'superuser' has BYPASSRLS, or may take it, and row level security would not hold it",
        "role 'superuser' owns the tables, or may act as their owner",
    ]
    assert findings[0].advice.startswith("CREATE ROLE another, with LOGIN and nothing else")
    assert findings[2].advice == "use one that owns nothing"
    await databases.as_superuser("ALTER TABLE sidemirror.turns NO FORCE ROW LEVEL SECURITY", name)
    (finding,) = await wrong(tmp_path, databases.cluster.url("sidecar", name))
    assert finding.found == "row level security is not in force on turns"
    assert finding.advice == "as the owner, ALTER TABLE … ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"


@pytest.mark.parametrize(
    ("compatible", "problem", "advice"),
    [
        ((True,), "", ""),
        ((False,), "is newer than this server, and says that only newer servers work with it", "use the server that"),
    ],
)
async def test_a_newer_schema(
    compatible: tuple[bool, ...], problem: str, advice: str, databases: Databases, name: str, tmp_path: Path
) -> None:
    await migrate(databases.cluster.url("owner", name), [], 0, newer(*compatible))
    findings = await wrong(tmp_path, databases.cluster.url("sidecar", name))
    assert [problem in finding.found for finding in findings] == ([True] if problem else [])
    assert all(finding.advice.startswith(advice) for finding in findings)


async def test_an_older_schema_and_none(databases: Databases, tmp_path: Path) -> None:
    async with databases.fresh(migrated=False) as name:
        url = databases.cluster.url("sidecar", name)
        (finding,) = await wrong(tmp_path, url)
        assert finding == Finding("store", False, "this database has no schema of ours", "run `sidemirror migrate`")
        await migrate(databases.cluster.url("owner", name), ["sidecar"], 0, read_migrations()[:3])
        (finding,) = await wrong(tmp_path, url)
        assert (finding.found, finding.advice) == ("migration 0004_work is missing", "run `sidemirror migrate`")


async def test_too_few_connections(databases: Databases, name: str, tmp_path: Path) -> None:
    await databases.as_superuser(f"ALTER DATABASE {name} CONNECTION LIMIT 3")
    (finding,) = await wrong(tmp_path, databases.cluster.url("sidecar", name))
    assert finding.found.startswith(
        "the role or the database is limited to 3 connections, and this server uses up to 4"
    )
    assert finding.advice == "lower database_connections, or raise CONNECTION LIMIT"


async def test_clocks_that_differ(databases: Databases, name: str, tmp_path: Path) -> None:
    behind_us = SystemClock().now_us() + 3_600_000_000
    (finding,) = await wrong(tmp_path, databases.cluster.url("sidecar", name), clock_us=behind_us)
    assert finding.subject == "clock"
    assert finding.found.startswith("the database's clock is 3,600 s behind: it is 20")
    assert finding.found.endswith(f" UTC there, and {second(behind_us)} by this machine's")
    day_behind_us = behind_us + 86_400 * 1_000_000
    (finding,) = await wrong(tmp_path, databases.cluster.url("sidecar", name), clock_us=day_behind_us)
    assert finding.found.startswith("the database's clock is 90,000 s behind: ")
    assert finding.found.endswith("; sidecars remove nothing meanwhile")


@pytest.mark.skipif(found() is None, reason="PgBouncer is not installed (apt-get install pgbouncer)")
async def test_a_pooler_is_seen(databases: Databases, name: str, tmp_path: Path) -> None:
    pooler = Pooler(databases.cluster, connections=2)
    try:
        examination = await examined(tmp_path, pooler.url(name))
    finally:
        pooler.remove()
    assert examination.ok
    told = [finding.found for finding in examination.findings]
    assert told[0].endswith(", behind a pooler such as PgBouncer")
    assert "up to 4 connections, to the pooler" in told


async def test_a_server_that_does_not_answer(tmp_path: Path) -> None:
    """It takes no longer than its bound, and says which server. Seen to fail without a limit on the connection, and
    without its name."""

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        began_s = time.monotonic()
        (finding,) = await wrong(tmp_path, f"postgresql://sidecar:hunter2@127.0.0.1:{port}/x")
        assert time.monotonic() - began_s < 30
    assert finding.found == f"Postgres 127.0.0.1:{port}/x: TimeoutError: no answer in time"
    assert finding.advice.startswith("look at the network and the server")
    (finding,) = await wrong(tmp_path, "postgresql://sidecar:hunter2@127.0.0.1:1/x")
    assert finding.found == "Postgres 127.0.0.1:1/x: ConnectionRefusedError: nobody listens there"
    assert finding.advice.startswith("start the server, or change host and port in SIDEMIRROR_DATABASE_URL")


@pytest.mark.parametrize(
    ("code", "found", "advice"),
    [
        ("28P01", "the password is wrong, or the role does not exist", "change them in "),
        ("28000", "the server does not let this role in", "it may not exist, may lack LOGIN, or "),
        ("3D000", "there is no such database", "change its name in "),
        ("42501", "the role may not connect to this database", "GRANT CONNECT ON DATABASE"),
        ("53300", "the server has no connection left", "raise its max_connections"),
        ("57P03", "the server is starting or stopping", "wait, or look into its log"),
        ("08P01", "a pooler turned the connection away (no such database or role, or it cannot log in itself)", "look"),
        ("25006", "this server is read-only, a standby", "name the primary in "),
        ("08006", "", ""),
    ],
)
def test_a_sentence_stands_once(code: str, found: str, advice: str) -> None:
    """The cause is what was found, the remedy is the advice. Seen to fail with the remedy in both lines."""
    error = asyncpg.PostgresError.new({"C": code, "M": "hunter2"})
    failure = connect_failure(error)
    assert failure is not None
    assert failure.cause == f"{type(error).__name__} ({code}){f': {found}' if found else ''}"
    assert failure.remedy.startswith(advice)
    whole = f"{failure.cause}: {failure.remedy}" if failure.remedy else failure.cause
    assert failure.facts["reason"] == whole


async def test_the_command(databases: Databases, name: str, tmp_path: Path) -> None:
    url = databases.cluster.url("owner", name)
    ran = product.run("doctor", "--address", "127.0.0.1:0", "--json", cwd=tmp_path, SIDEMIRROR_DATABASE_URL=url)
    assert ran.returncode == 1
    told = json.loads(ran.stdout)
    assert told["findings"][0]["advice"] == "use one that owns nothing"
    assert "hunter2" not in ran.stdout + ran.stderr


@pytest.mark.parametrize("mode", ["ACCESS EXCLUSIVE", "SHARE"])
async def test_a_table_that_somebody_has_locked(mode: str, databases: Databases, name: str, tmp_path: Path) -> None:
    """Which nothing else says: the store answers, and the calls that need the table do not. Seen to fail when doctor
    looks at no locks."""
    holder = await asyncpg.connect(databases.cluster.url("owner", name))
    try:
        await holder.execute(f"BEGIN; LOCK TABLE sidemirror.turns, sidemirror.memories IN {mode} MODE")
        (finding,) = await wrong(tmp_path, databases.cluster.url("sidecar", name))
    finally:
        await holder.close()
    pid, kind = holder.get_server_pid(), f"{mode.title().replace(' ', '')}Lock"
    assert finding.subject == "store"
    assert finding.found.startswith(f"process {pid} of role 'owner' holds {kind} on memories, turns, which sidecars ")
    assert finding.advice == f"let it end, or run SELECT pg_terminate_backend({pid})"
    assert await wrong(tmp_path, databases.cluster.url("sidecar", name)) == []


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://role:hunter2@db:5432/x?sslmode=require&password=hunter2", "db:5432/x"),
        ("postgresql://a,b:5433/x", "a,b:5433/x"),
        ("postgresql://role:hunter2@/x?host=/run/pg", "/run/pg/x"),
        ("postgresql://role:hunt/er2@db/x", ""),
        ("postgresql://role:hunt?er2@db/x", ""),
        ("postgresql://role:hunt#er2@db/x", ""),
        ("hunter2", ""),
    ],
)
def test_a_place_has_no_credentials(url: str, place: str) -> None:
    """Seen to fail, with a part of the password, when it is what comes before the first `/`."""
    assert place_of(url) == place


def test_one_cause_has_one_line() -> None:
    """The sidecar's Postgres is away, which it says too. Seen to fail with a second `!!` line, and in other words."""
    postgres = OfStore("postgres")
    own = [Finding("store", False, "Postgres db:5432/x: it is away", "mend it", about=postgres)]
    says = [
        Finding("store", False, "the sidecar at a says that its postgres store is away", "mend it", about=postgres),
        Finding(
            "store", False, "the sidecar at a says that its redis store is away", "mend it", about=OfStore("redis")
        ),
    ]
    first, redis = as_one(says, own)
    assert first.found == f"{own[0].found}; {says[0].found}"
    assert redis == says[1]
    assert as_one(says, []) == says
    well = Finding("store", True, "PostgreSQL 18")
    assert as_one(says, [well]) == [well, *says]
