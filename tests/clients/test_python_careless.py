"""The Python client where an agent, its values or its shutdown are careless: nothing of it raises into the agent, stays
for ever, or is lost."""

import asyncio
import math
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc.aio import ClientCallDetails

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.common_pb2 import TASK_OUTCOME_FAILURE, TASK_OUTCOME_SUCCESS
from sidemirror.v1.goal_reflection_pb2 import GOAL_STATE_COMPLETED, ReportGoalRequest
from sidemirror_client import connect
from sidemirror_client.calls import Carried
from sidemirror_client.text import as_text, message_of
from tests.clients.test_python_streams import Silent, address, standing
from tests.faults.waiting import until

HALF = "half \ud83d of a pair"


class Speaking(grpc.GenericRpcHandler):
    """Takes turns' streams. To a result it says a nudge, a little later; with `ends` it ends each turn at once."""

    def __init__(self, *, ends: bool = False) -> None:
        self._ends = ends
        # Called on the loop of the agent, right after the nudge was said.
        self.said: Callable[[], object] = lambda: None

    def service(self, details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[Any, Any] | None":
        if not details.method.endswith("/RunTurn"):
            return None
        return grpc.stream_stream_rpc_method_handler(
            self._run, pb.RunTurnRequest.FromString, pb.RunTurnResponse.SerializeToString
        )

    async def _run(self, requests: AsyncIterator[pb.RunTurnRequest], _: object) -> AsyncIterator[pb.RunTurnResponse]:
        count = 0
        async for request in requests:
            count += len(request.events)
            if self._ends:
                summary = pb.TurnDirective(directive_id="s", sequence=3, turn_summary=pb.TurnSummary())
                yield pb.RunTurnResponse(directives=[self._ack(count), summary])
                return
            has_returned = any(event.HasField("tool_returned") for event in request.events)
            yield pb.RunTurnResponse(directives=[self._ack(count, *(["r"] if has_returned else []))])
            if has_returned:
                await asyncio.sleep(0.2)
                nudge = pb.TurnDirective(directive_id="n", sequence=5, nudge=pb.Nudge(message="look out"))
                # It is being written by then; who waits on this loop has not heard of it.
                asyncio.get_running_loop().call_soon(self.said)
                yield pb.RunTurnResponse(directives=[nudge, self._ack(count)])

    def _ack(self, count: int, *pending: str) -> pb.TurnDirective:
        return pb.TurnDirective(ack=pb.TurnAck(received=count, durable=count, pending_ids=pending))


async def test_whoever_waits_gets_nothing_when_the_client_is_closed(tmp_path: Path) -> None:
    """Seen to get CancelledError, though nobody had cancelled it."""
    async with standing(Silent(), tmp_path) as silent:
        sidemirror = connect(address(tmp_path))
        turn = sidemirror.begin_turn(task="x")
        waiting = asyncio.create_task(turn.recall(timeout_s=20))
        await until(lambda: silent.here >= 2)  # its stream, and the call
        await sidemirror.close(0.1)
        assert await waiting is None


async def test_a_turn_that_the_sidecar_ends_is_over(tmp_path: Path) -> None:
    """Seen to stay for ever: at ten thousand of them no turn is reported any more."""
    async with standing(Speaking(ends=True), tmp_path), connect(address(tmp_path)) as sidemirror:
        turn = sidemirror.begin_turn(task="x")
        assert [one.WhichOneof("kind") async for one in turn] == ["turn_summary"]
        await until(lambda: not sidemirror._core._turns)
        turn.tool_called("late")
        assert turn.dropped == 1


async def test_a_turn_that_cannot_begin_leaves_nothing(tmp_path: Path) -> None:
    sidemirror = connect(address(tmp_path))
    wrong: Any = {"tsak": "x"}
    with pytest.raises(ValueError, match="tsak"):
        sidemirror.begin_turn(**wrong)
    assert not sidemirror._core._turns
    await sidemirror.close(0)


async def test_advice_whose_wait_was_cancelled_is_given_later(tmp_path: Path) -> None:
    """The agent's own loop stands still while it comes. Seen to be lost."""
    async with standing(Speaking(), tmp_path) as speaking, connect(address(tmp_path)) as sidemirror:
        turn = sidemirror.begin_turn(task="x")
        turn.tool_returned("no such table", is_error=True)
        waiting = asyncio.create_task(turn.advice(5.0))

        def stand_still() -> None:
            time.sleep(0.3)
            waiting.cancel()

        speaking.said = stand_still
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert [one.nudge.message for one in await turn.advice()] == ["look out"]
        turn.finish(TASK_OUTCOME_SUCCESS)
        await turn.abandon()


async def test_half_a_pair_of_surrogates_is_replaced(tmp_path: Path) -> None:
    """As a model's answer may have it. Seen to raise UnicodeEncodeError."""
    sidemirror = connect(address(tmp_path))
    turn = sidemirror.begin_turn(task=HALF)
    turn.tool_called(HALF, HALF)
    assert await turn.recall(HALF, timeout_s=0.1) is None
    assert await turn.critique(HALF, HALF, timeout_s=0.1) is None
    assert await turn.revised(HALF, str.upper, timeout_s=0.1) == HALF
    await sidemirror.close(0)


async def test_two_ends_at_once_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker's and its scope's. Seen to fail: its goal was reported twice."""
    sidemirror = connect(address(tmp_path), on_away=lambda _: None)
    turn = sidemirror.begin_turn(task="x", goal={"goal_id": "g", "objective": "x"})
    put, begun, others = turn._queue.put, threading.Event(), threading.Event()

    def put_late(*arguments: Any, **options: Any) -> Any:
        if not begun.is_set():
            begun.set()
            others.wait(60)
        return put(*arguments, **options)

    monkeypatch.setattr(turn._queue, "put", put_late)
    ending = asyncio.create_task(asyncio.to_thread(turn.finish, TASK_OUTCOME_SUCCESS))
    await until(begun.is_set)
    turn.finish(TASK_OUTCOME_FAILURE)
    others.set()
    await ending
    assert len(turn._queue._reports) == 1
    assert turn._queue.events[-1].turn_finished.outcome == TASK_OUTCOME_FAILURE
    await sidemirror.close(0)


class Hostile:
    """Neither a text nor JSON, and says so."""

    def __str__(self) -> str:
        raise KeyError("no text")

    __repr__ = __str__


def test_a_value_that_raises_is_said_all_the_same() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert "Hostile object at" in as_text(Hostile())
    assert "list object at" in as_text(deep)


def test_an_exception_that_raises_is_said_all_the_same() -> None:
    class Wordless(Hostile, RuntimeError):
        pass

    assert "Wordless object at" in as_text(Wordless())
    assert "Wordless object at" in message_of(Wordless())
    assert message_of(RuntimeError()) == "RuntimeError()"


async def test_a_score_that_is_a_text_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As a database's driver gives it. Seen to raise, and the turn to end as ERROR."""
    sidemirror = connect(address(tmp_path))
    score: Any = "0.5"
    sidemirror.begin_turn(task="x").finish(TASK_OUTCOME_SUCCESS, score)
    assert "ends without its score: a number from 0 to 1, not 0.5" in caplog.text
    await sidemirror.close(0)


async def test_an_outcome_by_its_name_is_that_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Seen to report the goal as failed."""
    sidemirror = connect(address(tmp_path))
    outcome: Any = "TASK_OUTCOME_SUCCESS"
    turn = sidemirror.begin_turn(task="x", goal={"goal_id": "g", "objective": "x"})
    turn.finish(outcome)
    (report,) = (one.request for one in turn._queue._reports)
    assert isinstance(report, ReportGoalRequest)
    assert report.state == GOAL_STATE_COMPLETED
    others: tuple[Any, ...] = ("done", 1.0, 7, [], Hostile())
    for other in others:
        sidemirror.begin_turn(task="x").finish(other)
    for said in ("done", "1.0", "7", "[]", "<tests.clients"):
        assert f"ends without its outcome: there is none that is {said}" in caplog.text
    await sidemirror.close(0)


@pytest.mark.parametrize("given_s", [math.inf, 1e12])
def test_a_very_long_wait_is_one(given_s: float) -> None:
    """gRPC takes such a deadline for one that has passed."""
    call = ClientCallDetails("/s/GetServerInfo", given_s, None, None, None)
    assert Carried(10.0, "", "", "").details(call, streams=False).timeout == 1e9
