"""Inspects a data folder for `doctor`. It works while a server uses the folder, and changes nothing in it."""

import contextlib
import fcntl
import os
import shutil
import sqlite3
import time
from pathlib import Path

import msgspec

from sidemirror_server.storage.sqlite.database import FILE_NAME
from sidemirror_server.storage.sqlite.disk_pace import SLOW_S
from sidemirror_server.storage.sqlite.folder import (
    file_system_of,
    open_to_others,
    refuse_unsafe_file_system,
    replaceable_in,
)
from sidemirror_server.storage.sqlite.migrate import applied_in, check_applied, read_migrations
from sidemirror_server.vocabulary.errors import StoreRefused

# How many complaints of `quick_check` are reported.
_COMPLAINTS = 3
# How often the disk is timed, and when no more. Chosen here: one slow write in five is not a slow disk.
_WRITES, _TIMED_S = 5, 1.0
_RESTORE = "stop the server, keep a copy of the folder, and restore a backup"
# A page of SQLite.
_PAGE = bytes(4096)


class Examined(msgspec.Struct, frozen=True):
    """The state of a data folder.

    `free_bytes`: None if no folder can be there. `held_by`: the process that has the lock, empty if none has, None if
    that cannot be seen. `schema`: the number of applied migrations, and of those that this server knows; None if the
    store cannot be read. `newest_us`: the last update of any turn, 0 without turns. `problems`: why a server
    could not or should not use the folder. `open_to_others`: the folder and the files in it that other users
    may read, with their modes. `replaceable_in`: folders in which other users may put something else in its place.
    `write_s`: how long the disk takes to keep 4 KiB; None where that cannot be seen.
    """

    folder: Path
    exists: bool
    file_system: str
    free_bytes: int | None
    size_bytes: int = 0
    held_by: str | None = None
    schema: tuple[int, int] | None = None
    newest_us: int = 0
    problems: tuple[StoreRefused, ...] = ()
    open_to_others: tuple[tuple[Path, str], ...] = ()
    replaceable_in: tuple[tuple[Path, str], ...] = ()
    write_s: float | None = None

    @property
    def is_slow(self) -> bool:
        """Whether agents wait for the disk."""
        return self.write_s is not None and self.write_s >= SLOW_S


def examine(folder: Path) -> Examined:
    """Inspects the folder. Faults of the folder are reported in `problems`, not raised."""
    folder = folder.absolute()
    # Not `Path.exists`, which raises if a parent folder may not be searched.
    there = next(path for path in (folder, *folder.parents) if os.path.exists(path))  # noqa: PTH110
    problems, is_fixed = [], False
    try:
        refuse_unsafe_file_system(folder)
    except StoreRefused as refused:
        problems.append(refused)
    if not there.is_dir():
        problems.append(_refused(f"{there} is no folder", "choose another data_dir"))
    elif is_fixed := bool(os.statvfs(there).f_flag & os.ST_RDONLY):
        cause = f"{there} is on a file system that is mounted read-only"
        problems.append(_refused(cause, "mount it so that it can be written to, or choose another data_dir"))
    elif not os.access(there, os.R_OK | os.W_OK | os.X_OK):
        cause = f"{there} cannot be read and written by user {os.geteuid()}"
        problems.append(_refused(cause, "give that user the folder, or choose another data_dir"))
    is_seen = there.is_dir() and os.access(there, os.R_OK | os.X_OK)
    found = Examined(
        folder=folder,
        exists=os.path.isdir(folder),  # noqa: PTH112
        file_system=file_system_of(folder),
        free_bytes=shutil.disk_usage(there).free if there.is_dir() else None,
        held_by="" if is_seen else None,
        schema=(0, len(read_migrations())) if is_seen else None,
        problems=tuple(problems),
        replaceable_in=replaceable_in(folder),
    )
    if not found.exists or not is_seen:
        return found
    found = msgspec.structs.replace(found, open_to_others=open_to_others(folder / FILE_NAME), write_s=_write_s(folder))
    parts = [folder / f"{FILE_NAME}{suffix}" for suffix in ("", "-wal", "-shm")]
    size_bytes = sum(path.stat().st_size for path in parts if path.is_file())
    found = msgspec.structs.replace(found, size_bytes=size_bytes, held_by=_holder(folder / "lock"))
    if not (folder / FILE_NAME).exists():
        return _without_store(found) if found.held_by else found
    if is_fixed:
        return msgspec.structs.replace(found, schema=None)
    closed = [path.name for path in parts if path.exists() and not os.access(path, os.R_OK | os.W_OK)]
    if closed:
        cause = f"{' and '.join(closed)} cannot be read and written by user {os.geteuid()} (permissions)"
        remedy = "run this as the sidecar's user, or chown and chmod 0600 the files"
        return _with_problem(msgspec.structs.replace(found, schema=None), cause, remedy)
    return _with_content(found)


def _write_s(folder: Path) -> float | None:
    """The median of some writes to a file without a name, which is gone when it is closed. None where the system or the
    file system has no such files, or the disk is full."""
    if not hasattr(os, "O_TMPFILE"):
        return None
    took: list[float] = []
    try:
        file = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
        try:
            while len(took) < _WRITES and sum(took) < _TIMED_S:
                began_s = time.perf_counter()
                os.write(file, _PAGE)
                os.fsync(file)
                took.append(time.perf_counter() - began_s)
        finally:
            os.close(file)
    except OSError:
        return None
    return sorted(took)[len(took) // 2]


def _without_store(found: Examined) -> Examined:
    cause = f"{FILE_NAME} is missing, and process {found.held_by} has the folder"
    return _with_problem(found, cause, "put the file back, or restore a backup; then restart that process")


def _with_problem(found: Examined, cause: str, remedy: str) -> Examined:
    return msgspec.structs.replace(found, problems=(*found.problems, _refused(cause, remedy)))


def _refused(cause: str, remedy: str) -> StoreRefused:
    return StoreRefused(store="sqlite", reason=cause, remedy=remedy)


def _holder(lock: Path) -> str | None:
    """The process that holds the lock; empty when none does, None when that cannot be seen."""
    try:
        file = os.open(lock, os.O_RDWR)
    except FileNotFoundError:
        return ""
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return os.pread(file, 20, 0).decode("ascii", "replace").strip() or "unknown"
    finally:
        os.close(file)
    return ""


def _with_content(found: Examined) -> Examined:
    known = read_migrations()
    try:
        with contextlib.closing(_read_only(found.folder / FILE_NAME)) as connection:
            applied = applied_in(connection)
            complaints = [
                str(row[0]) for row in connection.execute(f"PRAGMA quick_check({_COMPLAINTS})") if row[0] != "ok"
            ]
            (newest_us,) = connection.execute("SELECT coalesce(max(updated_us), 0) FROM turns").fetchone()
    except sqlite3.Error as error:
        unread = msgspec.structs.replace(found, schema=None)
        return _with_problem(unread, f"{FILE_NAME} cannot be read: {error}", _RESTORE)
    damages = (_refused(f"{FILE_NAME} is damaged: {complaint}", _RESTORE) for complaint in complaints)
    problems = [*found.problems, *damages]
    try:
        check_applied(applied, known)
    except StoreRefused as refused:
        problems.append(refused)
    return msgspec.structs.replace(
        found, schema=(len(applied), len(known)), newest_us=newest_us, problems=tuple(problems)
    )


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=1.0)
