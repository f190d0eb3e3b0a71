"""`sidemirror doctor --attach`: what was attached is called as the host would call it."""

import json
import shutil
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server import cli
from sidemirror_server.operations.attach import hosts as attached
from sidemirror_server.operations.attach.trust import trust_of_codex
from sidemirror_server.operations.parsers.hosts import HOSTS
from tests.http.sidecars import door
from tests.operations.attach.conftest import NOWHERE
from tests.wire.sidecar import thinking


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    monkeypatch.setenv("HOME", str(made))
    # Not the developer's own sidecar.
    monkeypatch.setenv("SIDEMIRROR_HTTP_ADDRESS", NOWHERE)
    # A sidecar on a busy machine is not late.
    for name in ("TOOL_S", "WORDS_S"):
        monkeypatch.setattr(attached, name, 20.0)
    # Whatever Codex the machine has is not asked.
    monkeypatch.setattr(shutil, "which", lambda name: None)
    return made


def findings(capsys: pytest.CaptureFixture[str], *more: str) -> list[Any]:
    capsys.readouterr()
    cli.main(["doctor", "--attach", "--json", *more])
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
        # One more for each hook, and whether Codex trusts them.
        assert len(found) == 1 + sum(len(host.events) for host in attached.ATTACHED.values())
        assert all(one["ok"] for one in found)
        assert f"; the project of {Path.cwd()} is " in found[0]["found"]
        # Where nothing is wrong, and nothing was told: seen to fail with "Nothing to change." alone.
        cli.main(["doctor", "--attach"])
        assert f"`sidemirror turns why ID --scope {quote(str(Path.cwd()))}` says why." in capsys.readouterr().out
        with thinking(server) as stub:
            assert not stub.ListTurns(pb.ListTurnsRequest()).turns
    assert not any(one["ok"] for one in findings(capsys) if one["subject"] != "Codex, trust")


def test_hooks_that_are_missing_are_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("SIDEMIRROR_DATA_DIR", str(tmp_path / "data"))
    [nothing] = findings(capsys)
    assert (nothing["ok"], nothing["found"]) == (False, "no host is attached from this home")
    assert nothing["advice"] == f"`sidemirror attach HOST --yes` attaches one of {', '.join(attached.ATTACHED)}"
    assert cli.main(["doctor", "--attach"]) == 1
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


