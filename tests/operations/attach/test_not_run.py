"""`sidemirror attach` and `doctor --attach` name what keeps a host from running our hooks, or from hearing answers."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server import cli
from sidemirror_server.http.hooks.sentences import checked
from sidemirror_server.operations.attach import hosts as attached
from sidemirror_server.operations.attach.edits import put_in
from sidemirror_server.operations.attach.hosts import ATTACHED, WayIn, entries_of
from sidemirror_server.operations.attach.turned_off import turned_off
from tests.http.hooks.test_real_hosts import answering
from tests.operations.attach.test_check import findings


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server on a busy machine is not late, and whatever Codex the machine has is not asked."""
    for name in ("TOOL_S", "WORDS_S"):
        monkeypatch.setattr(attached, name, 20.0)
    monkeypatch.setattr(shutil, "which", lambda name: None)


def run(*arguments: str) -> int:
    return cli.main(arguments)


def saying(text: str) -> bytes:
    """An answer in the form of most hosts."""
    said = {"hookSpecificOutput": {"hookEventName": "x", "additionalContext": text}}
    return json.dumps(said, separators=(",", ":")).encode()


CLAUDE, GEMINI = "claude-code", "gemini-cli"
REACH = WayIn("http://127.0.0.1:50080", "x" * 40, Path("/home/ada/header"), 5.0)


@pytest.mark.parametrize(
    ("host", "setting", "why"),
    [
        (CLAUDE, {"disableAllHooks": True}, "disableAllHooks is true"),
        (CLAUDE, {"disableAllHooks": False}, ""),
        (CLAUDE, {"allowedHttpHookUrls": []}, "allowedHttpHookUrls leaves out the address"),
        (CLAUDE, {"allowedHttpHookUrls": ["https://hooks.example/*"]}, "allowedHttpHookUrls leaves out the address"),
        (CLAUDE, {"allowedHttpHookUrls": ["https://hooks.example/*", "http://127.0.0.1:*"]}, ""),
        (CLAUDE, {"allowedHttpHookUrls": 7}, ""),
        (
            CLAUDE,
            {"allowedHttpHookUrls": [], "hooks": {"Stop": [7, {"hooks": 7}, {"hooks": [7]}]}},
            "allowedHttpHookUrls leaves out the address",
        ),
        (GEMINI, {"hooksConfig": {"enabled": False}}, "hooksConfig.enabled is false"),
        (GEMINI, {"hooksConfig": {"enabled": True, "disabled": ["other"]}}, ""),
        (GEMINI, {"hooksConfig": {"disabled": ["sidemirror"]}}, "hooksConfig.disabled names sidemirror"),
        (GEMINI, {"hooksConfig": {"disabled": "sidemirror"}, "hooks": {"disabled": ["sidemirror"]}}, ""),
        (GEMINI, {"hooksConfig": 7}, ""),
        ("cursor", {"disableAllHooks": True, "hooksConfig": {"enabled": False}}, ""),
    ],
)
def test_settings_that_turn_hooks_off_are_known(host: str, setting: Any, why: str) -> None:
    text, _ = put_in(json.dumps(setting), entries_of(host, REACH), ATTACHED[host].events, ())
    assert turned_off(host, text).startswith(why)
    assert bool(turned_off(host, text)) is bool(why)


