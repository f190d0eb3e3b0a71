"""A turn is one prompt with all that follows: the host is steered within it, goes on after its end, tells each event
twice, or has another sidecar in its midst."""

from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.http.hooks.sentences import CHECK, MARK
from tests.http.hooks.learned import BAD, FAILURE, SENTENCE, learn, tell_at_once
from tests.http.hooks.players import ClaudeCode, Codex, Cursor, GeminiCli, Json, Player
from tests.http.hooks.recorded_turns import WRONG, made, told, turns
from tests.http.sidecars import door
from tests.wire.sidecar import SidecarThread, thinking

# Hosts that name their turns.
NAMING = pytest.mark.parametrize("kind", [ClaudeCode, Codex, Cursor], ids=lambda kind: kind.host)
# Hosts that run the hooks of the user and of the project.
RUNNING_BOTH = pytest.mark.parametrize("kind", [ClaudeCode, Codex, GeminiCli, Cursor], ids=lambda kind: kind.host)


def messages(server: SidecarThread, folder: Path, turn: pb.Turn) -> list[str]:
    """What the user said within a turn."""
    request = pb.GetTurnRequest(turn_id=turn.turn_id, project_id=project_of(str(folder)), page_size=100)
    with thinking(server) as stub:
        events = [entry.event for entry in stub.GetTurn(request).entries if entry.HasField("event")]
    return [event.user_message.text for event in events if event.HasField("user_message")]


def waits_for_words(player: Player) -> str:
    """What an agent is told of a failing call, at it or at the next one that works."""
    heard = player.heard(player.runs(BAD, FAILURE, 1))
    return heard if player.hears_at_failures else player.heard(player.runs("git status", "clean"))


@NAMING
def test_a_prompt_within_its_turn_is_a_message(kind: type[Player], server: SidecarThread, repository: Path) -> None:
    """Seen to fail: the second prompt ended the turn, and all that followed was lost."""
    learn(server, kind, repository)
    player = kind(server, "steered", repository)
    player.asks("Switch to the branch of feature x")
    player.runs("true")
    elsewhere = made(repository.parent / "elsewhere")
    player.folder = elsewhere
    assert player.sends(player.asked("and run the tests")) == {}
    assert player.sends(player.asked("go on")) == {}
    assert SENTENCE in waits_for_words(player)
    player.sends(player.asked("go on"))
    player.answers("Done.", again=True)
    turn = turns(server, repository)[-1]
    calls = 2 if kind.hears_at_failures else 3
    assert told(turn) == ("Switch to the branch of feature x", "FINISHED", 6 + 2 * calls)
    assert messages(server, repository, turn) == ["and run the tests", "go on", "go on"]
    assert turns(server, elsewhere) == []


@NAMING
def test_a_turn_that_goes_on_after_its_end_is_on_record(
    kind: type[Player], server: SidecarThread, repository: Path
) -> None:
    """Another hook sends the agent back. Seen to fail: all after the first answer was lost."""
    learn(server, kind, repository)
    player = kind(server, "went-on", repository)
    player.asks("Switch to the branch of feature x")
    player.answers("I will.")
    for _ in range(2):
        assert SENTENCE in waits_for_words(player)
        player.answers("It is not there.", again=True)
    # Without a call in between.
    player.answers("It is nowhere.", again=True)
    calls = 1 if kind.hears_at_failures else 2
    found = turns(server, repository)[-4:]
    assert [told(turn) for turn in found] == [
        ("Switch to the branch of feature x", "FINISHED", 3),
        ("", "FINISHED", 3 + 2 * calls),
        ("", "FINISHED", 3 + 2 * calls),
        ("", "FINISHED", 3),
    ]
    first = found[0].turn_id
    assert [turn.turn_id for turn in found] == [first, f"{first}:2", f"{first}:3", f"{first}:4"]
    player.asks("Say hello")
    player.answers("Hello.")
    assert told(turns(server, repository)[-1]) == ("Say hello", "FINISHED", 3)