@pytest.mark.parametrize("entry", [
    "text", 7, None, [], {"hooks": "text"}, {"hooks": ["MARK"]}, {"command": 7}, {"command": ["MARK"]},
    {"url": "http://[MARK", "headers": {}}, {"url": "http://127.0.0.1:1/MARK", "headers": []},
    {"url": "http://127.0.0.1:1/MARK", "headers": {"a": "new\nline"}}, {"hooks": [{"url": 7, "headers": "MARK"}]},
    {"command": "curl -H \"@/dev/null\" \"http://127.0.0.1:1/MARK\""},
])  # fmt: skip
def test_whatever_stands_in_the_file_is_a_finding(
    entry: Any, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen to fail with tracebacks of KeyError, TypeError, AttributeError and ValueError."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("SIDEMIRROR_DATA_DIR", str(tmp_path / "data"))
    cli.main(["attach", "codex", "--yes"])
    mark = "/hooks/codex?event=Stop"
    told = json.dumps({"hooks": {"Stop": [entry, mark] if entry in ("text", 7, None, []) else [entry]}})
    (home / ".codex" / "hooks.json").write_text(told.replace("MARK", mark))
    found = findings(capsys)
    assert found
    assert not any(one["ok"] for one in found if one["subject"] != "Codex, trust")


def test_hooks_that_others_take_back_are_a_finding(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hosts read the last of two members of one name. Seen to fail with the first one taken."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("SIDEMIRROR_DATA_DIR", str(tmp_path / "data"))
    cli.main(["attach", "claude-code", "--yes"])
    path = home / ".claude" / "settings.json"
    path.write_text(path.read_text().rstrip().removesuffix("}") + ', "hooks": {}}')
    (only,) = findings(capsys)
    assert not only["ok"]
    assert "hooks is there twice, in line 2 and in line" in only["found"]


def test_a_hook_in_toml_with_a_date_is_a_finding(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("SIDEMIRROR_DATA_DIR", str(tmp_path / "data"))
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('[[hooks.Stop]]\nsince = 2026-11-23\nhooks = [{type = "command", command = "true"}]\n')
    cli.main(["attach", "codex", "--yes"])
    assert "nothing can be reached" in findings(capsys)[0]["found"]


def codex(folder: Path, *answers: Any) -> Path:
    """A program that answers everything with these lines."""
    lines = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in answers)
    (folder / "lines").write_text(lines + "\n")
    program = folder / "codex"
    program.write_text(f'#!/bin/sh\n[ "$1" = app-server ] && cat "{folder / "lines"}" && cat >/dev/null\n')
    program.chmod(0o755)
    return program


def hook(path: Path, event: str, status: str, *, enabled: bool = True) -> Any:
    command = 'curl "http://127.0.0.1:1/hooks/codex?event=X"'
    return {
        "eventName": event,
        "command": command,
        "sourcePath": str(path),
        "trustStatus": status,
        "enabled": enabled,
    }


@pytest.mark.parametrize(
    ("hooks", "is_good", "told"),
    [
        ((("stop", "trusted"), ("postToolUse", "managed")), True, "codex runs all 2 hooks"),
        ((("stop", "trusted"), ("postToolUse", "untrusted")), False, "skips 1 of 2 hooks: postToolUse (untrusted)"),
        ((("stop", "modified"),), False, "skips 1 of 1 hooks: stop (modified)"),
        ((), False, "does not take hooks from"),
    ],
)
def test_codex_says_whether_it_trusts_the_hooks(
    hooks: Any, is_good: bool, told: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home / ".codex" / "hooks.json"
    others = {"eventName": "stop", "command": "true", "sourcePath": str(path), "trustStatus": "untrusted"}
    listed = [hook(path, *one) for one in hooks] + [others]
    answer = {"id": 1, "result": {"data": [{"hooks": listed}]}}
    program = codex(home, {"id": 0, "result": {}}, {"method": "configWarning"}, answer)
    monkeypatch.setattr(shutil, "which", lambda name: str(program))
    found = trust_of_codex(path, "/hooks/codex?event=", home)
    assert (found.ok, told in found.found) == (is_good, True), found


def test_a_hook_that_is_turned_off_is_turned_on_and_not_trusted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail: it said to trust a hook that was trusted."""
    path = home / ".codex" / "hooks.json"
    listed = [hook(path, "stop", "trusted"), hook(path, "postToolUse", "trusted", enabled=False)]
    program = codex(home, {"id": 1, "result": {"data": [{"hooks": listed}]}})
    monkeypatch.setattr(shutil, "which", lambda name: str(program))
    found = trust_of_codex(path, "/hooks/codex?event=", home)
    assert (found.ok, "postToolUse (turned off)" in found.found) == (False, True)
    assert "turn on those of sidemirror" in found.advice


def test_what_codex_cannot_read_is_told_in_its_words(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail: "a project's hooks are taken once codex trusts its folder", of a file that it cannot read."""
    path = home / ".codex" / "hooks.json"
    warnings = ["another file has no hooks", f"failed to parse hooks config {path}: expected value at line 1 column 1"]
    for told in (warnings, [7], 7):
        program = codex(home, {"id": 1, "result": {"data": [{"hooks": [], "warnings": told}]}})
        monkeypatch.setattr(shutil, "which", lambda name, program=program: str(program))
        found = trust_of_codex(path, "/hooks/codex?event=", home)
        assert (found.ok, f"does not take hooks from {path} here" in found.found) == (False, True)
        assert (warnings[1] in found.found) is (told is warnings)
        assert ("trusts its folder" in found.advice) is (told is not warnings)


@pytest.mark.parametrize("answer", ["", "no JSON", "[]", '{"id": 1, "error": {}}', '{"id": 1, "result": {"data": 7}}'])
def test_a_codex_that_does_not_say_is_no_failure(answer: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = codex(home, answer)
    monkeypatch.setattr(shutil, "which", lambda name: str(program))
    found = trust_of_codex(home / "hooks.json", "mark", home)
    assert (found.ok, found.found) == (True, "this codex does not say whether it trusts the hooks")
    assert "/hooks" in found.advice
