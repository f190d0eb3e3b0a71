"""`--json` beside the text: it has what the text says, with the same exit code, and lists that are empty."""

import json
from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import thinking_pb2 as thinking_pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from tests.faults.sidecars import Running, Stub, channel, running
from tests.goals.agents import a_report, connected
from tests.memory.recovering import FAILURE
from tests.operations.test_goals import until_done
from tests.operations.test_turns import LESSON, fails, said
from tests.wire.calls import called, failed


async def in_json(capsys: pytest.CaptureFixture[str], served: Running, *arguments: str, code: int = 0) -> Any:
    found, lines, _ = await said(capsys, served, *arguments, "--json")
    assert found == code
    return json.loads("\n".join(lines))


@pytest.mark.parametrize(
    ("command", "lists"),
    [
        (("turns", "list"), {"turns"}),
        (("memory", "search"), {"hits", "misses"}),
        (("memory", "search", "--state", "quarantined"), {"hits", "misses"}),
        (("memory", "lessons"), {"lessons"}),
        (("memory", "dreams"), {"dreams"}),
        (("memory", "prunings"), {"prunings"}),
        (("memory", "recoveries"), {"signatures"}),
        (("advice", "show"), {"off", "silenced_ids"}),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
async def test_a_list_is_there_if_it_is_empty(
    command: tuple[str, ...], lists: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen to fail with `{}`."""
    async with running(tmp_path) as served:
        told = await in_json(capsys, served, *command)
        assert {name for name, value in told.items() if value == []} == lists


async def test_why_nothing_was_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail with `{}` and 1, where the text has the level and the reasons, and 0."""
    async with running(tmp_path) as served:
        start = thinking_pb.StartTurnRequest(turn_id="t", session_id="s", context=thinking_pb.ContextWish())
        await served.stub.StartTurn(start, timeout=60)
        await fails(served, "t", called("sql", "SELECT 1 FROM orders", "a"), failed(FAILURE, "a"))
        assert (await said(capsys, served, "turns", "why", "t"))[0] == 0
        told = await in_json(capsys, served, "turns", "why", "t")
        assert told["receipts"] == []
        assert told["turn"]["turn_id"] == "t"
        assert told["turn_plan"]["silence"] == "SILENCE_REASON_NOTHING_FITS"
        assert told["turn_plan"]["config"]["level"]
        (silence,) = told["silences"]
        assert silence["directive"]["silence"]["reason"] == "SILENCE_REASON_NOTHING_KNOWN"
        # Without a turn there is nothing to say of one.
        assert await in_json(capsys, served, "turns", "why", code=1) == {"receipts": []}


async def test_a_memory_has_its_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail without: `--help` promises them."""
    async with running(tmp_path) as served, channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        stored = await memory.StoreReflection(pb.StoreReflectionRequest(result=LESSON), timeout=60)
        one = stored.strategy_id
        await said(capsys, served, "memory", "review", one, "retired", "--reason", "old")
        told = await in_json(capsys, served, "memory", "show", one)
        assert (told["id"], told["state"]) == (one, "MEMORY_STATE_RETIRED")
        assert [version["version"] for version in told["versions"]] == [2, 1]


@pytest.mark.parametrize("has_memory", [True, False])
async def test_a_goal_has_its_reports_and_where_its_lesson_was_shown(
    has_memory: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen to fail with the reflections alone."""
    async with running(tmp_path, memory__enabled=str(has_memory).lower()) as served, connected(served.address) as stub:
        report = a_report("g", error="no such table: x", turn_id="earlier")
        made = await stub.ReportGoal(report, timeout=60)
        await until_done(stub, 1)
        context = thinking_pb.ContextWish(goal_id="g")
        start = thinking_pb.StartTurnRequest(turn_id="t", session_id="s", context=context)
        await served.stub.StartTurn(start, timeout=60)
        (told,) = await in_json(capsys, served, "goals", "show", "g")
        (of_it,) = told["reports"]
        assert (of_it["report_id"], of_it["turn_id"]) == (made.report_id, "earlier")
        assert [one["turn_id"] for one in told["receipts"]] == (["t"] if has_memory else [])
        # Of the recent goals it is as it was.
        assert "reports" not in (await in_json(capsys, served, "goals", "show"))[0]
        assert (await said(capsys, served, "goals", "show", "g"))[0] == 0
