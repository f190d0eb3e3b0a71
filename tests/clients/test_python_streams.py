"""Connections, streams and batches of events of the Python client, as a stand-in for the sidecar sees them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client import connect, delivery
from sidemirror_client.adapter import Home
from sidemirror_client.calls import CALLS_AT_ONCE
from tests.faults.waiting import until

pytestmark = [pytest.mark.timeout(300)]

Handler = TypeVar("Handler", bound=grpc.GenericRpcHandler)


@asynccontextmanager
async def standing(handler: Handler, folder: Path) -> AsyncIterator[Handler]:
    """The handler in the place of a sidecar, at the socket that `address` names."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((handler,))
    server.add_insecure_port(address(folder))
    await server.start()
    yield handler
    await server.stop(None)


def address(folder: Path) -> str:
    return f"unix:{folder / 'standing.sock'}"


class Silent(grpc.GenericRpcHandler):
    """A server that answers nothing until it is told to, and counts the calls that it has."""

    def __init__(self) -> None:
        self.here = 0
        self.answer = asyncio.Event()

    def service(self, _: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes]":
        return grpc.unary_unary_rpc_method_handler(self._hold)

    async def _hold(self, _request: bytes, _context: object) -> bytes:
        self.here += 1
        try:
            await self.answer.wait()
        finally:
            self.here -= 1
        return b""


@pytest.fixture
async def silent(tmp_path: Path) -> AsyncIterator[Silent]:
    async with standing(Silent(), tmp_path) as handler:
        yield handler


async def test_calls_beyond_what_a_connection_takes_wait_their_turn(silent: Silent, tmp_path: Path) -> None:
    """Their deadlines count the wait, and whoever ends or is cancelled makes room. Seen to fail when calls are not
    counted, and when a call that has ended keeps its place."""
    request = pb.GetTurnRequest(turn_id="t")
    async with connect(address(tmp_path), deadline_s=1.0) as sidemirror:
        late = await asyncio.gather(
            *(sidemirror.thinking.GetTurn(request) for _ in range(3 * CALLS_AT_ONCE)), return_exceptions=True
        )
        assert {error.code() for error in late if isinstance(error, grpc.aio.AioRpcError)} == {
            grpc.StatusCode.DEADLINE_EXCEEDED
        }
        assert len(late) == 3 * CALLS_AT_ONCE
        # The server hears a moment later than the client that a call has ended.
        await until(lambda: silent.here == 0, within_s=60)
        left = [sidemirror.thinking.GetTurn(request, timeout=120) for _ in range(2 * CALLS_AT_ONCE)]
        await until(lambda: silent.here >= CALLS_AT_ONCE, within_s=50)
        with pytest.raises(AssertionError):
            await until(lambda: silent.here > CALLS_AT_ONCE, within_s=0.3)
        for call in left:
            call.cancel()
        silent.answer.set()
        async with asyncio.timeout(60):
            await sidemirror.thinking.GetTurn(request, timeout=60)


class Closing(grpc.GenericRpcHandler):
    """A server that ends every stream at once, without a word, and notes when."""

    def __init__(self) -> None:
        self.times_s: list[float] = []
        self.often = asyncio.Event()

    def service(self, _: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes]":
        return grpc.stream_stream_rpc_method_handler(self._end)

    async def _end(self, _requests: object, _context: object) -> None:
        self.times_s.append(asyncio.get_running_loop().time())
        if len(self.times_s) == 4:
            self.often.set()


async def test_a_stream_that_is_closed_without_a_word_is_not_opened_again_at_once(tmp_path: Path) -> None:
    """Seen to fail, with thousands of streams in a second, without the pause."""
    client = connect(address(tmp_path), on_away=lambda _: None)
    async with standing(Closing(), tmp_path) as handler, client as sidemirror:
        sidemirror.begin_turn(task="look")
        async with asyncio.timeout(60):
            await handler.often.wait()
        await sidemirror.close(flush_s=0)
    # After 0.1, 0.2 and 0.3 seconds.
    assert handler.times_s[3] - handler.times_s[0] > 0.5


