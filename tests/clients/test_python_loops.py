"""The Python client from every loop, and from none: everything reported arrives."""

import asyncio
import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.common_pb2 import TASK_OUTCOME_ERROR, TASK_OUTCOME_SUCCESS
from sidemirror.v1.goal_reflection_pb2 import ListGoalReportsRequest
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror.v1.reflective_memory_pb2 import ImportReflectionsRequest
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_client import Sidemirror, SyncSidemirror, connect, connect_sync, problem_of
from tests.clients.harness import Sidecar, sidecar
from tests.wire.calls import MEDIUM

pytestmark = [pytest.mark.timeout(180)]
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    with sidecar(tmp_path_factory.mktemp("sidecar")) as running:
        yield running


def recorded(beside: Sidecar, turn_id: str) -> pb.Turn:
    """The turn as the sidecar has it."""
    with grpc.insecure_channel(beside.address) as channel:
        return ThinkingServiceStub(channel).GetTurn(pb.GetTurnRequest(turn_id=turn_id), timeout=PATIENCE_S).turn


async def whole_turn(sidemirror: Sidemirror, turn_id: str) -> None:
    async with sidemirror.begin_turn(turn_id, task="count", config=MEDIUM) as turn:
        assert await turn.plan(PATIENCE_S) is not None
        turn.report(tool_called=pb.ToolCalled(name="run_sql"))
        turn.report(tool_returned=pb.ToolReturned(content="no such table: order", is_error=True))
        assert [one.WhichOneof("kind") for one in await turn.advice(PATIENCE_S)] == ["reflection"]
        assert await turn.advice(PATIENCE_S) == []
        turn.finish(TASK_OUTCOME_SUCCESS)
        assert await turn.summary(PATIENCE_S) is not None


def whole_sync_turn(sidemirror: SyncSidemirror, turn_id: str) -> None:
    with sidemirror.begin_turn(turn_id, task="count", config=MEDIUM) as turn:
        assert turn.plan(PATIENCE_S) is not None
        turn.report(tool_called=pb.ToolCalled(name="run_sql"))
        turn.report(tool_returned=pb.ToolReturned(content="no such table: order", is_error=True))
        assert [one.WhichOneof("kind") for one in turn.advice(PATIENCE_S)] == ["reflection"]
        turn.finish(TASK_OUTCOME_SUCCESS)
        assert turn.summary(PATIENCE_S) is not None


def test_one_client_and_two_loops(beside: Sidecar) -> None:
    """Seen to hang when what waits is awaited on the caller's loop."""
    sidemirror = connect(beside.address)
    for number in range(2):
        asyncio.run(whole_turn(sidemirror, f"run-{number}"))
        assert recorded(beside, f"run-{number}").event_count == 4

    async def stubs() -> int:
        answer = await sidemirror.thinking.ListTurns(pb.ListTurnsRequest())
        watch = sidemirror.thinking.WatchTurns(pb.WatchTurnsRequest(follow=False))
        return len(answer.turns) + len([response async for response in watch])

    assert asyncio.run(stubs()) > 2
    assert not asyncio.run(sidemirror.close())


class Agent:
    """What a framework has in the context of a run."""


IN_CONTEXT: ContextVar[Agent] = ContextVar("agent")


def test_what_a_caller_has_in_its_context_goes_with_the_caller(beside: Sidecar) -> None:
    """Seen to live on with the connection that the first turn has opened."""

    async def turn(sidemirror: Sidemirror) -> "weakref.ref[Agent]":
        agent = Agent()
        IN_CONTEXT.set(agent)
        await whole_turn(sidemirror, "kept")
        return weakref.ref(agent)

    sidemirror = connect(beside.address)
    try:
        left = asyncio.run(turn(sidemirror))
        gc.collect()
        assert left() is None
    finally:
        asyncio.run(sidemirror.close())


def test_loops_side_by_side(beside: Sidecar) -> None:
    sidemirror = connect(beside.address)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: asyncio.run(whole_turn(sidemirror, f"beside-{number}")), range(16)))
    assert not asyncio.run(sidemirror.close())
    assert all(recorded(beside, f"beside-{number}").event_count == 4 for number in range(16))


def test_threads_without_a_loop(beside: Sidecar) -> None:
    with connect_sync(beside.address) as sidemirror, ThreadPoolExecutor(8) as pool:
        sidemirror.wait_until_ready(PATIENCE_S)
        list(pool.map(lambda number: whole_sync_turn(sidemirror, f"thread-{number}"), range(16)))
        assert sidemirror.flush(PATIENCE_S)
        answer = sidemirror.thinking.GetTurn(pb.GetTurnRequest(turn_id="thread-7"))
        assert answer.turn.event_count == 4
        watched = sidemirror.thinking.WatchTurns(pb.WatchTurnsRequest(session_id=answer.turn.session_id, follow=False))
        assert len(list(watched)) >= 6
        with pytest.raises(grpc.RpcError):
            sidemirror.thinking.GetTurn(pb.GetTurnRequest(turn_id="none"))


