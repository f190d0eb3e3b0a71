"""ReflectiveMemoryService over a real socket: what is kept, shown, changed, reviewed and refused."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidemirror.v1 import common_pb2, sidecar_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from tests.memory.talk import export, get, listed, memories, store, versions
from tests.wire.calls import NOT_FOUND, TIMEOUT_S, WRONG_STATE, Refusal, bad_field, refused
from tests.wire.sidecar import SidecarThread, sidecar

ACTIVE, QUARANTINED, RETIRED = pb.MEMORY_STATE_ACTIVE, pb.MEMORY_STATE_QUARANTINED, pb.MEMORY_STATE_RETIRED


def test_store_get_list(memory: ReflectiveMemoryServiceStub) -> None:
    stored = store(memory, "It broke.", strategy_text="Mend it first.", importance=1.0, tags=["a"], tenant_id="list")
    assert get(memory, stored.reflection_id, tenant_id="list").content == "It broke."
    strategy = get(memory, stored.strategy_id, tenant_id="list")
    assert (strategy.importance, list(strategy.tags), strategy.strategy_of) == (
        1.0,
        ["a", "strategy"],
        stored.reflection_id,
    )
    assert strategy.origin == common_pb2.ORIGIN_AGENT
    for number in range(5):
        store(memory, f"Lesson number {number}.", tenant_id="list")
    every = listed(memory, tenant_id="list")
    assert len(every) == 7
    assert listed(memory, tenant_id="list", page_size=2) == every
    assert [one.content for one in every[:5]] == [f"Lesson number {number}." for number in (4, 3, 2, 1, 0)]
    assert listed(memory, tenant_id="list", kind=pb.MEMORY_KIND_STRATEGY) == [strategy]
    assert listed(memory, tenant_id="list", state=RETIRED) == []
    assert listed(memory, tenant_id="list", project_id="other") == []
    token = memory.ListReflections(pb.ListReflectionsRequest(tenant_id="list", page_size=2)).next_page_token
    elsewhere = pb.ListReflectionsRequest(tenant_id="list", state=ACTIVE, page_token=token)
    assert refused(memory.ListReflections, elsewhere) == bad_field("page_token")


def test_a_list_of_ids(memory: ReflectiveMemoryServiceStub) -> None:
    """What is not there is left out. Seen to fail with all memories in the answer."""
    first, second = [store(memory, f"Number {number}.", tenant_id="ids").reflection_id for number in range(2)]
    wanted = [second, "never was", first, second]
    request = pb.ListReflectionsRequest(tenant_id="ids", reflection_ids=wanted, state=RETIRED, page_size=1)
    found = memory.ListReflections(request, timeout=TIMEOUT_S)
    assert ([one.id for one in found.memories], found.next_page_token) == ([second, first], "")
    others = pb.ListReflectionsRequest(tenant_id="ids", project_id="other", reflection_ids=wanted)
    assert not memory.ListReflections(others, timeout=TIMEOUT_S).memories
    both = pb.ListReflectionsRequest(reflection_ids=["x"], page_token="x")
    assert refused(memory.ListReflections, both) == bad_field("page_token")
    many = pb.ListReflectionsRequest(reflection_ids=["x"] * 101)
    assert refused(memory.ListReflections, many) == bad_field("reflection_ids")


def test_the_defaults_of_the_seed(memory: ReflectiveMemoryServiceStub) -> None:
    one = get(memory, store(memory, "Only this.", tenant_id="defaults").reflection_id, tenant_id="defaults")
    assert (one.importance, one.HasField("confidence")) == (0.5, False)
    assert (one.strength, one.episode_count, one.version, one.change) == (1, 0, 1, "learned")


def test_an_update_is_a_version(memory: ReflectiveMemoryServiceStub) -> None:
    scope: dict[str, Any] = {"tenant_id": "update"}
    memory_id = store(memory, "First words.", importance=0.5, tags=["x"], **scope).reflection_id
    changes = pb.MemoryChanges(content="Second words.", importance=0.75)
    request = pb.UpdateReflectionRequest(
        reflection_id=memory_id, changes=changes, reason="clearer", request_id="u", **scope
    )
    second = memory.UpdateReflection(request, timeout=TIMEOUT_S).memory
    assert memory.UpdateReflection(request, timeout=TIMEOUT_S).memory == second
    assert (second.version, second.content, second.importance, list(second.tags)) == (2, "Second words.", 0.75, ["x"])
    assert (second.change, second.reason) == ("updated", "clearer")
    masked = pb.UpdateReflectionRequest(reflection_id=memory_id, changes=pb.MemoryChanges(importance=0.1), **scope)
    masked.update_mask.paths.append("tags")
    third = memory.UpdateReflection(masked, timeout=TIMEOUT_S).memory
    assert (third.version, list(third.tags), third.importance) == (3, [], 0.75)
    found = versions(memory, memory_id, **scope).versions
    assert [(one.version, one.content) for one in found] == [
        (3, "Second words."),
        (2, "Second words."),
        (1, "First words."),
    ]
    page = versions(memory, memory_id, page_size=2, **scope)
    rest = versions(memory, memory_id, page_size=2, page_token=page.next_page_token, **scope)
    assert [*page.versions, *rest.versions] == list(found)
    assert not rest.next_page_token
    stale = pb.UpdateReflectionRequest(reflection_id=memory_id, changes=changes, if_version=2, **scope)
    assert refused(memory.UpdateReflection, stale) == WRONG_STATE
    everything = pb.MemoryChanges(
        content="All.",
        importance=1.0,
        confidence=0.5,
        tags=["t"],
        error_category=pb.ERROR_CATEGORY_LOGIC_ERROR,
        applies_when=pb.AppliesWhen(tools=["sql"], error_categories=[pb.ERROR_CATEGORY_TOOL_ERROR], not_when="never"),
        related_memory_ids=["m"],
    )
    everything.metadata.update({"own": [1, {"deep": None}]})
    changed = memory.UpdateReflection(
        pb.UpdateReflectionRequest(reflection_id=memory_id, changes=everything, if_version=3, **scope),
        timeout=TIMEOUT_S,
    ).memory
    for field, value in everything.ListFields():
        assert getattr(changed, field.name) == value, field.name


def test_a_mask_clears_confidence(memory: ReflectiveMemoryServiceStub) -> None:
    scope: dict[str, Any] = {"tenant_id": "clear"}
    memory_id = store(memory, "Quite sure.", confidence=0.9, **scope).reflection_id
    update = pb.UpdateReflectionRequest(reflection_id=memory_id, changes=pb.MemoryChanges(importance=0.3), **scope)
    assert memory.UpdateReflection(update, timeout=TIMEOUT_S).memory.confidence == 0.9
    update.update_mask.paths.append("confidence")
    cleared = memory.UpdateReflection(update, timeout=TIMEOUT_S).memory
    assert (cleared.version, cleared.HasField("confidence"), cleared.importance) == (3, False, 0.3)
    assert get(memory, memory_id, **scope) == cleared
    assert [one.HasField("confidence") for one in versions(memory, memory_id, **scope).versions] == [False, True, True]


def test_a_repeat_whose_answer_was_lost_finds_its_own_effect(tmp_path: Path) -> None:
    """A crash after the effect leaves a store that remembers no answer; the same requests are made again.

    Seen to fail when a revision had no id of its request: the update was refused for the version that it names.
    """
    with sidecar(tmp_path) as server, memories(server) as stub:
        memory_id = store(stub, "First words.").reflection_id
        changes = pb.MemoryChanges(content="Second words.")
        update = pb.UpdateReflectionRequest(
            reflection_id=memory_id, changes=changes, if_version=1, reason="clearer", request_id="u"
        )
        review = pb.ReviewReflectionRequest(reflection_id=memory_id, state=RETIRED, reason="old", request_id="v")
        stub.UpdateReflection(update, timeout=TIMEOUT_S)
        reviewed = stub.ReviewReflection(review, timeout=TIMEOUT_S).memory
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / "sidemirror.db")) as connection, connection:
        assert connection.execute("DELETE FROM requests").rowcount >= 2
    with sidecar(tmp_path) as server, memories(server) as stub:
        assert stub.UpdateReflection(update, timeout=TIMEOUT_S).memory == reviewed
        assert stub.ReviewReflection(review, timeout=TIMEOUT_S).memory == reviewed
        assert [one.version for one in versions(stub, memory_id).versions] == [3, 2, 1]


def test_review_and_delete(memory: ReflectiveMemoryServiceStub) -> None:
    scope: dict[str, Any] = {"tenant_id": "review"}
    memory_id = store(memory, "Doubtful.", **scope).reflection_id
    for state, quarantine in ((QUARANTINED, "reviewed"), (ACTIVE, ""), (RETIRED, "")):
        request = pb.ReviewReflectionRequest(reflection_id=memory_id, state=state, reason="because", **scope)
        reviewed = memory.ReviewReflection(request, timeout=TIMEOUT_S).memory
        assert (reviewed.state, reviewed.quarantine, reviewed.reason) == (state, quarantine, "because")
        assert get(memory, memory_id, **scope) == reviewed
    again = store(memory, "doubtful", **scope)
    assert again.reflection_id == memory_id, "what is retired is not learned anew"
    assert get(memory, memory_id, **scope).state == RETIRED
    memory.DeleteReflection(pb.DeleteReflectionRequest(reflection_id=memory_id, **scope), timeout=TIMEOUT_S)
    assert refused(memory.GetReflection, pb.GetReflectionRequest(reflection_id=memory_id, **scope)) == NOT_FOUND
    assert store(memory, "Doubtful.", **scope).reflection_id != memory_id


def test_bad_results(memory: ReflectiveMemoryServiceStub) -> None:
    result: Any = {"reflection_text": "x"}
    storing, to_store = memory.StoreReflection, pb.StoreReflectionRequest
    assert refused(storing, to_store()) == bad_field("result")
    assert refused(storing, to_store(result={})) == bad_field("result.reflection_text")
    blank = to_store(result={"reflection_text": " \n\t"})
    assert refused(storing, blank) == bad_field("result.reflection_text"), "an empty line of every block"
    for name in ("importance", "confidence"):
        for value in (float("nan"), -0.01, 1.01, float("inf")):
            assert refused(storing, to_store(result={**result, name: value})) == bad_field(f"result.{name}")
    assert refused(storing, to_store(result={**result, "tags": ["x" * 65]})) == bad_field("result.tags[0]")
    long = {**result, "reflection_text": "x" * 16_001}
    assert refused(storing, to_store(result=long)) == bad_field("result.reflection_text")
    applies: Any = {"error_categories": [1, 77]}
    refusal = refused(storing, to_store(result={**result, "applies_when": applies}))
    assert refusal == bad_field("result.applies_when.error_categories[1]")


def test_a_strategy_of_blanks_is_none(memory: ReflectiveMemoryServiceStub) -> None:
    """Seen to fail when it was kept: a second memory that said nothing."""
    result = pb.ReflectionResult(reflection_text="Something happened.", strategy_text=" \n")
    stored = memory.StoreReflection(pb.StoreReflectionRequest(tenant_id="blank", result=result), timeout=TIMEOUT_S)
    assert not stored.strategy_id


def test_bad_changes(memory: ReflectiveMemoryServiceStub) -> None:
    assert refused(memory.UpdateReflection, pb.UpdateReflectionRequest()) == bad_field("reflection_id", "changes")
    memory_id = store(memory, "To be changed.", tenant_id="bad").reflection_id
    scope: dict[str, Any] = {"tenant_id": "bad", "reflection_id": memory_id}
    update = pb.UpdateReflectionRequest(**scope, changes=pb.MemoryChanges())
    assert refused(memory.UpdateReflection, update) == bad_field("update_mask")
    update.update_mask.paths.append("content")
    assert refused(memory.UpdateReflection, update) == bad_field("changes.content")
    update.changes.content = "  "
    assert refused(memory.UpdateReflection, update) == bad_field("changes.content")
    update.update_mask.paths.append("origin")
    assert refused(memory.UpdateReflection, update) == bad_field("update_mask.paths[1]")
    unknown = pb.UpdateReflectionRequest(reflection_id="unknown", changes=pb.MemoryChanges(content="x"))
    assert refused(memory.UpdateReflection, unknown) == NOT_FOUND
    review = pb.ReviewReflectionRequest(**scope, reason="x")
    assert refused(memory.ReviewReflection, review) == bad_field("state")
    assert refused(memory.ReviewReflection, pb.ReviewReflectionRequest(**scope, state=ACTIVE)) == bad_field("reason")
    assert refused(memory.DeleteReflection, pb.DeleteReflectionRequest(reflection_id="unknown")) == NOT_FOUND
    assert refused(versions, memory, "unknown") == NOT_FOUND
    outcome = pb.ReportOutcomeRequest(receipt_id="unknown", outcome=common_pb2.TASK_OUTCOME_SUCCESS)
    assert refused(memory.ReportOutcome, outcome) == NOT_FOUND
    outcome.outcome = common_pb2.TASK_OUTCOME_UNSPECIFIED
    assert refused(memory.ReportOutcome, outcome) == bad_field("outcome")
    assert refused(lambda: memory.ImportReflections(iter([pb.ImportReflectionsRequest(tenant_id="\n")]))) == bad_field(
        "tenant_id"
    )


def test_tenants_never_meet(memory: ReflectiveMemoryServiceStub) -> None:
    stored = store(memory, "Mine alone.", tenant_id="mine")
    there: dict[str, Any] = {"tenant_id": "yours", "reflection_id": stored.reflection_id}
    assert listed(memory, tenant_id="yours") == []
    assert export(memory, tenant_id="yours") == []
    assert refused(memory.GetReflection, pb.GetReflectionRequest(**there)) == NOT_FOUND
    changes = pb.MemoryChanges(content="x")
    assert refused(memory.UpdateReflection, pb.UpdateReflectionRequest(**there, changes=changes)) == NOT_FOUND
    review = pb.ReviewReflectionRequest(**there, state=RETIRED, reason="x")
    assert refused(memory.ReviewReflection, review) == NOT_FOUND
    assert refused(memory.DeleteReflection, pb.DeleteReflectionRequest(**there)) == NOT_FOUND
    assert store(memory, "Mine alone.", tenant_id="yours").reflection_id != stored.reflection_id
    assert get(memory, stored.reflection_id, tenant_id="mine").strength == 1


def test_disabled(tmp_path: Path) -> None:
    with sidecar(tmp_path, settings={"memory__enabled": "false"}) as server, memories(server) as stub:
        off = Refusal(grpc.StatusCode.FAILED_PRECONDITION, "DISABLED")
        assert refused(stub.StoreReflection, pb.StoreReflectionRequest(result={"reflection_text": "x"})) == off
        assert refused(stub.GetReflection, pb.GetReflectionRequest(reflection_id="x")) == off
        assert refused(stub.ExportReflections, pb.ExportReflectionsRequest()) == off
        assert refused(lambda: stub.ImportReflections(iter([pb.ImportReflectionsRequest()]))) == off
        assert refused(stub.QueryReflections, pb.QueryReflectionsRequest()) == off
        assert health(server) == health_pb2.HealthCheckResponse.NOT_SERVING
        assert health(server, "sidemirror.v1.ThinkingService") == health_pb2.HealthCheckResponse.SERVING


def health(server: SidecarThread, service: str = "sidemirror.v1.ReflectiveMemoryService") -> int:
    with grpc.insecure_channel(server.address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        status: int = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=TIMEOUT_S).status
        return status


def test_health_and_server_info(tmp_path: Path) -> None:
    with sidecar(tmp_path) as server, grpc.insecure_channel(server.address) as channel:
        assert health(server) == health_pb2.HealthCheckResponse.SERVING
        info = SidecarServiceStub(channel).GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=TIMEOUT_S)
        assert "memory_reflection" in {model.purpose for model in info.models}


def test_metadata_comes_back(memory: ReflectiveMemoryServiceStub) -> None:
    result = pb.ReflectionResult(reflection_text="With metadata.")
    own: dict[str, Any] = {"run": 7, "deep": [{"a": None}, True, "\U0001f642"], "outcome": "partial", "event_count": 3}
    result.metadata.update(own)
    request = pb.StoreReflectionRequest(result=result, session_id="s", tenant_id="metadata")
    stored = memory.StoreReflection(request, timeout=TIMEOUT_S)
    found = MessageToDict(get(memory, stored.reflection_id, tenant_id="metadata").metadata)
    assert found == {**own, "session_id": "s"}


def test_a_session_has_many_lessons(memory: ReflectiveMemoryServiceStub) -> None:
    """Seen to fail: each counted as a repetition of the session's first one, whose id was answered, and was lost."""
    texts = ("Ask the carrier for delays first.", "Check the card's date before charging.")
    ids = {store(memory, text, session_id="day1", tenant_id="many").reflection_id for text in texts}
    again = store(memory, texts[0], session_id="day1", tenant_id="many")
    assert len(ids) == 2
    assert again.reflection_id in ids
    assert sorted(one.content for one in listed(memory, tenant_id="many")) == sorted(texts)
