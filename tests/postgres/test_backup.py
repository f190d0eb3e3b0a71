"""Backup and restore, by the commands that docs/postgres-tenants.md has. The wheel of the tests' Postgres has the
client's programs, so nothing is skipped.

Seen to fail with a role of the backup that has no BYPASSRLS, and with `--enable-row-security`, which a test keeps."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.erasures import PostgresErasures
from sidemirror_server.storage.postgres.goal_reflections import PostgresGoalReflections
from sidemirror_server.storage.postgres.journal import PostgresJournal
from sidemirror_server.storage.postgres.receipts import PostgresReceipts
from sidemirror_server.storage.postgres.requests import PostgresRequests
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.thinking.store import SessionRecord
from sidemirror_server.trace.log import TURN_TOPIC
from sidemirror_server.trace.requests import KEPT_FOR_US, Answered
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.turns.erasing import NOTHING_IN_MEMORY, Eraser
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.ids import JobId, RequestId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.work.queue import NewJob
from tests.architecture.repository import ROOT
from tests.conformance.turn_log import start
from tests.erasure.test_erase import in_tables
from tests.faults.figures import show
from tests.faults.waiting import until
from tests.postgres.cluster import binaries
from tests.postgres.databases import Databases
from tests.postgres.escapes import PROJECT, ROWS, make_tenants, role_of, tables_of

PAGE = (ROOT / "docs" / "postgres-tenants.md").read_text(encoding="utf-8")
SCOPE = Scope("acme", PROJECT)


def block(language: str, word: str) -> str:
    """The page's block that has this word."""
    (found,) = (text for text in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if word in text)
    return str(found)


BACKUP_ROLE, DATABASE = block("sql", "BYPASSRLS"), block("sql", "CREATE DATABASE sidemirror_restored")
DUMP, RESTORE = block("sh", "pg_dump"), block("sh", "pg_restore")
ERASED, AGAIN = block("sh", "psql"), block("sh", "erase --again")
WORD = "qzcanaryrestored"


async def shell(folder: Path, script: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """The page's commands, in an empty folder; `sidemirror` is this one."""
    (folder / "sidemirror").write_text(f'#!/bin/sh\nexec {sys.executable} -m sidemirror_server.cli "$@"\n')
    (folder / "sidemirror").chmod(0o755)
    path = os.pathsep.join([str(folder), str(binaries() / "bin"), os.environ["PATH"]])
    return await asyncio.to_thread(
        subprocess.run, ["sh", "-ec", script], cwd=folder, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "server"), **environment},
    )  # fmt: skip


@pytest.fixture
async def tenants(databases: Databases) -> AsyncIterator[str]:
    """A database where every tenant has its role and its rows, and the role of the backup is there."""
    name = await databases.create()
    await make_tenants(databases, name)
    await databases.as_superuser(BACKUP_ROLE)
    yield name
    await databases.drop(name)
    await databases.as_superuser("DROP DATABASE IF EXISTS sidemirror_restored WITH (FORCE)")
    for role in ("sidemirror_backup", *map(role_of, ROWS)):
        await databases.as_superuser(f"DROP ROLE {role}")


async def backed_up(databases: Databases, name: str, folder: Path) -> None:
    done = await shell(folder, DUMP, BACKUP_URL=databases.cluster.url("sidemirror_backup", name))
    assert done.returncode == 0, done.stderr


async def restored(databases: Databases, folder: Path) -> str:
    """The name of a database that the dump was restored into."""
    await databases.as_superuser(DATABASE.replace("sidemirror_owner", "owner"))
    await databases.as_superuser("CREATE EXTENSION vector", "sidemirror_restored")
    done = await shell(folder, RESTORE, OWNER_URL=databases.cluster.url("owner", "sidemirror_restored"))
    assert done.returncode == 0, done.stderr
    assert "the schema is up to date\n" in done.stdout
    return "sidemirror_restored"


