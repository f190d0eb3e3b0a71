"""QueryReflections and BuildMemoryContext over a real socket: what is found, why, why not, and what a block shows."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import common_pb2, sidecar_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.vocabulary.block import WHOSE
from tests.faults.sidecars import Stub, server_info
from tests.memory.talk import MemoryTalk, memories, talk
from tests.models.endpoint import EMBEDDING, KEY, Fault
from tests.wire.calls import TIMEOUT_S
from tests.wire.sidecar import sidecar

TIMEOUT = pb.ERROR_CATEGORY_TIMEOUT_ERROR
LESSONS: list[dict[str, Any]] = [
    {
        "reflection_text": "The query timed out because of a JOIN on two large tables without an index.",
        "strategy_text": "For large table JOINs, add indexes on join columns or use pagination.",
        "importance": 0.85,
        "confidence": 0.9,
        "tags": ["sql", "timeout", "performance", "database"],
        "error_category": TIMEOUT,
        "applies_when": {"tools": ["postgres_query"], "error_categories": [TIMEOUT]},
        "metadata": {"task_description": "Fetch customer order history"},
    },
    {
        "reflection_text": "The cached embeddings reduced the latency of the semantic search from 2 s to 50 ms.",
        "importance": 0.7,
        "tags": ["caching", "performance"],
        "applies_when": {"not_when": "the document collection changes with every request"},
    },
    {"reflection_text": "Minor: the order history page had a typo.", "importance": 0.3},
    {
        "reflection_text": "The redis cache of orders was stale.",
        "applies_when": {"tools": ["redis"]},
        "importance": 0.6,
    },
]


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReflectiveMemoryServiceStub]:
    with sidecar(tmp_path_factory.mktemp("search")) as server, memories(server) as found:
        yield found


@pytest.fixture(scope="module")
def ids(stub: ReflectiveMemoryServiceStub) -> list[pb.StoreReflectionResponse]:
    return [stub.StoreReflection(pb.StoreReflectionRequest(result=lesson), timeout=TIMEOUT_S) for lesson in LESSONS]


def query(stub: ReflectiveMemoryServiceStub, text: str = "", **fields: Any) -> pb.QueryReflectionsResponse:
    return stub.QueryReflections(pb.QueryReflectionsRequest(query_text=text, **fields), timeout=TIMEOUT_S)


def build(stub: ReflectiveMemoryServiceStub, task: str = "", **fields: Any) -> common_pb2.ContextBlock:
    request = pb.BuildMemoryContextRequest(task=task, **fields)
    return stub.BuildMemoryContext(request, timeout=TIMEOUT_S).block


def test_the_seeds_query(stub: ReflectiveMemoryServiceStub, ids: list[pb.StoreReflectionResponse]) -> None:
    """Seed reflection-engine-v2, "Query Reflections", with its arguments."""
    found = query(stub, "optimize database joins", k=5, min_importance=0.7, tags=["sql", "database"])
    assert found.search_mode == pb.SEARCH_MODE_FULL_TEXT
    assert {hit.memory.id for hit in found.hits} == {ids[0].reflection_id, ids[0].strategy_id}
    assert all(0 < hit.score <= 1 for hit in found.hits)
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert not any(hit.HasField("explanation") for hit in found.hits)


def test_the_defaults_are_the_seeds(stub: ReflectiveMemoryServiceStub, ids: list[pb.StoreReflectionResponse]) -> None:
    assert len(query(stub, "order").hits) == 3, "importance 0.3 is less than 0.5"
    assert len(query(stub, "order", min_importance=0.0).hits) == 4
    assert len(query(stub, "order", k=1).hits) == 1
    everything = query(stub, min_importance=0.0)
    assert everything.search_mode == pb.SEARCH_MODE_FILTER
    assert len(everything.hits) == 5
    importances = [hit.memory.importance for hit in everything.hits]
    assert importances == sorted(importances, reverse=True)


def test_a_hit_says_why_and_a_miss_why_not(
    stub: ReflectiveMemoryServiceStub, ids: list[pb.StoreReflectionResponse]
) -> None:
    asked = [ids[0].reflection_id, ids[1].reflection_id, ids[2].reflection_id, ids[3].reflection_id, "unknown"]
    found = query(stub, "joins on large tables", k=1, explain=True, explain_ids=asked)
    (hit,) = found.hits
    told = hit.explanation
    parts = {part.name: part for part in told.parts}
    assert {"full_text", "importance", "recency", "confidence"} == set(parts)
    assert parts["full_text"].rank == 1
    assert set(told.matched_terms) >= {"join", "larg", "tabl"}
    assert "place 1 by its words" in told.summary
    others = {miss.id: miss.reason for miss in found.misses}
    assert hit.memory.id in {ids[0].reflection_id, ids[0].strategy_id}
    assert others[ids[1].reflection_id] == "it has none of the words that were looked for"
    assert others[ids[2].reflection_id] == "its importance 0.3 is less than 0.5"
    assert others["unknown"] == "there is no memory of this id"
    beaten = query(stub, "large joins", k=1, explain_ids=[ids[0].reflection_id, ids[0].strategy_id])
    assert [miss.reason for miss in beaten.misses] == ["its place is 2, and 1 were asked for"]


def test_quarantined_and_retired_memories_are_not_found(stub: ReflectiveMemoryServiceStub) -> None:
    scope = {"tenant_id": "reviewed"}
    made = [
        stub.StoreReflection(
            pb.StoreReflectionRequest(result={"reflection_text": f"zebra lesson {name}"}, **scope), timeout=TIMEOUT_S
        ).reflection_id
        for name in ("one", "two", "three")
    ]
    for memory_id, state in ((made[0], pb.MEMORY_STATE_QUARANTINED), (made[1], pb.MEMORY_STATE_RETIRED)):
        request = pb.ReviewReflectionRequest(reflection_id=memory_id, state=state, reason="a test", **scope)
        stub.ReviewReflection(request, timeout=TIMEOUT_S)
    found = query(stub, "zebra", explain_ids=made, **scope)
    assert [hit.memory.id for hit in found.hits] == [made[2]]
    assert [miss.reason for miss in found.misses] == ["it is quarantined", "it is retired"]
    assert {hit.memory.id for hit in query(stub, "zebra", include_quarantined=True, **scope).hits} == {made[0], made[2]}
    assert {hit.memory.id for hit in query(stub, "zebra", include_retired=True, **scope).hits} == {made[1], made[2]}
    every = query(stub, "zebra", include_retired=True, include_quarantined=True, **scope)
    assert {hit.memory.id for hit in every.hits} == set(made)
    block = build(stub, "a zebra lesson", **scope)
    assert [item.id for item in block.items] == [made[2]]


def test_the_newest_first(stub: ReflectiveMemoryServiceStub) -> None:
    scope = {"tenant_id": "newest"}
    for number in range(4):
        result = {"reflection_text": f"giraffe lesson number {number}", "importance": 0.9 - number / 10}
        stub.StoreReflection(pb.StoreReflectionRequest(result=result, **scope), timeout=TIMEOUT_S)
    found = query(stub, "giraffe", newest_first=True, **scope)
    assert [hit.memory.content[-1] for hit in found.hits] == ["3", "2", "1", "0"]


def test_the_newest_first_of_all_that_pass(stub: ReflectiveMemoryServiceStub) -> None:
    """Without a text, also when there are many that are more important. Seen to fail when those were looked up, and
    then put in the order of their age."""
    scope = {"tenant_id": "newest of all"}
    for number in range(60):
        result = {"reflection_text": f"lesson {number}", "importance": 0.9 if number < 55 else 0.6}
        stub.StoreReflection(pb.StoreReflectionRequest(result=result, **scope), timeout=TIMEOUT_S)
    found = query(stub, newest_first=True, k=2, **scope)
    assert [hit.memory.content for hit in found.hits] == ["lesson 59", "lesson 58"]
    found = query(stub, newest_first=True, k=2, min_importance=0.7, **scope)
    assert [hit.memory.content for hit in found.hits] == ["lesson 54", "lesson 53"]


def test_a_block_shows_what_applies_first(
    stub: ReflectiveMemoryServiceStub, ids: list[pb.StoreReflectionResponse]
) -> None:
    block = build(stub, "Fetch the order history of a customer", tools=["postgres_query"], error_categories=[TIMEOUT])
    shown = [item.id for item in block.items]
    assert set(shown[:2]) == {ids[0].reflection_id, ids[0].strategy_id}
    assert ids[3].reflection_id not in shown
    omitted = {left.id: left.reason for left in block.omitted}
    assert omitted[ids[3].reflection_id] == "it applies to other tools"
    assert block.receipt_id
    assert block.token_count > 0
    assert block.text.startswith(f"[LESSONS FROM EARLIER WORK]\n{WHOSE}\n• [")
    # By the tool alone, though the words are others.
    by_tool = build(stub, "Something else entirely", tools=["redis"])
    assert [item.id for item in by_tool.items] == [ids[3].reflection_id]
    # The outcome of the task joins the receipt.
    outcome = pb.ReportOutcomeRequest(receipt_id=block.receipt_id, outcome=common_pb2.TASK_OUTCOME_SUCCESS)
    stub.ReportOutcome(outcome, timeout=TIMEOUT_S)


def test_a_block_keeps_to_what_fits(stub: ReflectiveMemoryServiceStub, ids: list[pb.StoreReflectionResponse]) -> None:
    assert build(stub, "Speed up semantic search with cached embeddings").items[0].id == ids[1].reflection_id
    changing = build(stub, "Semantic search with embeddings where the document collection changes with every request")
    reasons = {left.id: left.reason for left in changing.omitted}
    assert reasons[ids[1].reflection_id] == "it does not apply to a task like this"
    nothing = build(stub, "Water the plants on the balcony")
    assert (nothing.text, nothing.receipt_id, len(nothing.items)) == ("", "", 0)
    assert len(build(stub, "Fetch the order history", tools=["postgres_query"], max_items=1).items) == 1
    tiny = build(stub, "Fetch the order history", tools=["postgres_query"], max_tokens=8)
    assert not tiny.items
    assert "there is room for 8 tokens" in {left.reason for left in tiny.omitted}


def test_the_same_request_is_answered_with_the_same_receipt(
    stub: ReflectiveMemoryServiceStub, ids: list[pb.StoreReflectionResponse]
) -> None:
    fields: dict[str, Any] = {"tools": ["postgres_query"], "request_id": "once"}
    assert build(stub, "order history", **fields) == build(stub, "order history", **fields)


async def until_hybrid(memory: Stub, asked: pb.QueryReflectionsRequest) -> None:
    """Returns when the vectors are made and count."""
    async with asyncio.timeout(TIMEOUT_S):
        while (await memory.QueryReflections(asked, timeout=TIMEOUT_S)).search_mode != pb.SEARCH_MODE_HYBRID:  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # the condition is the server's


def topical(number: int) -> pb.StoreReflectionRequest:
    """A lesson whose halves share no word, and mean the same to the endpoint."""
    first, second = (f"topic-{number}{half} " + " ".join(f"{one}{number}" for one in half * 3) for half in "ab")
    return pb.StoreReflectionRequest(result={"reflection_text": f"{first} {second}", "importance": 0.7})


async def weight_in(served: MemoryTalk) -> sidecar_pb2.MemoryEmbedding | None:
    info = await server_info(f"127.0.0.1:{served.sidecar.port}")
    return info.memory_embedding if info.HasField("memory_embedding") else None


async def test_with_an_embedding_model_meaning_counts_too(tmp_path: Path) -> None:
    """A model that changes, and one that goes away: nothing is mixed, and words answer meanwhile."""
    async with talk(tmp_path / "first", embedding__usd_per_mtok="0") as idle:
        endpoint = idle.endpoint
        given = {"embedding__name": EMBEDDING, "embedding__base_url": endpoint.openai_url, "embedding__api_key": KEY}
        async with talk(tmp_path / "second", **given, embedding__usd_per_mtok="1") as served:
            memory = served.memory
            lesson = pb.StoreReflectionRequest(result=LESSONS[0])
            await memory.StoreReflection(lesson, timeout=TIMEOUT_S)
            asked = pb.QueryReflectionsRequest(query_text=LESSONS[0]["strategy_text"], explain=True)
            # Words alone, until enough memories have shown that the model helps.
            before_it_counts = await memory.QueryReflections(asked, timeout=TIMEOUT_S)
            assert before_it_counts.search_mode == pb.SEARCH_MODE_FULL_TEXT
            assert (await weight_in(served)) == sidecar_pb2.MemoryEmbedding(model=EMBEDDING)
            assert await weight_in(idle) is None
            for number in range(30):
                await memory.StoreReflection(topical(number), timeout=TIMEOUT_S)

            await until_hybrid(memory, asked)
            told = await weight_in(served)
            assert told is not None
            assert 0 < told.weight <= 1
            assert told.gain > told.error >= 0
            assert told.memories >= 20
            found = await memory.QueryReflections(asked, timeout=TIMEOUT_S)
            parts = {part.name for part in found.hits[0].explanation.parts}
            assert {"full_text", "vector", "fused"} <= parts
            # Equal questions are embedded once.
            await memory.QueryReflections(asked, timeout=TIMEOUT_S)
            assert sum(call.body["input"] == [asked.query_text] for call in endpoint.calls) == 1
            # Away: words answer.
            endpoint.fault = Fault.ERROR_500
            other = pb.QueryReflectionsRequest(query_text="add indexes on join columns")
            found = await memory.QueryReflections(other, timeout=TIMEOUT_S)
            assert found.search_mode == pb.SEARCH_MODE_FULL_TEXT
            assert len(found.hits) == 2
            endpoint.fault = None
        # Another model on the same store.
        given["embedding__name"] = "another"
        async with talk(tmp_path / "second", **given, embedding__usd_per_mtok="1") as served:
            await until_hybrid(served.memory, asked)
            inputs = [call.body["input"] for call in endpoint.calls if call.body["model"] == "another"]
            assert sum(len(texts) for texts in inputs) >= 33, "all memories anew, and the question"


async def test_without_money_words_answer(tmp_path: Path) -> None:
    async with talk(tmp_path / "idle") as idle:
        url = idle.endpoint.openai_url
        given = {"embedding__name": EMBEDDING, "embedding__base_url": url, "embedding__api_key": KEY}
        capped = {"embedding__usd_per_mtok": "1000", "purposes__memory_embedding__usd_per_day": "0.000001"}
        async with talk(tmp_path / "served", **given, **capped) as served:
            lesson = pb.StoreReflectionRequest(result=LESSONS[0])
            await served.memory.StoreReflection(lesson, timeout=TIMEOUT_S)
            asked = pb.QueryReflectionsRequest(query_text="joins")
            found = await served.memory.QueryReflections(asked, timeout=TIMEOUT_S)
            assert found.search_mode == pb.SEARCH_MODE_FULL_TEXT
            assert len(found.hits) == 2
            assert not idle.endpoint.calls
