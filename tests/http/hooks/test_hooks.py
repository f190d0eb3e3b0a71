"""What becomes of the hooks of every host: turns apart and whole, advice at the failing call, the answer sent back."""

import base64
import hashlib
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.http.hooks.hosts import gemini_cli
from sidemirror_server.http.hooks.hosts.failure import failed_by_fields
from sidemirror_server.http.hooks.hosts.happening import CallEnded
from sidemirror_server.http.hooks.hosts.payload import written
from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.http.hooks.sentences import (
    CHECK,
    CHECKED,
    MARK,
    NOT_KEPT,
    NOTHING_TO_SILENCE,
    OFF,
    ON,
    SILENCED,
    SWITCHED_OFF,
    SWITCHED_ON,
)
from sidemirror_server.http.hooks.sentences import WRONG as WRONG_ADVICE
from sidemirror_server.http.hooks.transcript import failed_in
from sidemirror_server.operations.turn_said import has_failed
from sidemirror_server.vocabulary.arbiter import HEADING
from sidemirror_server.vocabulary.text import enter
from tests.http.hooks.learned import BAD, FAILURE, LESSON, SENTENCE, learn, lesson_about, review, tell_at_once
from tests.http.hooks.players import PLAYERS, ClaudeCode, Codex, Cursor, GeminiCli, OpenHands, Player, post
from tests.http.sidecars import door
from tests.wire.sidecar import SidecarThread, thinking
from tests.wire.waiting import until

# The answer that the built-in rules find wrong: the tools said something else.
WRONG = "Done: I have switched to feature-x, and all 12 tests passed."

DEEP = b'{"a": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"

SETTINGS = {"hooks__revise": "true", "limits__http_requests_per_second": "10000"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with pytest.MonkeyPatch.context() as patched:
        tell_at_once(patched)
        with door(tmp_path_factory.mktemp("hooks"), SETTINGS) as running:
            yield running


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return made(tmp_path / "shop")


def made(folder: Path) -> Path:
    folder.mkdir()
    (folder / ".git").mkdir()
    return folder


def turns(server: SidecarThread, folder: Path) -> list[pb.Turn]:
    """The turns of the folder's project, the oldest first."""
    with thinking(server) as stub:
        return list(stub.ListTurns(pb.ListTurnsRequest(project_id=project_of(str(folder)))).turns)[::-1]


def told(turn: pb.Turn) -> tuple[str, str, int]:
    return turn.task, pb.TurnState.Name(turn.state).removeprefix("TURN_STATE_"), turn.event_count


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


@pytest.mark.parametrize("kind", PLAYERS, ids=lambda kind: kind.host)
def test_a_wrong_answer_is_sent_back_once(kind: type[Player], server: SidecarThread, repository: Path) -> None:
    player = kind(server, "wrong", repository)
    player.asks("Switch to feature-x and run the tests")
    player.runs(BAD, FAILURE, 1)
    prompt = player.sent_back(player.answers(WRONG))
    assert prompt.startswith(MARK)
    assert "feature" not in prompt
    # Gemini CLI and Cursor give our prompt to the agent as the user's.
    player.sends(player.asked(prompt))
    assert player.sent_back(player.answers(WRONG, again=kind is not ClaudeCode)) == ""
    (turn,) = turns(server, repository)
    assert told(turn)[:2] == ("Switch to feature-x and run the tests", "FINISHED")


@pytest.mark.parametrize("answer", ["All 13 tests pass.", "All 13 tests pass, 0 failed."])
def test_an_answer_that_passes_over_failed_tests_is_sent_back(
    answer: str, server: SidecarThread, repository: Path
) -> None:
    """By what was called. Seen to fail when a draft is judged without it."""
    player = ClaudeCode(server, f"tests-{len(answer)}", repository)
    player.asks("Run the tests.")
    player.runs("pytest", "3 failed, 10 passed", 1)
    assert player.sent_back(player.answers(answer)).startswith(MARK)
    with thinking(server) as stub:
        turn_id, project_id = turns(server, repository)[-1].turn_id, project_of(str(repository))
        entries = stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id, project_id=project_id, page_size=100)).entries
    (issue, *_) = next(one.directive.critique for one in entries if one.directive.HasField("critique")).issue_details
    assert issue.kind == common_pb2.ISSUE_KIND_WRONG_FACT


