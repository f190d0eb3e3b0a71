"""`sidemirror backup` and `sidemirror restore`: what they say, and their exit codes."""

import json
import os
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.cli import main
from sidemirror_server.storage.sqlite.checksum import CHECKSUM_BYTES
from tests.faults.sidecars import running


@pytest.fixture(autouse=True)
def no_nicer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' own process keeps its priority."""
    monkeypatch.setattr(os, "nice", lambda _: 0)


async def test_what_they_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, file, other = str(tmp_path / "data"), str(tmp_path / "backup"), str(tmp_path / "other")
    async with running(tmp_path) as served:
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="t"), timeout=60)
        assert main(["backup", file, "--data-dir", data]) == 0
        told = capsys.readouterr().out
        assert told.startswith(f"{file} has everything that was acknowledged before 20")
        assert " rows, schema " in told
        assert ", the last turn of 20" in told
        assert main(["backup", file, "--data-dir", data]) == 73
        assert capsys.readouterr().err == (
            f"sidemirror: {file}: it is there already, and a backup overwrites nothing\n"
        )
        assert main(["restore", file, "--data-dir", data, "--replace"]) == 1
        assert capsys.readouterr().err.startswith(f"sidemirror: {data}: in use by process ")
    assert main(["restore", file, "--data-dir", data]) == 1
    assert "there is a store already" in capsys.readouterr().err
    assert main(["restore", file, "--data-dir", data, "--replace"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{data} has the store of {file} now: ")
    assert f"The store from before is {data}/sidemirror.db-replaced-20" in told

    assert main(["backup", f"{file}2", "--data-dir", data, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert set(made) == {
        *("file", "until_time", "size_bytes", "rows", "migrations", "known_migrations", "newest_time"),
    }
    assert main(["restore", f"{file}2", "--data-dir", other, "--json"]) == 0
    restored = json.loads(capsys.readouterr().out)
    more = {"folder": other, "had_checksum": True}
    assert {**restored, "file": 0, "until_time": 0} == {**made, "file": 0, "until_time": 0, **more}


async def test_what_it_cannot_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail when each of them is 1."""
    data, file, other = str(tmp_path / "data"), tmp_path / "backup", str(tmp_path / "other")
    assert main(["backup", str(file), "--data-dir", data]) == 1
    assert capsys.readouterr().err == f"sidemirror: {data}: there is no store\n"
    async with running(tmp_path):
        assert main(["backup", str(tmp_path / "missing" / "backup"), "--data-dir", data]) == 73
        assert main(["backup", str(file), "--data-dir", data]) == 0
    raw = file.read_bytes()
    for content, code, told in (
        (raw[:5000] + bytes([raw[5000] ^ 1]) + raw[5001:], 65, "its bytes and its checksum differ"),
        (b"x" * 5000, 65, "its bytes and its checksum differ"),
        (b"x" * 5120, 65, "it is no whole store of a sidecar"),
        (None, 66, "No such file or directory"),
    ):
        file.unlink()
        if content is not None:
            file.write_bytes(content)
            file.chmod(0o600)
        capsys.readouterr()
        assert main(["restore", str(file), "--data-dir", other]) == code, told
        assert told in capsys.readouterr().err
    file.write_bytes(raw)
    file.chmod(0o620)
    assert main(["restore", str(file), "--data-dir", other]) == 66
    file.chmod(0o600)
    (tmp_path / "erased").write_text("nonsense\n")
    for erased, code in (("erased", 65), ("missing", 66)):
        assert main(["restore", str(file), "--data-dir", other, "--erased", str(tmp_path / erased)]) == code
    file.write_bytes(raw[:-CHECKSUM_BYTES])
    capsys.readouterr()
    assert main(["restore", str(file), "--data-dir", other, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["had_checksum"] is False
    assert err.startswith(f"sidemirror: {file}: it has no checksum")


def test_postgres_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIDEMIRROR_DATABASE_URL", "postgresql://x@y/z")
    for command in ("backup", "restore"):
        assert main([command, str(tmp_path / "file"), "--data-dir", str(tmp_path)]) == 78
        assert "docs/postgres-tenants.md" in capsys.readouterr().err
