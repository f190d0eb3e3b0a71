"""`sidemirror detach` takes out what `attach` has put in, and nothing of anybody else."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server import cli
from sidemirror_server.operations.attach.hosts import ATTACHED

LINTER = {"type": "command", "command": "my-own-linter"}


def run(*arguments: str) -> int:
    return cli.main(arguments)


def changed(path: Path, change: Any) -> None:
    said = json.loads(path.read_text())
    change(said)
    path.write_text(json.dumps(said, indent=2))


@pytest.mark.parametrize(
    ("host", "event", "more"),
    [("claude-code", "PostToolUse", {}), ("gemini-cli", "AfterTool", {"matcher": "write_file"})],
)
@pytest.mark.parametrize("at", [0, 1])
def test_a_hook_of_the_user_in_our_entry_stays(host: str, event: str, more: Any, at: int, home: Path) -> None:
    path = home / ATTACHED[host].user_file
    assert run("attach", host, "--yes") == 0

    def add(said: Any) -> None:
        entry = said["hooks"][event][0]
        entry["hooks"].insert(at, LINTER)
        entry.update(more)

    changed(path, add)
    assert run("detach", host, "--yes") == 0
    assert json.loads(path.read_text()) == {"hooks": {event: [{"hooks": [LINTER], **more}]}}


def test_an_entry_behind_ours_leaves_a_file_that_can_be_read(home: Path) -> None:
    path = home / ".codex" / "hooks.json"
    path.parent.mkdir()
    path.write_text('{\n  "hooks": {\n    "Stop": [\n    ]\n  }\n}\n')
    run("attach", "codex", "--yes")
    text = path.read_text()
    end = text.index("\n    ]", text.index('"Stop"'))
    path.write_text(text[:end] + ',\n      {"hooks": []}' + text[end:])
    assert run("detach", "codex", "--yes") == 0
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [{"hooks": []}]}}


def test_lists_that_were_made_for_us_leave_with_us(home: Path) -> None:
    path = home / ".cursor" / "hooks.json"
    run("attach", "cursor", "--yes")
    changed(path, lambda said: None)
    assert run("detach", "cursor", "--yes") == 0
    assert not path.exists()
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"version": 1, "hooks": {"stop": []}}')
    run("attach", "cursor", "--yes")
    changed(path, lambda said: said.update(theme="dark"))
    assert run("detach", "cursor", "--yes") == 0
    assert json.loads(path.read_text()) == {"version": 1, "hooks": {"stop": []}, "theme": "dark"}


@pytest.mark.parametrize("is_dangling", [True, False])
def test_a_link_stays_and_its_target_is_as_before(is_dangling: bool, home: Path) -> None:
    target, path = home / "dot" / "v.json", home / ".claude" / "settings.json"
    target.parent.mkdir()
    path.parent.mkdir()
    if not is_dangling:
        target.touch()
    path.symlink_to("../dot/v.json")
    assert run("attach", "claude-code", "--yes") == 0
    assert "Bearer" in target.read_text()
    assert run("attach", "claude-code", "--yes", "--answer-timeout", "9") == 0
    assert run("detach", "claude-code", "--yes") == 0
    assert path.is_symlink()
    assert target.exists() is not is_dangling
    assert is_dangling or target.read_bytes() == b""


def test_empty_files_and_folders_are_as_before(home: Path, tmp_path: Path) -> None:
    path = home / ".cursor" / "hooks.json"
    path.parent.mkdir()
    path.touch()
    run("attach", "cursor", "--yes")
    assert run("detach", "cursor", "--yes") == 0
    assert path.read_bytes() == b""
    project = tmp_path / "shop"
    (project / ".gemini").mkdir(parents=True)
    for host in ("codex", "gemini-cli"):
        run("attach", host, "--project", str(project), "--yes")
        assert run("detach", host, "--project", str(project), "--yes") == 0
    assert [one.name for one in project.iterdir()] == [".gemini"]


TOML = 'model = "large"\n\n[[hooks.Stop]]\n\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "say done"\n'


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_toml_with_an_edited_value_loses_our_tables_only(end: str, home: Path) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    before = TOML.replace("\n", end).encode()
    path.write_bytes(before)
    assert run("attach", "codex", "--yes") == 0
    attached = path.read_bytes()
    assert attached.count(b"\r\n") == (attached.count(b"\n") if end == "\r\n" else 0)
    assert b"timeout = 6" in attached
    path.write_bytes(attached.replace(b"timeout = 6", b"timeout = 60"))
    assert run("detach", "codex", "--yes") == 0
    assert path.read_bytes() == before


def test_a_hook_of_the_user_in_our_toml_entry_stays(home: Path) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(TOML)
    run("attach", "codex", "--yes")
    last = list(tomllib.loads(path.read_text())["hooks"])[-1]
    mine = f'\n[[hooks.{last}.hooks]]\ntype = "command"\ncommand = "my-own-linter"\n'
    path.write_text(path.read_text() + mine)
    assert run("detach", "codex", "--yes") == 0
    left = tomllib.loads(path.read_text())
    assert left["hooks"].pop(last) == [{"hooks": [LINTER]}]
    assert left == tomllib.loads(TOML)


def test_what_cannot_be_cut_out_of_toml_is_left_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(TOML)
    run("attach", "codex", "--yes")
    inline = tomllib.loads(path.read_text())["hooks"]["Stop"][1]["hooks"][0]["command"]
    path.write_text(f"[hooks]\nStop = [{{hooks = [{{command = {json.dumps(inline)}}}]}}]\n")
    text = path.read_text()
    assert run("detach", "codex", "--yes") == 1
    assert "by hand" in capsys.readouterr().err
    assert path.read_text() == text


def test_a_mistake_in_a_file_that_was_not_attached_stops_nothing(home: Path) -> None:
    assert run("attach", "codex", "--yes") == 0
    (home / ".codex" / "config.toml").write_text("model = \n")
    assert run("detach", "codex", "--yes") == 0
    assert not (home / ".codex" / "hooks.json").exists()


def test_a_file_that_is_gone_is_forgotten(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / ".codex" / "hooks.json"
    run("attach", "codex", "--yes")
    path.unlink()
    assert run("doctor", "--attach") == 1
    assert "`sidemirror detach codex --yes` forgets the file" in " ".join(capsys.readouterr().out.split())
    assert run("detach", "codex", "--yes") == 0
    capsys.readouterr()
    assert run("doctor", "--attach") == 1
    assert "no host is attached from this home" in capsys.readouterr().out


def test_each_attached_file_has_its_own_header(home: Path, tmp_path: Path) -> None:
    folder = home / ".config" / "sidemirror"
    (tmp_path / "other").touch(0o600)
    (tmp_path / "other").write_text("x" * 40)
    assert run("attach", "codex", "--yes") == 0
    (first,) = folder.glob("hooks-header*")
    was = first.read_text()
    assert run("attach", "cursor", "--token-file", str(tmp_path / "other"), "--yes") == 0
    assert len([*folder.glob("hooks-header*")]) == 2
    assert first.read_text() == was
    assert run("detach", "cursor", "--yes") == 0
    assert [*folder.glob("hooks-header*")] == [first]
    assert run("detach", "codex", "--yes") == 0
    assert not [*folder.glob("hooks-header*")]
