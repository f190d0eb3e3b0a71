"""What holds for the hooks of every host: secrets go nowhere, calls may end at once, and sessions go on."""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.http.hooks.projects import project_of
from tests.http.hooks.players import PLAYERS, Player
from tests.http.hooks.recorded_turns import SETTINGS, made, told, turns
from tests.http.sidecars import door
from tests.wire.sidecar import SidecarThread, thinking
from tests.wire.test_text_entry import CANARY, SECRET

EVERY = pytest.mark.parametrize("kind", PLAYERS, ids=lambda kind: kind.host)
AT_ONCE = 12


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with door(tmp_path_factory.mktemp("every"), SETTINGS) as running:
        yield running


@EVERY
def test_a_secret_is_seen_nowhere_again(kind: type[Player], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In a prompt, a command, its output, a failure and an answer, also in a tool's name and in a long text. Seen to
    fail when a hook's text does not pass the boundary's look for secrets."""
    caplog.set_level(logging.DEBUG)
    folder = made(tmp_path / "shop")
    with door(tmp_path, SETTINGS) as server:
        player = kind(server, "secrets", folder)
        answers = [
            player.asks(f"Log in with {SECRET}"),
            player.runs(f"login {SECRET}", f"{SECRET} is good", 0),
            player.runs(f"login {SECRET}", f"{SECRET} is refused", 1),
            player.runs("login", f"{'a line ' * 20_000}{SECRET}{' a line' * 20_000}", 1),
            player.sends(player.ran("true", "fine", 0) | {"tool_name": f"{SECRET} tool"}),
            player.answers(f"It is {SECRET}.", again=True),
        ]
        (turn,) = turns(server, folder)
        assert turn.event_count >= 10
    assert CANARY not in str(answers)
    ours = [record for record in caplog.records if record.name.startswith(("sidemirror", "uvicorn"))]
    assert CANARY not in "".join(f"{record.getMessage()} {vars(record)}" for record in ours)
    for file in (tmp_path / "data").iterdir():
        assert CANARY.encode() not in file.read_bytes()


@EVERY
def test_calls_that_end_at_once_are_each_there_once(kind: type[Player], server: SidecarThread, tmp_path: Path) -> None:
    """Parallel tools report in the same moment, half of them twice. Seen to fail when a conversation takes no turns."""
    folder = made(tmp_path / "shop")
    player = kind(server, "parallel", folder)
    player.asks("Task")
    payloads = [player.ran(f"echo {number}", f"{number}", number % 2) for number in range(AT_ONCE)]
    # Cursor's and OpenHands' calls have no time or id of their own that tells a repetition apart.
    repeated = payloads[: AT_ONCE // 2] if "tool_use_id" in payloads[0] or kind.host == "gemini-cli" else []
    with ThreadPoolExecutor(AT_ONCE) as at_once:
        list(at_once.map(player.sends, [*payloads, *repeated]))
    player.answers("Done.", again=True)
    (turn,) = turns(server, folder)
    assert told(turn) == ("Task", "FINISHED", 2 * AT_ONCE + 3)
    with thinking(server) as stub:
        request = pb.GetTurnRequest(turn_id=turn.turn_id, project_id=project_of(str(folder)), page_size=1000)
        events = [entry.event for entry in stub.GetTurn(request).entries if entry.HasField("event")]
    called = [event.tool_called for event in events if event.HasField("tool_called")]
    returned = [event.tool_returned for event in events if event.HasField("tool_returned")]
    assert sorted(call.arguments for call in called) == sorted(f"echo {number}" for number in range(AT_ONCE))
    # Each result stands behind its own call.
    for call, result in zip(called, returned, strict=True):
        assert call.call_id == result.call_id
        assert result.is_error is bool(int(call.arguments.split()[1]) % 2)


@EVERY
def test_a_compacted_and_a_resumed_session_go_on(kind: type[Player], server: SidecarThread, tmp_path: Path) -> None:
    """Events that we know nothing of change nothing; a prompt ends the turn that was interrupted."""
    folder = made(tmp_path / "shop")
    player = kind(server, "long", folder)
    player.asks("Task 1")
    player.runs("true")
    for event in ("PreCompact", "PreCompress", "preCompact", "SessionStart", "sessionStart", "Notification"):
        assert player.sends(player.common(event) | {"trigger": "auto", "source": "compact"}) == {}
    player.runs("true")
    # The user interrupts it, ends the host, and resumes the session in another process.
    resumed = kind(server, "long", folder)
    resumed._numbers = player._numbers
    assert resumed.sends(resumed.common("SessionStart") | {"source": "resume"}) == {}
    resumed.asks("Task 2")
    resumed.runs("true")
    resumed.answers("Done.", again=True)
    found = turns(server, folder)
    assert [told(turn)[:2] for turn in found] == [("Task 1", "FINISHED"), ("Task 2", "FINISHED")]
    assert [turn.event_count for turn in found] == [6, 5]
    assert len({turn.session_id for turn in found}) == 1
