"""The data folder: one process owns it, and it lies on a file system that SQLite's WAL can trust."""

import contextlib
import fcntl
import logging
import os
import re
import stat
from pathlib import Path

from sidemirror_server.vocabulary.errors import StoreRefused

_log = logging.getLogger(__name__)

# WAL needs memory shared between processes and locks that hold: network file systems, and those that a hypervisor or
# a daemon passes through, give neither. The names are those of /proc/self/mountinfo (reliability-and-security, B8:
# a virtiofs mount corrupted a database within a minute that ext4 kept for half an hour).
_UNSAFE_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "9p", "virtiofs", "afs", "ceph", "lustre", "glusterfs"}
)
_MOUNTINFO = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


class FolderLock:
    """Holds the data folder for this process until `release`, or until the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        """Creates the folder (0700) when it is missing. Raises StoreRefused when it cannot be had."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as exc:
            raise StoreRefused(folder=str(folder), reason=f"cannot be used as data folder: {exc.strerror}") from exc
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            holder = os.pread(self._file, 20, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise StoreRefused(folder=str(folder), reason=f"in use by process {holder}") from exc
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, b"%d\n" % os.getpid(), 0)

    def release(self) -> None:
        """Lets another process have the folder. The lock file stays: removing it would let two processes in."""
        os.close(self._file)


def keep_private(path: Path) -> None:
    """Makes the database file when it is missing; it and what lies beside it under its name (`-wal`, `-shm`, a backup)
    are its owner's alone (0600) afterwards.

    SQLite gives its WAL and shared memory the mode of the database, so they stay so. What others can read all the same
    is logged. Raises StoreRefused when the file cannot be made.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        pass
    except OSError as exc:
        raise StoreRefused(file=str(path), reason=f"cannot be made: {exc.strerror}") from exc
    for file, _ in _open_files(path):
        with contextlib.suppress(PermissionError):  # another user's file: it is told of below
            file.chmod(0o600)
    for found, mode in open_to_others(path):
        _log.warning("store_open_to_others", extra={"path": str(found), "mode": mode})


def open_to_others(path: Path) -> tuple[tuple[Path, str], ...]:
    """The folder of the database at `path`, when every user may look into it, and the database's files that others than
    their owner may read, each with its mode in octal. Raises OSError when the folder may not be looked into.

    A folder that is open to its group is none of them: a volume of Kubernetes is, and its files are not.
    """
    mode = _mode(path.parent)
    return (*(((path.parent, f"{mode:04o}"),) if mode & 0o007 else ()), *_open_files(path))


def _open_files(path: Path) -> list[tuple[Path, str]]:
    files = ((file, _mode(file)) for file in sorted(path.parent.glob(f"{path.name}*")) if file.is_file())
    return [(file, f"{mode:04o}") for file, mode in files if mode & 0o077]


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refuse_unsafe_file_system(folder: Path, mountinfo: Path = _MOUNTINFO) -> None:
    """Raises StoreRefused when the folder is on a network or pass-through file system.

    Where the system does not tell (no mountinfo: macOS), nothing is refused.
    """
    kind = file_system_of(folder, mountinfo)
    if kind in _UNSAFE_FILE_SYSTEMS or kind == "fuse" or kind.startswith("fuse."):
        raise StoreRefused(
            folder=str(folder), reason=f"is on {kind}, where SQLite loses data; choose a folder on a local disk"
        )


def file_system_of(folder: Path, mountinfo: Path = _MOUNTINFO) -> str:
    """The type of the file system that the folder is on, or would be; empty where the system does not tell."""
    try:
        mounts = mountinfo.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    return _file_system(folder.resolve(), mounts)


def _file_system(folder: Path, mounts: str) -> str:
    """The type of the deepest mount that holds the folder; of several on one point the last, which covers the rest.

    A line of mountinfo (proc_pid_mountinfo(5)): the fifth field is the mount point, with blanks and the like escaped
    in octal; the type is the first field after the one that is a single dash.
    """
    best, kind = -1, ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        point = Path(_ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), fields[4]))
        depth = len(point.parts)
        if depth >= best and folder.is_relative_to(point):
            best, kind = depth, fields[fields.index("-", 6) + 1]
    return kind
