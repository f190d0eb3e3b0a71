"""What asyncpg's and Postgres' errors mean to a caller. The only place that reads their classes and codes.

A code's first two characters are its class (https://www.postgresql.org/docs/current/errcodes-appendix.html). Postgres'
messages carry values of rows, and asyncpg adds them to an error's text: none of that leaves this place, only the code
and what asyncpg calls it.
"""

import ssl
from enum import Enum

import asyncpg

from sidemirror_server.vocabulary.errors import SidemirrorError, StoreFull, StoreUnavailable


class Meaning(Enum):
    """What an error tells of."""

    # Nobody answers there, or not in a way that a connection can go on with.
    AWAY = "away"
    # Postgres answered that it will not do this now.
    BUSY = "busy"
    # There is no room on its disk.
    FULL = "full"
    # The statement or its caller is at fault: trying again would fail again.
    DEFECT = "defect"


# By class, and by code where that says otherwise.
_CLASSES = {
    "08": Meaning.AWAY,  # connection exception
    "28": Meaning.AWAY,  # invalid authorization
    "3D": Meaning.AWAY,  # no such database
    "40": Meaning.BUSY,  # rolled back: deadlock, serialization
    "53": Meaning.BUSY,  # insufficient resources
    "55": Meaning.BUSY,  # object not in prerequisite state: locks
    "57": Meaning.BUSY,  # operator intervention
    "58": Meaning.AWAY,  # system error: the machine's
    "F0": Meaning.AWAY,  # configuration file error
    "XX": Meaning.AWAY,  # internal error, corrupted data
}
_CODES = {
    "25006": Meaning.AWAY,  # read-only: this is a standby, the primary is elsewhere
    "25P03": Meaning.BUSY,  # idle in a transaction for too long: we were stopped
    "25P04": Meaning.BUSY,  # the transaction took too long
    "53100": Meaning.FULL,  # disk full
    "53300": Meaning.AWAY,  # too many connections
    "57P01": Meaning.AWAY,  # admin shutdown
    "57P02": Meaning.AWAY,  # crash shutdown
    "57P03": Meaning.AWAY,  # cannot connect now
    "57P04": Meaning.AWAY,  # the database was dropped
    "57P05": Meaning.AWAY,  # idle session timeout
}
# Not Postgres' own: the driver's, the network's, and what our own time limits become.
_AWAY = (
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.UnsupportedServerFeatureError,
    OSError,  # with ConnectionError, TimeoutError and ssl.SSLError
    EOFError,  # with asyncio.IncompleteReadError
)


def meaning_of(error: BaseException) -> Meaning:
    """What `error`, raised by asyncpg, tells of. Whatever is not known to come from outside is a defect."""
    if isinstance(error, asyncpg.PostgresError):
        code = error.sqlstate or ""
        return _CODES.get(code) or _CLASSES.get(code[:2], Meaning.DEFECT)
    if isinstance(error, asyncpg.ClientConfigurationError):  # an InterfaceError, but about the settings
        return Meaning.DEFECT
    return Meaning.AWAY if isinstance(error, _AWAY) else Meaning.DEFECT


def store_failure(error: BaseException) -> SidemirrorError | None:
    """The error to raise instead when the store itself failed; None when the statement or its caller is at fault."""
    meaning = meaning_of(error)
    if meaning is Meaning.DEFECT:
        return None
    if meaning is Meaning.FULL:
        return StoreFull(store="postgres", reason=_told(error))
    return StoreUnavailable(store="postgres", reason=_told(error))


def _told(error: BaseException) -> str:
    name = type(error).__name__
    code = getattr(error, "sqlstate", None)
    if code:
        return f"{name} ({code})"
    return "TLS" if isinstance(error, ssl.SSLError) else name
