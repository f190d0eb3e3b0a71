"""`sidemirror doctor --attach`: what was attached is called as the host would call it."""

import json
from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server import cli
from sidemirror_server.operations.attach import hosts as attached
from sidemirror_server.operations.parsers.hosts import HOSTS
from tests.http.sidecars import door
from tests.wire.sidecar import thinking


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    monkeypatch.setenv("HOME", str(made))
    # A sidecar on a busy machine is not late.
    monkeypatch.setattr(attached, "TOOL_S", 20.0)
    return made


def findings(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    capsys.readouterr()
    cli.main(["doctor", "--attach", "--json"])
    return list(json.loads(capsys.readouterr().out)["findings"])


def test_hooks_that_reach_a_sidecar_are_answered_and_recorded_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with door(tmp_path) as server:
        monkeypatch.setenv("SIDEMIRROR_DATA_DIR", str(server.folder / "data"))
        monkeypatch.setenv("SIDEMIRROR_HTTP_ADDRESS", f"127.0.0.1:{server.http_port}")
        for host in HOSTS:
            assert cli.main(["attach", host, "--yes"]) == 0
        found = findings(capsys)
        assert len(found) == sum(len(host.events) for host in attached.ATTACHED.values())
        assert all(one["ok"] for one in found)
        assert f"; the project of {Path.cwd()} is " in found[0]["found"]
        with thinking(server) as stub:
            assert not stub.ListTurns(pb.ListTurnsRequest()).turns
    assert not any(one["ok"] for one in findings(capsys))


def test_hooks_that_are_missing_are_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("SIDEMIRROR_DATA_DIR", str(tmp_path / "data"))
    assert [one["found"] for one in findings(capsys)] == ["no host is attached from this home"]
    cli.main(["attach", "codex", "--yes"])
    (home / ".codex" / "hooks.json").write_text('{"hooks": {}}')
    assert [one["found"] for one in findings(capsys)] == ["0 of 4 hooks are there"]


@pytest.mark.parametrize("host", ["codex", "claude-code", "cursor"])
@pytest.mark.parametrize(("tenant_id", "is_good"), [("default", True), ("acme", False)])
def test_a_token_that_is_not_good_for_the_project_is_red(
    host: str,
    tenant_id: str,
    is_good: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    secret, access = tmp_path / "token", tmp_path / "access.json"
    for path, text in (
        (secret, "x" * 40),
        (
            access,
            json.dumps(
                {
                    "tokens": [
                        {
                            "name": "two",
                            "token": "x" * 40,
                            "grants": [{"tenant_id": one} for one in sorted({tenant_id, "globex"})],
                        }
                    ]
                }
            ),
        ),
    ):
        path.touch(0o600)
        path.write_text(text)
    with door(tmp_path, {"access_file": str(access)}) as server:
        monkeypatch.setenv("SIDEMIRROR_DATA_DIR", str(server.folder / "data"))
        monkeypatch.setenv("SIDEMIRROR_HTTP_ADDRESS", f"127.0.0.1:{server.http_port}")
        assert cli.main(["attach", host, "--token-file", str(secret), "--yes"]) == 0
        found = findings(capsys)
    assert found[0]["ok"] is is_good, found[0]
    assert is_good or "nothing is recorded" in found[0]["found"]


def test_a_hook_of_the_user_in_our_entry_is_not_run(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("SIDEMIRROR_DATA_DIR", str(tmp_path / "data"))
    cli.main(["attach", "codex", "--yes"])
    path = home / ".codex" / "hooks.json"
    said = json.loads(path.read_text())
    said["hooks"]["Stop"][0]["hooks"].insert(0, {"type": "command", "command": f"touch {tmp_path / 'ran'}"})
    path.write_text(json.dumps(said))
    assert "nothing can be reached" in findings(capsys)[2]["found"]
    assert not (tmp_path / "ran").exists()
