"""What watches ask of a store that many sidecars share, and when they see what another sidecar has recorded."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.storage.postgres import turn_log
from sidemirror_server.storage.postgres.transactions import Transaction
from tests.faults.figures import show
from tests.faults.sidecars import channel, running, stub_on
from tests.faults.waiting import until
from tests.postgres.databases import Databases

pytestmark = pytest.mark.slow("a store is killed, and 500 watches are opened")


@contextlib.asynccontextmanager
async def watches(address: str, count: int, of_sessions: int) -> AsyncIterator[list[Any]]:
    """Open watches, 100 on a connection; every other one of a session, the rest of all. They have seen the present."""
    connections = [channel(address) for _ in range(count // 100)]
    opened: list[Any] = []
    try:
        for connection in connections:
            stub = stub_on(connection)
            some = [
                stub.WatchTurns(
                    pb.WatchTurnsRequest(session_id=f"s{number % of_sessions}" if number % 2 else "", new_only=True)
                )
                for number in range(100)
            ]
            opened += some
            await asyncio.gather(*[watch.read() for watch in some])
        yield opened
    finally:
        for watch in opened:
            watch.cancel()
        await asyncio.gather(*[connection.close() for connection in connections])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that watches read the log with, as sidecars of this process send them."""
    found: list[str] = []
    fetch = Transaction.fetch
    names = {turn_log._SQL[name]: name for name in ("tail", "tail_of_group", "last_position")}

    async def noted(transaction: Transaction, statement: str, *values: Any, often: bool = False) -> Any:
        if statement in names:
            found.append(names[statement])
        return await fetch(transaction, statement, *values, often=often)

    monkeypatch.setattr(Transaction, "fetch", noted)
    return found


async def until_settled(asked: list[str]) -> None:
    """Each watch looks for itself when it begins."""
    await until(lambda: asked[-3:] == ["last_position"] * 3, within_s=60)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("count", [500, pytest.param(5_000, marks=pytest.mark.long)])
async def test_idle_watches_ask_once_for_all(
    count: int, databases: Databases, tmp_path: Path, asked: list[str]
) -> None:
    """Heartbeats included: two questions a second at most, however many watch, and fewer while nothing comes. Then
    another sidecar records something, and each watch that is concerned shows it. Seen to fail when each watch looks by
    itself, be it for each heartbeat."""
    async with databases.fresh() as name, contextlib.AsyncExitStack() as stack:
        url = databases.cluster.url("sidecar", name)
        watching = await stack.enter_async_context(running(tmp_path / "a", database_url=url, heartbeat_s="1"))
        recording = await stack.enter_async_context(running(tmp_path / "b", database_url=url))
        opened = await stack.enter_async_context(watches(watching.address, count, of_sessions=10))
        await until_settled(asked)
        asked.clear()
        began_s = time.monotonic()
        await until(lambda: len(asked) >= 4, within_s=60)
        took_s, questions = time.monotonic() - began_s, list(asked)
        assert questions == ["last_position"] * 4
        assert took_s > 3.0
        began_s = time.monotonic()
        await recording.stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s1"))
        concerned = [watch for number, watch in enumerate(opened) if number % 2 == 0 or number % 10 == 1]
        shown = await asyncio.gather(*[first_entry(watch) for watch in concerned])
        seen_s = time.monotonic() - began_s
    assert set(shown) == {"t"}
    show(
        f"{count} idle watches: {len(questions) / took_s:.1f} questions/s; what another sidecar recorded was shown by "
        f"{len(concerned)} of them within {seen_s:.1f} s"
    )


async def first_entry(watch: "grpc.aio.UnaryStreamCall[Any, pb.WatchTurnsResponse]") -> str:
    """The turn of the first entry that is no heartbeat."""
    while True:
        response = await watch.read()
        assert isinstance(response, pb.WatchTurnsResponse), "the watch has ended"
        if response.entry.sequence:
            return response.entry.turn_id


async def test_a_watch_outlives_the_store(durable: Databases, tmp_path: Path, asked: list[str]) -> None:
    """What is recorded while the watch cannot look is shown once it can. Seen to fail when the lookout looks no more
    after a look that failed."""
    url = durable.cluster.url("sidecar", await durable.create())
    async with running(tmp_path / "a", database_url=url) as watching, watches(watching.address, 100, 1) as opened:
        await until_settled(asked)
        durable.cluster.kill()
        durable.cluster.start()
        async with running(tmp_path / "b", database_url=url) as recording:
            await recording.stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s0"))
        shown = await asyncio.wait_for(asyncio.gather(*[first_entry(watch) for watch in opened]), 10)
    assert shown == ["t"] * 100
