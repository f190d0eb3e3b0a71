"""The token that `sidemirror attach` hands to a host: whose it is, and who may read it."""

import resource
import stat
import subprocess
from pathlib import Path

import pytest

from sidemirror_server import cli
from tests.http.sidecars import door


def run(*arguments: str) -> int:
    return cli.main(arguments)


def token_file(folder: Path, content: bytes) -> str:
    path = folder / "token"
    path.touch(0o600)
    path.write_bytes(content)
    return str(path)


def test_a_file_with_the_token_is_its_owners_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text("{}")
    path.chmod(0o644)
    assert run("attach", "claude-code", "--yes") == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "which others may read" in capsys.readouterr().out
    # Once more for a file that was attached before this was looked at.
    path.chmod(0o644)
    assert run("attach", "claude-code", "--yes") == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert run("detach", "claude-code", "--yes") == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_git_is_asked_whether_it_would_take_the_token(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "shop"
    subprocess.run(("git", "init", "--quiet", str(project)), check=True)
    arguments = ("attach", "claude-code", "--project", str(project))
    assert run(*arguments) == 0
    assert "`git add` would take it" in capsys.readouterr().out
    (project / ".gitignore").write_text(".claude/\n")
    assert run(*arguments, "--yes") == 0
    assert "git add" not in capsys.readouterr().out
    assert run("attach", "codex", "--project", str(project)) == 0
    assert "git add" not in capsys.readouterr().out


def test_no_difference_shows_a_token(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = "a" * 40, "b" * 40
    assert run("attach", "claude-code", "--yes", "--token-file", token_file(tmp_path, old.encode())) == 0
    assert run("attach", "claude-code", "--token-file", token_file(tmp_path, new.encode())) == 0
    assert run("detach", "claude-code") == 0
    assert run("detach", "claude-code", "--yes") == 0
    told = capsys.readouterr()
    assert "Bearer [token]" in told.out
    assert not [one for one in (old, new) if one in told.out + told.err]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "it is empty"),
        (b"\n", "it is empty"),
        (b"x" * 40 + b"\r\nX-Evil: 1", "one line"),
        (b"x" * 40 + "é".encode(), "printable ASCII"),
    ],
)
def test_a_token_that_no_header_can_carry_is_refused(
    content: bytes, told: str, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("attach", "codex", "--yes", "--token-file", token_file(tmp_path, content)) == 78
    error = capsys.readouterr().err
    assert "--token-file" in error
    assert told in error
    assert not [*home.iterdir()]


def test_no_data_folder_is_made(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.delenv("SIDEMIRROR_DATA_DIR")
    for more in ((), ("--yes",)):
        assert run("attach", "codex", *more) == 78
        assert "data_dir: there is no data folder at" in capsys.readouterr().err
    assert not [*(tmp_path / "elsewhere").iterdir()]
    assert not [*home.iterdir()]


@pytest.mark.parametrize("exists", [True, False])
def test_a_full_disk_leaves_no_half_of_a_token(
    exists: bool, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No file may have a byte, as on a disk without room."""
    if exists:
        assert run("attach", "codex", "--yes") == 0
    before = sorted((tmp_path / "data").iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        code = run("attach", "cursor", "--yes")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == 78
    assert "http-token: File too large" in capsys.readouterr().err
    assert sorted((tmp_path / "data").iterdir()) == before
    assert not (home / ".cursor").exists()


def test_a_running_sidecar_is_asked_whether_it_takes_the_token(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with door(tmp_path / "served") as server:
        monkeypatch.setenv("SIDEMIRROR_DATA_DIR", str(server.folder / "data"))
        monkeypatch.setenv("SIDEMIRROR_HTTP_ADDRESS", f"127.0.0.1:{server.http_port}")
        # Before it is written, too: seen to fail with the need of a sidecar that answered.
        assert run("attach", "codex") == 0
        told = capsys.readouterr().out
        assert "Nothing was changed: --yes writes this. A sidecar answers at" in told
        assert run("attach", "codex", "--yes") == 0
        told = capsys.readouterr().out
        assert "A sidecar answers at" in told
        assert "It needs a sidecar" not in told
        assert run("attach", "codex", "--yes", "--token-file", token_file(tmp_path, b"x" * 40)) == 1
        assert "refused with 401" in capsys.readouterr().err
    assert run("attach", "codex", "--yes") == 0
    assert "It needs a sidecar there" in capsys.readouterr().out


def test_an_access_file_asks_for_a_token_file(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIDEMIRROR_ACCESS_FILE", str(tmp_path / "access.json"))
    assert run("attach", "codex") == 78
    told = capsys.readouterr().err
    assert "--token-file" in told
    assert "digest" not in told


def test_files_that_are_deep_or_begin_with_a_mark(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"a": ' + "[" * 3000 + "]" * 3000 + "}")
    assert run("attach", "claude-code", "--yes") == 1
    assert "line 1: it is nested more than 200 deep" in capsys.readouterr().err
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert run("attach", "claude-code", "--yes") == 0
    assert run("detach", "claude-code", "--yes") == 0
    assert path.read_bytes() == b'\xef\xbb\xbf{"a": 1}'
