"""The agent's answer at the end of a turn: which one is sent back, and how often."""

from pathlib import Path

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.http.hooks.sentences import (
    MARK,
)
from tests.http.hooks.learned import BAD, FAILURE
from tests.http.hooks.players import PLAYERS, ClaudeCode, Codex, Player
from tests.http.hooks.recorded_turns import WRONG, made, told, turns
from tests.http.sidecars import door
from tests.wire.sidecar import SidecarThread, thinking


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
