"""GenerateReflection over a real socket: what is asked of the model, kept of its answer, and refused."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.models.answers import MemoryReflectionAnswer
from sidemirror_server.vocabulary.status import ResultStatus
from tests.critique.cast import Cast
from tests.memory.talk import event, get, listed, played, store
from tests.wire.calls import NOT_FOUND, REUSED, TIMEOUT_S, Refusal, bad_field, refused

LESSON = MemoryReflectionAnswer(
    reflection="The order was looked up by its number without the sign.",
    strategy="Look orders up with the leading # sign.",
    importance=0.6,
    confidence=0.8,
    tags=("orders", "lookup"),
)
EVENTS = [
    event(pb.EVENT_TYPE_TOOL_CALL, "W17", "e1", tool_name="find_order"),
    event(pb.EVENT_TYPE_ERROR_EVENT, "order not found", "e2", tool_name="find_order"),
]
FAILURE: dict[str, Any] = {"events": EVENTS, "outcome": common_pb2.TASK_OUTCOME_FAILURE, "task_description": "Find W17"}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReflectiveMemoryServiceStub]:
    with played(tmp_path_factory.mktemp("memory"), Cast(memory_reflection=LESSON)) as stub:
        yield stub


@pytest.mark.parametrize("times", [250, pytest.param(1_000, marks=[pytest.mark.long, pytest.mark.timeout(300)])])
def test_replays_leave_one_record(times: int, memory: ReflectiveMemoryServiceStub) -> None:
    """Four at a time. Seen to fail when `record.known_by` named a memory's id alone: 2,000 records."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: replayed(memory, number, f"replay {times}"), range(times)))
    kept = listed(memory, tenant_id=f"replay {times}")
    assert {one.content for one in kept} == {LESSON.strategy, LESSON.reflection}
    assert [(one.strength, one.episode_count, one.version) for one in kept] == [(times, 1, 1)] * 2


def replayed(memory: ReflectiveMemoryServiceStub, number: int, tenant_id: str) -> None:
    """The same episode once more, with ids and times of its own."""
    replay = [pb.ReflectionEvent.FromString(one.SerializeToString()) for one in EVENTS]
    for place, one in enumerate(replay):
        one.event_id = f"replay-{number}-{place}"
        one.timestamp.FromSeconds(number)
    request = pb.GenerateReflectionRequest(**{**FAILURE, "events": replay}, store=True, tenant_id=tenant_id)
    memory.GenerateReflection(request, timeout=TIMEOUT_S)


def test_request_ids(tmp_path: Path) -> None:
    answers: list[Any] = [ResultStatus.FAILED_MODEL, LESSON, LESSON]
    cast = Cast(memory_reflection=lambda ask: answers.pop(0))
    with played(tmp_path, cast) as stub:
        request = pb.GenerateReflectionRequest(**FAILURE, store=True, request_id="r")
        failed = refused(stub.GenerateReflection, request)
        assert failed == Refusal(grpc.StatusCode.UNAVAILABLE, "MODEL_UNAVAILABLE")
        first = stub.GenerateReflection(request, timeout=TIMEOUT_S)
        assert stub.GenerateReflection(request, timeout=TIMEOUT_S) == first
        assert len(cast.asked) == 2
        request.task_goal = "another"
        assert refused(stub.GenerateReflection, request) == REUSED
        stored = store(stub, "Once.", request_id="s")
        assert store(stub, "Once.", request_id="s") == stored
        assert get(stub, stored.reflection_id).strength == 1
        store(stub, "Once.")
        assert get(stub, stored.reflection_id).strength == 2


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        (ResultStatus.FAILED_MODEL, Refusal(grpc.StatusCode.UNAVAILABLE, "MODEL_UNAVAILABLE")),
        (ResultStatus.FAILED_PARSE, Refusal(grpc.StatusCode.UNAVAILABLE, "MODEL_UNAVAILABLE")),
        (ResultStatus.TRUNCATED, Refusal(grpc.StatusCode.UNAVAILABLE, "MODEL_UNAVAILABLE")),
        (ResultStatus.REFUSED, Refusal(grpc.StatusCode.UNAVAILABLE, "MODEL_UNAVAILABLE")),
        (ResultStatus.SKIPPED_DEADLINE, Refusal(grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED")),
        (ResultStatus.SKIPPED_SPEND, Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "SPEND_CAP_REACHED")),
        (ResultStatus.SKIPPED_BUDGET, Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "SPEND_CAP_REACHED")),
        (ResultStatus.SKIPPED_DISABLED, Refusal(grpc.StatusCode.FAILED_PRECONDITION, "DISABLED")),
    ],
)
def test_a_model_that_fails_is_told(status: ResultStatus, refusal: Refusal, tmp_path: Path) -> None:
    with played(tmp_path, Cast(memory_reflection=status)) as stub:
        assert refused(stub.GenerateReflection, pb.GenerateReflectionRequest(**FAILURE, store=True)) == refusal
        assert listed(stub) == []


def test_bad_requests(memory: ReflectiveMemoryServiceStub) -> None:
    generate, wanted = memory.GenerateReflection, pb.GenerateReflectionRequest
    assert refused(generate, wanted()) == bad_field("events")
    assert refused(generate, wanted(events=EVENTS, turn_id="t")) == bad_field("events")
    assert refused(generate, wanted(events=EVENTS)) == bad_field("outcome")
    assert refused(generate, wanted(turn_id="unknown")) == NOT_FOUND
    assert refused(generate, wanted(**FAILURE, error={"error_category": 99})) == bad_field("error.error_category")
    bad = event(pb.EVENT_TYPE_TOOL_CALL, "x")
    bad.metadata.update({"deep": [{"nan": float("nan")}]})
    assert refused(generate, wanted(events=[bad], outcome=common_pb2.TASK_OUTCOME_SUCCESS)) == bad_field(
        "events[0].metadata"
    )
    large = event(pb.EVENT_TYPE_TOOL_CALL, "x")
    large.error.update({"x": "y" * 65_536})
    assert refused(generate, wanted(events=[large], outcome=common_pb2.TASK_OUTCOME_SUCCESS)) == bad_field(
        "events[0].error"
    )


def test_min_store_importance(tmp_path: Path) -> None:
    with played(tmp_path, Cast(memory_reflection=LESSON), memory__min_store_importance="0.61") as stub:
        answer = stub.GenerateReflection(pb.GenerateReflectionRequest(**FAILURE, store=True), timeout=TIMEOUT_S)
        assert (answer.reflection_id, answer.result.importance) == ("", 0.6)
        assert "min_store_importance" in answer.not_stored_reason
        assert store(stub, "Minor.", importance=0.6).not_stored_reason
        assert store(stub, "Worth it.", importance=0.61).reflection_id
        assert [one.content for one in listed(stub)] == ["Worth it."]
