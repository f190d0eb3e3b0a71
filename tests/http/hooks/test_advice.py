"""Advice at the failing call, through the hooks of every host: when it is told, and what counts as a failure."""

import json
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.http.hooks.hosts import gemini_cli
from sidemirror_server.http.hooks.hosts.failure import failed_by_fields
from sidemirror_server.http.hooks.hosts.happening import CallEnded
from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.http.hooks.transcript import failed_in
from sidemirror_server.operations.turn_said import has_failed
from sidemirror_server.vocabulary.arbiter import HEADING
from tests.http.hooks.learned import BAD, FAILURE, LESSON, SENTENCE, learn, lesson_about, review, tell_at_once
from tests.http.hooks.players import PLAYERS, Codex, Cursor, OpenHands, Player
from tests.http.hooks.recorded_turns import turns
from tests.http.sidecars import door
from tests.wire.sidecar import SidecarThread, thinking


@pytest.mark.parametrize("kind", PLAYERS, ids=lambda kind: kind.host)
def test_advice_comes_at_the_failing_call(kind: type[Player], server: SidecarThread, repository: Path) -> None:
    """Or at the next one that works, where the host takes no words at a failure."""
    learn(server, kind, repository)
    player = kind(server, "told", repository)
    player.asks("Switch to the branch of feature x")
    advice = f"[{HEADING}]\n• In 5 of 5 {SENTENCE}"
    assert player.heard(player.runs(BAD, FAILURE, 1)) == (advice if kind.hears_at_failures else "")
    # Once in a turn.
    assert player.heard(player.runs(f"{BAD} ", FAILURE, 1)) == ""
    waited = kind.hears_at_tools and not kind.hears_at_failures
    assert player.heard(player.runs("git status", "clean")) == (advice if waited else "")
    assert player.heard(player.runs("git status", "clean")) == ""


@pytest.mark.parametrize("kind", PLAYERS, ids=lambda kind: kind.host)
def test_a_call_that_has_worked_is_no_failure_whatever_it_prints(
    kind: type[Player], server: SidecarThread, repository: Path
) -> None:
    """Agents read logs. Seen to fail when the text is asked though the host has said how the call ended: advice came
    with the log, and none with the failure after it."""
    learn(server, kind, repository)
    player = kind(server, "log", repository)
    player.asks("Switch to the branch of feature x")
    assert player.heard(player.runs("cat app.log", FAILURE, 0)) == ""
    advice = f"[{HEADING}]\n• In 5 of 5 {SENTENCE}"
    assert player.heard(player.runs(BAD, FAILURE, 1)) == (advice if kind.hears_at_failures else "")
    with thinking(server) as stub:
        turn_id, project_id = turns(server, repository)[-1].turn_id, project_of(str(repository))
        request = pb.GetTurnRequest(turn_id=turn_id, project_id=project_id, page_size=100)
        entries = stub.GetTurn(request).entries
    ended = [entry.event for entry in entries if entry.event.HasField("tool_returned")]
    assert [has_failed(event) for event in ended] == [False, True]


def test_a_text_decides_where_the_host_does_not_say_how_a_call_ended(server: SidecarThread, repository: Path) -> None:
    player = Codex(server, "unsaid", repository)
    player.asks("Switch to the branch of feature x")
    player.sends(player.ran(BAD, FAILURE, 0) | {"transcript_path": None})
    player.sends(player.ran("git branch --list", "* main", 0) | {"transcript_path": None})
    (turn,) = turns(server, repository)
    assert turn.tool_error_count == 1


def test_what_a_model_asked_for_in_full_has_not_worked_for_that(tmp_path: Path) -> None:
    """Codex writes the status of the request for a call, too. Seen to fail when it counts as the call's."""
    path = tmp_path / "rollout-1.jsonl"
    asked = {"type": "custom_tool_call", "status": "completed", "call_id": "c1", "name": "apply_patch", "input": ""}
    path.write_text(json.dumps({"type": "response_item", "payload": asked}) + "\n")
    assert failed_in(str(path), "c1") is None


def test_a_file_that_gemini_cli_has_read_is_no_failure_whatever_stands_in_it() -> None:
    told = {"tool_name": "read_file", "tool_input": {}, "tool_response": {"llmContent": FAILURE}}
    found = gemini_cli.read("AfterTool", told | {"session_id": "s"})
    assert found is not None
    assert isinstance(found.what, CallEnded)
    assert found.what.failed is False


def test_a_command_of_openhands_that_goes_on_has_not_worked_so_far() -> None:
    assert failed_by_fields({"exit_code": -1, "is_error": False}) is None
    assert failed_by_fields({"exit_code": 0, "is_error": False}) is False
    assert failed_by_fields({"is_error": False}) is False


@pytest.mark.parametrize("kind", PLAYERS, ids=lambda kind: kind.host)
def test_a_reviewed_lesson_about_a_failure_is_told_at_it(
    kind: type[Player], server: SidecarThread, repository: Path
) -> None:
    """Whatever the prompt was about. Seen to fail when only turns that think, which hooks never begin, get lessons at a
    failing call."""
    command, error = "cargo tset", "error: no such command: `tset`"
    player = kind(server, "lesson", repository)
    lesson_id = lesson_about(server, player.ran(command, error, 1)["tool_name"], error, project_of(str(repository)))
    player.asks("Say hello")
    assert player.heard(player.runs(command, error, 1)) == ""
    assert player.heard(player.runs("git status", "clean")) == ""
    player.answers("It could not be done.", again=True)
    review(server, lesson_id, project_of(str(repository)))
    player.number += 1
    player.asks("Say hello once more")
    heard = player.heard(player.runs(command, error, 1))
    assert (LESSON in heard) is kind.hears_at_failures
    assert player.heard(player.runs(f"{command} ", error, 1)) == ""
    waited = kind.hears_at_tools and not kind.hears_at_failures
    assert (LESSON in player.heard(player.runs("git status", "clean"))) is waited


def test_what_cannot_be_told_in_a_turn_does_not_count_as_told(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenHands takes no words at a tool's end. Seen to fail when its turns begin with advice."""
    tell_at_once(monkeypatch)
    with door(tmp_path) as server, thinking(server) as stub:
        learn(server, OpenHands, repository)
        player = OpenHands(server, "silent", repository)
        player.asks("Switch to the branch of feature x")
        player.runs(BAD, FAILURE, 1)
        player.answers("It could not be switched to.", again=True)
        found = turns(server, repository)[-1]
        request = pb.GetTurnRequest(turn_id=found.turn_id, project_id=project_of(str(repository)), page_size=100)
        said = [entry.directive.WhichOneof("kind") for entry in stub.GetTurn(request).entries]
    assert found.tool_error_count == 1
    assert not {"advice", "nudge", "reflection"} & set(said)


def test_what_waits_to_be_told_ends_with_its_turn(server: SidecarThread, repository: Path) -> None:
    learn(server, Cursor, repository)
    player = Cursor(server, "late", repository)
    player.asks("Switch to the branch of feature x")
    player.runs(BAD, FAILURE, 1)
    player.answers("It could not be switched to.", again=True)
    player.asks("Say hello")
    assert player.heard(player.runs("echo hello", "hello")) == ""