def test_calls_without_a_loop_are_as_grpc_has_them(beside: Sidecar) -> None:
    """A future, what came with the answer, and a stream's status. Seen to have none of them, and coroutines."""
    with connect_sync(beside.address) as sidemirror:
        whole_sync_turn(sidemirror, "as-grpc")
        asked = pb.GetTurnRequest(turn_id="as-grpc")
        answer, call = sidemirror.thinking.GetTurn.with_call(asked)
        assert (answer.turn.event_count, call.code()) == (4, grpc.StatusCode.OK)
        assert dict(call.initial_metadata()) is not None
        future = sidemirror.thinking.GetTurn.future(asked)
        told: SimpleQueue[Any] = SimpleQueue()
        future.add_done_callback(lambda done: told.put(done.result()))
        assert future.result(PATIENCE_S) == answer == told.get(timeout=PATIENCE_S)
        assert (future.exception(), future.running()) == (None, False)
        none = sidemirror.thinking.GetTurn.future(pb.GetTurnRequest(turn_id="none"))
        assert isinstance(error := none.exception(PATIENCE_S), grpc.RpcError)
        assert problem_of(error).reason == "NOT_FOUND"
        watch: Any = sidemirror.thinking.WatchTurns(pb.WatchTurnsRequest(session_id=answer.turn.session_id))
        assert next(watch).HasField("entry")
        with pytest.raises(grpc.FutureTimeoutError):
            sidemirror.memory.ImportReflections.future(iter(SimpleQueue[Any]().get, None)).result(0.1)
        assert watch.is_active()
        watch.cancel()
        assert watch.code() is grpc.StatusCode.CANCELLED


def test_an_iterator_of_requests_may_block_and_may_call_the_client(beside: Sidecar) -> None:
    """Seen to hang, with all that the client does: it was read on the client's own loop."""
    given: SimpleQueue[pb.RunTurnRequest | None] = SimpleQueue()
    with connect_sync(beside.address) as sidemirror:
        responses = iter(sidemirror.thinking.RunTurn(iter(given.get, None)))

        def lines() -> Iterator[ImportReflectionsRequest]:
            sidemirror.thinking.ListTurns(pb.ListTurnsRequest())
            yield ImportReflectionsRequest(lines=["no memory"])

        assert sidemirror.memory.ImportReflections(lines()).refused_count == 1
        given.put(pb.RunTurnRequest(events=[pb.TurnEvent(turn_id="blocks", turn_started=pb.TurnStarted(task="x"))]))
        assert next(responses).directives
        given.put(None)
        list(responses)


def test_an_iterator_of_requests_that_raises_ends_its_call(beside: Sidecar) -> None:
    def lines() -> Iterator[ImportReflectionsRequest]:
        yield ImportReflectionsRequest(lines=["no memory"])
        raise KeyError("line")

    with connect_sync(beside.address) as sidemirror, pytest.raises(grpc.FutureCancelledError):
        sidemirror.memory.ImportReflections(lines())


def test_a_turn_that_is_left_ends(beside: Sidecar) -> None:
    with connect_sync(beside.address) as sidemirror:
        with pytest.raises(ZeroDivisionError), sidemirror.begin_turn("raises"):
            raise ZeroDivisionError
        with sidemirror.begin_turn("left"):
            pass
        assert sidemirror.flush(PATIENCE_S)
    assert recorded(beside, "raises").outcome == TASK_OUTCOME_ERROR
    left = recorded(beside, "left")
    assert (left.state, left.outcome) == (pb.TURN_STATE_FINISHED, 0)


def _in_child(sidemirror: SyncSidemirror, turn_id: str, told: "multiprocessing.SimpleQueue[tuple[int, str]]") -> None:
    import logging

    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]  # a list is enough
    logging.getLogger("sidemirror_client").addHandler(handler)
    with sidemirror.begin_turn(turn_id) as turn:
        turn.report(tool_called=pb.ToolCalled(name="look"))
        turn.advice()
        turn.finish(TASK_OUTCOME_SUCCESS)
    left = sidemirror.close(PATIENCE_S)
    told.put((left.events, " ".join(lines)))


