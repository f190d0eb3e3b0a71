"""What is learned from turns and goals that end, while an agent calls nothing but RunTurn and ReportGoal."""

import logging
import sqlite3
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import MessageToDict

from sidemirror.v1 import common_pb2, goal_reflection_pb2, sidecar_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import thinking_pb2 as turns
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.turns.limits import TurnLimits
from tests.faults.sidecars import Stub, channel, running
from tests.faults.waiting import until_found
from tests.memory.talk import event, listed, memories
from tests.wire.calls import TIMEOUT_S, called, failed, finished, returned, said, started
from tests.wire.goals import failed_goal, goals, report
from tests.wire.sidecar import SidecarThread, sidecar, thinking
from tests.wire.waiting import until

WRONG_TABLE = "no such table: users"


def run_turn(
    server: SidecarThread, tenant_id: str, *events: turns.TurnEvent, session_id: str = "s", **more: Any
) -> None:
    """One turn on a stream, from its start to its summary."""
    begun = started(session_id=session_id, task=more.pop("task", "Count the customers"), **more)
    request = turns.RunTurnRequest(tenant_id=tenant_id, events=[begun, *events])
    with thinking(server) as stub:
        for _ in stub.RunTurn(iter([request]), timeout=TIMEOUT_S):
            pass


def failing(error: str = WRONG_TABLE) -> tuple[turns.TurnEvent, ...]:
    return called("sql", "SELECT * FROM users", "c"), failed(error, "c"), finished()


def learned(server: SidecarThread, tenant_id: str, count: int = 1) -> list[pb.Memory]:
    """The reflections of a tenant, once there are so many."""
    found: list[pb.Memory] = []

    def are_there() -> bool:
        found[:] = listed(stub, tenant_id=tenant_id, kind=pb.MEMORY_KIND_REFLECTION)
        return len(found) >= count

    with memories(server) as stub:
        until(are_there)
    return found


def causes(memory: pb.Memory) -> object:
    """Why a memory was learned unasked."""
    return MessageToDict(memory.metadata)["learned_from"]


def settled(server: SidecarThread, tenant_id: str) -> list[pb.Memory]:
    """What a tenant has once a later turn of it was learned from: the jobs of a kind are claimed in order."""
    run_turn(server, tenant_id, *failing("permission denied for table last"), session_id="last")
    until(lambda: any("last" in one.content for one in learned(server, tenant_id)))
    return [one for one in learned(server, tenant_id) if "last" not in one.content]


def test_a_failure_is_learned_from_without_a_call(server: SidecarThread) -> None:
    run_turn(server, "failure", *failing())
    (memory,) = learned(server, "failure")
    assert memory.content == "`sql` failed: its error says “no such table: users”, a not found failure."
    assert (memory.importance, memory.origin) == (0.7, common_pb2.ORIGIN_TOOL)
    assert memory.error_signature == "sql|not_found|missing_table"
    assert causes(memory) == ["failure"]
    with thinking(server) as stub:
        (turn,) = stub.ListTurns(turns.ListTurnsRequest(tenant_id="failure"), timeout=TIMEOUT_S).turns
    assert (list(memory.source_turn_ids), list(memory.source_report_ids)) == ([turn.turn_id], [])
    with memories(server) as stub:
        (strategy,) = listed(stub, tenant_id="failure", kind=pb.MEMORY_KIND_STRATEGY)
    assert strategy.content == "There is no table `users`: list or look up what exists before calling `sql` again."
    assert strategy.importance == 0.77


