"""`sidemirror console`: the link that it prints, and what it says where there is none."""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from sidemirror_server.cli import main
from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.operations import exit_codes
from tests.http.callers import bearing, request
from tests.http.sidecars import door
from tests.wire.access import ACME, UNKNOWN, write_access


@pytest.fixture(autouse=True)
def _as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SIDEMIRROR_")]:
        monkeypatch.delenv(name)


def asked(folder: Path, port: int, *more: str) -> int:
    return main(["console", "--data-dir", str(folder / "data"), "--http-address", f"127.0.0.1:{port}", *more])


def test_the_link_opens_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the door's own token, then with one of the access file."""
    for folder, given in ((tmp_path / "own", ""), (tmp_path / "access", ACME)):
        folder.mkdir()
        settings = {}
        if given:
            settings["access_file"] = str(write_access(folder / "access.json"))
            (folder / "token").write_text(f"{given}\n")
            monkeypatch.setenv("SIDEMIRROR_TOKEN_FILE", str(folder / "token"))
        with door(folder, settings) as server:
            assert asked(folder, server.http_port) == 0
            place, _, code = capsys.readouterr().out.strip().partition("#")
            assert place == f"http://127.0.0.1:{server.http_port}/console/"
            assert request(server.http_port, "/console/open", b"", bearing(code)).status == 200


def test_a_link_names_a_turn_and_a_scope(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with door(tmp_path) as server:
        for more, place in (
            (("--turn", "a/b ?#é"), "/turns/a%2Fb%20%3F%23%C3%A9"),
            (("--scope", "acme/shop 1"), "/turns?tenant=acme&project=shop+1"),
            (("--turn", "t", "--project-id", "shop"), "/turns/t?project=shop"),
            (("--scope", str(tmp_path)), f"/turns?project={project_of(str(tmp_path))}"),
        ):
            assert asked(tmp_path, server.http_port, *more) == 0
            behind = capsys.readouterr().out.strip().partition("#")[2]
            assert behind[behind.index("/") :] == place


def test_it_says_why_there_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing listens, nothing of ours listens, the token is another's, there is no token. None of them shows it."""
    (tmp_path / "data").mkdir(mode=0o700)
    assert asked(tmp_path, 1) == exit_codes.CONFIGURATION
    told = capsys.readouterr().err
    assert "http-token" in told
    # Seen to fail in another folder than the sidecar's, without a word of it.
    assert "name its data folder with --data-dir" in told
    # Seen to fail beside a sidecar without a door, in its own folder.
    assert "only `sidemirror serve --http` makes it, " in told
    # Seen to fail beside a sidecar with an access file, which never makes it.
    assert "without an access file" in told
    monkeypatch.setenv("SIDEMIRROR_ACCESS_FILE", str(write_access(tmp_path / "access.json")))
    assert asked(tmp_path, 1) == exit_codes.CONFIGURATION
    assert "no file with a token of the access file is named by SIDEMIRROR_TOKEN_FILE" in capsys.readouterr().err
    monkeypatch.delenv("SIDEMIRROR_ACCESS_FILE")
    (tmp_path / "data" / "http-token").touch(mode=0o600)
    (tmp_path / "data" / "http-token").write_text(UNKNOWN)
    assert asked(tmp_path, 1) == exit_codes.UNAVAILABLE
    other = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    thread = Thread(target=other.serve_forever)
    thread.start()
    try:
        assert asked(tmp_path, other.server_port) == exit_codes.UNAVAILABLE
    finally:
        other.shutdown()
        thread.join()
        other.server_close()
    assert "is no sidemirror" in capsys.readouterr().err
    (tmp_path / "other").mkdir()
    with door(tmp_path / "other") as server:
        assert asked(tmp_path, server.http_port) == exit_codes.FAILED
    refused = capsys.readouterr()
    assert "does not take the token" in refused.err
    assert "SIDEMIRROR_TOKEN_FILE" in refused.err
    assert UNKNOWN not in refused.out + refused.err


def test_a_token_that_others_can_read_is_not_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "http-token").write_text(UNKNOWN)
    (tmp_path / "data" / "http-token").chmod(0o644)
    assert asked(tmp_path, 1) == exit_codes.CONFIGURATION
    assert "http-token" in capsys.readouterr().err
