"""Somebody removes or replaces the files of the store while a sidecar serves."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.doctor import examine
from tests.faults.clocks import SetClock
from tests.faults.process import Process
from tests.faults.sidecars import Stub, connected, server_info, until_health
from tests.faults.test_store_down import reason_of
from tests.faults.waiting import until

GOALS = "sidemirror.v1.GoalReflectionService"
# Within seconds: far fewer than a busy machine may take for all else in a test.
NOTICED_S = 30.0


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


def told(process: Process, event: str) -> list[dict[str, str]]:
    lines = [json.loads(line) for line in process.text().splitlines() if line.startswith("{")]
    return [line for line in lines if line.get("event", line.get("message")) == event]


@pytest.mark.parametrize("change", [removed, all_removed, replaced, wal_removed])
async def test_it_is_noticed(change: Callable[[Path], None], tmp_path: Path) -> None:
    """Also while nothing is written. Seen to fail when `look` finds nothing: health said SERVING, and events that were
    gone with the process were acknowledged."""
    data = tmp_path / "data"
    async with Process(tmp_path) as process, connected(process.address) as stub:
        await stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"), timeout=60)
        await report(stub, "before")
        change(data)
        await until_health(process.address, "", "NOT_SERVING")
        await until_health(process.address, GOALS, "NOT_SERVING")
        (line,) = told(process, "store_files_lost")
        assert line["level"] == "warning"
        (store,) = (await server_info(process.address)).stores
        assert not store.available
        assert store.durability.endswith("nothing is durable")
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await report(stub, "after")
        assert (refused.value.code(), reason_of(refused.value)) == (
            grpc.StatusCode.UNAVAILABLE,
            "STORE_UNAVAILABLE",
        )
        if change in (removed, all_removed):
            assert not (data / "sidemirror.db").exists(), "no empty store was made in its place"
        assert "Traceback" not in process.text()


async def test_nothing_is_acknowledged_before_it_is_noticed(tmp_path: Path) -> None:
    """Seen to fail when only the look of each second finds out."""
    async with Process(tmp_path) as process, connected(process.address) as stub:
        await stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"), timeout=60)
        removed(tmp_path / "data")
        with pytest.raises(grpc.aio.AioRpcError, match="removed or replaced while the sidecar runs"):
            await report(stub, "after")


async def test_files_that_are_put_back(tmp_path: Path) -> None:
    """What waited meanwhile is durable then."""
    data, aside = tmp_path / "data", tmp_path / "aside"
    async with Process(tmp_path) as process, connected(process.address) as stub:
        await stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"), timeout=60)
        data.rename(aside)
        await until_health(process.address, "", "NOT_SERVING")
        with pytest.raises(grpc.aio.AioRpcError):
            await report(stub, "meanwhile")
        aside.rename(data)
        await until_health(process.address, "", "SERVING")
        await until_health(process.address, GOALS, "SERVING")
        await report(stub, "after")
        process.kill()
    async with Process(tmp_path) as process, connected(process.address) as stub:
        watch = stub.WatchTurns(pb.WatchTurnsRequest(follow=False), timeout=60)
        kept = [response.entry.event.event_id async for response in watch]
    assert {"meanwhile", "after"} <= {*kept}


async def test_doctor_says_so(tmp_path: Path) -> None:
    async with Process(tmp_path) as process:
        removed(tmp_path / "data")
        await until(lambda: bool(told(process, "store_files_lost")), NOTICED_S)
        found = examine({"address": process.address, "data_dir": str(tmp_path / "data")}, SetClock(2 * 10**15), {})
    wrong = [finding.found for finding in found.findings if not finding.ok]
    assert f"sidemirror.db is missing, and process {process.pid} has the folder" in wrong