def test_the_lesson_comes_to_the_next_turn_that_fails_so(server: SidecarThread) -> None:
    """Its strategy does: the reflection only restates the failure."""
    run_turn(server, "again", *failing())
    (memory,) = learned(server, "again")
    with memories(server) as memory_stub:
        (strategy,) = listed(memory_stub, tenant_id="again", kind=pb.MEMORY_KIND_STRATEGY)
    level = turns.ThinkingConfig(level=turns.THINK_LEVEL_LOW)
    with thinking(server) as stub:
        plan = stub.StartTurn(
            turns.StartTurnRequest(tenant_id="again", task="Count them", reflection_mode=turns.REFLECTION_MODE_AUTO,
                                   config=level),
            timeout=TIMEOUT_S,
        ).plan  # fmt: skip
        events = [called("sql", "SELECT 1 FROM users", "c"), failed(WRONG_TABLE, "c")]
        stub.ReportEvents(
            turns.ReportEventsRequest(tenant_id="again", turn_id=plan.turn_id, events=events), timeout=TIMEOUT_S
        )

        def shown() -> set[str]:
            page = stub.GetTurn(turns.GetTurnRequest(tenant_id="again", turn_id=plan.turn_id), timeout=TIMEOUT_S)
            said_so = (entry.directive.reflection.lessons.items for entry in page.entries)
            return {item.id for items in said_so for item in items}

        until(lambda: strategy.id in shown())
        assert memory.id not in shown()


def test_a_lesson_comes_at_the_start_of_every_task_that_taught_it(server: SidecarThread) -> None:
    """Seen to fail when only the first task counts: each later one began without it, however often it was run."""
    shown: dict[str, list[str]] = {}
    with memories(server) as stub:
        for count, task in enumerate(("Count the users", "Which users have signed up in May?"), 1):
            run_turn(server, "tasks", *failing(), task=task, session_id=f"s{count}")
            strengthened(server, "tasks", count)
        for task in ("Count the users", "Which users have signed up in May?", "Name the users of May who paid"):
            asked = pb.BuildMemoryContextRequest(tenant_id="tasks", task=task)
            shown[task] = [item.text for item in stub.BuildMemoryContext(asked, timeout=TIMEOUT_S).block.items]
    told = ["There is no table `users`: list or look up what exists before calling `sql` again."]
    assert list(shown.values()) == [told, told, []]


def test_a_turn_without_anything_to_learn_leaves_nothing(server: SidecarThread) -> None:
    run_turn(server, "nothing", called("sql", "SELECT 1", "c"), returned("1", "c"), finished())
    run_turn(server, "nothing", *failing("An error occurred while running the tool."))
    assert settled(server, "nothing") == []


async def test_a_turn_that_is_abandoned_is_learned_from(tmp_path: Path) -> None:
    async with running(tmp_path, turn_limits=TurnLimits(abandon_after_s=0.0)) as served:
        plan = (await served.stub.StartTurn(turns.StartTurnRequest(task="Count"))).plan
        events = list(failing())[:2]
        await served.stub.ReportEvents(turns.ReportEventsRequest(turn_id=plan.turn_id, events=events))
        await served.sidecar.upkeep.sweep()
        async with channel(served.address) as connection:
            stub: Stub = ReflectiveMemoryServiceStub(connection)

            async def look() -> list[pb.Memory]:
                return list((await stub.ListReflections(pb.ListReflectionsRequest())).memories)

            found = await until_found(look)
    assert {memory.metadata["outcome"] for memory in found} == {"timeout"}


def test_a_user_who_corrects_the_agent(server: SidecarThread) -> None:
    run_turn(server, "corrected", called("sql", "SELECT 1", "c"), returned("1", "c"), finished(), task="Sum it up")
    run_turn(server, "corrected", finished(), task="No, I meant the net sum, without taxes.")
    (memory,) = learned(server, "corrected")
    assert memory.content == "The user corrected the agent: “No, I meant the net sum, without taxes.”."
    assert causes(memory) == ["correction"]
    assert (memory.state, memory.reason) == (pb.MEMORY_STATE_QUARANTINED, "it quotes a user")


