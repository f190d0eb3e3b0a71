"""Somebody removes or replaces the files of the store while a sidecar serves."""

import asyncio
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.doctor import examine
from tests.faults.clocks import SetClock
from tests.faults.sidecars import Stub, running, server_info, until_health
from tests.faults.test_store_down import reason_of

GOALS = "sidemirror.v1.GoalReflectionService"


def removed(data: Path) -> None:
    (data / "sidemirror.db").unlink()


def all_removed(data: Path) -> None:
    shutil.rmtree(data)


def replaced(data: Path) -> None:
    shutil.copy(data / "sidemirror.db", data / "other")
    os.replace(data / "other", data / "sidemirror.db")  # noqa: PTH105  # as `mv` does it


def wal_removed(data: Path) -> None:
    (data / "sidemirror.db-wal").unlink()


async def report(stub: Stub, event_id: str) -> None:
    event = pb.TurnEvent(event_id=event_id, user_message=pb.UserMessage(text="x"))
    await stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=[event]), timeout=60)


SLOW = pytest.mark.slow("it takes a second until it is noticed, and one until the server has ended")


@pytest.mark.parametrize(
    "change", [removed, *(pytest.param(change, marks=SLOW) for change in (all_removed, replaced, wal_removed))]
)
async def test_it_is_noticed(change: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Also while nothing is written. Seen to fail when `look` finds nothing: health said SERVING, and events that were
    gone with the process were acknowledged."""
    data = tmp_path / "data"
    async with running(tmp_path) as served:
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"), timeout=60)
        await report(served.stub, "before")
        change(data)
        await until_health(served.address, "", "NOT_SERVING")
        await until_health(served.address, GOALS, "NOT_SERVING")
        told = [record.levelno for record in caplog.records if record.msg == "store_files_lost"]
        assert told == [logging.WARNING]
        (store,) = (await server_info(served.address)).stores
        assert not store.available
        assert store.durability.endswith("nothing is durable")
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await report(served.stub, "after")
        told_to_caller = (refused.value.code(), reason_of(refused.value))
        assert told_to_caller == (grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")
        if change in (removed, all_removed):
            assert not (data / "sidemirror.db").exists(), "no empty store was made in its place"


async def test_nothing_is_acknowledged_before_it_is_noticed(tmp_path: Path) -> None:
    """Seen to fail when only the look of each second finds out."""
    async with running(tmp_path) as served:
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"), timeout=60)
        removed(tmp_path / "data")
        with pytest.raises(grpc.aio.AioRpcError, match="removed or replaced while the sidecar runs"):
            await report(served.stub, "after")


async def test_files_that_are_put_back(tmp_path: Path) -> None:
    """What waited meanwhile is durable then. Seen to fail when what is lost stays lost."""
    data, aside = tmp_path / "data", tmp_path / "aside"
    async with running(tmp_path) as served:
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"), timeout=60)
        data.rename(aside)
        await until_health(served.address, "", "NOT_SERVING")
        with pytest.raises(grpc.aio.AioRpcError):
            await report(served.stub, "meanwhile")
        aside.rename(data)
        await until_health(served.address, "", "SERVING")
        await until_health(served.address, GOALS, "SERVING")
        await report(served.stub, "after")
    async with running(tmp_path) as served:
        watch = served.stub.WatchTurns(pb.WatchTurnsRequest(follow=False), timeout=60)
        kept = [response.entry.event.event_id async for response in watch]
    assert {"meanwhile", "after"} <= {*kept}


async def test_doctor_says_so(tmp_path: Path) -> None:
    """Seen to fail when it is told as a folder whose store is not made yet."""
    async with running(tmp_path) as served:
        removed(tmp_path / "data")
        given = {"address": served.address, "data_dir": str(tmp_path / "data")}
        found = await asyncio.to_thread(examine, given, SetClock(2 * 10**15), {})
    wrong = [finding.found for finding in found.findings if not finding.ok]
    assert f"sidemirror.db is missing, and process {os.getpid()} has the folder" in wrong
