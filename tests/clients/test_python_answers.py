"""What the Python client takes for an answer, and for none, from a stand-in for the sidecar."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.common_pb2 import TASK_OUTCOME_SUCCESS
from sidemirror_client import connect, connect_sync, link
from sidemirror_server.rpc.boundary.status import call_status_of
from sidemirror_server.vocabulary.errors import NotFound, NotPermitted
from tests.clients.test_python_streams import Hearing, address, standing
from tests.faults.waiting import until

pytestmark = [pytest.mark.timeout(180)]

Answer = Callable[[Any], Awaitable[bytes]]


class Answering(Hearing):
    """Acknowledges what a turn reports. Calls are answered by `answers`, by their method's name, others with an empty
    message."""

    def __init__(self, **answers: Answer) -> None:
        super().__init__()
        self.answers = answers
        self.calls: list[str] = []

    def service(self, details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[Any, Any]":
        name = details.method.rpartition("/")[2]
        if name == "RunTurn":
            return super().service(details)

        async def answer(_: bytes, context: Any) -> bytes:
            self.calls.append(name)
            return await self.answers[name](context) if name in self.answers else b""

        return grpc.unary_unary_rpc_method_handler(answer)


async def say(context: Any, error: Exception) -> None:
    """Ends the call as the sidecar does with this error."""
    status = call_status_of(error)
    await context.abort(status.code, status.details, status.trailing_metadata)


async def test_a_report_without_an_answer_in_time_is_made_again(tmp_path: Path) -> None:
    """And the sidecar is not away: it answers so itself. Seen to fail: that was told, and every call was ended."""
    told: list[str] = []

    async def late_once(context: Any) -> bytes:
        if answering.calls.count("ReportGoal") == 1:
            await say(context, TimeoutError())
        return b""

    answering = Answering(ReportGoal=late_once)
    async with standing(answering, tmp_path), connect(address(tmp_path), on_away=told.append) as sidemirror:
        turn = sidemirror.begin_turn(task="x", goal={"goal_id": "g", "objective": "x"})
        turn.finish(TASK_OUTCOME_SUCCESS)
        assert await sidemirror.flush(60)
        assert not await sidemirror.close()
    assert answering.calls.count("ReportGoal") == 2
    assert told == []


async def test_a_sidecar_that_answers_the_search_with_an_error_of_its_own_is_back(tmp_path: Path) -> None:
    """Such as that the token is not good for the project. Seen to fail: it was away for ever."""

    async def not_permitted(context: Any) -> bytes:
        await say(context, NotPermitted(reason="not this project"))
        return b""

    away = asyncio.Event()
    async with connect(address(tmp_path), on_away=lambda _: away.set()) as sidemirror, asyncio.timeout(60):
        turn = sidemirror.begin_turn(task="x")
        await away.wait()
        async with standing(Answering(GetServerInfo=not_permitted), tmp_path):
            await until(lambda: not sidemirror.away, within_s=50)
            await turn.delivered()


class Mute(Answering):
    """Says nothing to what a turn reports, up to its end."""

    async def _hear(
        self, requests: AsyncIterator[pb.RunTurnRequest], _context: object
    ) -> AsyncIterator[pb.RunTurnResponse]:
        assert [request async for request in requests]
        yield pb.RunTurnResponse()


async def test_an_answer_to_a_call_beside_turns_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is an error of the sidecar's own. Seen to fail: the sidecar was told as away meanwhile."""
    for name, seconds in (("SILENT_S", 0.4), ("_ASKED_S", 0.4), ("_LOOK_S", 0.05)):
        monkeypatch.setattr(link, name, seconds)
    told: list[str] = []

    async def nothing(_: Any) -> bytes:
        await asyncio.Event().wait()
        return b""

    async def refused(context: Any) -> bytes:
        await say(context, NotFound("turn", "t"))
        return b""

    mute = Mute(Check=nothing, GetTurn=refused)
    async with standing(mute, tmp_path), connect(address(tmp_path), on_away=told.append) as sidemirror:
        sidemirror.begin_turn(task="x")
        calls: dict[Any, Any] = {
            sidemirror.thinking.ListTurns: pb.ListTurnsRequest(),
            sidemirror.thinking.GetTurn: pb.GetTurnRequest(turn_id="t"),
        }
        for call, request in calls.items():
            ends_s = time.monotonic() + 2.0
            while time.monotonic() < ends_s:
                with contextlib.suppress(grpc.RpcError):
                    await call(request)
                await asyncio.sleep(0.05)
        assert told == []
        # It is told once nothing is heard any more.
        await until(lambda: "Check" in mute.calls and bool(told), within_s=50)
        await sidemirror.close(0)


async def test_a_client_that_is_closed_makes_no_call(tmp_path: Path) -> None:
    """Seen to raise UsageError, which is no RpcError, and to open a connection that nobody closed."""

    def is_closed(caught: "pytest.ExceptionInfo[grpc.aio.AioRpcError]") -> bool:
        error = caught.value
        return (error.code(), error.details()) == (grpc.StatusCode.CANCELLED, "the client is closed")

    async with standing(Answering(), tmp_path):
        used, unused = connect(address(tmp_path)), connect(address(tmp_path))
        await used.thinking.ListTurns(pb.ListTurnsRequest())
        for sidemirror in (used, unused):
            await sidemirror.close()
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await sidemirror.thinking.ListTurns(pb.ListTurnsRequest())
            assert is_closed(caught)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await sidemirror.wait_until_ready(30)
            assert is_closed(caught)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                assert [one async for one in sidemirror.thinking.WatchTurns(pb.WatchTurnsRequest())]
            assert is_closed(caught)


def test_a_callback_that_nobody_would_await_is_refused() -> None:
    """Seen to be called, and not awaited, without a word."""

    async def tell(_: str) -> None: ...

    class Told:
        async def __call__(self, _: str) -> None: ...

    for callback in (tell, partial(tell), Told()):
        given: dict[str, Any] = {"on_away": callback}
        with pytest.raises(TypeError, match="on_away: a function is expected"):
            connect("127.0.0.1:1", **given)
    with pytest.raises(TypeError, match="on_refused: a function is expected"):
        connect_sync("127.0.0.1:1", on_refused=tell)  # type: ignore[arg-type]
