"""Notices that a store's files are no longer those that were opened: somebody has removed or replaced them.

SQLite goes on with the open files, which nobody can open any more, and calls durable what is gone with the process.
"""

import logging
from pathlib import Path
from typing import TypeAlias

from sidemirror_server.vocabulary.errors import StoreUnavailable

_log = logging.getLogger(__name__)

# Device and inode; None for a file that is not there.
_Identity: TypeAlias = "tuple[int, int] | None"


class Place:
    """The files of an open store: the database, its WAL and the index of the WAL. `lost`: what is wrong; empty while
    nothing is."""

    def __init__(self, database: Path) -> None:
        """`database` is there. Its WAL and the index are known from the first `look` that finds them."""
        self.lost = ""
        self._database = database
        self._opened: dict[Path, _Identity] = {database: _identity(database)}
        self._beside = [database.with_name(f"{database.name}{suffix}") for suffix in ("-wal", "-shm")]

    def look(self) -> str:
        """Looks at all files; returns `lost`. Logs a change."""
        for file in self._beside:
            if self._opened.get(file) is None:
                self._opened[file] = _identity(file)
        gone = [file.name for file, opened in self._opened.items() if opened and _identity(file) != opened]
        lost = f"{' and '.join(gone)} removed or replaced while the sidecar runs; nothing is durable" if gone else ""
        if bool(lost) != bool(self.lost):
            told = {"path": str(self._database)}
            if lost:
                advice = "put the files back, or restart the sidecar"
                _log.warning("store_files_lost", extra={**told, "reason": lost, "advice": advice})
            else:
                _log.warning("store_files_back", extra=told)
        self.lost = lost
        return lost

    def check(self) -> None:
        """Raises StoreUnavailable if the store is lost. For each group of writes: looks at the database alone, in some
        microseconds."""
        if self.lost or _identity(self._database) != self._opened[self._database]:
            self.check_all()

    def check_all(self) -> None:
        """Raises StoreUnavailable if any of the files is lost."""
        if lost := self.look():
            raise StoreUnavailable(store="sqlite", reason=lost)


def _identity(file: Path) -> _Identity:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
