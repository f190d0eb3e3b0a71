"""Payloads that no host should send, and what is kept of long ones: answered soon, and no half of a secret in them."""

import base64
import hashlib
import json
import time
from pathlib import Path

import msgspec
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.http.hooks.hosts import gemini_cli
from sidemirror_server.http.hooks.hosts.payload import payload_in, written
from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.vocabulary.text import enter
from tests.http.hooks.players import PLAYERS, ClaudeCode, Codex, GeminiCli, OpenHands, Player, post
from tests.http.hooks.recorded_turns import turns
from tests.wire.sidecar import SidecarThread, thinking

DEEP = b'{"a": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"


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
    begun_s = time.process_time()
    found = gemini_cli.read("AfterTool", {"tool_name": "run_shell_command", "tool_response": {"llmContent": output}})
    assert found is not None
    assert time.process_time() - begun_s < 2


def test_a_secret_at_a_cut_is_not_kept_in_halves() -> None:
    lines = [base64.b64encode(hashlib.sha384(bytes([number])).digest()).decode() for number in range(26)]
    key = "\n".join(("-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----", ""))
    token = f"ghp_{'A1b2C3d4E5' * 3}abcdef"
    kept = enter(written("x " * 15_990 + token + " a line\n" * 8_000 + key + "a line\n" * 4_400))
    assert not [line for line in lines if line in kept]
    assert token[:20] not in kept


@pytest.mark.parametrize("size", [17_000_000, 36_000_000])
def test_a_hook_that_is_too_long_is_answered(size: int, server: SidecarThread) -> None:
    """With nothing, and a wrong token with its refusal. Then the connection ends, since nobody reads on. Seen to fail
    with a connection that is reset, and with one that stays and answers nothing more."""
    body = b'{"session_id": "s", "prompt": "' + b"x" * size + b'"}'
    for headers, status in (({}, 200), ({"authorization": "Bearer none"}, 401)):
        for _ in range(3):
            answer = post(server, "claude-code", body, headers)
            assert (answer.status, answer.headers["connection"]) == (status, "close")
            assert status == 401 or not answer.body


@pytest.mark.parametrize("kind", PLAYERS, ids=lambda kind: kind.host)
@pytest.mark.parametrize("is_list", [False, True])
def test_a_call_with_a_long_result_is_on_record(
    is_list: bool, kind: type[Player], server: SidecarThread, repository: Path
) -> None:
    """As that of an image. Seen to fail, without the call, when a hook may be no longer than a message."""
    token = f"ghp_{'A1b2C3d4E5' * 3}abcdef"
    # The token is at the first cut.
    image = "x" * (31_990 - 2) + " " + token + " " + "y" * 9_000_000
    player = kind(server, f"image-{is_list}", repository)
    player.asks("Look at the picture")
    payload = player.ran("cat picture.png", "", 0)
    (result,) = payload.keys() & {"tool_response", "tool_output"}
    assert player.sends(payload | {result: [{"data": image}] if is_list else image}) == {}
    player.answers("It is blue.", again=True)
    (turn,) = turns(server, repository)
    assert (turn.event_count, turn.tool_call_count, turn.tool_error_count) == (5, 1, 0)
    with thinking(server) as stub:
        request = pb.GetTurnRequest(turn_id=turn.turn_id, project_id=project_of(str(repository)))
        entries = stub.GetTurn(request).entries
    (called,) = (entry.event.tool_called for entry in entries if entry.event.HasField("tool_called"))
    (returned,) = (entry.event.tool_returned for entry in entries if entry.event.HasField("tool_returned"))
    assert called.arguments == "cat picture.png"
    assert len(returned.content) < 70_000
    assert token[:20] not in returned.content
    if kind not in (GeminiCli, OpenHands):
        assert "xxx" in returned.content
        assert returned.content.endswith('y"}]' if is_list else "yyy")


def test_of_a_long_hook_the_longest_fields_are_cut() -> None:
    whole = {"a": {"b": [1]}, "c": "d" * 300, "e": {"f": "g" * 200}, "h": "i" * 100}
    kept = payload_in(json.dumps(whole).encode(), 400)
    assert kept == {"a": {"b": [1]}, "h": "i" * 100, "e": {"f": "g" * 200}, "c": "d" * 300}
    assert payload_in(json.dumps(whole).encode(), 200) == kept | {"e": json.dumps(whole["e"])}
    with pytest.raises(UnicodeDecodeError):
        payload_in(b'{"a": {"\xff": 1}, "b": "' + b"c" * 100 + b'"}', 10)
    with pytest.raises(msgspec.DecodeError):
        payload_in(b'{"a": {"b": 1', 5)


def test_a_hook_that_is_too_long_is_logged(
    server: SidecarThread, repository: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Seen to fail: nothing said so."""
    player = Codex(server, "long", repository)
    player.asks("Task")
    assert player.sends(player.ran("cat picture.png", "x" * 17_000_000, 0)) == {}
    (told,) = (record for record in caplog.records if record.message == "hook_too_long")
    assert (told.levelname, told.__dict__["host"], told.__dict__["most_bytes"]) == ("WARNING", "codex", 16 * 1024**2)


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
