"""Translates the errors of SQLite. No other module reads its result codes."""

import sqlite3

from sidemirror_server.vocabulary.errors import SidemirrorError, StoreFull, StoreUnavailable

# Primary result codes (https://sqlite.org/rescode.html) that the disk or the file causes, not the statement.
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
    """The error to raise instead if the store failed; None if the statement or its caller is at fault."""
    if not isinstance(error, sqlite3.Error):
        return None
    code = _code(error)
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(store="sqlite", reason=str(error))
    if _extended(error) == sqlite3.SQLITE_IOERR_SHMSIZE:
        # A full disk while a database is opened. SQLite's message is only "disk I/O error".
        return StoreFull(store="sqlite", reason="the disk has no room for the index of the WAL")
    if code in _UNAVAILABLE:
        return StoreUnavailable(store="sqlite", reason=str(error))
    return None


def _code(error: sqlite3.Error) -> int:
    """The primary result code; 0 if Python's module raised the error, not SQLite."""
    return _extended(error) & 0xFF


def _extended(error: BaseException) -> int:
    """The extended result code; 0 if Python's module raised the error."""
    return getattr(error, "sqlite_errorcode", None) or 0
