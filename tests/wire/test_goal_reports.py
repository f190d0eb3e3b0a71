"""Reports of goals over gRPC: one for each request, in pages, worked off behind the caller, dead and tried again."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from sidemirror_server.work.worker import Pace
from tests.wire.calls import (
    NOT_FOUND,
    REUSED,
    TIMEOUT_S,
    WRONG_STATE,
    refused,
)
from tests.wire.goals import PRICING, failed_goal, goals, reflections, report, reports, watched
from tests.wire.sidecar import PATIENCE_S, SidecarThread, sidecar
from tests.wire.waiting import until_found


@pytest.fixture(scope="module")
def stub(server: SidecarThread) -> Iterator[GoalReflectionServiceStub]:
    with goals(server) as made:
        yield made


def test_a_request_id_makes_one_reflection(stub: GoalReflectionServiceStub) -> None:
    first = report(stub, failed_goal("once", request_id="r"))
    assert report(stub, failed_goal("once", request_id="r")) == first
    assert refused(stub.ReportGoal, failed_goal("once", request_id="r", objective="other")) == REUSED
    for _ in range(2):
        report(stub, failed_goal("once"))
    until_found(lambda: len(reflections(stub, "once")) == 3)
    assert len(reports(stub, "once")) == 3
    assert len(watched(stub, "once")) == 3


def test_pages_of_reports(stub: GoalReflectionServiceStub) -> None:
    made = [report(stub, failed_goal("pages", f"g{number}")).report_id for number in range(5)]
    found: list[str] = []
    token = ""
    while True:
        request = pb.ListGoalReportsRequest(tenant_id="pages", page_size=2, page_token=token)
        page = stub.ListGoalReports(request, timeout=TIMEOUT_S)
        found += [one.report_id for one in page.reports]
        token = page.next_page_token
        if not token:
            break
    assert found == made[::-1]


def test_reports_of_one_goal(stub: GoalReflectionServiceStub) -> None:
    made = [report(stub, failed_goal("goal", "gh"[number % 2], turn_id=f"t{number}")).report_id for number in range(7)]
    asked = pb.ListGoalReportsRequest(tenant_id="goal", goal_id="g", page_size=2)
    pages = [stub.ListGoalReports(asked, timeout=TIMEOUT_S)]
    while pages[-1].next_page_token:
        asked.page_token = pages[-1].next_page_token
        pages.append(stub.ListGoalReports(asked, timeout=TIMEOUT_S))
    assert [[one.report_id for one in page.reports] for page in pages] == [[made[6], made[4]], [made[2], made[0]]]
    assert [one.turn_id for one in pages[0].reports] == ["t6", "t4"]
    assert reports(stub, "goal", goal_id="none") == []
    with pytest.raises(grpc.RpcError, match="page_token"):
        reports(stub, "goal", goal_id="h", page_token=pages[0].next_page_token)


class Slow:
    """Answers when it is let go, or as it is told to."""

    provider, name = "test", "slow"

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.asked: list[str] = []
        self.failing: ResultStatus | None = None
        self.insight = "One. Two! Three? Four."

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        self.asked.append(ask.prompt)
        await asyncio.to_thread(self.let_go.wait, PATIENCE_S)
        if self.failing is not None:
            raise ModelFailed(self.failing, "as told")
        answer = ask.answer_type(insight=self.insight)
        return Completion(answer, Usage(self.provider, self.name))


def test_a_report_does_not_wait_for_the_model(tmp_path: Path) -> None:
    model = Slow()
    with sidecar(tmp_path, model=model) as server, goals(server) as stub:
        report(stub, failed_goal("t"))
        until_found(lambda: model.asked)
        assert [one.report_state for one in reports(stub, "t")] == [pb.GOAL_REPORT_STATE_RUNNING]
        assert reflections(stub, "t") == []
        model.let_go.set()
        (reflection,) = until_found(lambda: reflections(stub, "t"))
        assert reflection.insight == "One. Two! Three?"
        (prompt,) = model.asked
        assert PRICING in prompt
        assert "no current prices" in prompt


def test_a_report_that_keeps_failing_is_dead_and_can_be_retried(tmp_path: Path) -> None:
    model = Slow()
    model.let_go.set()
    model.failing = ResultStatus.FAILED_MODEL
    pace = Pace(retry_s=0.0001, longest_retry_s=0.001, poll_s=0.01)
    with sidecar(tmp_path, model=model, pace=pace) as server, goals(server) as stub:
        report_id = report(stub, failed_goal("t")).report_id
        (dead,) = until_found(lambda: reports(stub, "t", report_state=pb.GOAL_REPORT_STATE_DEAD))
        assert (dead.report_id, dead.attempts) == (report_id, 20)
        assert "as told" in dead.last_error
        assert not dead.HasField("reflection")
        model.failing = None
        request = pb.RetryGoalReportRequest(tenant_id="t", report_id=report_id)
        assert stub.RetryGoalReport(request, timeout=TIMEOUT_S).report_state == pb.GOAL_REPORT_STATE_QUEUED
        until_found(lambda: reflections(stub, "t"))
        until_found(lambda: reports(stub, "t", report_state=pb.GOAL_REPORT_STATE_DONE))
        assert refused(stub.RetryGoalReport, request) == WRONG_STATE
        request.report_id = "unknown"
        assert refused(stub.RetryGoalReport, request) == NOT_FOUND
        model.failing = ResultStatus.REFUSED
        asked = len(model.asked)
        report(stub, failed_goal("t"))
        until_found(lambda: reports(stub, "t", report_state=pb.GOAL_REPORT_STATE_DEAD))
        assert len(model.asked) == asked + 1, "who refuses is not asked again"


def test_pages_of_large_reports_are_short(stub: GoalReflectionServiceStub) -> None:
    """Whoever asks for a thousand makes the server hold a few. Seen to fail when `Work.list` has no bound in bytes."""
    tasks = [pb.GoalTask(name="read", output_summary="x" * 250_000) for _ in range(12)]
    ids = [report(stub, failed_goal("large", f"g{number}", tasks=tasks)).report_id for number in range(4)]
    pages: list[list[str]] = []
    token = ""
    while token or not pages:
        asked = pb.ListGoalReportsRequest(tenant_id="large", page_size=1_000, page_token=token)
        answer = stub.ListGoalReports(asked, timeout=TIMEOUT_S)
        pages.append([one.report_id for one in answer.reports])
        token = answer.next_page_token
    assert pages == [ids[:0:-1], ids[:1]]
