"""What SQLite's errors mean to a caller. The only place that reads its result codes."""

import sqlite3

from sidemirror_server.vocabulary.errors import SidemirrorError, StoreFull, StoreUnavailable

# Primary result codes (https://sqlite.org/rescode.html) that tell of the disk or the file, not of the statement.
_UNAVAILABLE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_NOTADB,
    }
)


def store_failure(error: BaseException) -> SidemirrorError | None:
    """The error to raise instead when the store itself failed; None when the statement or its caller is at fault."""
    if not isinstance(error, sqlite3.Error):
        return None
    code = _code(error)
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(store="sqlite", reason=str(error))
    if _extended(error) == sqlite3.SQLITE_IOERR_SHMSIZE:
        # What a full disk does to a database that is being opened; SQLite's own words are "disk I/O error".
        return StoreFull(store="sqlite", reason="the disk has no room for the index of the WAL")
    if code in _UNAVAILABLE:
        return StoreUnavailable(store="sqlite", reason=str(error))
    return None


def _code(error: sqlite3.Error) -> int:
    """The primary result code; 0 when the error comes from Python's module and not from SQLite."""
    return _extended(error) & 0xFF


def _extended(error: BaseException) -> int:
    """The extended result code; 0 likewise."""
    return getattr(error, "sqlite_errorcode", None) or 0