@pytest.mark.parametrize(
    ("host", "setting"), [(CLAUDE, {"disableAllHooks": True}), (GEMINI, {"hooksConfig": {"enabled": False}})]
)
def test_hooks_that_are_turned_off_are_told(
    host: str, setting: Any, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / ATTACHED[host].user_file
    path.parent.mkdir()
    path.write_text("{}")
    assert run("attach", host, "--yes") == 0
    assert "runs no hooks" not in capsys.readouterr().out
    path.write_text(json.dumps(setting))
    assert run("attach", host, "--yes") == 0
    assert f"{ATTACHED[host].title} runs no hooks. The hooks stand in {path}" in capsys.readouterr().out
    (found,) = [one for one in findings(capsys) if one["subject"] == f"{ATTACHED[host].title}, {path}"]
    assert (found["ok"], "runs no hooks" in found["found"]) == (False, True)


@pytest.mark.parametrize(
    ("host", "text", "why"),
    [
        ("codex", "{}\n// mine\n", "Codex reads no comments, and line 2 has one"),
        ("codex", '{"a": "/* // ,}", "b": "\\", // "}', ""),
        ("codex", '{"hooks": {},\n}', "Codex reads no comma before a closing bracket, and line 1 has one"),
        ("openhands", "/* mine */ {}", "OpenHands reads no comments, and line 1 has one"),
        ("openhands", '{"hooks": {"Stop": [{},\n]}}', "OpenHands reads no comma before a closing bracket"),
        (GEMINI, '// mine, [1,]\n{"a": [1, /* , */ 2] // ,\n}', ""),
        (GEMINI, '{"a": [1, // one\n]}', "Gemini CLI reads no comma before a closing bracket, and line 1 has one"),
        # What these read is not known.
        (CLAUDE, '{"a": 1, /* mine */ }', ""),
        ("cursor", '{"a": 1, /* mine */ }', ""),
    ],
)
def test_what_a_host_cannot_read_is_told_before_it_is_written(
    host: str, text: str, why: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen to fail: nothing was said, and of Codex `doctor` said "a project's hooks are taken once codex trusts its
    folder"."""
    path = home / ATTACHED[host].user_file
    path.parent.mkdir()
    path.write_text(text)
    assert run("attach", host) == 0
    told = capsys.readouterr().out
    assert (" reads no " in told, why in told) == (bool(why), True)
    # Our hooks stand before it, so that its line is another one.
    assert run("attach", host, "--yes") == 0
    why = why.partition(", and line")[0]
    assert why in (told := capsys.readouterr().out)
    found = [one for one in findings(capsys) if one["subject"] == f"{ATTACHED[host].title}, {path}"]
    assert [one["found"].partition(", and line")[0] for one in found] == ([why] if why else [])
    for one in found:
        assert one["found"] in told
        assert one["advice"] == f"without it {ATTACHED[host].title} reads the file"


def test_a_file_that_is_read_in_the_place_of_another_is_red(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "shop"
    (project / ".openhands").mkdir(parents=True)
    (project / ".openhands" / "hooks.json").write_text('{"stop": []}')
    assert run("attach", "openhands", "--yes") == 0

    def hidden(*more: str) -> list[str]:
        return [one["advice"] for one in findings(capsys, *more) if "alone in this folder" in one["found"]]

    assert hidden() == []
    advice = f"`sidemirror attach openhands --project {project} --yes` attaches that file too"
    assert hidden("--project", str(project)) == [advice]
    monkeypatch.chdir(project)
    assert hidden() == [advice]
    assert run("attach", "openhands", "--project", ".", "--yes") == 0
    assert hidden() == []


def test_lists_that_openhands_ignores_are_red(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / ".openhands" / "hooks.json"
    path.parent.mkdir()
    path.write_text('{"hooks": {}, "pre_tool_use": []}')
    assert run("attach", "openhands", "--yes") == 0
    assert "OpenHands ignores pre_tool_use beside hooks" in [one["found"] for one in findings(capsys)]


def test_doctor_asks_as_for_work_in_a_project(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In what is attached for all work and in that project; without it, in whatever is attached."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with answering(200, saying(checked(0, 9))) as port:
        monkeypatch.setenv("SIDEMIRROR_HTTP_ADDRESS", f"127.0.0.1:{port}")
        assert run("attach", CLAUDE, "--yes") == 0
        for name in ("one", "two"):
            assert run("attach", CLAUDE, "--project", str(tmp_path / name), "--yes") == 0

        def folders(*more: str) -> list[str]:
            told = [one["found"].partition("the project of ")[2] for one in findings(capsys, *more)]
            return [one.split(" is ")[0] for one in told if one]

        one, two = str(tmp_path / "one"), str(tmp_path / "two")
        assert folders() == [str(Path.cwd()), one, two]
        assert folders("--project", one) == [one, one]
        assert folders("--project", str(home)) == [str(home)]
    assert run("detach", CLAUDE, "--yes") == 0
    assert [one["found"] for one in findings(capsys, "--project", str(home))] == [
        "no host is attached from this home or in this project"
    ]


def test_the_folder_of_doctor_is_one_and_for_attach_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("doctor", "--attach", "--project", str(home / "nowhere")) == 78
    assert "--project: " in capsys.readouterr().err
    assert run("doctor", "--project", str(home)) == 2
    assert "--project: is for doctor --attach; --project-id is the setting" in capsys.readouterr().err


@pytest.mark.parametrize("body", [b"<!doctype html><p>Welcome.", b'{"continue":false}', b"ok", b""])
def test_another_server_is_taken_for_no_sidecar(
    body: bytes, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen to fail: "A sidecar answers", then "nothing came back in time" of the prompt, and the other hooks were
    right."""
    with answering(200, body, kind="text/html" if not body else "application/json") as port:
        monkeypatch.setenv("SIDEMIRROR_HTTP_ADDRESS", f"127.0.0.1:{port}")
        for host in (CLAUDE, "codex"):
            assert run("attach", host) == 0
            assert "no sidecar" in capsys.readouterr().out
            assert run("attach", host, "--yes") == 1
            told = capsys.readouterr()
            assert f"127.0.0.1:{port}: what answers there is no sidecar" in told.err
            assert "A sidecar answers" not in told.out
        found = [one for one in findings(capsys) if one["subject"] != "Codex, trust"]
    assert {one["found"] for one in found} == {"what answers there is no sidecar"}
    assert not any(one["ok"] for one in found)
    assert "SIDEMIRROR_HTTP_ADDRESS" in found[0]["advice"]


@pytest.mark.parametrize("host", [CLAUDE, "codex"])
def test_an_answer_after_the_hooks_time_is_red(
    host: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("TOOL_S", "WORDS_S"):
        monkeypatch.setattr(attached, name, 0.05)
    with answering(200, saying(checked(0, 9)), after_s=0.1) as port:
        monkeypatch.setenv("SIDEMIRROR_HTTP_ADDRESS", f"127.0.0.1:{port}")
        assert run("attach", host, "--yes") == 0
        found = [one for one in findings(capsys) if one["subject"].startswith(f"{ATTACHED[host].title}, ")]
    late = [one for one in found if "ms, and the hook has 50: " in one["found"]]
    assert not any(one["ok"] for one in late)
    # The hook of the answer has five seconds.
    assert len(late) == len(ATTACHED[host].events) - 1


def test_doctor_says_how_many_hooks_were_late(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(200, saying(checked(3, 40))) as port:
        monkeypatch.setenv("SIDEMIRROR_HTTP_ADDRESS", f"127.0.0.1:{port}")
        assert run("attach", CLAUDE, "--yes") == 0
        first = findings(capsys)[0]
    assert first["ok"]
    assert first["advice"] == "Answered too late: 3 of the last 40 hooks."


@pytest.mark.parametrize(
    ("text", "is_off"),
    [
        ("[features]\nhooks = false\n", True),
        ("[features]\nhooks = true\n", False),
        ('features = "none"\n', False),
        ("model = 'x'\n", False),
        ("[features\n", False),
    ],
)
def test_settings_of_codex_that_turn_hooks_off_are_told(
    text: str, is_off: bool, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the file beside the hooks; Codex reads its settings there."""
    settings = home / ".codex" / "config.toml"
    settings.parent.mkdir()
    assert run("attach", "codex", "--yes") == 0
    settings.write_text(text)
    subject = f"Codex, {settings}"
    told = [one["found"] for one in findings(capsys) if one["subject"] == subject]
    assert told == (["features.hooks is false: Codex runs no hooks"] if is_off else [])


def test_a_store_that_takes_nothing_is_red(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(200, saying(checked(0, 9, is_kept=False))) as port:
        monkeypatch.setenv("SIDEMIRROR_HTTP_ADDRESS", f"127.0.0.1:{port}")
        assert run("attach", CLAUDE, "--yes") == 0
        told = [one["found"] for one in findings(capsys) if not one["ok"]]
    assert told[0] == "the sidecar's store takes nothing now: what the hooks report waits in memory"
