"""The workflows and the API example of the seed reflection-engine-v2, through gRPC, with an endpoint that plays the
model: failure, success, storing, field by field."""

from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from tests.memory.talk import PROVIDERS, talk

# Seed reflection-engine-v2, "Generate Reflection from Failure", "Output".
FAILED = {
    "reflection": "The query timed out due to a complex JOIN operation on large tables.",
    "strategy": "For large table JOINs, add indexes on join columns or use pagination.",
    "importance": 0.85,
    "confidence": 0.9,
    "tags": ["sql", "timeout", "performance", "database"],
    "applies_when": {"tools": ["postgres_query"], "error_categories": ["timeout"], "not_when": "The tables are small."},
    "cited_event_ids": ["e2", "invented"],
}
FAILURE = {
    "tenant_id": "tenant-123",
    "project_id": "default",
    "events": [
        {
            "event_id": "e1",
            "event_type": "EVENT_TYPE_TOOL_CALL",
            "timestamp": "2026-03-11T14:23:00Z",
            "content": "Called database query with complex JOIN",
            "metadata": {"tool": "postgres_query"},
            "tool_name": "postgres_query",
        },
        {
            "event_id": "e2",
            "event_type": "EVENT_TYPE_ERROR_EVENT",
            "timestamp": "2026-03-11T14:23:30Z",
            "content": "Query timeout after 30 seconds",
            "error": {"message": "Timeout", "code": "QUERY_TIMEOUT"},
        },
    ],
    "outcome": "TASK_OUTCOME_TIMEOUT",
    "error": {
        "error_category": "ERROR_CATEGORY_TIMEOUT_ERROR",
        "error_message": "Query execution exceeded 30s limit",
        "context": {"query": "SELECT * FROM orders JOIN customers..."},
    },
    "task_description": "Fetch customer order history",
    "task_goal": "Retrieve all orders for customer analysis",
    "related_memory_ids": ["m-1"],
}
# Seed reflection-engine-v2, "Generate Reflection from Success".
SUCCEEDED = {
    "reflection": "The cached embeddings strategy reduced latency from 2s to 50ms.",
    "strategy": "Always check cache before computing embeddings for frequently accessed queries",
    "importance": 0.7,
    "confidence": 0.85,
    "tags": ["optimization", "caching", "best-practice", "performance"],
}
SUCCESS = {
    "tenant_id": "tenant-123",
    "project_id": "default",
    "events": [
        {
            "event_id": "e1",
            "event_type": "EVENT_TYPE_TOOL_CALL",
            "content": "Used cached embeddings for semantic search",
            "metadata": {"cache_hit": True},
        },
        {
            "event_id": "e2",
            "event_type": "EVENT_TYPE_TOOL_RESPONSE",
            "content": "Retrieved 10 relevant results in 50ms",
            "metadata": {"latency_ms": 50},
        },
    ],
    "outcome": "TASK_OUTCOME_SUCCESS",
    "task_description": "Semantic search for user query",
    "task_goal": "Find relevant documents quickly",
}
SCOPE = {"tenant_id": "tenant-123", "project_id": "default"}


def generate(request: dict[str, Any], **more: Any) -> pb.GenerateReflectionRequest:
    return ParseDict({**request, **more}, pb.GenerateReflectionRequest())


