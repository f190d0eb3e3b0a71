"""Claude Code and Cursor, which cannot be run here: every event that they document is read, recorded and answered as
they document it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.http.hooks.hosts.failure import said_by_tool
from sidemirror_server.http.hooks.hosts.happening import CallEnded, Prompted
from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.http.hooks.table import HOSTS
from sidemirror_server.operations.attach.hosts import ATTACHED
from tests.http.hooks.documented import DOCUMENTED, Documented, Json
from tests.http.hooks.players import post
from tests.http.hooks.recorded_turns import SETTINGS, made, told, turns
from tests.http.sidecars import door
from tests.wire.sidecar import SidecarThread, thinking

EVENTS = [
    pytest.param(host, one, id=f"{host}-{number}-{one.event}")
    for host, (_, every) in DOCUMENTED.items()
    for number, one in enumerate(every)
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with door(tmp_path_factory.mktemp("documented"), SETTINGS) as running:
        yield running


def payload_of(host: str, one: Documented) -> Json:
    return DOCUMENTED[host][0] | {"hook_event_name": one.event} | one.payload


@pytest.mark.parametrize(("host", "one"), EVENTS)
def test_an_event_is_read_as_it_is_documented(host: str, one: Documented) -> None:
    happening = HOSTS[host].read(one.event, payload_of(host, one))
    assert (happening.what if happening else None) == one.means
    if happening is not None:
        turn = "3f1c9d52-8a44-4b0e-9f6d-0b1d2c3e4f50" if host == "claude-code" else "17d2"
        session = "7be0" if host == "claude-code" else "9ac1"
        assert (happening.session, happening.turn, happening.folder) == (session, turn, "/home/ada/shop")
        assert happening.agent == ("def456" if one.event == "SubagentStop" else "")


@pytest.mark.parametrize(("host", "one"), EVENTS)
def test_an_answer_has_fields_that_the_event_takes(host: str, one: Documented) -> None:
    if isinstance(one.means, Prompted | CallEnded):
        assert set(HOSTS[host].told(one.event, "words")) <= set(one.takes)
    if one.event == ATTACHED[host].answered:
        assert set(HOSTS[host].sent_back("words")) <= set(one.takes)


@pytest.mark.parametrize("host", DOCUMENTED)
def test_what_is_recorded_is_attached(host: str) -> None:
    every = DOCUMENTED[host][1]
    assert {one.event for one in every if one.means is not None} == set(ATTACHED[host].events)


@pytest.mark.parametrize("host", DOCUMENTED)
def test_a_session_of_every_event_is_one_turn(host: str, server: SidecarThread, tmp_path: Path) -> None:
    folder = made(tmp_path / "shop")
    common, every = DOCUMENTED[host]
    here = {"cwd": str(folder)} if "cwd" in common else {"workspace_roots": [str(folder)]}
    calls: list[tuple[str, str, str, bool]] = []
    for number, one in enumerate(every):
        # Each is another call of the host.
        own = {"tool_use_id": f"t{number}"} if "tool_use_id" in one.payload else {}
        answer = post(server, host, json.dumps(payload_of(host, one) | here | own).encode())
        assert answer.status == 200
        assert set(answer.json if answer.body else {}) <= set(one.takes)
        if isinstance(what := one.means, CallEnded):
            result = said_by_tool(host, what.result) if what.failed else what.result
            calls.append((what.name, what.arguments, result, bool(what.failed)))
    (turn,) = turns(server, folder)
    assert told(turn)[:2] == ("Run the tests", "FINISHED")
    with thinking(server) as stub:
        request = pb.GetTurnRequest(turn_id=turn.turn_id, project_id=project_of(str(folder)), page_size=1000)
        events = [entry.event for entry in stub.GetTurn(request).entries if entry.HasField("event")]
    called = [event.tool_called for event in events if event.HasField("tool_called")]
    returned = [event.tool_returned for event in events if event.HasField("tool_returned")]
    assert [
        (call.name, call.arguments, result.content, result.is_error)
        for call, result in zip(called, returned, strict=True)
    ] == calls
    drafted = [event.response_drafted.text for event in events if event.HasField("response_drafted")]
    assert drafted == ["All tests pass."]
