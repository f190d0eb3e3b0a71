"""The lessons that a turn's plan brings: of its goal, of similar goals and of reflective memory, as one block."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import common_pb2, goal_reflection_pb2, thinking_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.vocabulary.block import WHOSE
from tests.memory.talk import memories
from tests.wire.calls import TIMEOUT_S
from tests.wire.goals import goals, reflections
from tests.wire.sidecar import SidecarThread, sidecar, thinking
from tests.wire.waiting import until_found

TASK = "Research the prices of competitors"
STRATEGY = "Check the date of every price that a competitor lists."
REFLECTION = "The prices of two competitors were a year old."
SHOWN = [f"• [Reflection] {REFLECTION}", f"• [Strategy] {STRATEGY}"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    # What is learned of these goals would be shown beside them (tests/wire/test_learning.py).
    with sidecar(tmp_path_factory.mktemp("lessons"), settings={"defaults__learning": "false"}) as running:
        learn(running)
        yield running


def learn(server: SidecarThread) -> str:
    """One lesson of the goal `g`, one of a goal like it, and one of memory, with its strategy; the first one's text.
    The search is under way afterwards."""
    with goals(server) as stub:
        for goal_id, objective in (("g", "Write to the bank"), ("other", TASK)):
            report = goal_reflection_pb2.ReportGoalRequest(
                goal_id=goal_id,
                objective=objective,
                state=goal_reflection_pb2.GOAL_STATE_FAILED,
                error=f"no answer of {goal_id}",
            )
            stub.ReportGoal(report, timeout=TIMEOUT_S)
            until_found(lambda goal_id=goal_id: reflections(stub, "", goal_id))  # type: ignore[misc]
        (own,) = reflections(stub, "", "g")
    with memories(server) as memory:
        result = pb.ReflectionResult(reflection_text=REFLECTION, strategy_text=STRATEGY, importance=0.8)
        memory.StoreReflection(pb.StoreReflectionRequest(result=result), timeout=TIMEOUT_S)
        memory.QueryReflections(pb.QueryReflectionsRequest(query_text=TASK), timeout=TIMEOUT_S)
    return f"• [Goal: Write to the bank] {own.insight}"


def plan_of(server: SidecarThread, **wish: Any) -> thinking_pb2.TurnPlan:
    with thinking(server) as turns:
        start = thinking_pb2.StartTurnRequest(task=TASK, context=thinking_pb2.ContextWish(**wish))
        return turns.StartTurn(start, timeout=TIMEOUT_S).plan


def lines(block: common_pb2.ContextBlock) -> list[str]:
    return block.text.splitlines()


def test_the_goal_comes_first_and_then_what_is_alike_by_turns(server: SidecarThread) -> None:
    block = plan_of(server, goal_id="g").context
    heading, whose, *said = lines(block)
    assert (heading, whose) == ("[LESSONS FROM EARLIER WORK]", WHOSE)
    assert said[0].startswith("• [Goal: Write to the bank, from a tool] ")
    assert said[2].startswith(f"• [Goal: {TASK}, from a tool] ")
    assert sorted((said[1], said[3])) == SHOWN
    assert [item.kind for item in block.items][:1] == ["goal_reflection"]
    assert {item.kind for item in block.items} == {"goal_reflection", "reflection", "strategy"}
    assert len(lines(plan_of(server, goal_id="g", max_items=2).context)) == 4
    assert {left.reason for left in plan_of(server, max_items=1).context.omitted} == {"there is room for 1 items"}


def test_two_at_most_are_of_goals_unless_more_are_asked_for(server: SidecarThread) -> None:
    with goals(server) as stub:
        for number in range(3):
            report = goal_reflection_pb2.ReportGoalRequest(
                goal_id=f"many-{number}", objective=TASK, state=goal_reflection_pb2.GOAL_STATE_FAILED, error="x"
            )
            report.tenant_id = "many"
            stub.ReportGoal(report, timeout=TIMEOUT_S)
            until_found(lambda number=number: reflections(stub, "many", f"many-{number}"))  # type: ignore[misc]
    with thinking(server) as turns:
        start = thinking_pb2.StartTurnRequest(tenant_id="many", task=TASK, context=thinking_pb2.ContextWish())
        usual = turns.StartTurn(start, timeout=TIMEOUT_S).plan.context
        start.context.max_items = 10
        more = turns.StartTurn(start, timeout=TIMEOUT_S).plan.context
    # Their texts are equal, and one of equal ones is shown.
    assert len(usual.items) == len(more.items) == 1
    assert [left.reason for left in usual.omitted] == [
        "there is room for 2 items of goals",
        "another item says the same",
    ]
    assert [left.reason for left in more.omitted] == ["another item says the same"] * 2


def test_one_receipt_for_all_of_it(server: SidecarThread) -> None:
    """By it the outcome is joined, and what was shown is not learned again."""
    block = plan_of(server, goal_id="g").context
    with memories(server) as memory:
        outcome = pb.ReportOutcomeRequest(receipt_id=block.receipt_id, outcome=common_pb2.TASK_OUTCOME_SUCCESS)
        memory.ReportOutcome(outcome, timeout=TIMEOUT_S)
        hits = memory.QueryReflections(pb.QueryReflectionsRequest(query_text=TASK), timeout=TIMEOUT_S).hits
    versions = {hit.memory.id: hit.memory.version for hit in hits}
    assert {item.id: item.version for item in block.items if item.kind != "goal_reflection"} == versions


def test_a_turn_on_a_stream_has_them_too(server: SidecarThread) -> None:
    started = thinking_pb2.TurnStarted(session_id="streamed", context=thinking_pb2.ContextWish(task=TASK))
    request = thinking_pb2.RunTurnRequest(events=[thinking_pb2.TurnEvent(event_id="start", turn_started=started)])
    with thinking(server) as turns:
        call = turns.RunTurn(iter([request]), timeout=TIMEOUT_S)
        said = [one for response in call for one in response.directives]
    (plan,) = [one.turn_plan for one in said if one.HasField("turn_plan")]
    assert set(SHOWN) <= set(lines(plan.context))


def test_without_a_task_memory_has_nothing(server: SidecarThread) -> None:
    with thinking(server) as turns:
        start = thinking_pb2.StartTurnRequest(context=thinking_pb2.ContextWish(goal_id="g"))
        plan = turns.StartTurn(start, timeout=TIMEOUT_S).plan
    assert [item.kind for item in plan.context.items] == ["goal_reflection"]


def test_memory_that_is_turned_off_says_nothing(tmp_path: Path) -> None:
    with sidecar(tmp_path) as server:
        own = learn(server)
    with sidecar(tmp_path, settings={"memory__enabled": "false"}) as server:
        plan = plan_of(server, goal_id="g")
    assert lines(plan.context)[1] == own
    assert {item.kind for item in plan.context.items} == {"goal_reflection"}
    assert not [warning for warning in plan.warnings if "memory" in warning]


@pytest.mark.slow("a process hangs until a time limit ends the wait")
def test_a_search_that_does_not_answer_holds_nothing_up(tmp_path: Path) -> None:
    """Its process is stopped for good: the turn starts, with the lessons of its goal, and says what is missing.

    Seen to fail when `turns/lessons.py:_in_time` had no time limit: StartTurn ended with DEADLINE_EXCEEDED.
    """
    with sidecar(tmp_path) as server:
        own = learn(server)
        searcher = searcher_of(tmp_path)
        os.kill(searcher, signal.SIGSTOP)
        try:
            began_s = time.monotonic()
            plan = plan_of(server, goal_id="g")
            took_s = time.monotonic() - began_s
        finally:
            os.kill(searcher, signal.SIGCONT)
        assert lines(plan.context)[1] == own
        assert "reflective memory did not answer in time: none of its lessons" in plan.warnings
        assert took_s < TIMEOUT_S / 2, "the limit, and what the machine takes"
        assert until_found(lambda: set(SHOWN) <= set(lines(plan_of(server, goal_id="g").context)))


def searcher_of(folder: Path) -> int:
    """The process that searches the store in this folder."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            told = path.read_bytes()
        except OSError:  # gone meanwhile
            continue
        if b"memory_searcher" in told and os.fsencode(folder) in told:
            return int(path.parent.name)
    raise AssertionError("nobody searches")
