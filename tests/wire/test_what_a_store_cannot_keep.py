"""Texts that Postgres cannot look up or index are refused or left out; no call ends as a defect of the server."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import goal_reflection_pb2 as goals_pb
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.store import MemoryKey
from sidemirror_server.rpc.boundary.pages import token_for
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from tests.memory.talk import event, export, imported
from tests.postgres.databases import Databases
from tests.wire.calls import NOT_FOUND, TIMEOUT_S, bad_field, refused
from tests.wire.sidecar import sidecar
from tests.wire.waiting import until

# Of the longest ids, and of characters that take four bytes each and cannot be compressed.
WIDE = "".join(chr(0x20000 + 7919 * number % 0xA000) for number in range(3_000))
SCOPE: dict[str, Any] = {"tenant_id": WIDE[:128], "project_id": WIDE[128:256]}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def channel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[grpc.Channel]:
    settings = {}
    if request.param == "postgres":
        databases: Databases = request.getfixturevalue("databases")
        settings["database_url"] = databases.cluster.url("sidecar", asyncio.run(databases.create()))
    folder: Path = tmp_path_factory.mktemp("kept")
    with sidecar(folder, settings=settings) as server, grpc.insecure_channel(server.address) as channel:
        yield channel


@pytest.fixture
def memory(channel: grpc.Channel) -> ReflectiveMemoryServiceStub:
    return ReflectiveMemoryServiceStub(channel)


def test_an_id_with_nul_names_nothing(memory: ReflectiveMemoryServiceStub) -> None:
    asked = pb.QueryReflectionsRequest(query_text="x", explain_ids=["a\0"])
    assert [miss.id for miss in memory.QueryReflections(asked, timeout=TIMEOUT_S).misses] == ["a\ufffd"]
    judged = pb.GetLessonStatisticsRequest(reflection_ids=["a\0"])
    assert refused(memory.GetLessonStatistics, judged) == NOT_FOUND
    events = [event(pb.EVENT_TYPE_TOOL_CALL, "x")]
    made = pb.GenerateReflectionRequest(events=events, outcome=common_pb2.TASK_OUTCOME_SUCCESS, receipt_ids=["a\0"])
    assert memory.GenerateReflection(made, timeout=TIMEOUT_S).HasField("result")


def test_a_page_token_with_nul_is_none(memory: ReflectiveMemoryServiceStub) -> None:
    asked = pb.ListReflectionsRequest()
    asked.page_token = token_for(MemoryKey(1, "b"), DEFAULT_SCOPE, "memories", 0, 0)
    memory.ListReflections(asked, timeout=TIMEOUT_S)
    asked.page_token = token_for(MemoryKey(1, "\0"), DEFAULT_SCOPE, "memories", 0, 0)
    assert refused(memory.ListReflections, asked) == bad_field("page_token")


@pytest.mark.parametrize(
    "changed", [{"tags": [WIDE]}, {"applies_when": {"tools": [WIDE]}}, {"episodes": [WIDE]}], ids=min
)
def test_an_import_refuses_a_key_that_is_too_long(changed: dict[str, Any], memory: ReflectiveMemoryServiceStub) -> None:
    memory.StoreReflection(pb.StoreReflectionRequest(result={"reflection_text": "x"}), timeout=TIMEOUT_S)
    record = json.loads(export(memory)[0])
    largest = {"tags": [WIDE[:64]], "applies_when": {"tools": [WIDE[:256]]}, "episodes": [WIDE[:32]]}
    lines = [
        {**record["memory"], "memory_id": WIDE[256:384], **largest},
        {**record["memory"], "memory_id": "b", **changed},
    ]
    answer = imported(memory, [json.dumps({**record, "memory": one}) for one in lines], **SCOPE)
    assert [(one.number, one.reason) for one in answer.refused] == [(2, "a tag, a tool or an episode is too long")]


def test_a_goal_may_have_a_very_long_word(channel: grpc.Channel) -> None:
    stub = GoalReflectionServiceStub(channel)
    report = goals_pb.ReportGoalRequest(
        goal_id="long",
        objective=f"Decode {WIDE}",
        state=goals_pb.GOAL_STATE_FAILED,
        tasks=[goals_pb.GoalTask(name="decode", error=f"'{WIDE}' not found")],
        **SCOPE,
    )
    stub.ReportGoal(report, timeout=TIMEOUT_S)
    asked = goals_pb.GetGoalReflectionsRequest(goal_id="long", **SCOPE)
    until(lambda: bool(stub.GetGoalReflections(asked, timeout=TIMEOUT_S).reflections))