def test_nothing_is_sent_back_unless_it_is_asked_for(tmp_path: Path) -> None:
    folder = made(tmp_path / "shop")
    with door(tmp_path) as server:
        player = Codex(server, "s", folder)
        player.asks("Switch to feature-x and run the tests")
        player.runs(BAD, FAILURE, 1)
        assert player.answers(WRONG) == {}


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


def test_advice_is_switched_by_a_prompt(server: SidecarThread, repository: Path) -> None:
    learn(server, Codex, repository)
    player = Codex(server, "switch", repository)
    assert player.heard(player.asks("sidemirror advice was wrong")) == NOTHING_TO_SILENCE
    assert _hears(player)
    assert player.heard(player.asks("Sidemirror advice was wrong.")) == SILENCED
    until(lambda: not _hears(player))
    assert player.heard(player.asks("sidemirror advice off")) == SWITCHED_OFF
    assert player.heard(player.asks("sidemirror advice on")) == SWITCHED_ON
    assert not [turn for turn in turns(server, repository) if "sidemirror" in turn.task]


@pytest.mark.parametrize("kind", PLAYERS, ids=lambda kind: kind.host)
@pytest.mark.parametrize("is_begun", [False, True])
def test_check_is_answered_where_the_host_takes_words(
    is_begun: bool, kind: type[Player], server: SidecarThread, repository: Path
) -> None:
    """In Cursor with the next call that works, which may be the first of a turn."""
    player = kind(server, f"check-{is_begun}", repository)
    if is_begun:
        player.asks("Task")
    heard = player.heard(player.asks(CHECK))
    assert heard == ("" if kind is Cursor else CHECKED)
    assert heard + player.heard(player.runs("git status", "clean")) == CHECKED


@pytest.mark.parametrize("kind", PLAYERS, ids=lambda kind: kind.host)
@pytest.mark.parametrize("switch", [CHECK, OFF, ON, WRONG_ADVICE])
def test_a_switch_opens_no_turn_and_neither_does_its_answer(
    switch: str, kind: type[Player], server: SidecarThread, repository: Path
) -> None:
    """The host's model answers what was typed. Seen to fail with a turn of that answer alone."""
    player = kind(server, "typed", repository)
    player.asks(switch)
    assert player.answers("Done, I looked at it.") == {}
    assert turns(server, repository) == []
    player.asks("Task")
    player.runs("true")
    player.answers("Done.", again=True)
    assert [told(turn) for turn in turns(server, repository)] == [("Task", "FINISHED", 5)]


def test_a_check_says_that_the_store_takes_nothing(tmp_path: Path, repository: Path) -> None:
    with door(tmp_path / "lost", SETTINGS) as running:
        player = ClaudeCode(running, "lost", repository)
        assert player.heard(player.asks(CHECK)) == CHECKED
        file = tmp_path / "lost" / "data" / "sidemirror.db"
        file.rename(file.with_suffix(".gone"))
        assert player.heard(player.asks(CHECK)) == f"{CHECKED} {NOT_KEPT}"
        file.with_suffix(".gone").rename(file)


def _hears(player: Player) -> bool:
    """Whether a failing call of a new turn is told anything."""
    player.asks("Switch")
    return bool(player.heard(player.runs(BAD, FAILURE, 1)))


@pytest.mark.parametrize(
    "body", [b"", b"no", b"[]", b"\xff\xfe", b'{"hook_event_name": 3}', b'{"session_id": "s"}', DEEP]
)
def test_what_is_no_hook_is_answered_with_nothing(body: bytes, server: SidecarThread) -> None:
    for kind in PLAYERS:
        answer = post(server, kind.host, body)
        assert (answer.status, answer.body) == (200, b"")


@pytest.mark.slow("hundreds of hooks")
def test_fields_of_any_kind_do_no_harm(server: SidecarThread, repository: Path) -> None:
    values: tuple[object, ...] = (None, 7, [], {}, "x" * 300_000, "\ud800")
    for kind in PLAYERS:
        player = kind(server, "kinds", repository)
        for payload in (player.asked("Task"), player.ran("true", "fine", 0), *player.answered("Done", again=False)):
            for name in payload:
                for value in values:
                    answer = post(server, kind.host, json.dumps(payload | {name: value}).encode())
                    assert answer.status == 200


