"""`sidemirror backup` and `sidemirror restore`: what they say, and their exit codes."""

import json
import os
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.cli import main
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
        assert main(["backup", file, "--data-dir", data]) == 1
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
    assert {**restored, "file": 0, "until_time": 0} == {**made, "file": 0, "until_time": 0, "folder": other}


def test_postgres_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIDEMIRROR_DATABASE_URL", "postgresql://x@y/z")
    for command in ("backup", "restore"):
        assert main([command, str(tmp_path / "file"), "--data-dir", str(tmp_path)]) == 78
        assert "docs/postgres-tenants.md" in capsys.readouterr().err