async def contents(databases: Databases, name: str) -> dict[str, list[Any]]:
    """Every record of every table, where the counters stand, and which rules are in force."""
    connection = await asyncpg.connect(databases.cluster.url("superuser", name))
    try:
        tables = [*await tables_of(databases, name), "schema_migrations", "role_tenants"]
        found: dict[str, list[Any]] = {
            table: sorted(row[0] for row in await connection.fetch(f"SELECT r::text FROM sidemirror.{table} AS r"))
            for table in tables
        }
        for what in (
            "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'sidemirror'",
            "SELECT tablename, policyname, roles, cmd, qual FROM pg_policies WHERE schemaname = 'sidemirror'",
            "SELECT oid::regclass::text, relrowsecurity, relforcerowsecurity, relacl FROM pg_class WHERE relkind = 'r'",
            "SELECT tgname, tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal",
            "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'sidemirror'",
        ):
            found[what] = sorted(str(tuple(row)) for row in await connection.fetch(what))
        return found
    finally:
        await connection.close()


async def test_every_record_comes_back(databases: Databases, tenants: str, tmp_path: Path) -> None:
    """And roles reach in the restored database what they reached before; its counters go on, too."""
    own = await PostgresDatabase.open(databases.cluster.url(role_of("acme"), tenants))
    await PostgresTurnLog(own).append(SCOPE, (start("last"),))
    await own.close()
    await backed_up(databases, tenants, tmp_path)
    name = await restored(databases, tmp_path)
    before, after = await contents(databases, tenants), await contents(databases, name)
    assert {what: rows for what, rows in after.items() if rows != before[what]} == {}
    assert after.keys() == before.keys()
    own = await PostgresDatabase.open(databases.cluster.url(role_of("acme"), name))
    try:
        assert own._standing.reach.own == ("acme",)
        await PostgresTurnLog(own).append(SCOPE, (start("next"),))
        assert await PostgresTurnLog(own).head(SCOPE, TurnId("last")) is not None
    finally:
        await own.close()
    records = sum(len(rows) for what, rows in before.items() if not what.startswith("SELECT"))
    show(f"{records} records of {len(ROWS)} tenants are the same after a restore into an empty database")


async def test_what_was_erased_since_is_erased_again(databases: Databases, tmp_path: Path) -> None:
    """By the list of all tombstones, also what is found by its source alone: an answer of a session that was deleted.

    Seen to fail with a command that added the tombstones and erased nothing."""
    name = await databases.create()
    await databases.as_superuser(BACKUP_ROLE)
    try:
        for number, project in enumerate(("shop", "blog")):
            await with_her_words(databases, name, Scope("acme", project), f"t{number}")
        await backed_up(databases, name, tmp_path)
        store = await PostgresDatabase.open(databases.cluster.url("sidecar", name))
        for project in ("shop", "blog"):
            await erased(store, Scope("acme", project))
        await store.close()
        assert not any((await in_tables(databases.cluster.url("superuser", name), WORD)).values())
        done = await shell(tmp_path, ERASED, BACKUP_URL=databases.cluster.url("sidemirror_backup", name))
        assert done.returncode == 0, done.stderr
        superuser = databases.cluster.url("superuser", await restored(databases, tmp_path))
        assert sum((await in_tables(superuser, WORD)).values()) >= 4
        done = await shell(tmp_path, AGAIN, RESTORED_URL=databases.cluster.url("sidecar", "sidemirror_restored"))
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(r"\d+ of the records were erased again\.\n", done.stdout), done.stdout
        assert not any((await in_tables(superuser, WORD)).values())
        assert (await in_tables(superuser, "somebody else"))["log_entries"] == 2
    finally:
        await databases.drop(name)
        await databases.as_superuser("DROP DATABASE IF EXISTS sidemirror_restored WITH (FORCE)")
        await databases.as_superuser("DROP ROLE sidemirror_backup")


async def with_her_words(databases: Databases, name: str, scope: Scope, turn_id: str) -> None:
    """A turn of anna, an answer about her whose session is gone, and a turn of somebody else."""
    store = await PostgresDatabase.open(databases.cluster.url("sidecar", name))
    try:
        now_us = SystemClock().now_us()
        for said, of in ((WORD, turn_id), ("somebody else", f"other {turn_id}")):
            turn = start(of, f'{{"said":"{said}"}}'.encode(), session=f"of {of}", started=now_us)
            subjects = ("anna",) if said == WORD else ()
            await PostgresTurnLog(store).append(scope, (msgspec.structs.replace(turn, subject_ids=subjects),))
        session = SessionRecord(SessionId("gone"), b"{}", now_us, now_us, subject_ids=("anna",))
        await PostgresSessions(store).create(scope, session)
        sources = (key(SourceKind.SESSION, "gone"),)
        given = (RequestId("r"), Answered(b"d", WORD.encode()), now_us, now_us + KEPT_FOR_US)
        await PostgresRequests(store).remember(scope, "M/N", *given, sources)
        await PostgresSessions(store).delete(scope, SessionId("gone"))
    finally:
        await store.close()