def test_a_correction_is_told_to_others_once_a_person_has_reviewed_it(server: SidecarThread) -> None:
    """Where an earlier version keeps it in force, too. Seen to fail without the filters of blocks and of recall."""
    scope: dict[str, Any] = {"tenant_id": "reviewed"}
    said_so = "The user corrected the agent: “No, I meant the net sum, without taxes.”."
    with memories(server) as stub:
        stored = stub.StoreReflection(
            pb.StoreReflectionRequest(result=pb.ReflectionResult(reflection_text="Sums are net."), **scope),
            timeout=TIMEOUT_S,
        )
        change = pb.UpdateReflectionRequest(
            reflection_id=stored.reflection_id, changes=pb.MemoryChanges(content=said_so), **scope
        )
        assert stub.UpdateReflection(change, timeout=TIMEOUT_S).memory.state == pb.MEMORY_STATE_ACTIVE

        def told() -> tuple[bool, bool]:
            query = pb.QueryReflectionsRequest(query_text="the net sum, without taxes", **scope)
            build = pb.BuildMemoryContextRequest(task="Say the net sum, without taxes", **scope)
            hits = stub.QueryReflections(query, timeout=TIMEOUT_S).hits
            return bool(hits), bool(stub.BuildMemoryContext(build, timeout=TIMEOUT_S).block.items)

        assert told() == (False, False)
        review = pb.ReviewReflectionRequest(
            reflection_id=stored.reflection_id, state=pb.MEMORY_STATE_ACTIVE, reason="for everybody", **scope
        )
        stub.ReviewReflection(review, timeout=TIMEOUT_S)
        assert told() == (True, True)


def test_a_correction_with_a_users_own_values_is_not_told_to_others(server: SidecarThread) -> None:
    run_turn(server, "own values", called("sql", "SELECT 1", "c"), returned("1", "c"), finished())
    run_turn(server, "own values", said("No, I meant order W5866402."), finished())
    assert settled(server, "own values") == []


def test_values_of_an_episode_stay_out_of_its_lesson(server: SidecarThread) -> None:
    run_turn(server, "values", *failing("order #W5866402 of mia_garcia_4516 cannot be returned any more"))
    (memory,) = learned(server, "values")
    assert (
        memory.content
        == "`sql` failed: its error says “order (…) of (…) cannot be returned any more”, a validation failure."
    )


def test_a_goals_lesson_becomes_a_memory(server: SidecarThread) -> None:
    with goals(server) as stub:
        report(stub, failed_goal("goal", "fails"))
        done = goal_reflection_pb2.GOAL_STATE_COMPLETED
        report(stub, failed_goal("goal", "works", tasks=[], error="", state=done))
    found = learned(server, "goal")
    assert [memory.metadata["goal_id"] for memory in found] == ["fails"]
    with goals(server) as stub:
        asked = goal_reflection_pb2.ListGoalReportsRequest(tenant_id="goal", goal_id="fails")
        (reported,) = stub.ListGoalReports(asked, timeout=TIMEOUT_S).reports
    assert [list(memory.source_report_ids) for memory in found] == [[reported.report_id]]
    assert causes(found[0]) == ["goal"]


def test_a_goals_lesson_is_shown_once_and_as_the_goals(server: SidecarThread) -> None:
    with goals(server) as stub:
        report(stub, failed_goal("shown once"))
    learned(server, "shown once")
    with thinking(server) as stub:
        wish = turns.ContextWish(goal_id="g", tools=["fetch_page"])
        start = turns.StartTurnRequest(tenant_id="shown once", task="Fetch a page", context=wish)
        items = stub.StartTurn(start, timeout=TIMEOUT_S).plan.context.items
    assert [item.kind for item in items] == ["goal_reflection"]


def test_what_is_learned_goes_with_its_turn(server: SidecarThread) -> None:
    run_turn(server, "erased", *failing(), session_id="whole")
    (memory,) = learned(server, "erased")
    with grpc.insecure_channel(server.address) as connection:
        erase = sidecar_pb2.EraseRequest(tenant_id="erased", session_id="whole")
        SidecarServiceStub(connection).Erase(erase, timeout=TIMEOUT_S)
    gone(server, "erased", memory.id)


