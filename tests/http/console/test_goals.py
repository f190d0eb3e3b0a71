"""A goal's screen leads from its id to its outcome, the turns that worked towards it, and the lessons that it left."""

from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import goal_reflection_pb2 as goal_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from tests.http.chromium import Browser
from tests.http.console.filled import report
from tests.http.console.looking import go, opened, overflow, press, shows, texts, violations
from tests.http.sidecars import door
from tests.memory.recovering import FAILURE
from tests.wire.calls import TIMEOUT_S, called, failed, finished, returned
from tests.wire.sidecar import SidecarThread, thinking
from tests.wire.waiting import until

pytestmark = pytest.mark.slow("a browser is started")
GOAL, OBJECTIVE = "orders-of-a-week", "Count the orders of a week"
_MISSED = "performance.getEntriesByType('resource').filter((one) => one.name.endsWith('/GetReflection')).length"
COMPLETED, FAILED = goal_pb.GOAL_STATE_COMPLETED, goal_pb.GOAL_STATE_FAILED


def work_towards(server: SidecarThread, turn_id: str, state: goal_pb.GoalState, *, wished: bool = True) -> None:
    """A turn for the goal, and its report; waits until it is reflected on. `wished`: its start names the goal too."""
    with thinking(server) as stub, grpc.insecure_channel(server.address) as channel:
        start = pb.StartTurnRequest(
            turn_id=turn_id, task=OBJECTIVE, context=pb.ContextWish(goal_id=GOAL if wished else "")
        )
        stub.StartTurn(start, timeout=TIMEOUT_S)
        answer = returned("17", "a") if state == COMPLETED else failed(FAILURE, "a")
        report(stub, turn_id, [called("sql", "SELECT count(*) FROM orders", "a"), answer, finished(outcome=2)])
        goals = GoalReflectionServiceStub(channel)
        ended = goal_pb.ReportGoalRequest(goal_id=GOAL, objective=OBJECTIVE, state=state, turn_id=turn_id)
        report_id = goals.ReportGoal(ended, timeout=TIMEOUT_S).report_id
        done = goal_pb.ListGoalReportsRequest(goal_id=GOAL, report_state=goal_pb.GOAL_REPORT_STATE_DONE)
        until(lambda: any(one.report_id == report_id for one in goals.ListGoalReports(done, timeout=TIMEOUT_S).reports))


def test_a_goal_has_its_outcome_its_turns_and_what_it_left(tmp_path: Path, browser: Browser) -> None:
    with door(tmp_path) as server:
        work_towards(server, "first", FAILED)
        work_towards(server, "named-later", FAILED, wished=False)
        work_towards(server, "second", COMPLETED)
        page = opened(browser, server)
        for width, dark in ((360, True), (1600, False)):
            page.looks(width, dark=dark)
            go(page, f"/goals/{GOAL}", "Lessons that it left")
            assert overflow(page) == 0
            assert violations(page) == []
        assert texts(page, ".title .badge") == ["completed"]
        assert texts(page, "table:first-of-type tbody td:nth-child(2)")[:3] == ["completed", "failed", "failed"]
        assert texts(page, "table:first-of-type tbody td:nth-child(3)")[:3] == ["second", "named-later", "first"]
        # The goal's own lesson is not looked for among the memories, where there is none of its id.
        press(page, "main a", "made")
        page.until("document.querySelector('h1')?.innerText === 'Lesson of a goal'")
        assert page.value(_MISSED) == 0
        go(page, f"/goals/{GOAL}", "Lessons that it left")
        # The lesson of the turn that failed leads to that turn, and the turn back to the goal.
        page.until("document.querySelector('main li a[href*=\"/lessons/\"]')")
        page.value("document.querySelector('main li a[href*=\"/lessons/\"]').click()")
        page.until("document.querySelector('h1')?.innerText === 'Lesson'")
        page.until("document.querySelector('dd a[href$=\"/turns/first\"]')")
        page.value("document.querySelector('dd a[href$=\"/turns/first\"]').click()")
        shows(page, FAILURE)
        go(page, "/turns/named-later")
        page.until(f"document.querySelector('dd a[href$=\"/goals/{GOAL}\"]')")
        # From the front page it takes two clicks to a goal, and to its turns.
        go(page, "/turns", OBJECTIVE)
        page.value("document.querySelector('nav a[href$=\"/now\"]').click()")
        shows(page, "Goals reported last")
        press(page, "main ol a", OBJECTIVE)
        page.until("document.querySelector('h1')?.innerText === 'Goal'")
        go(page, "/turns/first", FAILURE)
        page.until(f"document.querySelector('dd a[href$=\"/goals/{GOAL}\"]')")
