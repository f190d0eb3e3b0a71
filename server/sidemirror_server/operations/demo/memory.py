"""Between the demonstration's attempts, too: the agent has the attempt that failed reflected on and what it taught kept
for good. Before the next one it asks what fits the task and the tools that it has, and after it tells what became of
the task."""

from collections.abc import Sequence

import grpc
import msgspec

from sidemirror.v1 import common_pb2, reflective_memory_pb2_grpc
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.operations.demo.books import QUESTION
from sidemirror_server.operations.demo.policy import DemoStep
from sidemirror_server.operations.demo.tools import DemoOutcome

# A model of one's own may take a while.
_PATIENCE_S = 40.0


class Made(msgspec.Struct, frozen=True):
    """A step that the agent made, and what came of it."""

    step: DemoStep
    outcome: DemoOutcome


class Told(msgspec.Struct, frozen=True):
    """What became of the task that lessons were shown for: the receipt of their block, the outcome that was reported,
    and what the sidecar knows of each lesson after that, with its text."""

    receipt_id: str
    succeeded: bool
    lessons: tuple[tuple[str, pb.LessonStatistics], ...]


async def reflect(channel: grpc.aio.Channel, made: Sequence[Made]) -> pb.ReflectionResult | None:
    """What the sidecar learns from the attempt, which it keeps; None when its model does not answer."""
    request = pb.GenerateReflectionRequest(
        events=[event for number, one in enumerate(made, start=1) for event in _events(number, one)],
        outcome=common_pb2.TASK_OUTCOME_FAILURE,
        task_description=QUESTION,
        session_id="demo-first",
        store=True,
    )
    stub = reflective_memory_pb2_grpc.ReflectiveMemoryServiceStub(channel)
    try:
        return (await stub.GenerateReflection(request, timeout=_PATIENCE_S)).result
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.UNAVAILABLE:
            raise
        return None


async def what_fits(channel: grpc.aio.Channel, made: Sequence[Made]) -> common_pb2.ContextBlock:
    """The lessons for the question, with the tools that were used so far."""
    tools = dict.fromkeys(one.step.call.name for one in made)
    request = pb.BuildMemoryContextRequest(task=QUESTION, tools=tools)
    stub = reflective_memory_pb2_grpc.ReflectiveMemoryServiceStub(channel)
    return (await stub.BuildMemoryContext(request, timeout=_PATIENCE_S)).block


async def tell(
    channel: grpc.aio.Channel, block: common_pb2.ContextBlock, made: Sequence[Made], *, succeeded: bool
) -> Told | None:
    """Reports what became of the task that the block was for, and which calls failed on the way; None for a block that
    had nothing to say."""
    if not block.receipt_id:
        return None
    stub = reflective_memory_pb2_grpc.ReflectiveMemoryServiceStub(channel)
    failed = [
        pb.FailedCall(tool_name=one.step.call.name, error_message=one.outcome.text)
        for one in made
        if one.outcome.failed
    ]
    outcome = common_pb2.TASK_OUTCOME_SUCCESS if succeeded else common_pb2.TASK_OUTCOME_FAILURE
    report = pb.ReportOutcomeRequest(
        receipt_id=block.receipt_id, outcome=outcome, errors=pb.TaskErrors(failed_calls=failed)
    )
    await stub.ReportOutcome(report, timeout=_PATIENCE_S)
    asked = pb.GetLessonStatisticsRequest(reflection_ids=[item.id for item in block.items])
    known = (await stub.GetLessonStatistics(asked, timeout=_PATIENCE_S)).lessons
    texts = [item.text for item in block.items]
    return Told(block.receipt_id, succeeded, tuple(zip(texts, known, strict=True)))


def _events(number: int, made: Made) -> tuple[pb.ReflectionEvent, pb.ReflectionEvent]:
    call, outcome = made.step.call, made.outcome
    kind = pb.EVENT_TYPE_ERROR_EVENT if outcome.failed else pb.EVENT_TYPE_TOOL_RESPONSE
    return (
        pb.ReflectionEvent(
            event_id=f"call-{number}", event_type=pb.EVENT_TYPE_TOOL_CALL, tool_name=call.name, content=call.json
        ),
        pb.ReflectionEvent(event_id=f"result-{number}", event_type=kind, tool_name=call.name, content=outcome.text),
    )
