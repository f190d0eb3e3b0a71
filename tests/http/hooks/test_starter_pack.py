"""Each row of the starter pack's table in docs/memory.md is told at a hook, with what the program says."""

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from sidemirror_server.http.hooks.sentences import SILENCED
from sidemirror_server.memory.recoveries.starter import LABEL, MYSQL, POSTGRES, SQLITE, STARTERS
from tests.http.hooks.learned import tell_at_once
from tests.http.hooks.players import ClaudeCode, Codex, GeminiCli, Player
from tests.http.sidecars import door
from tests.memory.test_starter import FAILURES, STATEMENT_FAILURES
from tests.wire.sidecar import SidecarThread
from tests.wire.waiting import until

PAGE = Path(__file__).parents[3] / "docs" / "memory.md"
NAMES = {
    SQLITE: "a statement in SQLite",
    MYSQL: "a statement in MySQL",
    POSTGRES: "a statement in PostgreSQL",
}
SESSIONS = count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with pytest.MonkeyPatch.context() as patched:
        tell_at_once(patched)
        given = {"advice__starter_pack": "true", "limits__http_requests_per_second": "10000"}
        with door(tmp_path_factory.mktemp("starter"), given) as running:
            yield running


def told(server: SidecarThread, folder: Path, tool: str, arguments: dict[str, str], error: str) -> str:
    """The look-up that an agent is told at this failure; empty if none."""
    player = ClaudeCode(server, f"s{next(SESSIONS)}", folder)
    player.asks("Count the orders")
    failed = player.common("PostToolUseFailure") | {"tool_name": tool, "tool_use_id": "a", "tool_input": arguments}
    heard = player.heard(player.sends(failed | {"error": error, "is_interrupt": False}))
    found = re.search(re.escape(LABEL) + " `([^`]+)`", heard)
    return found[1] if found else ""


@pytest.mark.parametrize(("command", "error", "look_up"), FAILURES)
def test_a_failing_command_is_told_of(
    command: str, error: str, look_up: str, server: SidecarThread, tmp_path: Path
) -> None:
    given = {"command": command, "description": "Count"}
    assert told(server, tmp_path, "Bash", given, f"Exit code 1\n{error}") == look_up


@pytest.mark.parametrize(("tool", "statement", "error", "look_up"), STATEMENT_FAILURES)
def test_a_failing_statement_is_told_of(
    tool: str, statement: str, error: str, look_up: str, server: SidecarThread, tmp_path: Path
) -> None:
    assert told(server, tmp_path, tool, {"query": statement}, error) == look_up


def test_what_was_wrong_is_told_through_no_other_host(server: SidecarThread, tmp_path: Path) -> None:
    """Each names its shell in its own way. Seen to fail with ids of the tool's name alone."""
    query, error = 'sqlite3 shop.db "SELECT total FROM orders"', "Error: in prepare, no such column: total"

    def hears(kind: type[Player]) -> bool:
        player = kind(server, f"w{next(SESSIONS)}", tmp_path)
        player.asks("Sum the orders")
        return f"{LABEL} `.schema`" in player.heard(player.runs(query, error, 1))

    told_by = [GeminiCli, Codex, ClaudeCode]
    assert all(map(hears, told_by))
    player = ClaudeCode(server, "wrong", tmp_path)
    player.asks("Sum the orders")
    player.runs(query, error, 1)
    assert player.heard(player.asks("sidemirror advice was wrong")) == SILENCED
    until(lambda: not any(map(hears, told_by)))


def test_the_page_lists_every_row() -> None:
    """That each row is told for one of the failures above, `tests/memory/test_starter.py` says."""
    text = PAGE.read_text().partition("## The starter pack")[2].partition("## ")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")][2:]
    listed = {(name.strip("`"), look_up) for name, cell in rows for look_up in re.findall("`([^`]+)`", cell)}
    assert listed == {(NAMES.get(one.program, one.program), one.look_up) for one in STARTERS}