def test_a_lesson_of_several_sessions_stays_with_the_others(server: SidecarThread) -> None:
    """The later sessions are shown the lesson, and fail all the same. Seen to fail where what was shown was never
    taught again, and where what is made anew forgot its failure."""
    scope: dict[str, Any] = {"tenant_id": "several"}
    for number in range(3):
        begun = turns.StartTurnRequest(
            session_id=f"s{number}", task="Count the customers", turn_id=f"several-{number}",
            context=turns.ContextWish(tools=["sql"]), **scope,
        )  # fmt: skip
        with thinking(server) as stub:
            items = stub.StartTurn(begun, timeout=TIMEOUT_S).plan.context.items
            assert bool(items) is (number > 0)
            for event_id, one in enumerate(failing()):
                one.event_id = f"e{event_id}"
                more = turns.ReportEventsRequest(turn_id=f"several-{number}", events=[one], **scope)
                stub.ReportEvents(more, timeout=TIMEOUT_S)
        strengthened(server, "several", number + 1)
    (memory,) = learned(server, "several")
    with grpc.insecure_channel(server.address) as connection:
        erase = sidecar_pb2.EraseRequest(session_id="s0", **scope)
        SidecarServiceStub(connection).Erase(erase, timeout=TIMEOUT_S)
    gone(server, "several", memory.id)
    for kind in (pb.MEMORY_KIND_REFLECTION, pb.MEMORY_KIND_STRATEGY):
        with memories(server) as stub:
            (left,) = listed(stub, kind=kind, **scope)
        assert (left.strength, left.error_signature) == (2, memory.error_signature)


def strengthened(server: SidecarThread, tenant_id: str, strength: int) -> None:
    """Waits until one of a tenant's reflections is so strong."""
    until(lambda: max(one.strength for one in learned(server, tenant_id)) >= strength)


def gone(server: SidecarThread, tenant_id: str, memory_id: str) -> None:
    """Waits until a tenant has the memory no more."""
    with memories(server) as stub:
        until(lambda: memory_id not in {one.id for one in listed(stub, tenant_id=tenant_id)})


@pytest.mark.parametrize("settings", [{"defaults__learning": "false"}, {"memory__mode": "lite"}])
def test_learning_is_turned_off(settings: dict[str, str], tmp_path: Path) -> None:
    with sidecar(tmp_path, settings=settings) as server:
        run_turn(server, "", *failing())
        assert jobs_of(server) == 0


def jobs_of(server: SidecarThread) -> int:
    """How many jobs of learning the store has; they are put with the last entry of a turn."""
    connection = sqlite3.connect(server.folder / "data" / "sidemirror.db")
    try:
        count: int = connection.execute("SELECT count(*) FROM jobs WHERE kind = 'learn_turn'").fetchone()[0]
    finally:
        connection.close()
    return count


