"""Advice that a policy turns off is not given: in plans, in mid-turn reflections, in blocks of memory and of goals."""

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest

from sidemirror.v1 import goal_reflection_pb2 as goal_pb
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1 import thinking_pb2
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.turns.lessons import FailureLessons, Lessons
from tests.memory.talk import memories, store
from tests.wire.calls import MEDIUM, TIMEOUT_S
from tests.wire.goals import failed_goal, goals
from tests.wire.sidecar import SidecarThread, sidecar, thinking
from tests.wire.test_failure_lessons import learn, reflections_of, shown
from tests.wire.waiting import until_found

TASK = "Copy the report of the month"
LESSONS, RECOVERIES, ALL = pb.ADVICE_KIND_LESSONS, pb.ADVICE_KIND_RECOVERIES, pb.ADVICE_KIND_ALL


class Taught(NamedTuple):
    """What a project knows, by id."""

    reflection: str
    strategy: str
    monthly: str
    goal: str


def teach(server: SidecarThread, project: str) -> Taught:
    with memories(server) as memory, goals(server) as stub:
        about_failure = learn(memory, project)
        monthly = store(memory, "Copy the report of each month with its date.", project_id=project).reflection_id
        report = failed_goal("default", project_id=project)
        stub.ReportGoal(report, timeout=TIMEOUT_S)
        asked = goal_pb.GetGoalReflectionsRequest(project_id=project, goal_id="g")
        (made,) = until_found(lambda: stub.GetGoalReflections(asked, timeout=TIMEOUT_S).reflections)
    return Taught(about_failure.reflection_id, about_failure.strategy_id, monthly, made.id)


def silence(server: SidecarThread, project: str, *off: Any, ids: tuple[str, ...] = (), **more: Any) -> None:
    policy = pb.Policy(advice=pb.AdvicePolicy(off=off, silenced_ids=ids))
    with grpc.insecure_channel(server.address) as channel:
        request = pb.SetPolicyRequest(project_id=project, policy=policy, **more)
        SidecarServiceStub(channel).SetPolicy(request, timeout=TIMEOUT_S)


def plan_of(server: SidecarThread, project: str) -> thinking_pb2.TurnPlan:
    with thinking(server) as turns:
        wish = thinking_pb2.ContextWish(goal_id="g")
        start = thinking_pb2.StartTurnRequest(project_id=project, task=TASK, config=MEDIUM, context=wish)
        return turns.StartTurn(start, timeout=TIMEOUT_S).plan


def given(server: SidecarThread, project: str) -> dict[str, set[str]]:
    """The ids of the lessons that each way of advising brings."""
    with memories(server) as memory, goals(server) as stub:
        asked = goal_pb.BuildGoalContextRequest(project_id=project, goal_id="g")
        goal = {item.id for item in stub.BuildGoalContext(asked, timeout=TIMEOUT_S).block.items}
        block = set(shown(memory, project, TASK))
    (reflection,) = reflections_of(server, project, "no such table: stock")
    return {
        "plan": {item.id for item in plan_of(server, project).context.items},
        "directive": {item.id for item in reflection.lessons.items},
        "memory": block,
        "goal": goal,
    }


def everything(taught: Taught) -> dict[str, set[str]]:
    return {
        "plan": {taught.monthly, taught.goal},
        "directive": {taught.strategy, taught.reflection},
        "memory": {taught.monthly},
        "goal": {taught.goal},
    }


NOTHING: dict[str, set[str]] = {"plan": set(), "directive": set(), "memory": set(), "goal": set()}


@pytest.mark.parametrize("kind", [LESSONS, ALL], ids=["lessons", "all"])
def test_lessons_off_and_on_again(kind: "pb.AdviceKind", server: SidecarThread) -> None:
    """Seen to fail in each of the four with its look at the policy left out."""
    project = f"off {kind}"
    taught = teach(server, project)
    assert given(server, project) == everything(taught)
    silence(server, project, kind)
    assert given(server, project) == NOTHING
    plan = plan_of(server, project)
    assert not plan.HasField("context")
    assert "a policy turns lessons off: none from earlier work" in plan.warnings
    # It is advice that is off, and not the memory: a search finds what it found.
    with memories(server) as memory:
        asked = memory_pb.QueryReflectionsRequest(project_id=project, query_text=TASK)
        assert memory.QueryReflections(asked, timeout=TIMEOUT_S).hits
    silence(server, project)
    assert given(server, project) == everything(taught)


def test_advice_that_is_turned_off_while_the_model_thinks(
    server: SidecarThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail where the lessons found are attached whatever the policy says by then."""
    teach(server, "meanwhile")
    find = Lessons.for_failures

    async def then_off(*asked: Any) -> FailureLessons:
        found = await find(*asked)
        assert found.lessons
        await asyncio.to_thread(silence, server, "meanwhile", LESSONS)
        return found

    monkeypatch.setattr(Lessons, "for_failures", then_off)
    (reflection,) = reflections_of(server, "meanwhile", "no such table: stock")
    assert not reflection.HasField("lessons")


def test_what_is_off_for_recoveries_leaves_lessons(server: SidecarThread) -> None:
    taught = teach(server, "recoveries")
    silence(server, "recoveries", RECOVERIES)
    assert given(server, "recoveries") == everything(taught)


def test_a_tenants_switch_is_for_all_its_projects_and_for_no_other_tenant(server: SidecarThread) -> None:
    taught = teach(server, "of default")
    silence(server, "of default", LESSONS, level=pb.POLICY_LEVEL_TENANT, tenant_id="another")
    assert given(server, "of default") == everything(taught)
    silence(server, "sibling", LESSONS, level=pb.POLICY_LEVEL_TENANT)
    try:
        assert given(server, "of default") == NOTHING
    finally:
        silence(server, "sibling", level=pb.POLICY_LEVEL_TENANT)


def test_lessons_by_their_ids(server: SidecarThread) -> None:
    """A reflection silences its strategies; a strategy only itself; a goal's reflection is a lesson like others."""
    taught = teach(server, "ids")
    known = everything(taught)
    silence(server, "ids", ids=(taught.reflection,))
    assert given(server, "ids") == {**known, "directive": set()}
    silence(server, "ids", ids=(taught.strategy, taught.monthly))
    assert given(server, "ids") == {
        **known,
        "plan": {taught.goal},
        "memory": set(),
        "directive": {taught.reflection},
    }
    with memories(server) as memory:
        asked = memory_pb.BuildMemoryContextRequest(project_id="ids", task=TASK)
        omitted = memory.BuildMemoryContext(asked, timeout=TIMEOUT_S).block.omitted
    assert {one.id: one.reason for one in omitted}[taught.monthly] == "a policy silences it"
    silence(server, "ids", ids=(taught.goal,))
    assert given(server, "ids") == {**known, "plan": {taught.monthly}, "goal": set()}


def test_it_stays_off_over_a_restart(tmp_path: Path) -> None:
    with sidecar(tmp_path) as first:
        taught = teach(first, "p")
        silence(first, "p", LESSONS)
    with sidecar(tmp_path) as second:
        assert given(second, "p") == NOTHING
        silence(second, "p")
        assert given(second, "p") == everything(taught)
