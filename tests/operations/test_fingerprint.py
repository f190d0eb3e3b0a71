"""`sidemirror fingerprint`: it says what the log calls a token, and never the token."""

import hashlib
import io
import sys
from pathlib import Path

import pytest

from sidemirror_server.cli import main
from sidemirror_server.operations import exit_codes
from tests.wire.access import ACME, UNKNOWN, write_access


def of(token: str) -> str:
    return f"sha256:{hashlib.sha256(token.encode()).hexdigest()[:8]}"


def test_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the end of its line, which is no part of the token. Seen to fail when it is."""
    file = tmp_path / "token"
    file.write_text(f"{UNKNOWN}\n")
    assert main(["fingerprint", str(file)]) == 0
    assert capsys.readouterr() == (f"{of(UNKNOWN)}\n", "")


def test_of_stdin_with_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIDEMIRROR_ACCESS_FILE", str(write_access(tmp_path / "access.json")))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ACME.encode())))
    assert main(["fingerprint"]) == 0
    assert capsys.readouterr() == (f"{of(ACME)} acme\n", "")


@pytest.mark.parametrize("text", ["", "short", "two words that are long enough"])
def test_what_is_no_token(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "token").write_text(text)
    assert main(["fingerprint", str(tmp_path / "token")]) == exit_codes.DATA
    told = capsys.readouterr()
    assert told.out == ""
    assert "this is no token" in told.err


def test_a_file_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fingerprint", str(tmp_path / "none")]) == exit_codes.NO_INPUT
    assert capsys.readouterr().err == f"sidemirror: {tmp_path}/none: No such file or directory\n"
