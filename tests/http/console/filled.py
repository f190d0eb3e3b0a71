"""A store in which something of every kind has happened, for the console's screens."""

import asyncio
from functools import partial
from typing import NamedTuple

import grpc
from google.protobuf.duration_pb2 import Duration

from sidemirror.v1 import common_pb2, sidecar_pb2, sidecar_pb2_grpc
from sidemirror.v1 import goal_reflection_pb2 as goal_pb
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.faults.sidecars import connected
from tests.memory import recovering
from tests.memory.talk import memories
from tests.wire.calls import MEDIUM, TIMEOUT_S, called, failed, finished, returned
from tests.wire.sidecar import SidecarThread, thinking
from tests.wire.waiting import until

TASK = "Find the open orders of a customer by the customer's number"
LESSON = "Look the orders of a customer up with the leading sign of the number."
OBJECTIVE = "Ship what was packed this week"
# Tasks whose outcomes are evidence about the lesson. Enough that both arms have some.
TASKS = 40


class Filled(NamedTuple):
    """What there is, by id."""

    turn_id: str
    lesson_id: str
    signature: str
    goal_id: str
    # Was told what the goal taught.
    goal_turn_id: str
    goal_lesson_id: str


def fill(server: SidecarThread) -> Filled:
    """Turns of all outcomes, advice and its causes, lessons with evidence and versions. What is learned of them is."""
    with thinking(server) as stub, memories(server) as memory:
        lesson_id = _learn(memory)
        asyncio.run(_recover(server.address))
        for number, outcome in enumerate(("success", "failure", "partial", "timeout", "error"), start=1):
            _orders(stub, f"orders-{number}", f"TASK_OUTCOME_{outcome.upper()}")
        loop(stub, "loop")
    with grpc.insecure_channel(server.address) as channel:
        goal_lesson_id = _ship(channel)
        info = sidecar_pb2_grpc.SidecarServiceStub(channel)
        until(lambda: not info.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=TIMEOUT_S).backlog)
    return Filled("orders-2", lesson_id, recovering.SIGNATURE, "shipping", "shipping-2", goal_lesson_id)


def _learn(memory: ReflectiveMemoryServiceStub) -> str:
    """A lesson that tasks with it succeed by, changed once. Who is held back hangs on the ids alone."""
    result = memory_pb.ReflectionResult(
        reflection_text="The order of the customer was looked up by its number without the sign.",
        strategy_text=LESSON,
        importance=0.8,
        tags=["orders"],
        error_signature=recovering.SIGNATURE,
        applies_when=memory_pb.AppliesWhen(tools=["sql"], not_when="the number has no sign"),
    )
    request = memory_pb.StoreReflectionRequest(result=result, request_id="lesson", session_id="orders")
    lesson_id = memory.StoreReflection(request, timeout=TIMEOUT_S).strategy_id
    for number in range(TASKS):
        asked = memory_pb.BuildMemoryContextRequest(task=TASK, holdout_fraction=0.5, request_id=f"task-{number}")
        block = memory.BuildMemoryContext(asked, timeout=TIMEOUT_S).block
        is_shown = any(item.id == lesson_id for item in block.items)
        worked = number % 4 != 0 if is_shown else number % 4 == 0
        outcome = common_pb2.TASK_OUTCOME_SUCCESS if worked else common_pb2.TASK_OUTCOME_FAILURE
        report = memory_pb.ReportOutcomeRequest(receipt_id=block.receipt_id, outcome=outcome)
        memory.ReportOutcome(report, timeout=TIMEOUT_S)
    review = memory_pb.ReviewReflectionRequest(
        reflection_id=lesson_id, state=memory_pb.MEMORY_STATE_ACTIVE, reason="read and kept"
    )
    memory.ReviewReflection(review, timeout=TIMEOUT_S)
    return lesson_id


