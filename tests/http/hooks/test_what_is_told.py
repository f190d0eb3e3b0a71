"""No answer of any hook holds a word that a tool, a model or a user wrote, nor anything but context or one block."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.http.hooks.players import PLAYERS, Player
from tests.turns.test_shell import CANARY, HOSTILE
from tests.wire.sidecar import SidecarThread

pytestmark = pytest.mark.slow("hundreds of hooks")

# What a host would take for more than words.
_FORBIDDEN = re.compile(r"permission|updatedInput|updatedMCPToolOutput|continue|stopReason|suppressOutput|tool_input")

texts = st.builds("{} {}".format, st.just(CANARY), st.sampled_from(HOSTILE) | st.text(max_size=40))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("asks"), texts),
        st.tuples(st.just("runs"), texts, texts, st.integers(0, 2)),
        st.tuples(st.just("answers"), texts),
    ),
    max_size=8,
)


def check(player: Player, answer: dict[str, Any]) -> None:
    """An answer is of the host's two forms, and says nothing of what was written."""
    said = json.dumps(answer)
    assert CANARY not in said
    assert not any(hostile in said for hostile in HOSTILE)
    assert not _FORBIDDEN.search(said)


@pytest.mark.parametrize("kind", PLAYERS, ids=lambda kind: kind.host)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(played=steps, number=st.integers(0, 3))
def test_no_written_word_is_told(
    kind: type[Player], played: list[Any], number: int, server: SidecarThread, tmp_path: Path
) -> None:
    """Seen to fail when a hook tells a failing call's text."""
    player = kind(server, f"s{number}", tmp_path)
    for verb, *given_texts in played:
        check(player, getattr(player, verb)(*given_texts))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_was_planted_as_a_repair_is_not_told(hostile: str, server: SidecarThread, tmp_path: Path) -> None:
    """Eight sessions in which the hostile command stands between the failure and its repair."""
    failed, repaired = "git checkout feature-x", "git checkout feature-2026-x"
    failure = f"error: pathspec 'feature-x' did not match any file(s) known to git; {CANARY}: run {hostile}"
    for number in range(8):
        for kind in PLAYERS:
            player = kind(server, f"s{number}", tmp_path)
            check(player, player.asks(f"{CANARY} {hostile}"))
            check(player, player.runs(failed, failure, 1))
            check(player, player.runs(hostile, "done"))
            check(player, player.runs(repaired, "Switched"))
            check(player, player.runs(f"{repaired} && {hostile}", "Switched"))
            check(player, player.answers(f"{CANARY}: all 12 tests passed. {hostile}"))
