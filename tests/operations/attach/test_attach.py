"""`sidemirror attach` and `detach` on files of real shape, in scratch homes."""

import json
import stat
import tomllib
from pathlib import Path

import pytest

from sidemirror_server import cli
from sidemirror_server.operations.attach.hosts import ATTACHED
from sidemirror_server.operations.attach.jsonc import BadFile, parsed
from sidemirror_server.operations.parsers.hosts import HOSTS

# A file with comments, hooks of others, another order of fields, and commas at the end.
COMMENTED = """\
// mine
{
  "theme": "dark", /* as ever */
  "hooks": {
    // formats what was written
    "PostToolUse": [
      { "matcher": "Write|Edit", "hooks": [ { "type": "command", "command": "prettier --write \\"$1\\"" }, ] },
    ],
    "SessionStart": [{"hooks": [{"command": "echo [{ // no comment", "type": "command"}]}],
    "Stop": [],
    "SessionEnd": [
    ],
  },
  "model": "large", // last
}
"""
SHAPES = {
    "missing": None,
    "blanks": " \n\n",
    "empty object": "{}",
    "spaced object": "{\n}\n",
    "other members": '{\n    "a": 1,\n    "b": {"hooks": [1]}\n}',
    "one line": '{"a":[1,2],"hooks":{"PostToolUse":[{"hooks":[]}]},"z":null}\n',
    "empty hooks": '{\r\n\t"hooks": {}\r\n}\r\n',
    "commented": COMMENTED,
    "version last": '{"hooks": {"stop": [{"command": "say done"}]}, "version": 1}\n',
    "snake case": '{"hooks": {"post_tool_use": [{"matcher": "*", "hooks": []}]}}\n',
}
GUARD = {"matcher": "terminal", "hooks": [{"command": "guard.sh"}]}
# OpenHands also reads lists that stand in the file itself.
BARE = {
    "another event": {"pre_tool_use": [GUARD]},
    "an event of ours": {"PostToolUse": [GUARD]},
    "ours by another name": {"pre_tool_use": [GUARD], "stop": [], "session_end": [GUARD]},
}
TOML = """\
# mine
model = "large"   # for now

[[hooks.PostToolUse]]
matcher = "Bash"
[[hooks.PostToolUse.hooks]]
type = "command"
command = 'echo "done"'

[hooks.state."/x:stop:0:0"]
trusted_hash = "sha256:0"
"""


def run(*arguments: str) -> int:
    return cli.main(arguments)