async def erased(store: PostgresDatabase, scope: Scope) -> None:
    parts = (PostgresErasures(store), PostgresGoalReflections(store), PostgresJournal(store), PostgresReceipts(store))
    clock = SystemClock()
    await parts[0].begin(scope, "e", (key(SourceKind.SUBJECT, "anna"),), clock.now_us())
    await Eraser(*parts, NOTHING_IN_MEMORY, clock, settle_s=0.0).erase(scope, "e")


async def test_the_obvious_backup_is_empty(databases: Databases, tenants: str, tmp_path: Path) -> None:
    """As the page says: the owner's dump fails, and with row level security it has ids and times alone."""
    url = databases.cluster.url("owner", tenants)
    done = await shell(tmp_path, DUMP, BACKUP_URL=url)
    assert done.returncode != 0
    assert "row-level security" in done.stderr
    plain = 'pg_dump --format=plain --schema=sidemirror --enable-row-security "$BACKUP_URL"'
    done = await shell(tmp_path, plain, BACKUP_URL=url)
    assert done.returncode == 0, done.stderr
    copied = re.findall(r"^COPY sidemirror\.(\w+) .*\n((?:.*\n)*?)\\\.$", done.stdout, re.MULTILINE)
    assert len(copied) == len(await tables_of(databases, tenants)) + 2
    filled = {table for table, rows in copied if rows}
    assert {table for table in filled if not table.endswith("_envelopes")} == {"schema_migrations", "role_tenants"}


async def test_a_backup_while_sidecars_write(databases: Databases, tenants: str, tmp_path: Path) -> None:
    """It is the database of one moment: what was acknowledged before is there, nothing is there by half, and each turn
    has its session, its envelope and its entries."""
    done, written = asyncio.Event(), 0
    store = await PostgresDatabase.open(databases.cluster.url(role_of("acme"), tenants))

    async def write() -> None:
        nonlocal written
        while not done.is_set():
            await PostgresTurnLog(store).append(SCOPE, (start(f"turn {written}"),))
            await PostgresWork(store).put(SCOPE, NewJob(JobId(f"job {written}"), "goal", b"x"), written)
            written += 1

    try:
        for table in await tables_of(databases, tenants):  # rows made without their envelopes would be strays
            await databases.as_superuser(
                f"SET session_replication_role = replica; DELETE FROM sidemirror.{table}", tenants
            )
        writing = asyncio.create_task(write())
        await until(lambda: written >= 20)
        acknowledged = written
        await backed_up(databases, tenants, tmp_path)
        meanwhile = written
        done.set()
        await writing
    finally:
        await store.close()
    name = await restored(databases, tmp_path)
    assert await databases.strays(name) == []
    again = await PostgresDatabase.open(databases.cluster.url(role_of("acme"), name))
    try:
        entries = await PostgresTurnLog(again).tail(SCOPE, TURN_TOPIC, None, 0, 10**6, 10**9)
        turns = list(dict.fromkeys(entry.key for entry in entries))
        assert turns == [f"turn {number}" for number in range(len(turns))]
        assert acknowledged <= len(turns) <= meanwhile + 1
        for number in range(len(turns)):
            assert await PostgresTurnLog(again).head(SCOPE, TurnId(f"turn {number}")) is not None
        jobs = (await PostgresWork(again).count(SCOPE, "goal")).values()
        assert sum(jobs) in (len(turns), len(turns) - 1)
        assert await PostgresSessions(again).get(SCOPE, SessionId("s1")) is not None
    finally:
        await again.close()
    show(f"a backup during load: {acknowledged} turns before it, {len(turns)} in it, {meanwhile} when it was made")
