"""Words that a retired lesson has too, wherever a model makes them: for the embedded and the shared store."""

import asyncio

from sidemirror.v1 import common_pb2
from sidemirror.v1 import goal_reflection_pb2 as goal_pb
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from tests.faults.sidecars import Running, Stub, channel
from tests.wire.calls import called, failed

FAILURE = "no such table: orders"
SENTENCE = "There is no table `orders`: list or look up what exists before calling `sql` again."
TASK = "Count the orders"


async def reflected(served: Running, turn_id: str) -> pb.MidTurnReflection:
    """What a reflection on a failing call says, in a turn of its own."""
    start = pb.StartTurnRequest(turn_id=turn_id, session_id=turn_id, task=TASK)
    start.config.level = pb.THINK_LEVEL_MEDIUM
    await served.stub.StartTurn(start, timeout=60)
    events = [
        called("sql", "SELECT 1 FROM orders", "a"),
        failed(FAILURE, "a", f"f{turn_id}"),
    ]
    await served.stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events), timeout=60)
    answer: pb.ReflectResponse = await served.stub.Reflect(pb.ReflectRequest(turn_id=turn_id), timeout=60)
    return answer.result


async def stored(served: Running, text: str) -> str:
    """Stores a lesson; returns its id."""
    async with channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        store = memory_pb.StoreReflectionRequest(result={"reflection_text": text})
        lesson_id: str = (await memory.StoreReflection(store, timeout=60)).reflection_id
    return lesson_id


async def retire(served: Running, lesson_id: str) -> None:
    async with channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        review = memory_pb.ReviewReflectionRequest(
            reflection_id=lesson_id, state=memory_pb.MEMORY_STATE_RETIRED, reason="it harms"
        )
        await memory.ReviewReflection(review, timeout=60)


async def of_a_turn(served: Running) -> None:
    """The rules make the sentence of each such failure; after its lesson is retired they do not say it."""
    before = await reflected(served, "before")
    assert (before.status, before.suggested_action) == (common_pb2.RESULT_STATUS_OK, SENTENCE)
    lesson_id = await stored(served, SENTENCE)
    assert (await reflected(served, "while active")).suggested_action == SENTENCE
    await retire(served, lesson_id)
    after = await reflected(served, "after")
    assert (after.suggested_action, after.reflection) == ("", "")
    assert after.detail == f"it says what the retired lesson {lesson_id} says"


async def without_a_turn(served: Running) -> None:
    """The same of a reflection that is asked for without a turn."""
    result = common_pb2.ToolResult(name="sql", content=FAILURE, is_error=True)
    asked = pb.ReflectRequest(tool_results=[result])
    before = (await served.stub.Reflect(asked, timeout=60)).result
    assert before.suggested_action == SENTENCE
    lesson_id = await stored(served, SENTENCE)
    assert (await served.stub.Reflect(asked, timeout=60)).result.suggested_action == SENTENCE
    await retire(served, lesson_id)
    after = (await served.stub.Reflect(asked, timeout=60)).result
    assert (after.status, after.suggested_action, after.reflection) == (common_pb2.RESULT_STATUS_NOTHING, "", "")
    assert after.detail == f"it says what the retired lesson {lesson_id} says"


async def of_an_episode(served: Running) -> None:
    """The same of what GenerateReflection makes of an episode: it is not told, and not stored."""
    events = [
        memory_pb.ReflectionEvent(
            event_type=memory_pb.EVENT_TYPE_TOOL_CALL, tool_name="sql", content="SELECT 1 FROM orders"
        ),
        memory_pb.ReflectionEvent(event_type=memory_pb.EVENT_TYPE_ERROR_EVENT, tool_name="sql", content=FAILURE),
    ]
    asked = memory_pb.GenerateReflectionRequest(
        events=events, outcome=common_pb2.TASK_OUTCOME_FAILURE, task_description=TASK
    )
    async with channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        before = (await memory.GenerateReflection(asked, timeout=60)).result
        assert "" not in (before.reflection_text, before.strategy_text)
        lesson_id = await stored(served, before.strategy_text)
        active = (await memory.GenerateReflection(asked, timeout=60)).result
        assert active.strategy_text == before.strategy_text
        await retire(served, lesson_id)
        asked.store = True
        after = await memory.GenerateReflection(asked, timeout=60)
        assert (after.result.reflection_text, after.result.strategy_text, after.reflection_id) == ("", "", "")
        assert after.not_stored_reason == f"it says what the retired lesson {lesson_id} says"


async def of_a_goal(served: Running) -> None:
    """What a goal taught is not told from when its lesson is retired, and no report makes it anew."""
    async with channel(served.address) as connection:
        goals: Stub = GoalReflectionServiceStub(connection)

        async def report(goal_id: str) -> goal_pb.GoalReport:
            """Reports the goal; returns the report once it is done."""
            task = goal_pb.GoalTask(name="sql", error=FAILURE)
            asked = goal_pb.ReportGoalRequest(
                goal_id=goal_id, objective=TASK, state=goal_pb.GOAL_STATE_FAILED, tasks=[task]
            )
            report_id = (await goals.ReportGoal(asked, timeout=60)).report_id
            listed = goal_pb.ListGoalReportsRequest(report_state=goal_pb.GOAL_REPORT_STATE_DONE)
            async with asyncio.timeout(60):
                while True:
                    reports = (await goals.ListGoalReports(listed, timeout=60)).reports
                    done: list[goal_pb.GoalReport] = [one for one in reports if one.report_id == report_id]
                    if done:
                        return done[0]
                    await asyncio.sleep(0.02)

        async def told(goal_id: str) -> list[str]:
            asked = goal_pb.BuildGoalContextRequest(goal_id=goal_id, task=TASK)
            return [one.text for one in (await goals.BuildGoalContext(asked, timeout=60)).block.items]

        insight = (await report("one")).reflection.insight
        assert insight in await told("one")
        lesson_id = await stored(served, insight)
        assert insight in await told("one")
        await retire(served, lesson_id)
        assert await told("one") == []
        assert not (await report("two")).HasField("reflection")
        assert await told("two") == []


KINDS = {one.__name__: one for one in (of_a_turn, without_a_turn, of_an_episode, of_a_goal)}
