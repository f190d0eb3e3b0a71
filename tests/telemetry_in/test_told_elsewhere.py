"""What telemetry alone has taught is told by another door: at the failing call of an attached agent, and by MCP."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.http.mcp import tools
from sidemirror_server.memory.recoveries import moves
from tests.http.hooks.players import ClaudeCode
from tests.http.sidecars import token_of
from tests.http.test_mcp import connected, said
from tests.telemetry_in.made import MadeCall, request_of, run_of
from tests.telemetry_in.received import export, recorded, takes_spans, until
from tests.wire.sidecar import SidecarThread
from tests.wire.test_shell import review

pytestmark = pytest.mark.slow("the package of MCP takes seconds to load, and traces have to be quiet")

CONVERSATIONS = 5
SESSIONS = count()
BAD, GOOD = "sqlite3 shop.db 'SELECT * FROM orderz'", "sqlite3 shop.db 'SELECT * FROM orders_2026'"
FAILURE = "Error: in prepare, no such table: orderz"
SENTENCE = "earlier tries the call worked after `.tables`."
TABLE = "Table 'shop.orders' doesn't exist"


def shell(command: str, result: str, *, failed: bool = False) -> MadeCall:
    return MadeCall("Bash", json.dumps({"command": command}), result, failed)


# The second look-up is a tool of the agent's own, which spans name.
REVIEWED = (
    shell(BAD, FAILURE, failed=True),
    shell("sqlite3 shop.db .tables", "customers  orders_2026"),
    shell(GOOD, "17"),
)
NAMED = (
    MadeCall("run_sql", '{"query": "SELECT count(*) FROM orders"}', TABLE, failed=True),
    MadeCall("list_tables", "{}", "orders_2026"),
    MadeCall("run_sql", '{"query": "SELECT count(*) FROM orders_2026"}', "17"),
)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SidecarThread]:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    # How long it takes until it is told is for others to test.
    monkeypatch.setattr(moves, "MOST_AN_HOUR", 1_000)
    with takes_spans(tmp_path, limits__http_requests_per_second="5000") as running:
        yield running


def taught(server: SidecarThread, project_id: str, calls: tuple[MadeCall, ...], name: str) -> None:
    runs = [run_of(f"{name} {number}", calls, conversation=f"c{number}") for number in range(CONVERSATIONS)]
    export(server.address, request_of([one for run in runs for one in run]), tenant="default", project=project_id)
    recorded(server.address, ended=CONVERSATIONS, project_id=project_id)


def heard_at_a_hook(server: SidecarThread, folder: Path) -> str:
    player = ClaudeCode(server, f"told{next(SESSIONS)}", folder)
    player.asks("Count the orders")
    heard = player.heard(player.runs(BAD, FAILURE, 1))
    player.answers("Done.", again=True)
    return heard


async def test_a_reviewed_look_up_is_told_at_a_hook_and_by_mcp(server: SidecarThread, tmp_path: Path) -> None:
    """Seen to fail with four conversations, which are too few tries."""
    folder = tmp_path / "shop"
    folder.mkdir()
    project_id = project_of(str(folder))
    taught(server, project_id, REVIEWED, "reviewed")
    until(lambda: heard_at_a_hook(server, folder), lambda heard: f"In 5 of 5 {SENTENCE}" in heard)
    place = f"?project_id={project_id}"
    async with connected(server.http_port, token_of(server.folder / "data"), place=place) as client:
        arguments = json.dumps({"command": BAD})
        worked = await said(client, "what_worked", tool="Bash", error_text=FAILURE, arguments=arguments)
        assert f"In 5 of 5 {SENTENCE}" in worked


UNKNOWN = (
    MadeCall("deploy", '{"region": "nowhere"}', "ValueError: unknown region: nowhere", failed=True),
    MadeCall("deploy", '{"region": "west"}', "ValueError: unknown region: west", failed=True),
)


async def test_a_lesson_that_a_person_reviewed_is_told_in_the_next_run(server: SidecarThread, tmp_path: Path) -> None:
    """One conversation has taught it, so it waits; nobody else confirms it. At a hook and by MCP. Seen to fail without
    the review."""
    folder = tmp_path / "shop"
    folder.mkdir()
    project_id = project_of(str(folder))
    run = run_of("reviewed by hand", UNKNOWN, conversation="c")
    export(server.address, request_of(run), tenant="default", project=project_id)
    lessons = until(
        lambda: kept_in(server, project_id), lambda found: any(one.applies_when.tools == ["deploy"] for one in found)
    )
    (lesson,) = (one for one in lessons if one.applies_when.tools == ["deploy"])
    assert (lesson.state, lesson.origin) == (pb.MEMORY_STATE_QUARANTINED, common_pb2.ORIGIN_TOOL)

    def heard_at_a_prompt() -> str:
        player = ClaudeCode(server, f"told{next(SESSIONS)}", folder)
        heard = player.heard(player.asks(lesson.content))
        player.answers("Done.", again=True)
        return heard

    place = f"?project_id={project_id}"
    async with connected(server.http_port, token_of(server.folder / "data"), place=place) as client:
        assert lesson.content not in heard_at_a_prompt()
        assert await said(client, "recall_lessons", task=lesson.content, tools=["deploy"]) == tools.NO_LESSONS
        with grpc.insecure_channel(server.address) as channel:
            review(ReflectiveMemoryServiceStub(channel), project_id, lesson.id)
        assert lesson.content in heard_at_a_prompt()
        assert lesson.content in await said(client, "recall_lessons", task=lesson.content, tools=["deploy"])


def kept_in(server: SidecarThread, project_id: str) -> list[pb.Memory]:
    with grpc.insecure_channel(server.address) as channel:
        stub = ReflectiveMemoryServiceStub(channel)
        return list(stub.ListReflections(pb.ListReflectionsRequest(project_id=project_id)).memories)


def learned(server: SidecarThread) -> list[str]:
    """What an agent without a shell is told."""
    arguments = '{"query": "SELECT 1 FROM orders"}'
    request = pb.FindRecoveriesRequest(project_id="shop", tool="run_sql", error_text=TABLE, arguments=arguments)
    with grpc.insecure_channel(server.address) as channel:
        return [item.text for item in ReflectiveMemoryServiceStub(channel).FindRecoveries(request).block.items]


def shown_in(server: SidecarThread, session_id: str) -> list[str]:
    """The receipts for a session."""
    with grpc.insecure_channel(server.address) as channel:
        found = ReflectiveMemoryServiceStub(channel).ListReceipts(pb.ListReceiptsRequest(project_id="shop")).receipts
        return [one.receipt_id for one in found if one.session_id == session_id]


async def test_a_tool_that_only_spans_name_is_not_named_by_mcp(server: SidecarThread, tmp_path: Path) -> None:
    """Hosts of MCP run commands. No receipt says that it was told, or tries would count as ones after advice. Seen to
    fail without `has_shell` in the request."""
    taught(server, "shop", NAMED, "named")
    until(
        lambda: learned(server), lambda told: told == ["In 5 of 5 earlier tries the call worked after `list_tables`."]
    )
    place = "?project_id=shop&session_id=otlp:asking"
    async with connected(server.http_port, token_of(server.folder / "data"), place=place) as client:
        arguments = '{"query": "SELECT 1 FROM orders"}'
        worked = await said(client, "what_worked", tool="run_sql", error_text=TABLE, arguments=arguments)
        assert worked == tools.NOTHING_WORKED
    assert shown_in(server, "otlp:asking") == []