def test_a_prompt_with_the_name_of_a_turn_that_has_ended_begins_one(server: SidecarThread, repository: Path) -> None:
    """Seen to fail: it was lost."""
    player = Codex(server, "again", repository)
    player.asks("Task")
    player.answers("Done.")
    player.sends(player.asked("More"))
    player.runs("true")
    player.answers("Done.")
    assert [told(turn) for turn in turns(server, repository)] == [("Task", "FINISHED", 3), ("More", "FINISHED", 5)]


@RUNNING_BOTH
def test_a_host_that_tells_each_event_twice_is_recorded_once(
    kind: type[Player], server: SidecarThread, repository: Path
) -> None:
    """As one does that is attached for the user and for the project. Seen to fail: hosts that name their turns lost all
    calls, Gemini CLI had two turns."""
    learn(server, kind, repository)
    before = len(turns(server, repository))
    player = kind(server, "twice", repository)

    def both(payload: Json) -> str:
        return player.heard(player.sends(payload)) + player.heard(player.sends(payload))

    for number in (1, 2):
        player.number += 1
        assert both(player.asked(f"Task {number}")) == ""
        heard = both(player.ran(BAD, FAILURE, 1)) + both(player.ran("git status", "clean", 0))
        assert heard.count(SENTENCE) == 1
        for payload in player.answered("I looked.", again=False):
            both(payload)
    expected = [(f"Task {number}", "FINISHED", 7) for number in (1, 2)]
    assert [told(turn) for turn in turns(server, repository)[before:]] == expected


@RUNNING_BOTH
def test_an_answer_that_is_told_twice_is_sent_back_and_its_turn_goes_on(
    kind: type[Player], server: SidecarThread, repository: Path
) -> None:
    """Seen to fail: the second telling ended the turn."""
    player = kind(server, "both", repository)
    player.asks("Switch to feature-x and run the tests")
    player.runs(BAD, FAILURE, 1)
    (*before, answer) = player.answered(WRONG, again=False)
    for payload in before:
        player.sends(payload)
    assert player.sent_back(player.sends(answer)).startswith(MARK)
    assert player.sends(answer) == {}
    player.runs("true")
    player.answers("It failed.", again=True)
    (turn,) = turns(server, repository)
    assert told(turn) == ("Switch to feature-x and run the tests", "FINISHED", 8)


def test_an_answer_to_a_switch_opens_no_turn_though_another_hook_sends_it_back(
    server: SidecarThread, repository: Path
) -> None:
    player = Codex(server, "switched", repository)
    player.asks("Task")
    player.answers("Done.")
    player.asks(CHECK)
    player.answers("It works.")
    player.answers("It works, as I said.", again=True)
    assert [told(turn) for turn in turns(server, repository)] == [("Task", "FINISHED", 3)]


@pytest.mark.parametrize("kind", [Codex, GeminiCli], ids=lambda kind: kind.host)
def test_what_was_told_before_a_restart_is_not_told_again(
    kind: type[Player], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail: the second call after the restart was told all that its turn had been told."""
    tell_at_once(monkeypatch)
    folder = made(tmp_path / "shop")
    with door(tmp_path) as server:
        learn(server, kind, folder)
        player = kind(server, "s", folder)
        player.asks("Switch to the branch of feature x")
        assert SENTENCE in waits_for_words(player)
    with door(tmp_path) as server:
        player._server = server
        assert [player.runs(f"true {number}", "fine") for number in range(3)] == [{}, {}, {}]
        player.answers("Done.", again=True)
        assert told(turns(server, folder)[-1])[1:] == ("FINISHED", 11)


def test_a_prompt_within_its_turn_is_a_message_after_a_restart(tmp_path: Path) -> None:
    """Also in one that goes on after its end."""
    folder = made(tmp_path / "shop")
    with door(tmp_path) as server:
        player = Codex(server, "s", folder)
        player.asks("Task")
        player.answers("Done.")
        player.runs("true")
    with door(tmp_path) as server:
        player._server = server
        player.sends(player.asked("More"))
        player.runs("true")
        player.answers("Done.", again=True)
        found = turns(server, folder)
        assert [told(turn) for turn in found] == [("Task", "FINISHED", 3), ("", "FINISHED", 8)]
        assert messages(server, folder, found[1]) == ["More"]