class Hearing(grpc.GenericRpcHandler):
    """A server that acknowledges what a turn reports, and keeps each request's kinds."""

    def __init__(self) -> None:
        self.requests: list[list[str | None]] = []

    def service(self, _: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[pb.RunTurnRequest, pb.RunTurnResponse]":
        return grpc.stream_stream_rpc_method_handler(
            self._hear,
            request_deserializer=pb.RunTurnRequest.FromString,
            response_serializer=pb.RunTurnResponse.SerializeToString,
        )

    async def _hear(
        self, requests: AsyncIterator[pb.RunTurnRequest], _context: object
    ) -> AsyncIterator[pb.RunTurnResponse]:
        count = 0
        async for request in requests:
            self.requests.append([event.WhichOneof("kind") for event in request.events])
            count += len(request.events)
            yield pb.RunTurnResponse(directives=[pb.TurnDirective(ack=pb.TurnAck(received=count, durable=count))])


@pytest.fixture
async def hearing(tmp_path: Path) -> AsyncIterator[Hearing]:
    async with standing(Hearing(), tmp_path) as handler:
        yield handler


async def test_events_without_an_answer_go_with_those_behind_them(
    hearing: Hearing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless somebody waits for an answer. Seen to fail when each goes by itself, and when a wait, `flush` or `close`
    leaves them where they are."""
    monkeypatch.setattr(delivery, "GATHER_S", 3600.0)
    async with connect(address(tmp_path)) as sidemirror, asyncio.timeout(60):
        turn = sidemirror.begin_turn(task="look")
        await until(lambda: len(hearing.requests) == 1, within_s=50)
        turn.report(model_returned=pb.ModelReturned(text="I look."))
        turn.tool_called("look")
        with pytest.raises(AssertionError):
            await until(lambda: len(hearing.requests) > 1, within_s=0.3)
        turn.tool_returned("there")
        await until(lambda: len(hearing.requests) == 2, within_s=50)
        turn.report(model_started=pb.ModelStarted())
        assert await turn.advice(50) == []
        turn.report(model_returned=pb.ModelReturned())
        assert await sidemirror.flush(50)
        turn.tool_called("look")
        await sidemirror.close(flush_s=50)
    assert hearing.requests == [
        ["turn_started"],
        ["model_returned", "tool_called", "tool_returned"],
        ["model_started"],
        ["model_returned"],
        ["tool_called"],
    ]


async def test_in_a_framework_the_end_of_a_call_that_may_be_spoken_of_goes_at_once(
    hearing: Hearing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that fails, may have failed, or repeats an earlier one. All others wait for what is behind them. Seen to
    fail when each waits, and when none does."""
    monkeypatch.setattr(delivery, "GATHER_S", 3600.0)
    async with connect(address(tmp_path)) as sidemirror, asyncio.timeout(60):
        run = Home(sidemirror, None).begin("look")
        await until(lambda: len(hearing.requests) == 1, within_s=50)

        def call(call_id: str, path: str, content: str) -> None:
            run.tool_called(call_id, "look", {"path": path})
            run.tool_returned(call_id, content)

        call("1", "a", "there")
        call("2", "b", "there")
        with pytest.raises(AssertionError):
            await until(lambda: len(hearing.requests) > 1, within_s=0.3)
        call("3", "a", "there")
        await until(lambda: len(hearing.requests) == 2, within_s=50)
        call("4", "c", "Error: no such file")
        await until(lambda: len(hearing.requests) == 3, within_s=50)
        run.tool_called("5", "look", {"path": "d"})
        run.tool_failed("5", "no such file")
        await until(lambda: len(hearing.requests) == 4, within_s=50)
        await sidemirror.close(flush_s=50)
    assert hearing.requests[1:4] == [
        ["tool_called", "tool_returned"] * 3,
        ["tool_called", "tool_returned"],
        ["tool_called", "tool_failed"],
    ]


class Holding(grpc.GenericRpcHandler):
    """A server that says nothing until it has two events more than `first`, and then that it has received those."""

    def __init__(self, first: int) -> None:
        self._first = first

    def service(self, _: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[pb.RunTurnRequest, pb.RunTurnResponse]":
        return grpc.stream_stream_rpc_method_handler(
            self._hold,
            request_deserializer=pb.RunTurnRequest.FromString,
            response_serializer=pb.RunTurnResponse.SerializeToString,
        )

    async def _hold(
        self, requests: AsyncIterator[pb.RunTurnRequest], _context: object
    ) -> AsyncIterator[pb.RunTurnResponse]:
        count = 0
        async for request in requests:
            count += len(request.events)
            if count >= self._first + 2:
                yield pb.RunTurnResponse(directives=[pb.TurnDirective(ack=pb.TurnAck(received=self._first))])


async def test_what_is_reported_after_advice_was_asked_is_not_waited_for(tmp_path: Path) -> None:
    """Nor after a critique was. Seen to fail, without an answer before its time was over."""
    async with standing(Holding(2), tmp_path), connect(address(tmp_path)) as sidemirror, asyncio.timeout(30):
        turn = sidemirror.begin_turn(task="look")
        turn.tool_called("look")
        advice = asyncio.create_task(turn.advice(3600))
        critique = asyncio.create_task(turn.critique("There is none.", timeout_s=3600))
        await asyncio.sleep(0)
        turn.tool_returned("there")
        turn.tool_returned("there")
        assert await advice == []
        # This server has no other call, and says so.
        assert await critique is None
        await sidemirror.close(flush_s=0)


async def test_an_event_without_an_answer_goes_by_itself_when_nothing_follows(hearing: Hearing, tmp_path: Path) -> None:
    async with connect(address(tmp_path)) as sidemirror:
        turn = sidemirror.begin_turn(task="look")
        await until(lambda: len(hearing.requests) == 1, within_s=50)
        turn.report(model_started=pb.ModelStarted())
        await until(lambda: len(hearing.requests) == 2, within_s=50)
        turn.tool_called("look")
        await until(lambda: len(hearing.requests) == 3, within_s=50)
        await sidemirror.close(flush_s=0)
