"""What the Python client takes for an answer, and for none, from a stand-in for the sidecar."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.common_pb2 import TASK_OUTCOME_SUCCESS
from sidemirror_client import connect
from sidemirror_server.rpc.boundary.status import call_status_of
from sidemirror_server.vocabulary.errors import NotPermitted
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
    """And the sidecar is not away: it answers so itself. Seen to fail: it was told as away, and every call was ended."""
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