def prompt_of(call: Any) -> str:
    """The user text of a request to a provider."""
    content = call.body["messages"][-1]["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_failure(provider: str, tmp_path: Path) -> None:
    async with talk(tmp_path, provider) as made:
        made.endpoint.answer = FAILED
        answer = await made.memory.GenerateReflection(generate(FAILURE), timeout=60)
        result = answer.result
        assert (answer.reflection_id, answer.strategy_id) == ("", ""), "it is stored when that is asked for"
        assert result.status == common_pb2.RESULT_STATUS_OK
        assert result.reflection_text == FAILED["reflection"]
        assert result.strategy_text == FAILED["strategy"]
        assert (result.importance, result.confidence) == (0.85, 0.9)
        assert list(result.tags) == FAILED["tags"]
        assert result.error_category == pb.ERROR_CATEGORY_TIMEOUT_ERROR
        assert list(result.source_event_ids) == ["e2"], "an id that the episode does not have is none"
        assert list(result.related_memory_ids) == ["m-1"]
        assert result.applies_when == pb.AppliesWhen(
            tools=["postgres_query"],
            error_categories=[pb.ERROR_CATEGORY_TIMEOUT_ERROR],
            not_when="The tables are small.",
        )
        metadata = MessageToDict(result.metadata)
        assert len(metadata.pop("episode")) == 32
        assert metadata == {
            "outcome": "timeout",
            "task_description": "Fetch customer order history",
            "event_count": 2,
        }
        assert result.origin == common_pb2.ORIGIN_TOOL, "an error's text is a tool's"
        assert result.usage.provider == provider
        assert result.usage.output_tokens > 0
        assert result.generated_at.seconds > 0
        (call,) = made.endpoint.calls
        prompt = prompt_of(call)
        assert prompt.startswith("You are a reflective reasoning engine that learns from failures.\n\nAnalyze the fol")
        assert "- Category: timeout_error\n" in prompt
        for said in (
            *("Retrieve all orders for customer analysis", "Fetch customer order history", "QUERY_TIMEOUT"),
            *("1. tool_call postgres_query [e1]: Called database query", "2. error_event [e2]: Query timeout after 30"),
            *("Query execution exceeded 30s limit", "SELECT * FROM orders JOIN customers..."),
        ):
            assert said in prompt, said
        stored = await made.memory.StoreReflection(pb.StoreReflectionRequest(**SCOPE, result=result), timeout=60)
        await check_stored(made.memory, stored, result)


async def check_stored(memory: Any, stored: pb.StoreReflectionResponse, result: pb.ReflectionResult) -> None:
    """Both memories, as in the storage schema of the seed reflection-engine-v2."""
    reflection, strategy = [
        (await memory.GetReflection(pb.GetReflectionRequest(**SCOPE, reflection_id=memory_id), timeout=60)).memory
        for memory_id in (stored.reflection_id, stored.strategy_id)
    ]
    assert (reflection.kind, strategy.kind) == (pb.MEMORY_KIND_REFLECTION, pb.MEMORY_KIND_STRATEGY)
    assert (reflection.content, strategy.content) == (result.reflection_text, result.strategy_text)
    assert {reflection.source, strategy.source} == {"reflection_engine_v2"}
    assert {reflection.layer, strategy.layer} == {"rm"}
    assert reflection.importance == result.importance
    assert strategy.importance == round(min(1.0, result.importance * 1.1), 2)
    assert (list(reflection.tags), list(strategy.tags)) == ([*result.tags], [*result.tags, "strategy"])
    assert (reflection.tenant_id, reflection.project_id) == ("tenant-123", "default")
    assert (reflection.strategy_of, strategy.strategy_of) == ("", stored.reflection_id)
    for one in (reflection, strategy):
        assert one.confidence == result.confidence
        assert one.error_category == result.error_category
        assert one.source_event_ids == result.source_event_ids
        assert one.related_memory_ids == result.related_memory_ids
        assert one.applies_when == result.applies_when
        assert (one.origin, one.state, one.version) == (result.origin, pb.MEMORY_STATE_ACTIVE, 1)
        metadata = MessageToDict(one.metadata)
        wanted = MessageToDict(result.metadata)
        del wanted["episode"]
        assert metadata == wanted
        assert one.create_time == one.update_time


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_success(provider: str, tmp_path: Path) -> None:
    async with talk(tmp_path, provider) as made:
        made.endpoint.answer = SUCCEEDED
        answer = await made.memory.GenerateReflection(generate(SUCCESS, session_id="s-1", store=True), timeout=60)
        result = answer.result
        assert (result.importance, result.confidence) == (0.7, 0.85)
        assert list(result.source_event_ids) == ["e1", "e2"]
        assert result.error_category == pb.ERROR_CATEGORY_UNSPECIFIED
        prompt = prompt_of(made.endpoint.calls[0])
        assert prompt.startswith("You are a reflective reasoning engine that learns from successes.\n\nAnalyze the fol")
        assert "\nOutcome: SUCCESS\n" in prompt
        stored = pb.StoreReflectionResponse(reflection_id=answer.reflection_id, strategy_id=answer.strategy_id)
        await check_stored(made.memory, stored, result)
        again = await made.memory.StoreReflection(
            pb.StoreReflectionRequest(**SCOPE, result=result, session_id="s-1"), timeout=60
        )
        ids = (again.reflection_id, again.strategy_id)
        assert ids == (stored.reflection_id, stored.strategy_id), "what is known is strengthened, not copied"


async def test_the_api_example(tmp_path: Path) -> None:
    """The POST body of the seed reflection-engine-v2, with the contract's enum names."""
    request = {
        "tenant_id": "tenant-123",
        "project_id": "default",
        "events": [
            {"event_type": "EVENT_TYPE_TOOL_CALL", "content": "SELECT 1"},
            {"event_type": "EVENT_TYPE_ERROR_EVENT", "content": "Query timeout"},
        ],
        "outcome": "TASK_OUTCOME_FAILURE",
        "error": {"error_category": "ERROR_CATEGORY_TIMEOUT_ERROR", "error_message": "Query timeout"},
        "task_description": "Database query",
        "store": True,
    }
    async with talk(tmp_path) as made:
        made.endpoint.answer = {**FAILED, "tags": ["sql", "timeout", "performance"], "cited_event_ids": []}
        answer = await made.memory.GenerateReflection(generate(request), timeout=60)
        assert answer.reflection_id
        assert answer.result.reflection_text == FAILED["reflection"]
        assert answer.result.strategy_text == FAILED["strategy"]
        assert (answer.result.importance, answer.result.confidence) == (0.85, 0.9)
        assert list(answer.result.tags) == ["sql", "timeout", "performance"]
        assert list(answer.result.source_event_ids) == ["event-1", "event-2"]


async def test_a_strategy_is_capped_and_may_be_missing(tmp_path: Path) -> None:
    async with talk(tmp_path) as made:
        made.endpoint.answer = {**FAILED, "importance": 0.95}
        answer = await made.memory.GenerateReflection(generate(FAILURE, store=True), timeout=60)
        request = pb.GetReflectionRequest(**SCOPE, reflection_id=answer.strategy_id)
        assert (await made.memory.GetReflection(request, timeout=60)).memory.importance == 1.0
        made.endpoint.answer = {"reflection": "It was slow.", "strategy": None}
        answer = await made.memory.GenerateReflection(generate(SUCCESS, store=True), timeout=60)
        assert (answer.result.strategy_text, answer.strategy_id) == ("", "")
        assert answer.result.importance == 0.5, "the seed's default"
        assert not answer.result.HasField("confidence"), "nobody said"


async def test_the_example_test_of_the_seed_without_a_model(tmp_path: Path) -> None:
    """Seed reflection-engine-v2, "Example Test": `result.reflection_text`, `result.importance > 0`, `"timeout" in
    result.tags`."""
    async with talk(tmp_path, model__provider="rules", model__name="", model__base_url="", model__api_key="") as made:
        answer = await made.memory.GenerateReflection(generate(FAILURE, store=True), timeout=60)
        assert answer.result.reflection_text
        assert answer.result.importance > 0.0
        assert "timeout" in answer.result.tags
        assert answer.result.usage.provider == "rules"
        assert answer.strategy_id
        assert list(answer.result.applies_when.tools) == ["postgres_query"]


async def test_a_recorded_turn_and_session(tmp_path: Path) -> None:
    from sidemirror.v1 import thinking_pb2
    from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
    from tests.faults.sidecars import channel
    from tests.wire.calls import called, failed, finished, returned

    async with talk(tmp_path) as made, channel(f"127.0.0.1:{made.sidecar.port}") as connection:
        thinking: Any = ThinkingServiceStub(connection)
        started = thinking_pb2.StartTurnRequest(session_id="s", turn_id="t", task="Find W17.", user_message="Find W17.")
        await thinking.StartTurn(started)
        events = [
            called("search", "W17", "c1", "e1"),
            failed("order not found", "c1", "e2"),
            called("search", "#W17", "c2", "e3"),
            returned("in Graz", "c2", "e4"),
            finished(outcome=common_pb2.TASK_OUTCOME_SUCCESS),
        ]
        await thinking.ReportEvents(thinking_pb2.ReportEventsRequest(turn_id="t", events=events))
        made.endpoint.answer = {**SUCCEEDED, "cited_event_ids": ["e3"]}
        for request in (pb.GenerateReflectionRequest(turn_id="t"), pb.GenerateReflectionRequest(session_id="s")):
            answer = await made.memory.GenerateReflection(request, timeout=60)
            assert list(answer.result.source_event_ids) == ["e3"]
            metadata = MessageToDict(answer.result.metadata)
            assert (metadata["outcome"], metadata["session_id"]) == ("success", "s")
            assert metadata["task_description"] == "Find W17."
            assert "tool_call search [e1]: W17" in prompt_of(made.endpoint.calls[-1])
        unknown = [pb.GenerateReflectionRequest(turn_id="x"), pb.GenerateReflectionRequest(session_id="x")]
        for request in unknown:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await made.memory.GenerateReflection(request, timeout=60)
            assert caught.value.code() == grpc.StatusCode.NOT_FOUND