def test_what_an_hour_has_no_room_for_is_left_to_dreaming(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Seen to fail, by the log, when each turn that is left had a line, and when that is a warning: it is as it should
    be."""
    caplog.set_level(logging.INFO)
    with sidecar(tmp_path, settings={"learn__turns_per_hour": "1"}) as server:
        run_turn(server, "", *failing())
        learned(server, "")
        run_turn(server, "", *failing("permission denied for table orders"))
        run_turn(server, "", *failing("permission denied for table stays"))
        assert jobs_of(server) == 1
        told = [vars(one) for one in caplog.records if one.message == "learning_limit_reached"]
        assert [(one["tenant_id"], one["project_id"], one["turns_per_hour"]) for one in told] == [
            ("default", "default", 1)
        ]
        assert [one["levelname"] for one in told] == ["INFO"]
        with memories(server) as stub:
            list(stub.Dream(pb.DreamRequest(), timeout=TIMEOUT_S))
        assert any("permission denied" in memory.content for memory in learned(server, "", 2))


def test_a_turn_that_is_erased_is_not_left_to_dreaming(tmp_path: Path) -> None:
    """Seen to fail with an erasure that leaves the turn's head."""
    with sidecar(tmp_path, settings={"learn__turns_per_hour": "1"}) as server:
        run_turn(server, "", *failing())
        learned(server, "")
        run_turn(server, "", *failing("permission denied for table orders"), session_id="erased")
        run_turn(server, "", *failing("permission denied for table stays"), session_id="stays")
        with grpc.insecure_channel(server.address) as connection:
            SidecarServiceStub(connection).Erase(sidecar_pb2.EraseRequest(session_id="erased"), timeout=TIMEOUT_S)
        with memories(server) as stub:
            list(stub.Dream(pb.DreamRequest(), timeout=TIMEOUT_S))
        found = learned(server, "", 2)
        assert sorted("stays" in memory.content for memory in found) == [False, True]
        assert jobs_of(server) == 2


def seeds_request(**more: Any) -> pb.GenerateReflectionRequest:
    """The call of seed reflection-engine-v2, "Generate Reflection from Failure", word for word."""
    call_of = event(pb.EVENT_TYPE_TOOL_CALL, "Called database query with complex JOIN", "e1")
    call_of.metadata.update({"tool": "postgres_query"})
    error_of = event(pb.EVENT_TYPE_ERROR_EVENT, "Query timeout after 30 seconds", "e2")
    error_of.error.update({"message": "Timeout", "code": "QUERY_TIMEOUT"})
    error = pb.TaskError(
        error_category=pb.ERROR_CATEGORY_TIMEOUT_ERROR, error_message="Query execution exceeded 30s limit"
    )
    error.context.update({"query": "SELECT * FROM orders JOIN customers..."})
    return pb.GenerateReflectionRequest(
        events=[call_of, error_of],
        outcome=common_pb2.TASK_OUTCOME_TIMEOUT,
        error=error,
        task_description="Fetch customer order history",
        task_goal="Retrieve all orders for customer analysis",
        **more,
    )


def generated(server: SidecarThread, request: pb.GenerateReflectionRequest) -> pb.GenerateReflectionResponse:
    with memories(server) as stub:
        made: ReflectiveMemoryServiceStub = stub
        answer: pb.GenerateReflectionResponse = made.GenerateReflection(request, timeout=TIMEOUT_S)
    return answer


def test_the_seeds_own_call(server: SidecarThread) -> None:
    result = generated(server, seeds_request(tenant_id="seed", store=True)).result
    assert result.reflection_text == (
        "`postgres_query` failed: its error says “Query timeout after 30 seconds”, a timeout failure. "
        "The task failed because of “Query execution exceeded 30s limit”."
    )
    assert result.strategy_text == (
        "Ask `postgres_query` for less at once: narrow the query, take one page, or raise its time limit if it has one."
    )
    assert list(result.tags) == ["timeout", "postgres_query"]
    assert result.error_category == pb.ERROR_CATEGORY_TIMEOUT_ERROR
    assert list(result.applies_when.tools) == ["postgres_query"]


def test_the_callers_error_alone_is_enough(server: SidecarThread) -> None:
    request = seeds_request(tenant_id="alone")
    del request.events[1]
    result = generated(server, request).result
    assert result.reflection_text == "The task failed because of “Query execution exceeded 30s limit”."
    assert list(result.tags)[:1] == ["timeout"]


def test_an_episode_that_teaches_nothing(server: SidecarThread) -> None:
    events = [event(pb.EVENT_TYPE_TOOL_CALL, "x", "e1", tool_name="a"), event(pb.EVENT_TYPE_TOOL_RESPONSE, "y", "e2")]
    for outcome in (common_pb2.TASK_OUTCOME_SUCCESS, common_pb2.TASK_OUTCOME_FAILURE):
        request = pb.GenerateReflectionRequest(tenant_id="empty", events=events, outcome=outcome, store=True)
        made = generated(server, request)
        assert (made.result.status, made.result.reflection_text) == (common_pb2.RESULT_STATUS_NOTHING, "")
        assert (made.reflection_id, made.not_stored_reason) == ("", "it says nothing but how the task ended")
    assert learned(server, "empty", 0) == []
