"""A rolling upgrade with two real builds: this one migrates the schema that an earlier one works with."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.storage.postgres.migrate import migrate, read_migrations
from tests.architecture.repository import ROOT
from tests.faults.agents import a_turn, record_of
from tests.faults.figures import show
from tests.faults.process import Process, path_of
from tests.faults.sidecars import Stub, channel, stub_on
from tests.postgres.databases import Databases
from tests.postgres.earlier_build import (
    SERVER_OF_0006,
    SERVER_OF_0018,
    SERVER_OF_TURNS,
    STORES_OF_0005,
    Build,
    earlier_build,
)
from tests.postgres.opening import newer

pytestmark = pytest.mark.slow("two builds run side by side")

KNOWN = read_migrations()
# The first migration that earlier servers cannot work with, and those before it.
WIDE = next(migration for migration in KNOWN if not migration.compatible)
UNUSABLE = "it cannot be used as it is; the log says why"
BEFORE = KNOWN[: KNOWN.index(WIDE)]


def refusal_of(migration: object) -> str:
    return f"migration {migration} is newer than this server, and says that only newer servers work with it"


def run(build: Build, *command: str) -> "subprocess.CompletedProcess[str]":
    """A program in a process of the build's own files."""
    environment = {**os.environ, "PYTHONPATH": path_of(build.tree)}
    return subprocess.run(
        [sys.executable, *command], cwd=build.tree, env=environment, capture_output=True, text=True, check=False
    )


def migrated_by(build: Build, url: str) -> None:
    """The build's own `sidemirror migrate`."""
    done = run(build, "-m", "sidemirror_server.cli", "migrate", "--database-url", url, "--grant-to", "sidecar")
    assert done.returncode == 0, done.stderr
    assert f"applied {KNOWN[build.migrations - 1]}" in done.stdout


async def test_stores_of_an_earlier_schema(databases: Databases, tmp_path: Path) -> None:
    """The stores of a build that knows five migrations go on with the sixth, which this build has applied. Seen to
    fail when `migrate` records each migration as not compatible."""
    earlier = earlier_build(STORES_OF_0005, tmp_path)
    assert earlier.migrations == 5
    program = str(ROOT / "tests/postgres/uses_stores.py")
    async with databases.fresh(migrated=False) as name:
        owner, url = databases.cluster.url("owner", name), databases.cluster.url("sidecar", name)
        migrated_by(earlier, owner)
        assert run(earlier, program, url, "before").stdout == "5: before\n"
        applied = await migrate(owner, [], 1, KNOWN[:6])
        assert applied == ("0006_critiques",)
        assert run(earlier, program, url, "after").stdout == "5: before, after\n"
        await migrate(owner, [], 2)
        present = Build(ROOT, len(KNOWN), "this one")
        assert run(present, program, url, "present").stdout == f"{len(KNOWN)}: before, after, present\n"
        await migrate(owner, [], 3, newer(False))
        refused = run(earlier, program, url, "refused")
    assert refused.returncode == 1
    # What is said is about the first that is not compatible.
    first = next(migration for migration in newer(False)[5:] if not migration.compatible)
    assert refusal_of(first) in refused.stderr
    show(f"stores of {earlier.commit} (schema 5) went on with schema 6 ({applied[0]}) and refused {first}")


async def record(stub: Stub, turn_id: str) -> None:
    """A turn of 20 events, each acknowledged as durable."""
    await stub.StartTurn(pb.StartTurnRequest(turn_id=turn_id, session_id="s"), timeout=60)
    events = a_turn(turn_id, "s", 20)[1:]
    await stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events), timeout=60)


async def events_of(stub: Stub, turn_id: str) -> int:
    _, entries = await record_of(stub, turn_id)
    return sum(entry.HasField("event") for entry in entries)


