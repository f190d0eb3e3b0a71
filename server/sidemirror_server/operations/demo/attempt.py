"""One attempt at the question: the agent's loop, with a sidecar beside it or alone."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from typing import Protocol

import msgspec

from sidemirror.v1 import common_pb2, goal_reflection_pb2, reflective_memory_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.demo.books import QUESTION
from sidemirror_server.operations.demo.goal import GOAL_ID
from sidemirror_server.operations.demo.memory import Told
from sidemirror_server.operations.demo.policy import DemoStep, Policy, Tactic
from sidemirror_server.operations.demo.tools import DemoCall, DemoOutcome, Tools

STEP_LIMIT = 16

Report = Callable[[Sequence[pb.TurnEvent]], Awaitable[list[pb.TurnDirective]]]


class Onlooker(Protocol):
    """Receives each step of an attempt, to show or record it."""

    def learned(self, reflection: goal_reflection_pb2.GoalReflection | None) -> None:
        """The agent reported the failed goal; `reflection` is the sidecar's, if any."""

    def kept(self, result: reflective_memory_pb2.ReflectionResult | None) -> None:
        """The agent reflected on the attempt; `result` is what the sidecar stored, if anything."""

    def began(self, directives: Sequence[pb.TurnDirective], lessons: str) -> None:
        """The attempt has begun with these directives and these lessons from memory."""

    def did(self, number: int, step: DemoStep, outcome: DemoOutcome) -> None:
        """The agent has made a step."""

    def heard(self, directives: Sequence[pb.TurnDirective], tactic: Tactic | None) -> None:
        """The sidecar has sent directives. `tactic`: the agent's reaction to them, if any."""

    def told(self, told: Told | None) -> None:
        """The agent has reported the outcome of its task. `told`: the statistics of the lessons it was shown."""


class Attempt(msgspec.Struct):
    """The figures of an attempt; `answer` is None when it found none."""

    steps: int = 0
    errors: int = 0
    repeated: int = 0
    nudges: int = 0
    reflections: int = 0
    answer: Decimal | None = None


async def alone(_events: Sequence[pb.TurnEvent]) -> list[pb.TurnDirective]:
    """The `Report` of an agent without a sidecar; returns no directives."""
    return []


async def attempt(tools: Tools, report: Report, onlooker: Onlooker, lessons: str = "") -> Attempt:
    """Works until the question is answered or the steps are used up. `lessons`: memory's block for the task. Raises the
    errors of `report`."""
    policy, result = Policy(), Attempt()
    last: DemoCall | None = None
    directives = await report([_started()])
    onlooker.began(directives, lessons)
    if (tactic := policy.read(f"{block_in(directives)}\n{lessons}")) is not None:
        onlooker.heard([], tactic)
    while (step := policy.next_step()) is not None and result.steps < STEP_LIMIT:
        result.steps += 1
        result.repeated += step.call == last
        last = step.call
        outcome, directives = await _do(tools, report, step, result.steps)
        result.errors += outcome.failed
        onlooker.did(result.steps, step, outcome)
        policy.take(outcome)
        tactic = policy.hear(directives)
        result.nudges += sum(directive.HasField("nudge") for directive in directives)
        result.reflections += sum(directive.HasField("reflection") for directive in directives)
        if directives:
            onlooker.heard(directives, tactic)
    if step is None:
        result.answer = policy.answer()
    await report([_finished(result)])
    return result


def block_in(directives: Sequence[pb.TurnDirective]) -> str:
    """The lessons of earlier goals in the turn's plan; empty when there are none."""
    return "\n".join(one.turn_plan.context.text for one in directives if one.HasField("turn_plan"))


async def _do(tools: Tools, report: Report, step: DemoStep, number: int) -> tuple[DemoOutcome, list[pb.TurnDirective]]:
    """Makes a step. Reports the call before making it, and the outcome before the agent uses it."""
    call = pb.ToolCalled(name=step.call.name, arguments=step.call.json)
    directives = await report([pb.TurnEvent(event_id=f"call-{number}", tool_called=call)])
    await asyncio.sleep(step.pause_s)
    outcome = await tools.call(step.call)
    event = pb.TurnEvent(event_id=f"result-{number}")
    if outcome.broke:
        event.tool_failed.error = outcome.text
    else:
        event.tool_returned.CopyFrom(pb.ToolReturned(content=outcome.text, is_error=outcome.failed))
    return outcome, directives + await report([event])


def _started() -> pb.TurnEvent:
    return pb.TurnEvent(
        event_id="start",
        turn_started=pb.TurnStarted(
            session_id="demo",
            task=QUESTION,
            messages=[common_pb2.Message(role=common_pb2.MESSAGE_ROLE_USER, content=QUESTION)],
            config=pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM),
            # One lesson of the goal. The demo asks memory for lessons separately, with the names of the tools.
            context=pb.ContextWish(goal_id=GOAL_ID, max_items=1),
        ),
    )


def _finished(result: Attempt) -> pb.TurnEvent:
    known = result.answer is not None
    outcome = common_pb2.TASK_OUTCOME_SUCCESS if known else common_pb2.TASK_OUTCOME_FAILURE
    return pb.TurnEvent(event_id="end", turn_finished=pb.TurnFinished(outcome=outcome))
