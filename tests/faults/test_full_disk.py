"""The disk of the data folder is full, or its files may not grow."""

import asyncio
import contextlib
import resource
import sqlite3
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidemirror.v1 import sidecar_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from tests.faults.agents import record_of
from tests.faults.process import Process
from tests.faults.sidecars import Stub, channel, connected
from tests.faults.test_store_down import reason_of

MIB = 1024 * 1024


async def fill(stub: Stub, kept: list[str]) -> grpc.aio.AioRpcError:
    """Reports events until one is refused; `kept` gets the ids of those that were acknowledged."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:  # noqa: PT012 - which of them is refused is not known
        for number in range(len(kept), len(kept) + 1000):
            event_id = f"e{number}"
            event = pb.TurnEvent(event_id=event_id, user_message=pb.UserMessage(text="x" * 20_000))
            await stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=[event]), timeout=60)
            kept.append(event_id)
    return caught.value


async def events_in(stub: Stub) -> list[str]:
    """What a reader sees of the turn: through a watch, which reads the log and does not wait for the writer."""
    watch = stub.WatchTurns(pb.WatchTurnsRequest(follow=False), timeout=60)
    entries = [response.entry async for response in watch]
    return [entry.event.event_id for entry in entries if entry.event.HasField("user_message")]


def is_sound(folder: Path) -> bool:
    with contextlib.closing(sqlite3.connect(folder / "sidemirror.db")) as connection:
        return bool(connection.execute("PRAGMA integrity_check").fetchone() == ("ok",))


async def says_full(address: str) -> bool:
    """Whether the sidecar says it of its store: to whoever cannot look at its disk."""
    async with channel(address) as connection:
        asked: Any = SidecarServiceStub(connection)
        (store,) = (await asked.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=10)).stores
        return bool(store.full)


async def test_a_full_disk_is_a_clear_error_and_writes_resume(small_disk: Path, tmp_path: Path) -> None:
    """Seen to fail when `store_failure` does not know SQLITE_FULL."""
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * MIB)
    kept: list[str] = []
    async with (
        Process(tmp_path, {"data_dir": str(small_disk / "data")}) as process,
        connected(process.address) as stub,
    ):
        await stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"))
        error = await fill(stub, kept)
        assert (error.code(), reason_of(error)) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "STORE_FULL")
        assert len(kept) > 10
        assert await says_full(process.address)
        assert await events_in(stub) == kept
        ballast.unlink()
        refused = f"e{len(kept)}"
        again = pb.TurnEvent(event_id=refused, user_message=pb.UserMessage(text="x" * 20_000))
        await stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=[again]), timeout=60)
        assert await events_in(stub) == [*kept, refused]
        assert not await says_full(process.address)
        assert (await record_of(stub, "t"))[0].event_count == len(kept) + 2
    assert is_sound(small_disk / "data")
    assert "Traceback" not in process.text()


async def test_health_on_a_full_disk(small_disk: Path, tmp_path: Path) -> None:
    """The whole server and the turns, which go on in memory, serve; what keeps nothing any more does not, until there
    is room again. Seen to fail when `_NEED_THE_STORE` has no CritiqueService, and when it has ThinkingService."""
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * MIB)
    serving, not_serving = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
    goes_on = ("", "sidemirror.v1.ThinkingService", "sidemirror.v1.SidecarService")
    needs_room = [f"sidemirror.v1.{name}Service" for name in ("Critique", "ReflectiveMemory", "GoalReflection")]
    settings = {"data_dir": str(small_disk / "data")}
    async with (
        Process(tmp_path, settings) as process,
        connected(process.address) as stub,
        channel(process.address) as connection,
        asyncio.timeout(50),
    ):
        health: Any = health_pb2_grpc.HealthStub(connection)
        watches = [health.Watch(health_pb2.HealthCheckRequest(service=name)) for name in needs_room]

        async def told() -> list[Any]:
            return [(await watch.read()).status for watch in watches]

        assert await told() == [serving] * 3
        await stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"))
        await fill(stub, [])
        assert await told() == [not_serving] * 3
        for name in goes_on:
            answer = await health.Check(health_pb2.HealthCheckRequest(service=name), timeout=10)
            assert answer.status == serving, name
        ballast.unlink()
        assert await told() == [serving] * 3


async def test_files_that_may_not_grow_are_a_clear_error_and_writes_resume(tmp_path: Path) -> None:
    """A quota: SQLite calls it an I/O error, and so the store is unavailable. Seen to fail when the
    writer does not go on with the next group after one has failed."""
    kept: list[str] = []
    async with Process(tmp_path) as process, connected(process.address) as stub:
        await stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"))
        _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (MIB, resource.RLIM_INFINITY))
        error = await fill(stub, kept)
        assert (error.code(), reason_of(error)) == (grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")
        assert await events_in(stub) == kept
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, hard))
        refused = f"e{len(kept)}"
        again = pb.TurnEvent(event_id=refused, user_message=pb.UserMessage(text="x" * 20_000))
        await stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=[again]), timeout=60)
        assert await events_in(stub) == [*kept, refused]
    assert is_sound(tmp_path / "data")
