"""Prompts that are for Sidemirror: advice off and on, the check, advice that was wrong."""

from pathlib import Path

import pytest

from sidemirror_server.http.hooks.sentences import (
    CHECK,
    CHECKED,
    NOT_KEPT,
    NOTHING_TO_SILENCE,
    OFF,
    ON,
    SILENCED,
    SWITCHED_OFF,
    SWITCHED_ON,
)
from sidemirror_server.http.hooks.sentences import WRONG as WRONG_ADVICE
from tests.http.hooks.learned import BAD, FAILURE, learn
from tests.http.hooks.players import PLAYERS, ClaudeCode, Codex, Cursor, Player
from tests.http.hooks.recorded_turns import SETTINGS, told, turns
from tests.http.sidecars import door
from tests.wire.sidecar import SidecarThread
from tests.wire.waiting import until


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