async def after_a_cut(databases: Databases, name: str, stub: Stub) -> grpc.aio.AioRpcError | None:
    """Cuts every connection, so that what comes next is a new one, which is looked at again. What a call then ends with
    for good: a connection that was cut may be noticed by one call first."""
    await databases.as_superuser(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    failure = None
    for _ in range(3):
        try:
            await stub.ListTurns(pb.ListTurnsRequest(), timeout=60)
        except grpc.aio.AioRpcError as error:
            failure = error
        else:
            return None
    return failure


@pytest.mark.timeout(300)
async def test_a_server_of_an_earlier_build(databases: Databases, tmp_path: Path) -> None:
    """It serves while a later build migrates, works beside it, and refuses what it cannot work with. Seen to fail when
    `migrate` records each migration as not compatible."""
    earlier, later = (
        earlier_build(SERVER_OF_0006, tmp_path / "build"),
        earlier_build(SERVER_OF_TURNS, tmp_path / "later"),
    )
    assert later.migrations <= len(BEFORE)
    async with databases.fresh(migrated=False) as name:
        owner, url = databases.cluster.url("owner", name), databases.cluster.url("sidecar", name)
        migrated_by(earlier, owner)
        settings = {"database_url": url}
        old = Process(tmp_path / "old", settings, tree=earlier.tree)
        async with old, channel(old.address) as connection:
            stub = stub_on(connection)
            await record(stub, "before")
            applied = await migrate(owner, [], 1, BEFORE)
            assert len(applied) == len(BEFORE) - earlier.migrations
            assert await after_a_cut(databases, name, stub) is None
            await record(stub, "after")
            again = Process(tmp_path / "again", settings, tree=earlier.tree)
            beside = Process(tmp_path / "beside", settings, tree=later.tree)
            async with again, beside, channel(again.address) as one, channel(beside.address) as other:
                await record(stub_on(one), "again")
                await record(stub_on(other), "beside")
                for reader in (stub, stub_on(one), stub_on(other)):
                    for turn_id in ("before", "after", "again", "beside"):
                        assert await events_of(reader, turn_id) == 20
            await migrate(owner, [], 2)
            failure = await after_a_cut(databases, name, stub)
            assert failure is not None
            assert failure.code() is grpc.StatusCode.UNAVAILABLE
            assert refusal_of(WIDE) in str(failure.details())
        late = Process(tmp_path / "late", settings, tree=earlier.tree)
        late.spawn()
        code, _ = await late.ended(within_s=60)
    assert code == 1
    assert refusal_of(WIDE) in late.text()
    show(f"server of {earlier.commit} (schema {earlier.migrations}) went on with {applied[-1]} and refused {WIDE}")


@pytest.mark.timeout(300)
async def test_a_server_that_counts_on_turns_is_turned_away(databases: Databases, tmp_path: Path) -> None:
    """It serves while this build migrates, and no connection is cut. From then on it stores and shows nothing of the
    log, and says why. Its turns and its cursor are good for this build, whose watch leaves nothing out. Seen to fail
    without the policy `later_servers`: the old server goes on as if nothing had happened."""
    earlier = earlier_build(SERVER_OF_TURNS, tmp_path / "build")
    async with databases.fresh(migrated=False) as name:
        owner, url = databases.cluster.url("owner", name), databases.cluster.url("sidecar", name)
        migrated_by(earlier, owner)
        old, present = (Process(tmp_path / "old", {"database_url": url}, tree=earlier.tree),
                        Process(tmp_path / "present", {"database_url": url}))  # fmt: skip
        async with old, channel(old.address) as one:
            await record(stub_on(one), "before")
            seen = [response async for response in stub_on(one).WatchTurns(pb.WatchTurnsRequest(follow=False))]
            assert await migrate(owner, [], 1) == tuple(map(str, KNOWN[earlier.migrations :]))
            failure = await failing(stub_on(one))
            assert failure.code() is grpc.StatusCode.UNAVAILABLE
            assert UNUSABLE in str(failure.details())
            assert refusal_of(WIDE) in old.text()
            async with present, channel(present.address) as other:
                assert await events_of(stub_on(other), "before") == 20
                await record(stub_on(other), "after")
                going_on = pb.WatchTurnsRequest(follow=False, cursor=seen[-1].entry.cursor)
                seen += [response async for response in stub_on(other).WatchTurns(going_on)]
                shown = [(response.entry.turn_id, response.entry.sequence) for response in seen]
                kept = [
                    (turn_id, entry.sequence)
                    for turn_id in ("before", "after")
                    for entry in (await record_of(stub_on(other), turn_id))[1]
                ]
    assert [one for one in shown if one[1]] == kept
    show(
        f"server of {earlier.commit} (schema {earlier.migrations}) was turned away by {WIDE}, with its connections open"
    )


async def failing(stub: Stub) -> grpc.aio.AioRpcError:
    """What calls end with once the server has connected anew."""
    deadline_s = time.monotonic() + 30
    while True:
        try:
            await stub.ListTurns(pb.ListTurnsRequest(), timeout=10)
            await record(stub, "between")
        except grpc.aio.AioRpcError as error:
            if UNUSABLE in str(error.details()) or time.monotonic() > deadline_s:
                return error
        await asyncio.sleep(0.1)


@pytest.mark.timeout(300)
async def test_roles_are_bound_beside_a_server_of_an_earlier_build(databases: Databases, tmp_path: Path) -> None:
    """Servers that know nothing of bindings go on where their role is bound to their tenant, and see nothing where it
    is not. Seen to fail with row level security not forced on the table of bindings: earlier servers refuse that."""
    earlier, later = (
        earlier_build(SERVER_OF_0018, tmp_path / "build"),
        earlier_build(SERVER_OF_TURNS, tmp_path / "later"),
    )
    program = str(ROOT / "tests/postgres/uses_stores.py")
    await databases.as_superuser("CREATE ROLE of_acme LOGIN; CREATE ROLE of_nobody LOGIN")
    async with databases.fresh(migrated=False) as name:
        owner, url = databases.cluster.url("owner", name), databases.cluster.url("sidecar", name)
        migrated_by(earlier, owner)
        old, beside = (Process(tmp_path / "old", {"database_url": url}, tree=earlier.tree),
                       Process(tmp_path / "beside", {"database_url": url}, tree=later.tree))  # fmt: skip
        async with old, channel(old.address) as one:
            await record(stub_on(one), "before")
            await migrate(owner, [], 1, BEFORE)
            async with beside, channel(beside.address) as other:
                stubs = {"old": stub_on(one), "later": stub_on(other)}
                for writer, stub in stubs.items():
                    await record(stub, f"{writer}, unbound")
                await migrate(owner, ["sidecar", "of_acme", "of_nobody"], 2, BEFORE,
                              tenants={"sidecar": "default", "of_acme": "acme"})  # fmt: skip
                for stub in stubs.values():
                    assert await after_a_cut(databases, name, stub) is None
                for writer, stub in stubs.items():
                    await record(stub, f"{writer}, bound")
                for stub in stubs.values():
                    for turn_id in (
                        "before",
                        *(f"{writer}, {how}" for writer in stubs for how in ("unbound", "bound")),
                    ):
                        assert await events_of(stub, turn_id) == 20
        builds = {"old": earlier, "later": later}
        for writer, build in builds.items():
            done = run(build, program, databases.cluster.url("of_acme", name), writer)
            assert done.stdout.startswith(f"{build.migrations}: old"), done.stderr
            for role in ("sidecar", "of_nobody"):
                refused = run(build, program, databases.cluster.url(role, name), f"{writer} by {role}")
                assert refused.returncode == 1
                assert "bound to" in refused.stderr
    await databases.as_superuser("DROP ROLE of_acme, of_nobody")
    show(f"server of {earlier.commit} (schema {earlier.migrations}) went on with its role unbound, and bound")