# A child that has forked in a process with threads may hang in locks of theirs; ours holds none.
_FORKS = """
import multiprocessing, sys
from sidemirror_client import connect_sync
from tests.clients.test_python_loops import _in_child, whole_sync_turn

sidemirror = connect_sync(sys.argv[1])
if sys.argv[2] != "unused":
    whole_sync_turn(sidemirror, f"parent-{sys.argv[2]}")
if sys.argv[2] == "held":
    # as a thread of the parent may hold them
    sidemirror._core.link._bytes_lock.acquire()
    sidemirror._core.losses._lock.acquire()
context = multiprocessing.get_context("fork")
told = context.SimpleQueue()
child = context.Process(target=_in_child, args=(sidemirror, f"child-{sys.argv[2]}", told), daemon=True)
child.start()
child.join(30)
assert child.exitcode == 0, child.exitcode
print(told.get())
"""


@pytest.mark.parametrize("used", ["used", "held", "unused"])
def test_after_a_fork(beside: Sidecar, used: str) -> None:
    """A client that was not used before works in the child. One that was loses what is reported there, and says so.
    gRPC's own handlers, which tell of it, do not run: seen to fail when the variable is set after gRPC's import."""
    environment = {name: value for name, value in os.environ.items() if name != "GRPC_ENABLE_FORK_SUPPORT"}
    ran = subprocess.run(
        [sys.executable, "-c", _FORKS, beside.address, used],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "fork() handlers" not in ran.stderr
    if used == "unused":
        assert ran.stdout.startswith("(0, "), ran.stdout
        assert recorded(beside, "child-unused").event_count == 3
    else:
        assert ran.stdout.startswith("(3, "), ran.stdout
        assert "forked" in ran.stdout


_FORGETS = """
import sys
from sidemirror_client import connect_sync
from sidemirror.v1.thinking_pb2 import ToolCalled

turn = connect_sync(sys.argv[1]).begin_turn("forgotten")
turn.report(tool_called=ToolCalled(name="look"))
turn.finish()
"""


def run_alone(program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The program in a process of its own."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def test_a_process_that_ends_with_its_client_open_delivers(beside: Sidecar) -> None:
    ran = run_alone(_FORGETS, beside.address)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert recorded(beside, "forgotten").event_count == 3


_CHILD_FORGETS = """
import multiprocessing, sys
from sidemirror_client import connect_sync
from sidemirror.v1.common_pb2 import TASK_OUTCOME_SUCCESS
from sidemirror.v1.thinking_pb2 import ToolCalled

sidemirror = connect_sync(sys.argv[1])

def work():
    with sidemirror.begin_turn("child-forgets", goal={"goal_id": "child-forgets", "objective": "count"}) as turn:
        turn.report(tool_called=ToolCalled(name="look"))
        turn.finish(TASK_OUTCOME_SUCCESS)

child = multiprocessing.get_context("fork").Process(target=work)
child.start()
child.join(30)
sys.exit(child.exitcode)
"""


def test_a_forked_child_that_ends_with_its_client_open_delivers(beside: Sidecar) -> None:
    """It ends by `os._exit`. Seen to fail without the finalizer: nothing of the turn is there."""
    ran = run_alone(_CHILD_FORGETS, beside.address)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert recorded(beside, "child-forgets").event_count == 3
    with grpc.insecure_channel(beside.address) as channel:
        reports = GoalReflectionServiceStub(channel).ListGoalReports(ListGoalReportsRequest()).reports
    assert "child-forgets" in {report.goal_id for report in reports}


_AFTERWARDS = """
import atexit, sys

@atexit.register
def afterwards():
    turn.report(tool_called=ToolCalled(name="late"))
    late = sidemirror.begin_turn("late")
    left = sidemirror.close()
    print(turn.advice(60), late.plan(60), sidemirror.flush(60), left.events, left.turns, flush=True)

from sidemirror_client import connect_sync
from sidemirror.v1.thinking_pb2 import ToolCalled

sidemirror = connect_sync(sys.argv[1])
turn = sidemirror.begin_turn("afterwards")
assert turn.plan(60) is not None
"""


def test_what_is_asked_when_the_process_has_ended_its_clients(beside: Sidecar) -> None:
    """A handler that was registered before the client's own comes after it. Seen to hang in `close`, when the loop has
    stopped and takes work all the same."""
    ran = run_alone(_AFTERWARDS, beside.address)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "[] None False 2 ('afterwards', 'late')\n"
    assert "nothing is delivered any more" in ran.stderr


class TestALoopForEachTest:
    """As pytest-asyncio gives them: one client for the module."""

    sidemirror: Sidemirror | None = None

    @pytest.mark.parametrize("number", range(3))
    async def test_reports(self, beside: Sidecar, number: int) -> None:
        cls = type(self)
        cls.sidemirror = cls.sidemirror or connect(beside.address)
        await whole_turn(cls.sidemirror, f"test-{number}")
        if number == 2:
            assert not await cls.sidemirror.close()
            assert "sidemirror" in {thread.name for thread in threading.enumerate()}
