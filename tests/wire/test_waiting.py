"""ReportEvents with `wait`: what is still being made is named, and nobody waits longer than needed or allowed."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from google.protobuf.duration_pb2 import Duration

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from sidemirror_server.vocabulary.status import ResultStatus
from tests.faults.sidecars import running
from tests.faults.waiting import until
from tests.wire.calls import MEDIUM, called, entries, failed, finished, kinds, returned, said
from tests.wire.scripted import ScriptedModel
from tests.wire.sidecar import PATIENCE_S, sidecar, thinking

FAILING = [called("sql", event_id="c"), failed(event_id="e1")]


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(held=True)


@pytest.fixture
def slow(tmp_path: Path, model: ScriptedModel) -> Iterator[ThinkingServiceStub]:
    """A sidecar whose model answers when it is let go."""
    with sidecar(tmp_path, model=model) as server, thinking(server) as stub:
        yield stub


def start(stub: ThinkingServiceStub) -> str:
    request = pb.StartTurnRequest(config=MEDIUM, reflection_mode=pb.REFLECTION_MODE_AUTO)
    return stub.StartTurn(request).plan.turn_id


def report(turn_id: str, wait_s: float = 0.0) -> pb.ReportEventsRequest:
    wait = Duration()
    wait.FromMicroseconds(int(wait_s * 1e6))
    return pb.ReportEventsRequest(turn_id=turn_id, events=FAILING, wait=wait)


def test_without_a_wait_the_answer_comes_at_once_and_names_what_is_pending(
    slow: ThinkingServiceStub, model: ScriptedModel
) -> None:
    turn_id = start(slow)
    request = report(turn_id)
    request.ClearField("wait")
    answer = slow.ReportEvents(request, timeout=PATIENCE_S)
    assert list(answer.directives) == []
    assert (answer.ack.received, answer.ack.durable) == (2, 2)
    (pending,) = answer.ack.pending_ids
    assert answer.ack.budget_left.reflections == 3
    assert list(slow.GetTurn(pb.GetTurnRequest(turn_id=turn_id)).turn.pending_ids) == [pending]
    # It holds nothing up.
    more = pb.ReportEventsRequest(turn_id=turn_id, events=[said("meanwhile")])
    assert list(slow.ReportEvents(more, timeout=PATIENCE_S).ack.pending_ids) == [pending]

    model.let_go()
    again = slow.ReportEvents(report(turn_id, 10.0), timeout=PATIENCE_S)
    (directive,) = again.directives
    assert directive.directive_id == pending
    assert directive.reflection.status == common_pb2.RESULT_STATUS_OK
    assert list(again.ack.pending_ids) == []
    assert entries(slow, turn_id)[-1].directive == directive


def test_a_wait_ends_when_all_is_made(slow: ThinkingServiceStub, model: ScriptedModel) -> None:
    turn_id = start(slow)
    with ThreadPoolExecutor(1) as pool:
        begun = time.monotonic()
        answer = pool.submit(slow.ReportEvents, report(turn_id, 60.0))
        model.wait_asked()
        assert not answer.done()
        model.let_go()
        done = answer.result(PATIENCE_S)
    assert time.monotonic() - begun < PATIENCE_S
    (directive,) = done.directives
    assert list(directive.caused_by) == ["e1"]
    assert list(directive.reasons) == [pb.REFLECTION_REASON_TOOL_ERROR]
    assert list(done.ack.pending_ids) == []


async def test_without_events_it_waits_for_what_is_pending(tmp_path: Path) -> None:
    model = ScriptedModel(held=True)
    async with running(tmp_path, model=model) as served:
        asked = pb.StartTurnRequest(turn_id="t", config=MEDIUM, reflection_mode=pb.REFLECTION_MODE_AUTO)
        await served.stub.StartTurn(asked)
        (pending,) = (await served.stub.ReportEvents(report("t"))).ack.pending_ids
        turn = served.sidecar.conductor.in_memory(DEFAULT_SCOPE, TurnId("t"))
        assert turn is not None
        nothing_new = pb.ReportEventsRequest(turn_id="t", wait=Duration(seconds=60))
        waiting = asyncio.ensure_future(served.stub.ReportEvents(nothing_new, timeout=PATIENCE_S))
        await until(lambda: bool(turn._listeners))
        model.let_go()
        answer = await waiting
    assert [directive.directive_id for directive in answer.directives] == [pending]
    assert list(answer.ack.pending_ids) == []


def test_a_wait_for_nothing_takes_no_time(slow: ThinkingServiceStub) -> None:
    turn_id = start(slow)
    begun = time.monotonic()
    request = pb.ReportEventsRequest(turn_id=turn_id, events=[called("a"), returned("b")], wait=Duration(seconds=60))
    assert list(slow.ReportEvents(request).ack.pending_ids) == []
    assert time.monotonic() - begun < PATIENCE_S


def test_a_wait_ends_when_its_time_is_over(slow: ThinkingServiceStub) -> None:
    turn_id = start(slow)
    begun = time.monotonic()
    answer = slow.ReportEvents(report(turn_id, 0.3), timeout=PATIENCE_S)
    assert 0.3 <= time.monotonic() - begun < PATIENCE_S
    assert (len(answer.directives), len(answer.ack.pending_ids)) == (0, 1)


def test_a_wait_never_misses_the_calls_deadline(slow: ThinkingServiceStub) -> None:
    turn_id = start(slow)
    # An answer in time, not DEADLINE_EXCEEDED.
    answer = slow.ReportEvents(report(turn_id, 60.0), timeout=1.0)
    assert (answer.ack.durable, len(answer.ack.pending_ids)) == (2, 1)


def test_two_who_wait_are_both_answered(slow: ThinkingServiceStub, model: ScriptedModel) -> None:
    turn_id = start(slow)
    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(slow.ReportEvents, report(turn_id, 60.0)) for _ in range(2)]
        model.wait_asked()
        model.let_go()
        directives = [answer.result(PATIENCE_S).directives[0] for answer in answers]
    assert directives[0] == directives[1]
    assert kinds(entries(slow, turn_id)).count("claim") == 1


def test_slots_are_never_claimed_twice(tmp_path: Path) -> None:
    model = ScriptedModel(held=True)
    with sidecar(tmp_path, model=model) as server, thinking(server) as stub, ThreadPoolExecutor(12) as pool:
        turn_id = start(stub)
        answers = [pool.submit(stub.Reflect, pb.ReflectRequest(turn_id=turn_id)) for _ in range(12)]
        for _ in range(4):
            model.wait_asked()
        model.let_go()
        statuses = [answer.result(PATIENCE_S).result.status for answer in answers]
    assert statuses.count(common_pb2.RESULT_STATUS_OK) == 4
    assert statuses.count(common_pb2.RESULT_STATUS_SKIPPED_BUDGET) == 8
    assert len(model.prompts) == 4


def test_what_a_model_can_come_to_is_a_status(tmp_path: Path) -> None:
    """A reflection never blocks the agent: the call is OK, whatever the model does."""
    tried = [status for status in ResultStatus if status not in (ResultStatus.OK, ResultStatus.NOTHING)]
    with sidecar(tmp_path, model=ScriptedModel(*tried)) as server, thinking(server) as stub:
        budget = pb.TurnBudget(max_reflections=100)
        turn_id = stub.StartTurn(pb.StartTurnRequest(budget=budget)).plan.turn_id
        for status in tried:
            result = stub.Reflect(pb.ReflectRequest(turn_id=turn_id)).result
            assert result.status == common_pb2.ResultStatus.Value(f"RESULT_STATUS_{status.name}")
            assert result.reflection == {
                ResultStatus.SKIPPED_BUDGET: "[budget exhausted]",
                ResultStatus.SKIPPED_DEADLINE: "[deadline expired]",
            }.get(status, "[reflection failed]")
            assert (result.detail, result.confidence, result.should_continue) == ("as the script says", 0.7, True)
        events = [finished()]
        stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events))
        summary = entries(stub, turn_id)[-1].directive.turn_summary
        assert sum(summary.reflections.values()) == len(tried) == 8
