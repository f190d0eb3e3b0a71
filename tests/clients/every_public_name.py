"""A program that uses every public name of sidemirror-client, for type checkers (test_python_types.py)."""

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from sidemirror.v1 import critique_pb2, goal_reflection_pb2, reflective_memory_pb2, sidecar_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.common_pb2 import (
    CRITIQUE_MODE_UNSPECIFIED,
    TASK_OUTCOME_FAILURE,
    ContextBlock,
    CritiqueResult,
    Message,
)
from sidemirror_client import (
    Goal,
    Problem,
    Sidemirror,
    SyncSidemirror,
    SyncTurn,
    TokenInTheClear,
    Turn,
    Undelivered,
    advice_text,
    connect,
    connect_sync,
    lessons_text,
    problem_of,
)

GOAL: Goal = {"goal_id": "g", "objective": "count"}
WHOLE_GOAL: Goal = {
    **GOAL,
    "state": goal_reflection_pb2.GOAL_STATE_FAILED,
    "tasks": [goal_reflection_pb2.GoalTask(name="count")],
    "error": "no such table",
    "subject_ids": ["orders"],
}


async def again(revision_prompt: str) -> str:
    """What a model makes of it."""
    return revision_prompt


async def whole(sidemirror: Sidemirror) -> str:
    """On a loop."""
    await sidemirror.wait_until_ready(1.0)
    turn: Turn = sidemirror.begin_turn(
        task="count",
        session_id="s",
        context=pb.ContextWish(task="count"),
        deadline=Timestamp(seconds=1),
        config=pb.ThinkingConfig(level=pb.THINK_LEVEL_LOW),
        messages=[Message(content="hello")],
        base_prompt="You count.",
        provider="acme",
        model="counter",
        budget=pb.TurnBudget(max_reflections=1),
        reflection_mode=pb.REFLECTION_MODE_UNSPECIFIED,
        critique_mode=CRITIQUE_MODE_UNSPECIFIED,
        has_shell=True,
        without_advice=True,
    )
    async with turn:
        plan: pb.TurnPlan | None = await turn.plan()
        lessons: ContextBlock | None = await turn.recall("count", tools=["run_sql"], max_items=2, timeout_s=1.0)
        event_id: str = turn.report(tool_called=pb.ToolCalled(name="run_sql"))
        event_id += turn.tool_called("run_sql", "{}", call_id="1") + turn.tool_returned("41", call_id="1")
        event_id += turn.tool_worked("0 errors", call_id="2")
        verdict: CritiqueResult | None = await turn.critique("41", "how many?", timeout_s=1.0)
        text: str = advice_text(await turn.advice(0.5)) + lessons_text(lessons)
        text += await turn.revised("41", again, "how many?", timeout_s=1.0) + await turn.revised("41", str.upper)
        async for directive in turn:
            text += directive.directive_id
        turn.finish(TASK_OUTCOME_FAILURE, 0.5, goal=GOAL)
    summary: pb.TurnSummary | None = await turn.summary()
    try:
        answer: pb.GetTurnResponse = await sidemirror.thinking.GetTurn(pb.GetTurnRequest(turn_id=turn.id))
        text += answer.turn.turn_id
    except grpc.RpcError as error:
        problem: Problem = problem_of(error)
        text += problem.reason
        after_s: float | None = problem.retry_after_s
        text += f"{problem.fields} {problem.metadata} {after_s}"
    stubs = (
        await sidemirror.critique.Critique(critique_pb2.CritiqueRequest()),
        await sidemirror.goals.ListGoalReports(goal_reflection_pb2.ListGoalReportsRequest()),
        await sidemirror.memory.GetReflection(reflective_memory_pb2.GetReflectionRequest()),
        await sidemirror.sidecar.GetServerInfo(sidecar_pb2.GetServerInfoRequest()),
    )
    channel: grpc.aio.Channel = sidemirror.channel
    await turn.delivered()
    await turn.abandon()
    delivered: bool = await sidemirror.flush(1.0)
    left: Undelivered = await sidemirror.close(flush_s=1.0)
    counts: int = left.events + left.outcomes + left.goals
    text += f"{stubs} {channel} {counts} {left.turns} {bool(left)} {turn.agent}"
    return f"{plan} {lessons} {event_id} {verdict} {text} {summary} {delivered} {sidemirror.away}"


def without_a_loop(sidemirror: SyncSidemirror) -> str:
    """In a thread."""
    turn: SyncTurn = sidemirror.begin_turn("t", "agent", goal=GOAL, task="count")
    with turn:
        plan: pb.TurnPlan | None = turn.plan()
        text: str = advice_text([*turn.advice(), *turn.take()]) + turn.revised("41", str.upper, timeout_s=1.0)
        turn.report(pb.TurnEvent(user_message=pb.UserMessage(text="hello")))
        turn.tool_returned("no such table", is_error=bool(turn.tool_called("run_sql")))
        text += lessons_text(turn.recall("count", tools=["run_sql"], max_items=2, timeout_s=1.0))
        verdict: CritiqueResult | None = turn.critique("41", "how many?", timeout_s=1.0)
        for directive in turn:
            text += directive.directive_id
        turn.finish(TASK_OUTCOME_FAILURE, goal=WHOLE_GOAL)
    turn.delivered()
    turn.abandon()
    sidemirror.wait_until_ready(timeout_s=1.0)
    stubs = (
        sidemirror.critique.Critique(critique_pb2.CritiqueRequest()),
        sidemirror.goals.ListGoalReports(goal_reflection_pb2.ListGoalReportsRequest()),
        sidemirror.memory.GetReflection(reflective_memory_pb2.GetReflectionRequest()),
        sidemirror.sidecar.GetServerInfo(sidecar_pb2.GetServerInfoRequest()),
    )
    channel: grpc.Channel = sidemirror.channel
    text += f"{verdict} {stubs} {channel} {turn.agent} {sidemirror.away} {sidemirror.flush(1.0)}"
    answer: pb.GetTurnResponse = sidemirror.thinking.GetTurn(pb.GetTurnRequest(turn_id=turn.id))
    dropped: int = turn.dropped
    failed: grpc.RpcError | None = turn.error
    return f"{plan} {text} {answer} {dropped} {failed} {turn.summary()} {sidemirror.close()}"


def clients() -> tuple[Sidemirror, SyncSidemirror]:
    """Both."""
    try:
        beside = connect(
            address="https://sidecar",
            tls=True,
            token_file="token",
            ca_file="ca.pem",
            client_certificate_file="tls.crt",
            client_key_file="tls.key",
            tenant_id="acme",
            project_id="shop",
            deadline_s=5.0,
            on_away=print,
            on_refused=print,
            traced=True,
        )
        return beside, connect_sync(None, token_file="token", on_refused=print)
    except TokenInTheClear as error:
        raise SystemExit(str(error)) from error
