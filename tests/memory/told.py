"""One request of each kind that makes or finds a memory, with one text in all of them."""

from typing import Any

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from tests.memory.talk import event
from tests.wire.calls import TIMEOUT_S

METHODS = (
    *("GenerateReflection", "StoreReflection", "UpdateReflection", "QueryReflections", "BuildMemoryContext"),
    *("ReportOutcome", "GetLessonStatistics"),
)


def tell(stub: ReflectiveMemoryServiceStub, text: str, **scope: Any) -> str:
    """Everything that was answered. The built-in rules quote the text, so that it gets as far as any text does."""
    failure = event(pb.EVENT_TYPE_ERROR_EVENT, text, "e2", tool_name=text, error={text: text}, metadata={text: [text]})
    events = [event(pb.EVENT_TYPE_TOOL_CALL, text, "e1", tool_name=text), failure]
    asked: dict[str, Any] = {"task_description": text, "task_goal": text, "store": True}
    generate = pb.GenerateReflectionRequest(
        events=events, outcome=common_pb2.TASK_OUTCOME_FAILURE, session_id=text, **asked, **scope
    )
    made = stub.GenerateReflection(generate, timeout=TIMEOUT_S)
    result = pb.ReflectionResult(reflection_text=text, strategy_text=f"{text} once more", tags=[text])
    stored = stub.StoreReflection(pb.StoreReflectionRequest(result=result, **scope), timeout=TIMEOUT_S)
    changes = pb.MemoryChanges(content=f"{text} said better", tags=[text])
    update = pb.UpdateReflectionRequest(reflection_id=stored.reflection_id, changes=changes, reason=text, **scope)
    updated = stub.UpdateReflection(update, timeout=TIMEOUT_S)
    query = pb.QueryReflectionsRequest(query_text=text, explain=True, **scope)
    found = stub.QueryReflections(query, timeout=TIMEOUT_S)
    build = pb.BuildMemoryContextRequest(task=text, tools=[text], holdout_fraction=0.1, **scope)
    built = stub.BuildMemoryContext(build, timeout=TIMEOUT_S)
    failed = pb.FailedCall(tool_name=text, error_message=text)
    report = pb.ReportOutcomeRequest(
        receipt_id=built.block.receipt_id,
        outcome=common_pb2.TASK_OUTCOME_FAILURE,
        errors=pb.TaskErrors(failed_calls=[failed]),
        **scope,
    )
    stub.ReportOutcome(report, timeout=TIMEOUT_S)
    known = stub.GetLessonStatistics(pb.GetLessonStatisticsRequest(**scope), timeout=TIMEOUT_S)
    return "\n".join(str(answer) for answer in (made, updated, found, built, known))