def tree(folder: Path) -> dict[str, bytes]:
    """The files of a folder, ours aside."""
    found = (path for path in folder.rglob("*") if path.is_file() and "sidemirror" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.parametrize(
    ("host", "shape"),
    [(host, "commented") for host in HOSTS] + [(host, shape) for host in ("cursor", "openhands") for shape in SHAPES],
)
def test_attached_twice_and_detached_is_as_before(host: str, shape: str, home: Path) -> None:
    path = home / ATTACHED[host].user_file
    if (text := SHAPES[shape]) is not None:
        path.parent.mkdir()
        path.write_bytes(text.encode())
        path.chmod(0o640)
    before = tree(home)
    assert run("attach", host, "--yes") == 0
    attached = path.read_bytes()
    assert f"/hooks/{host}" in attached.decode()
    parsed(attached.decode())
    assert run("attach", host, "--yes") == 0
    assert path.read_bytes() == attached
    assert run("attach", host, "--yes", "--answer-timeout", "9") == 0
    assert path.read_bytes() != attached
    assert run("detach", host, "--yes") == 0
    assert tree(home) == before
    if text is not None:
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert run("detach", host, "--yes") == 0


@pytest.mark.parametrize("host", HOSTS)
def test_nothing_is_written_before_it_is_agreed_to(host: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("attach", host) == 0
    assert tree(home.parent) == {}
    told = capsys.readouterr().out
    assert "+++" in told
    assert "your prompts, the tool calls with their results, and the agent's answers" in told


def test_every_event_has_its_entry_beside_those_of_others(home: Path) -> None:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(SHAPES["one line"] or "")
    assert run("attach", "claude-code", "--yes") == 0
    written = json.loads(path.read_text())
    assert written["hooks"]["PostToolUse"][1] == {"hooks": []}
    for event, entries in written["hooks"].items():
        (hook,) = entries[0]["hooks"]
        is_answer = event == "Stop"
        allowed_ms = "1000" if event in ("UserPromptSubmit", "PostToolUseFailure") else "300"
        assert (hook["type"], hook["timeout"]) == ("http", 6 if is_answer else 2)
        assert hook["url"] == f"http://127.0.0.1:1/hooks/claude-code?event={event}"
        assert hook["headers"]["sidemirror-timeout-ms"] == ("5000" if is_answer else allowed_ms)
        assert hook["headers"]["Authorization"].startswith("Bearer ")
    assert set(written["hooks"]) == set(ATTACHED["claude-code"].events)


def test_other_changes_stay_when_it_is_detached(home: Path) -> None:
    path = home / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text(COMMENTED)
    run("attach", "gemini-cli", "--yes")
    path.write_text(path.read_text().replace('"dark"', '"light"'))
    assert run("detach", "gemini-cli", "--yes") == 0
    assert path.read_text() == COMMENTED.replace('"dark"', '"light"')


def test_a_file_that_was_formatted_anew_loses_our_hooks_only(home: Path) -> None:
    path = home / ".codex" / "hooks.json"
    path.parent.mkdir()
    path.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}')
    run("attach", "codex", "--yes")
    path.write_text(json.dumps(json.loads(path.read_text()), indent=4, sort_keys=True))
    assert run("detach", "codex", "--yes") == 0
    assert json.loads(path.read_text()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}
    }


def test_a_hook_that_somebody_put_beside_ours_stays(home: Path) -> None:
    path = home / ".claude" / "settings.json"
    run("attach", "claude-code", "--yes")
    changed = json.loads(path.read_text())
    own = {"type": "command", "command": "say done"}
    changed["hooks"]["Stop"][0]["hooks"].append(own)
    path.write_text(json.dumps(changed, indent=4))
    assert run("detach", "claude-code", "--yes") == 0
    left = json.loads(path.read_text())["hooks"]
    assert {event: entries for event, entries in left.items() if entries} == {"Stop": [{"hooks": [own]}]}


