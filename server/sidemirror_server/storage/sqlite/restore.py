"""Puts a backup in the place of the store, while no sidecar serves the folder. For `sidemirror restore`.

The store is a whole one at any moment, the old one or the new one, whenever this process is killed: the backup is
copied and examined in a folder of its own, and then takes the store's name in one step.
"""

import contextlib
import datetime
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from sidemirror_server.storage.sqlite.backup import StoreFile, examine_copy, refusing, sync_folder
from sidemirror_server.storage.sqlite.checksum import copy_checked
from sidemirror_server.storage.sqlite.database import FILE_NAME
from sidemirror_server.storage.sqlite.folder import BackupMark, FolderLock, give_to_owner, refuse_unsafe_file_system
from sidemirror_server.vocabulary.errors import StoreRefused

# The folder within the data folder in which a store is made ready. Nothing reads what a killed restore leaves there.
STAGE = "restoring"
# What SQLite keeps beside a database file: the WAL, which is a part of it, and an index of the WAL, which is not.
_WAL, _INDEX = "-wal", "-shm"
# How long another program may hold up the store that is there. Chosen here: somebody's look takes less, or is told.
_PATIENCE_S = 1.0


class Restored(msgspec.Struct, frozen=True):
    """A restored store. `replaced`: the file that has the store from before, None if there was none. `erased`: how many
    records were erased in it again. `had_checksum`: False for a backup of an earlier version, in which a changed byte
    may go unnoticed."""

    folder: Path
    holds: StoreFile
    replaced: Path | None
    erased: int
    had_checksum: bool


def _nothing(_: Path) -> int:
    return 0


def restore(
    folder: Path, file: Path, now_us: int, *, replace: bool, erase_again: Callable[[Path], int] = _nothing
) -> Restored:
    """Makes the backup `file` the store in `folder`. `replace`: a store that is there is kept beside it, else refused.
    `erase_again` gets the folder in which the store is made ready, and erases there what was erased since the backup.

    Raises StoreRefused, and the store is as it was: a sidecar or a backup uses the folder, there is a store, or the
    file cannot be used (newer than this server, or others may write it; StoreDamaged: no store, or changed).
    """
    folder, file = folder.absolute(), file.absolute()
    with refusing(file):
        _check_origin(file, folder)
        with _locked(folder):
            old = [part for part in _parts(folder) if os.path.lexists(part)]
            if old and not replace:
                raise StoreRefused(folder=str(folder), reason="there is a store already; --replace keeps it beside")
            with _stage(folder) as stage:
                made = stage / FILE_NAME
                had_checksum = _copy(file, made)
                holds = examine_copy(made, file)
                erased = erase_again(stage)
                replaced = _keep_beside(folder, now_us) if old else None
                give_to_owner(folder, made)
                made.rename(folder / FILE_NAME)
                sync_folder(folder)
    return Restored(folder, holds, replaced, erased, had_checksum)


def _parts(folder: Path) -> list[Path]:
    return [folder / f"{FILE_NAME}{suffix}" for suffix in ("", _WAL, _INDEX)]


def _check_origin(file: Path, folder: Path) -> None:
    """Refuses a file that is not whole, or that others could have written: what it holds is told to agents."""
    found = file.stat()
    if not stat.S_ISREG(found.st_mode):
        raise StoreRefused(file=str(file), reason="it is no file")
    with contextlib.suppress(FileNotFoundError):
        if file.samefile(folder / FILE_NAME):
            raise StoreRefused(file=str(file), reason="it is the store itself")
    wal = file.with_name(f"{file.name}{_WAL}")
    if wal.exists() and wal.stat().st_size:
        raise StoreRefused(file=str(file), reason=f"{wal.name} beside it has a part of it: it is no backup")
    owners = {0, os.geteuid(), *([folder.stat().st_uid] if folder.exists() else [])}
    if found.st_uid not in owners:
        raise StoreRefused(file=str(file), reason=f"it is user {found.st_uid}'s: chown it if you trust it")
    if found.st_mode & 0o022:
        mode = f"{stat.S_IMODE(found.st_mode):04o}"
        raise StoreRefused(file=str(file), reason=f"others may write it (mode {mode}): chmod 0600 if you trust it")


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keeps sidecars, backups and other restores away. Makes the folder if it is missing."""
    lock = FolderLock(folder)
    try:
        give_to_owner(folder, folder / "lock")
        refuse_unsafe_file_system(folder)
        if BackupMark(folder).is_set():
            raise StoreRefused(folder=str(folder), reason="a backup reads it")
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _stage(folder: Path) -> Iterator[Path]:
    """A folder of the data folder, empty at first and gone at the end."""
    stage = folder / STAGE
    if stage.exists():
        shutil.rmtree(stage)
    stage.mkdir(mode=0o700)
    try:
        yield stage
    finally:
        shutil.rmtree(stage)


def _copy(file: Path, made: Path) -> bool:
    """Copies the backup's store; returns whether its bytes were compared with a checksum. Raises StoreDamaged."""
    with made.open("xb") as target:
        made.chmod(0o600)
        had_checksum = copy_checked(file, target)
        target.flush()
        os.fsync(target.fileno())
    return had_checksum


def _keep_beside(folder: Path, now_us: int) -> Path:
    """Gives the store a second name and takes its WAL away; returns the name. Raises StoreRefused when another program
    reads the store: its WAL then has a part of it, and would be missing if this process were killed now."""
    store, wal, index = _parts(folder)
    busy = 0
    with contextlib.suppress(sqlite3.Error):  # a damaged store is kept with its WAL
        connection = sqlite3.connect(f"{store.as_uri()}?mode=rw", uri=True, timeout=_PATIENCE_S)
        with contextlib.closing(connection):
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise StoreRefused(folder=str(folder), reason="another program reads the store that is there")
    when = datetime.datetime.fromtimestamp(now_us / 1e6, datetime.UTC)
    kept = folder / f"{FILE_NAME}-replaced-{when:%Y%m%dT%H%M%SZ}"
    for part, suffix in ((store, ""), (wal, _WAL)):
        if part.exists():
            os.link(part, kept.with_name(f"{kept.name}{suffix}"))
    sync_folder(folder)
    # With the old WAL beside it the new store would be read wrongly.
    wal.unlink(missing_ok=True)
    index.unlink(missing_ok=True)
    return kept
