"""The data folder: locked by one process, private to its owner, and on a file system that SQLite's WAL can trust."""

import contextlib
import fcntl
import logging
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from sidemirror_server.vocabulary.errors import StoreInUse, StoreRefused

_log = logging.getLogger(__name__)

# The WAL needs memory shared between processes and reliable locks. Network file systems, and those that a hypervisor or
# a daemon passes through, have neither. The names are those of /proc/self/mountinfo. Measured: a virtiofs mount
# corrupted a database within a minute; the same load on ext4 did no damage in half an hour.
_UNSAFE_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "9p", "virtiofs", "afs", "ceph", "lustre", "glusterfs"}
)
_MOUNTINFO = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


class FolderLock:
    """Locks the data folder for this process until `release`, or until the process ends in any way."""

    def __init__(self, folder: Path) -> None:
        """Creates the folder (0700) if it is missing. Raises StoreRefused if it cannot be used, StoreInUse."""
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
            raise StoreInUse(folder=str(folder), reason=f"in use by process {holder}") from exc
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, b"%d\n" % os.getpid(), 0)

    def release(self) -> None:
        """Unlocks the folder. The lock file stays: without it two processes could each lock a file of that name."""
        os.close(self._file)


class BackupMark:
    """Says that a backup reads the store: its writer then does not wait until the WAL can be emptied, and no restore
    begins. It ends with the process of the backup, however that ends."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "backup.lock"

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Sets it within the block. Raises OSError when this user may not write the folder."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            give_to_owner(self._path.parent, self._path)
            fcntl.flock(file, fcntl.LOCK_SH)
            yield
        finally:
            os.close(file)

    def is_set(self) -> bool:
        """Whether any process has set it."""
        try:
            file = os.open(self._path, os.O_RDWR)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(file)
        return False


def give_to_owner(folder: Path, *paths: Path) -> None:
    """Gives what root has made in the folder to the folder's owner, as whom the sidecar runs."""
    if os.geteuid() == 0:
        owner = folder.stat()
        for path in paths:
            os.chown(path, owner.st_uid, owner.st_gid)


def keep_private(path: Path) -> None:
    """Creates the database file if it is missing. Sets it and the files whose names begin with its name (`-wal`,
    `-shm`, backups) to mode 0600.

    SQLite creates its WAL and shared memory with the mode of the database. Files that other users can still read are
    logged. Raises StoreRefused when the file cannot be created.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        pass
    except OSError as exc:
        raise StoreRefused(file=str(path), reason=f"cannot be made: {exc.strerror}") from exc
    for file, _ in _open_files(path):
        with contextlib.suppress(PermissionError):  # another user's file: logged below
            file.chmod(0o600)
    for found, mode in open_to_others(path):
        _log.warning("store_open_to_others", extra={"path": str(found), "mode": mode})
    for found, mode in replaceable_in(path.parent):
        _log.warning("store_replaceable_by_others", extra={"path": str(found), "mode": mode})


def open_to_others(path: Path) -> tuple[tuple[Path, str], ...]:
    """The database files at `path` that anyone but their owner may access, and their folder if it is open to every
    user; each with its mode in octal. Raises OSError when the folder cannot be read.

    A folder that is open only to its group is not listed: Kubernetes volumes are like that, with private files.
    """
    mode = _mode(path.parent)
    return (*(((path.parent, f"{mode:04o}"),) if mode & 0o007 else ()), *_open_files(path))


def replaceable_in(folder: Path) -> tuple[tuple[Path, str], ...]:
    """The folders above this one in which every user may rename it, or what leads to it, and put something else in its
    place; each with its mode in octal. In a folder with the sticky bit, such as /tmp, nobody may rename what belongs to
    others."""
    found = []
    for above in folder.resolve().parents:
        with contextlib.suppress(OSError):  # it is missing, or may not be looked into
            mode = _mode(above)
            if mode & 0o002 and not mode & stat.S_ISVTX:
                found.append((above, f"{mode:04o}"))
    return tuple(found)


def _open_files(path: Path) -> list[tuple[Path, str]]:
    files = ((file, _mode(file)) for file in sorted(path.parent.glob(f"{path.name}*")) if file.is_file())
    return [(file, f"{mode:04o}") for file, mode in files if mode & 0o077]


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refuse_unsafe_file_system(folder: Path, mountinfo: Path = _MOUNTINFO) -> None:
    """Raises StoreRefused when the folder is on a network or pass-through file system.

    Without mountinfo (macOS) nothing is refused.
    """
    kind = file_system_of(folder, mountinfo)
    if kind in _UNSAFE_FILE_SYSTEMS or kind == "fuse" or kind.startswith("fuse."):
        cause = f"is on {kind}, where SQLite loses data"
        raise StoreRefused(folder=str(folder), reason=cause, remedy="choose a folder on a local disk")


def file_system_of(folder: Path, mountinfo: Path = _MOUNTINFO) -> str:
    """The type of the file system that the folder is on, or would be on; empty without mountinfo."""
    try:
        mounts = mountinfo.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    return _file_system(folder.resolve(), mounts)


def _file_system(folder: Path, mounts: str) -> str:
    """The type of the deepest mount that contains the folder. Of several mounts on one point the last hides the others.

    In a line of mountinfo (proc_pid_mountinfo(5)) the fifth field is the mount point, with blanks and other special
    characters escaped in octal. The type is the first field after the single dash.
    """
    best, kind = -1, ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        point = Path(_ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), fields[4]))
        depth = len(point.parts)
        if depth >= best and folder.is_relative_to(point):
            best, kind = depth, fields[fields.index("-", 6) + 1]
    return kind