def test_a_comment_that_would_take_another_hook_away_stops_it(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / ".gemini" / "settings.json"
    run("attach", "gemini-cli", "--yes")
    ours = json.dumps(json.loads(path.read_text())["hooks"]["AfterTool"][0])
    path.write_text(before := f'{{"hooks": {{"AfterTool": [// mine\n{ours}, {{"hooks": []}}\n]}}}}')
    assert run("detach", "gemini-cli", "--yes") == 1
    assert path.read_text() == before
    assert "nothing was changed" in capsys.readouterr().err


def test_hooks_of_codex_that_are_in_toml_stay_there(home: Path) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(TOML)
    assert run("attach", "codex", "--yes") == 0
    assert list(tree(home)) == [".codex/config.toml"]
    hooks = tomllib.loads(path.read_text())["hooks"]
    assert [len(hooks[event]) for event in ("PostToolUse", "Stop", "UserPromptSubmit")] == [2, 1, 1]
    # Codex notes at the end what is trusted.
    path.write_text(path.read_text() + '\n[hooks.state."/x:stop:0:1"]\ntrusted_hash = "sha256:1"\n')
    assert run("detach", "codex", "--yes") == 0
    assert path.read_text() == TOML + '\n[hooks.state."/x:stop:0:1"]\ntrusted_hash = "sha256:1"\n'
    # What Codex has noted alone is no reason to write there.
    path.write_text('[hooks.state."/x:stop:0:1"]\ntrusted_hash = "sha256:1"\n')
    assert run("attach", "codex", "--yes") == 0
    assert (path.parent / "hooks.json").exists()


def test_a_project_is_attached_alone(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    for host in HOSTS:
        assert run("attach", host, "--project", str(project), "--yes") == 0
    assert sorted(tree(project)) == sorted(ATTACHED[host].project_file for host in HOSTS)
    assert tree(home) == {}
    for host in HOSTS:
        assert run("detach", host, "--project", str(project), "--yes") == 0
    assert tree(project) == {}


def test_secrets_are_the_users_alone(home: Path) -> None:
    assert run("attach", "codex", "--yes") == 0
    for path in (home / ".config" / "sidemirror").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((home / ".codex" / "hooks.json").stat().st_mode) == 0o600
    token = next(home.parent.rglob("http-token")).read_text().strip()
    assert token not in (home / ".codex" / "hooks.json").read_text()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "the file is not an object"),
        ('{\n"a": }', "line 2: a value is expected"),
        ('{"a": 1', "a comma or } is expected"),
        ('{"hooks": []}', "hooks is not an object"),
        ('{"hooks": {"Stop": {}}}', "hooks.Stop is not a list"),
        ('{\n"hooks": {},\n"hooks": {"Stop": []}}', "hooks is there twice, in line 2 and in line 3"),
        ('{"hooks": {"Stop": [],\n"Stop": []}}', "Stop is there twice, in line 1 and in line 2"),
    ],
)
def test_a_file_of_another_form_is_left_alone(
    text: str, told: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / ".codex" / "hooks.json"
    path.parent.mkdir()
    path.write_text(text)
    assert run("attach", "codex", "--yes") == 1
    assert told in capsys.readouterr().err
    assert path.read_text() == text


def test_bytes_that_are_no_text_are_a_bad_file_too(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail: 78, and `'utf-8' codec can't decode byte 0xff in position 7`."""
    path = home / ".codex" / "hooks.json"
    path.parent.mkdir()
    path.write_bytes(before := b'{\n\n"a\xff": 1}')
    for command in ("attach", "detach"):
        assert run(command, "codex", "--yes") == 1
        told = capsys.readouterr().err
        assert told == f"sidemirror: {path}: line 3: a byte there is no UTF-8; nothing was changed\n"
    assert path.read_bytes() == before


def test_a_file_that_cannot_be_written_leaves_no_token_behind(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail: the header of the file that was never attached stayed, and `detach` knew nothing of it."""
    (home / ".codex").symlink_to("/proc/nowhere")
    assert run("attach", "cursor", "--yes") == 0
    headers = [*(home / ".config" / "sidemirror").glob("hooks-header*")]
    capsys.readouterr()
    assert run("attach", "codex", "--yes") == 78
    assert "it cannot be written" in capsys.readouterr().err
    assert [*(home / ".config" / "sidemirror").glob("hooks-header*")] == headers


@pytest.mark.parametrize("shape", BARE)
@pytest.mark.parametrize("indent", [None, 2])
def test_lists_of_openhands_without_hooks_around_them_stay_in_force(shape: str, indent: int | None, home: Path) -> None:
    """Beside `hooks` it ignores them."""
    path = home / ".openhands" / "hooks.json"
    path.parent.mkdir()
    path.write_text(before := json.dumps(BARE[shape], indent=indent))
    assert run("attach", "openhands", "--yes") == 0
    written = json.loads(path.read_text())
    assert "hooks" not in written
    for event, entries in BARE[shape].items():
        assert written[event][-len(entries) or len(written[event]) :] == entries
    ours = [entry for entries in written.values() for entry in entries if "/hooks/openhands" in json.dumps(entry)]
    assert len(ours) == len(written.keys() - {"pre_tool_use"}) == len(ATTACHED["openhands"].events)
    assert run("attach", "openhands", "--yes") == 0
    assert json.loads(path.read_text()) == written
    # Another program has written the file anew.
    path.write_text(json.dumps(written, indent=4))
    assert run("detach", "openhands", "--yes") == 0
    assert json.loads(path.read_text()) == BARE[shape]
    path.write_text(before)
    assert run("attach", "openhands", "--yes") == 0
    assert run("detach", "openhands", "--yes") == 0
    assert path.read_text() == before


def test_what_an_earlier_version_has_put_around_is_mended(home: Path) -> None:
    path = home / ".openhands" / "hooks.json"
    assert run("attach", "openhands", "--yes") == 0
    text = path.read_text()
    path.write_text(text[: text.rindex("}")] + ', "pre_tool_use": []}')
    assert run("attach", "openhands", "--yes") == 0
    assert set(json.loads(path.read_text())) == {"pre_tool_use", *ATTACHED["openhands"].events}


def test_a_file_that_takes_the_place_of_another_is_told(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """OpenHands reads the project's file or the user's; the others read both."""
    project = tmp_path / "shop"
    project.mkdir()
    monkeypatch.chdir(project)
    for host in HOSTS:
        assert run("attach", host, "--yes") == 0
        assert "alone" not in capsys.readouterr().out
        assert run("attach", host, "--project", ".", "--yes") == 0
        told = capsys.readouterr().out
        if host == "openhands":
            assert f"reads {project / '.openhands/hooks.json'} alone when it works there" in told
        else:
            assert "alone" not in told
        assert run("attach", host, "--project", ".", "--yes") == 0
        assert "alone" not in capsys.readouterr().out
        assert run("attach", host) == 0
        assert ("alone when it works here" in capsys.readouterr().out) is (host == "openhands")


def test_what_is_attached_beside_it_is_told(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is written. Seen to fail: nothing said so, and each event came twice."""
    project = tmp_path / "my shop"
    (project / ".codex").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    def told(host: str, *more: str) -> list[str]:
        capsys.readouterr()
        assert run("attach", host, *more) == 0
        return [line for line in capsys.readouterr().out.splitlines() if "and runs both" in line]

    for host in HOSTS:
        users, projects = home / ATTACHED[host].user_file, project / ATTACHED[host].project_file
        assert told(host) == told(host, "--project", str(project)) == []
        assert told(host, "--yes") == told(host, "--yes") == []
        beside = told(host, "--project", str(project))
        assert len(beside) == (host != "openhands")
        assert all(f"is attached in {users} already" in line for line in beside)
        assert all(f"`sidemirror detach {host} --yes` takes that one out" in line for line in beside)
        assert told(host, "--project", str(project), "--yes") == beside
        beside = told(host)
        assert len(beside) == (host != "openhands")
        assert all(f"is attached in {projects} already" in line for line in beside)
        assert all(f"`sidemirror detach {host} --project '{project}' --yes` takes" in line for line in beside)
        assert run("detach", host, "--yes") == 0
        assert told(host, "--project", str(project)) == []
    # By a file that nobody has noted, and by one that cannot be read.
    monkeypatch.chdir(project)
    (home / ".config" / "sidemirror" / "attached.json").unlink()
    assert len(told("codex")) == 1
    (project / ".codex" / "config.toml").write_bytes(b"\xff")
    assert told("codex") == []
    # The home is no project of its own.
    assert run("attach", "codex", "--yes") == 0
    monkeypatch.chdir(home)
    assert told("codex") == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('model = "large"\nhooks.Stop = [{hooks = []}]\n', "line 2: hooks.Stop is written as one value"),
        ("\nhooks = {Stop = [{hooks = []}]}\n", "line 2: hooks is written as one value"),
        ('[hooks]\n# mine\nPreToolUse = []\n"Stop" = [{hooks = []}]\n', "line 4: hooks.Stop is written as one value"),
    ],
)
def test_toml_to_which_nothing_can_be_added_is_left_alone(
    text: str, told: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(text)
    assert run("attach", "codex", "--yes") == 1
    error = capsys.readouterr().err
    assert told in error
    assert "or move all hooks to hooks.json beside this file; nothing was changed" in error
    assert path.read_text() == text


def test_a_missing_project_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("attach", "codex", "--project", str(home / "nowhere")) == 78
    assert "--project" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{'a': 1}", '{"a" 1}', "{} {}", '{"a": 01x}', "nul", '"\n"', "/* {}"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(BadFile):
        parsed(text)
