"""The demonstration's use of reflective memory: a stored reflection on the failed attempt. Before the next attempt the
agent asks for lessons for the task and its tools, and afterwards it reports the outcome."""

from collections.abc import Sequence

import grpc
import msgspec

from sidemirror.v1 import common_pb2, reflective_memory_pb2_grpc
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.operations.demo.books import QUESTION
from sidemirror_server.operations.demo.policy import DemoStep
from sidemirror_server.operations.demo.tools import DemoOutcome

# A local model may take a while.
_PATIENCE_S = 40.0


class Made(msgspec.Struct, frozen=True):
    """A step that the agent made, and its outcome."""

    step: DemoStep
    outcome: DemoOutcome


class Told(msgspec.Struct, frozen=True):
    """A reported outcome: the receipt of the lessons' block, whether the task succeeded, and each lesson's text with
    its statistics after the report."""

    receipt_id: str
    succeeded: bool
    lessons: tuple[tuple[str, pb.LessonStatistics], ...]


async def reflect(channel: grpc.aio.Channel, made: Sequence[Made]) -> pb.ReflectionResult | None:
    """The reflection on the attempt, which the sidecar stores; None when its model does not answer."""
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
    """The lessons for the question and the tools used so far."""
    tools = dict.fromkeys(one.step.call.name for one in made)
    request = pb.BuildMemoryContextRequest(task=QUESTION, tools=tools)
    stub = reflective_memory_pb2_grpc.ReflectiveMemoryServiceStub(channel)
    return (await stub.BuildMemoryContext(request, timeout=_PATIENCE_S)).block


async def tell(
    channel: grpc.aio.Channel, block: common_pb2.ContextBlock, made: Sequence[Made], *, succeeded: bool
) -> Told | None:
    """Reports the outcome of the task that the block was for, with the failed calls. Returns None for an empty block,
    which has no receipt."""
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
