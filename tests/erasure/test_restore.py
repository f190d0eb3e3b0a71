"""A backup from before an erasure, restored: the tombstones are applied to it, and bring nothing back.

Seen to fail with an eraser that put no tombstones into the restored store."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import reflective_memory_pb2 as rm
from sidemirror.v1 import sidecar_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.assembly import erase_again, tombstones_in
from sidemirror_server.cli import main
from sidemirror_server.operations.erase import buried_in
from sidemirror_server.settings import load
from sidemirror_server.storage.sqlite.database import FILE_NAME
from tests.erasure.people import Stubs, canary, live, shown, subject
from tests.erasure.test_erase import in_files
from tests.wire.sidecar import sidecar


def test_a_restored_backup_does_not_bring_it_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, restored = tmp_path / "before", tmp_path / "after"
    word = canary(0)
    with sidecar(folder) as server, grpc.insecure_channel(server.address) as channel:
        stubs = Stubs(channel)
        for person in range(3):
            live(stubs, person)
        (restored / "data").mkdir(parents=True)
        with (
            closing(sqlite3.connect(folder / "data" / FILE_NAME)) as source,
            closing(sqlite3.connect(restored / "data" / FILE_NAME)) as target,
        ):
            source.backup(target)
        stubs.sidecar.Erase(sidecar_pb2.EraseRequest(subject_id=subject(0)))
        kept = told(stubs)
        # The person is back, and what is said from now on is no part of the erasure.
        stubs.thinking.StartTurn(pb.StartTurnRequest(turn_id="new", task="hello again", subject_ids=[subject(0)]))
        assert main(["erase", "--list", "--address", server.address]) == 0
    listed = buried_in(capsys.readouterr().out.splitlines())
    buried = tombstones_in(folder / "data" / FILE_NAME)
    assert sorted(listed) == sorted(buried)
    assert in_files(restored / "data", word)
    settings = load({"data_dir": str(restored / "data")}, {})
    assert asyncio.run(erase_again(settings, buried)) > 10
    assert not any(in_files(restored / "data", word).values())
    assert asyncio.run(erase_again(settings, buried)) == 0
    with sidecar(restored) as server, grpc.insecure_channel(server.address) as channel:
        stubs = Stubs(channel)
        assert told(stubs) == kept
    assert not any(in_files(restored / "data", word).values())


def test_restore_erases_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command itself: by the store that it replaces, and by a list of tombstones."""
    data, backup, listed, other = (str(tmp_path / name) for name in ("data", "backup", "listed", "other"))
    with sidecar(tmp_path) as server, grpc.insecure_channel(server.address) as channel:
        stubs = Stubs(channel)
        for person in range(2):
            live(stubs, person)
        with closing(sqlite3.connect(f"{data}/{FILE_NAME}")) as source, closing(sqlite3.connect(backup)) as target:
            source.backup(target)
        stubs.sidecar.Erase(sidecar_pb2.EraseRequest(subject_id=subject(0)))
        kept = told(stubs)
        assert main(["erase", "--list", "--address", server.address]) == 0
    Path(listed).write_text(capsys.readouterr().out)
    assert main(["restore", backup, "--data-dir", data, "--replace"]) == 0
    assert "of its records were erased again" in capsys.readouterr().out
    assert main(["restore", backup, "--data-dir", other, "--erased", listed]) == 0
    for folder in (Path(data), Path(other)):
        assert not any(in_files(folder, canary(0)).values())
        assert any(in_files(folder, canary(1)).values())
    with sidecar(tmp_path) as server, grpc.insecure_channel(server.address) as channel:
        assert told(Stubs(channel)) == kept
    assert main(["restore", backup, "--data-dir", other, "--replace", "--erased", backup]) == 65


def told(stubs: Stubs) -> list[str]:
    """What is shown, but for when a memory was made anew."""
    found = []
    for one in shown(stubs):
        if isinstance(one, rm.Memory):
            one.ClearField("update_time")
        found.append(str(one))
    return sorted(found)


def test_what_came_later_stays(tmp_path: Path) -> None:
    """In a store that is newer than its tombstones, as after a restored backup from after the erasure."""
    with sidecar(tmp_path) as server, grpc.insecure_channel(server.address) as channel:
        stubs = Stubs(channel)
        stubs.sidecar.Erase(sidecar_pb2.EraseRequest(subject_id=subject(0)))
        live(stubs, 0)
        kept = told(stubs)
    settings = load({"data_dir": str(tmp_path / "data")}, {})
    assert asyncio.run(erase_again(settings, tombstones_in(tmp_path / "data" / FILE_NAME))) == 0
    with sidecar(tmp_path) as server, grpc.insecure_channel(server.address) as channel:
        assert told(Stubs(channel)) == kept


def test_a_store_of_before_has_no_tombstones(tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    sqlite3.connect(file).close()
    assert tombstones_in(file) == ()


@pytest.mark.parametrize("line", ["", "[]", "{}", '{"kind": "turn", "digest": "zz", "erase_time": "now"}'])
def test_a_line_that_is_no_tombstone_is_named(line: str) -> None:
    with pytest.raises(ValueError, match=r"^line 1 is no tombstone"):
        buried_in([line])