def test_worktrees_of_a_repository_are_one_project(tmp_path: Path) -> None:
    run = ("git", "-C", str(tmp_path / "shop"), "-c", "user.name=a", "-c", "user.email=a@b")
    (tmp_path / "shop").mkdir()
    for arguments in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x"), ("worktree", "add", "-q", "../w")):
        subprocess.run((*run, *arguments), check=True, capture_output=True)
    assert project_of(str(tmp_path / "w")) == project_of(str(tmp_path / "shop" / ".git" / "..")) != ""
    assert project_of(str(tmp_path / "shop")) == project_of(str(tmp_path / "w"))
    assert project_of(str(tmp_path)) != project_of(str(tmp_path / "shop"))
    assert project_of("relative") == ""


def test_json_that_is_nested_too_deeply_is_answered_with_nothing(server: SidecarThread) -> None:
    """Seen to fail, with 500 and a traceback, when RecursionError is not caught."""
    deep = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
    body = b'{"hook_event_name":"PostToolUse","session_id":"deep","cwd":"/","tool_name":"t","tool_input":' + deep + b"}"
    answer = post(server, "claude-code", body)
    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize("folder", ["/a" * 15_000, "/\ud800"], ids=["long", "no text"])
def test_a_folder_that_cannot_be_one_is_not_looked_for(folder: str) -> None:
    began_s = time.monotonic()
    project_of(folder)
    assert time.monotonic() - began_s < 2


def test_the_end_of_a_commands_output_takes_no_time() -> None:
    output = "Output: " + "\nSignal: a" * 6_000 + "\nx"
    began_s = time.monotonic()
    found = gemini_cli.read("AfterTool", {"tool_name": "run_shell_command", "tool_response": {"llmContent": output}})
    assert found is not None
    assert time.monotonic() - began_s < 2


def test_a_secret_at_a_cut_is_not_kept_in_halves() -> None:
    lines = [base64.b64encode(hashlib.sha384(bytes([number])).digest()).decode() for number in range(26)]
    key = "\n".join(("-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----", ""))
    token = f"ghp_{'A1b2C3d4E5' * 3}abcdef"
    kept = enter(written("x " * 15_990 + token + " a line\n" * 8_000 + key + "a line\n" * 4_400))
    assert not [line for line in lines if line in kept]
    assert token[:20] not in kept


@pytest.mark.parametrize("size", [5_000_000, 12_000_000])
def test_a_hook_that_is_too_long_is_answered(size: int, server: SidecarThread) -> None:
    """With nothing, and a wrong token with its refusal. Then the connection ends, since nobody reads on. Seen to fail
    with a connection that is reset, and with one that stays and answers nothing more."""
    body = b'{"session_id": "s", "prompt": "' + b"x" * size + b'"}'
    for headers, status in (({}, 200), ({"authorization": "Bearer none"}, 401)):
        for _ in range(3):
            answer = post(server, "claude-code", body, headers)
            assert (answer.status, answer.headers["connection"]) == (status, "close")
            assert status == 401 or not answer.body


def test_many_secrets_near_a_cut_uncover_no_half_of_another() -> None:
    """Redaction makes what was looked at shorter. Seen to fail when as much is kept of it as before."""
    others = "\n".join(f"ghp_{number:036}" for number in range(1_100))
    token = f"ghp_{'A1b2C3d4E5' * 3}abcdef"
    # Half of the token is beyond what is looked at: of the last characters, then of the first.
    around = "a line\n" * 6_000
    around = around[: 48_000 - len(others) - len(token) // 2 - 2]
    assert token[-16:] not in written("x" * 100_000 + "\n" + token + "\n" + around + others)
    assert token[:16] not in written(others + "\n" + around + token + "\n" + "x" * 100_000)


def test_a_name_that_is_cut_keeps_no_half_of_a_secret(server: SidecarThread, repository: Path) -> None:
    """Seen to fail when a name is cut before it is redacted."""
    token = f"ghp_{'A1b2C3d4E5' * 3}abcdef"
    player = ClaudeCode(server, "names", repository)
    player.asks("Task")
    player.sends(player.ran("true", "fine", 0) | {"tool_name": "x " * 118 + token})
    (turn,) = turns(server, repository)
    with thinking(server) as stub:
        request = pb.GetTurnRequest(turn_id=turn.turn_id, project_id=project_of(str(repository)))
        entries = stub.GetTurn(request).entries
    (name,) = (entry.event.tool_called.name for entry in entries if entry.event.HasField("tool_called"))
    assert name == ("x " * 118 + "ghp_[redacted:github]")[:256]


def test_an_id_that_is_too_long_is_not_kept(server: SidecarThread, repository: Path) -> None:
    Codex(server, "s" * 1_001, repository).asks("Task")
    assert turns(server, repository) == []
