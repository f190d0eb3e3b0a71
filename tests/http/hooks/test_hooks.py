"""Whose turn a hook belongs to, for every host: turns whole, and apart by repository, session and agent."""

import subprocess
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.http.hooks.projects import project_of
from tests.http.hooks.learned import BAD, FAILURE, learn
from tests.http.hooks.players import PLAYERS, ClaudeCode, Codex, GeminiCli, Player
from tests.http.hooks.recorded_turns import made, told, turns
from tests.http.sidecars import door
from tests.wire.sidecar import SidecarThread, thinking


@pytest.mark.parametrize("kind", PLAYERS, ids=lambda kind: kind.host)
def test_a_prompt_is_a_turn_with_its_calls(kind: type[Player], server: SidecarThread, repository: Path) -> None:
    player = kind(server, "whole", repository)
    for number in (1, 2):
        player.asks(f"Task {number}")
        player.runs("true", "fine")
        player.runs(BAD, FAILURE, 1)
        assert player.answers("I looked.", again=True) == {}
    found = turns(server, repository)
    assert [told(turn) for turn in found] == [("Task 1", "FINISHED", 7), ("Task 2", "FINISHED", 7)]
    assert len({turn.session_id for turn in found}) == 1
    with thinking(server) as stub:
        entries = stub.GetTurn(
            pb.GetTurnRequest(turn_id=found[0].turn_id, project_id=project_of(str(repository)), page_size=100)
        ).entries
    events = [entry.event for entry in entries if entry.HasField("event")]
    calls = [event.tool_called for event in events if event.HasField("tool_called")]
    results = [event.tool_returned for event in events if event.HasField("tool_returned")]
    assert [call.arguments for call in calls] == ["true", BAD]
    assert [result.is_error for result in results] == [False, True]
    assert [call.call_id for call in calls] == [result.call_id for result in results]


def test_two_repositories_and_two_sessions_are_apart(server: SidecarThread, tmp_path: Path) -> None:
    one, other = made(tmp_path / "one"), made(tmp_path / "other")
    learn(server, Codex, one)
    inner = one / "src" / "deep"
    inner.mkdir(parents=True)
    first, second = Codex(server, "first", one), Codex(server, "second", inner)
    for player in (first, second):
        player.asks(f"Task of {player.session}")
    for player in (first, second, first):
        player.runs("true", player.session)
    stranger = Codex(server, "stranger", other)
    stranger.asks("Switch to the branch of feature x")
    assert stranger.runs(BAD, FAILURE, 1) == {}
    found = {turn.task: turn.event_count for turn in turns(server, one) if turn.task.startswith("Task of")}
    assert found == {"Task of first": 5, "Task of second": 3}
    assert [turn.task for turn in turns(server, other)] == ["Switch to the branch of feature x"]


def test_a_subagent_has_a_turn_of_its_own(server: SidecarThread, repository: Path) -> None:
    player = ClaudeCode(server, "main", repository)
    player.asks("Task")
    player.runs("true")
    helper = ClaudeCode(server, "main", repository, agent="a1")
    helper.number = player.number
    helper.runs("false", "no", 1)
    helper.runs("true")
    player.runs("true")
    helper.sends(helper.common("SubagentStop"))
    player.answers("Done.", again=True)
    found = {turn.session_id: told(turn) for turn in turns(server, repository)}
    assert found == {"claude-code:main": ("Task", "FINISHED", 7), "claude-code:main:a1": ("", "FINISHED", 6)}


def test_a_resumed_and_a_compacted_session_go_on(server: SidecarThread, repository: Path) -> None:
    player = ClaudeCode(server, "long", repository)
    player.asks("Task 1")
    player.runs("true")
    # Compacted in mid-turn: the same turn goes on.
    assert player.sends(player.common("PreCompact") | {"trigger": "auto"}) == {}
    assert player.sends(player.common("SessionStart") | {"source": "compact"}) == {}
    player.runs("true")
    # The user interrupts it, ends the host, and resumes the session.
    assert player.sends(player.common("SessionStart") | {"source": "resume"}) == {}
    player.asks("Task 2")
    player.answers("Done.", again=True)
    found = turns(server, repository)
    assert [told(turn) for turn in found] == [("Task 1", "FINISHED", 6), ("Task 2", "FINISHED", 3)]
    assert {turn.session_id for turn in found} == {"claude-code:long"}


def test_a_session_goes_on_after_the_sidecar_was_started_again(tmp_path: Path) -> None:
    folder = made(tmp_path / "shop")
    with door(tmp_path) as server:
        player = GeminiCli(server, "s", folder)
        player.asks("Task")
        player.runs("true")
    with door(tmp_path) as server:
        player._server = server
        player.runs("true")
        player.answers("Done.", again=True)
        assert [told(turn) for turn in turns(server, folder)] == [("Task", "FINISHED", 7)]


@pytest.mark.parametrize("kind", PLAYERS, ids=lambda kind: kind.host)
def test_a_host_that_is_attached_in_the_midst_of_a_turn(
    kind: type[Player], server: SidecarThread, repository: Path
) -> None:
    player = kind(server, "midst", repository)
    player.runs("true")
    player.runs("true")
    player.answers("Done.", again=True)
    assert [told(turn) for turn in turns(server, repository)] == [("", "FINISHED", 7)]


def test_a_hook_that_is_registered_twice_counts_once(server: SidecarThread, repository: Path) -> None:
    for kind in (ClaudeCode, Codex, GeminiCli):
        player = kind(server, f"twice-{kind.host}", repository)
        player.asks("Task")
        payload = player.ran("true", "fine", 0)
        player.sends(payload)
        player.sends(payload)
        player.answers("Done.", again=True)
    assert [turn.event_count for turn in turns(server, repository)] == [5, 5, 5]


def test_what_a_person_stopped_is_no_failure(server: SidecarThread, repository: Path) -> None:
    player = ClaudeCode(server, "stopped", repository)
    player.asks("Task")
    payload = player.ran("sleep 100", "interrupted", 1)
    assert player.sends(payload | {"is_interrupt": True}) == {}
    cursor = next(kind for kind in PLAYERS if kind.host == "cursor")(server, "denied", repository)
    cursor.asks("Task")
    denied = cursor.ran("rm -r /", "denied", 1)
    assert cursor.sends(denied | {"failure_type": "permission_denied"}) == {}
    assert [turn.event_count for turn in turns(server, repository)] == [1, 1]


def test_worktrees_of_a_repository_are_one_project(tmp_path: Path) -> None:
    run = ("git", "-C", str(tmp_path / "shop"), "-c", "user.name=a", "-c", "user.email=a@b")
    (tmp_path / "shop").mkdir()
    for arguments in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x"), ("worktree", "add", "-q", "../w")):
        subprocess.run((*run, *arguments), check=True, capture_output=True)
    assert project_of(str(tmp_path / "w")) == project_of(str(tmp_path / "shop" / ".git" / "..")) != ""
    assert project_of(str(tmp_path / "shop")) == project_of(str(tmp_path / "w"))
    assert project_of(str(tmp_path)) != project_of(str(tmp_path / "shop"))
    assert project_of("relative") == ""