async def _recover(address: str) -> None:
    """Sessions that a look-up repaired, as many as the gate asks for, and some that were told of it or held back."""
    await recovering.live_through(address, recovering.UNTOLD)
    for number in range(recovering.UNTOLD + 1, recovering.UNTOLD + 7):
        async with connected(address) as stub:
            name = f"s{number}"
            held_back = partial(recovering.until_held_back, address, name) if recovering.is_held_back(name) else None
            await recovering.session(stub, name, told=held_back is None, meanwhile=held_back)
        await recovering.until_observed(address, number)


def _orders(stub: ThinkingServiceStub, turn_id: str, outcome: str) -> None:
    """A turn that is brought lessons, fails at a table, and is told."""
    start = pb.StartTurnRequest(
        turn_id=turn_id, session_id="orders", task=TASK, config=MEDIUM, context=common_wish(),
        reflection_mode=pb.REFLECTION_MODE_AUTO, critique_mode=common_pb2.CRITIQUE_MODE_ALWAYS,
    )  # fmt: skip
    stub.StartTurn(start, timeout=TIMEOUT_S)
    events = [
        called("sql", "SELECT * FROM orders WHERE customer = '+49 17'", "a", f"{turn_id}-call"),
        failed(recovering.FAILURE, "a", f"{turn_id}-failure"),
    ]
    report(stub, turn_id, events)
    events = [
        *(called("sql", "SHOW TABLES", "b"), returned("orders_2026\ncustomers", "b")),
        *(called("sql", "SELECT * FROM orders_2026 WHERE customer = '+49 17'", "c"), returned("17 rows", "c")),
    ]
    report(stub, turn_id, events)
    drafted = pb.TurnEvent(response_drafted=pb.ResponseDrafted(text="The customer has 3 open orders."))
    report(stub, turn_id, [drafted, finished(outcome=outcome, score=0.4)])


def _ship(channel: grpc.Channel) -> str:
    """A goal that is reached, and a turn that is told what it taught. Returns the id of that."""
    goals, stub = GoalReflectionServiceStub(channel), ThinkingServiceStub(channel)
    packed = [goal_pb.GoalTask(name="pack", output_summary="12 parcels")]
    state = goal_pb.GOAL_STATE_COMPLETED
    reached = goal_pb.ReportGoalRequest(goal_id="shipping", objective=OBJECTIVE, state=state, tasks=packed)
    goals.ReportGoal(reached, timeout=TIMEOUT_S)
    known = goal_pb.GetGoalReflectionsRequest(goal_id="shipping")
    until(lambda: len(goals.GetGoalReflections(known, timeout=TIMEOUT_S).reflections) == 1)
    wish = pb.ContextWish(goal_id="shipping", max_items=3)
    start = pb.StartTurnRequest(turn_id="shipping-2", session_id="goals", task="Print labels", context=wish)
    stub.StartTurn(start, timeout=TIMEOUT_S)
    stub.FinishTurn(pb.FinishTurnRequest(turn_id="shipping-2", outcome="TASK_OUTCOME_SUCCESS"), timeout=TIMEOUT_S)
    return str(goals.GetGoalReflections(known, timeout=TIMEOUT_S).reflections[0].id)


def common_wish() -> pb.ContextWish:
    return pb.ContextWish(max_items=3)


def loop(stub: ThinkingServiceStub, turn_id: str) -> None:
    """An open turn that repeats a call until it is nudged."""
    start = pb.StartTurnRequest(turn_id=turn_id, session_id="loop", task="Wait for the build", config=MEDIUM)
    stub.StartTurn(start, timeout=TIMEOUT_S)
    for number in range(4):
        events = [called("status", '{"build": 7}', str(number)), returned("pending", str(number))]
        report(stub, turn_id, events)


def report(stub: ThinkingServiceStub, turn_id: str, events: list[pb.TurnEvent]) -> None:
    """Reports events and waits for what comes of them."""
    request = pb.ReportEventsRequest(turn_id=turn_id, events=events, wait=Duration(seconds=20))
    stub.ReportEvents(request, timeout=TIMEOUT_S)
