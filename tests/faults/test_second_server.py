"""A second server where one is already fails loudly, and the first one goes on."""

import fcntl
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc
from sidemirror_server.rpc.listening.addresses import CannotListen, held_socket
from tests.faults.process import Process
from tests.faults.sidecars import channel

pytestmark = pytest.mark.slow("each server is a process, started until it serves or gives up")


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's name."""
    with tempfile.TemporaryDirectory(prefix="sm-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("place", ["port", "socket", "folder"])
async def test_refused(place: str, tmp_path: Path, short_folder: Path) -> None:
    """Seen to fail with `so_reuseport` on (port), without the lock of `held_socket` (socket), and without the lock of
    `FolderLock` (folder)."""
    path = str(short_folder / "s.sock")
    async with Process(tmp_path / "first", {"socket": path}) as first:
        shared = {
            "port": {"address": first.address},
            "socket": {"socket": path},
            "folder": {"data_dir": str(tmp_path / "first" / "data")},
        }
        second = Process(tmp_path / "second", shared[place])
        second.spawn()
        try:
            code, _ = await second.ended(within_s=60)
        finally:
            second.kill()
        assert code == 1
        told = [line for line in second.text().splitlines() if line.startswith("sidemirror: ")]
        expected = {
            "port": f"sidemirror: address '{first.address}': it is in use",
            "socket": f"sidemirror: socket '{path}': another server is listening there",
            "folder": f"in use by process {first.pid}",
        }
        assert len(told) == 1
        assert expected[place] in told[0]
        assert place != "folder" or told[0].startswith("sidemirror: data_dir (SIDEMIRROR_DATA_DIR): ")
        for address in (first.address, f"unix:{path}"):
            async with channel(address) as connection:
                stub = sidecar_pb2_grpc.SidecarServiceStub(connection)
                await stub.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=60)


async def test_what_a_killed_server_left_behind_is_no_obstacle(tmp_path: Path, short_folder: Path) -> None:
    """Seen to fail when `held_socket` refuses a path where a socket is, instead of removing it: the lock has told
    that nobody is there."""
    path = short_folder / "s.sock"
    process = Process(tmp_path, {"socket": str(path)})
    async with process:
        process.kill()
        assert path.is_socket()
        await process.start()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


@pytest.mark.parametrize("earlier", [False, True])
def test_the_sockets_group_cannot_hold_its_lock(earlier: bool, short_folder: Path) -> None:
    """An agent of the node has the socket's group; with the lock in its hand no server would start again. `earlier`: a
    server of before left a lock for the group. Seen to fail with mode 0640, and with one that only new files get."""
    short_folder.chmod(0o750)
    path = short_folder / "s.sock"
    lock = path.with_name("s.sock.lock")
    if earlier:
        lock.touch()
        lock.chmod(0o640)
    with held_socket(path):
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    if os.geteuid() == 0:
        assert _locked_by_an_agent(lock) == "PermissionError"
    with held_socket(path):
        pass


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path, short_folder: Path) -> None:
    """Whoever may write into the folder would choose whose mode is changed, or where a file is made. Seen to fail
    without O_NOFOLLOW: the other file had mode 0600."""
    other = tmp_path / "another file of the server's user"
    other.touch()
    other.chmod(0o644)
    (short_folder / "s.sock.lock").symlink_to(other)
    with pytest.raises(CannotListen, match="symbolic link"), held_socket(short_folder / "s.sock"):
        pass
    assert stat.S_IMODE(other.stat().st_mode) == 0o644


def _locked_by_an_agent(lock: Path) -> str:
    """What another user, of the same group alone, gets who asks for the lock: empty, or the name of the error."""
    group = lock.stat().st_gid
    reads, writes = os.pipe()
    if not (child := os.fork()):
        said = ""
        try:
            os.setgroups([group])
            os.setgid(10001)
            os.setuid(10001)
            fcntl.flock(os.open(lock, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the parent is told
            said = type(error).__name__
        finally:
            os.write(writes, said.encode())
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writes)
    with os.fdopen(reads) as told:
        return told.read()
