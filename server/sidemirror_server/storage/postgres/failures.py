"""Translates errors of asyncpg and Postgres. No other module reads their classes and codes.

A code's first two characters are its class (https://www.postgresql.org/docs/current/errcodes-appendix.html). Error
texts of Postgres may contain values of rows, and those of the driver and the network contain host names. No such text
leaves this module: a translated error has only the code, asyncpg's name for it, and a fixed hint on what to change.
"""

import errno
import re
import socket
import ssl
import urllib.parse
from enum import Enum

import asyncpg

from sidemirror_server.vocabulary.errors import NotPermitted, SidemirrorError, StoreFull, StoreRefused, StoreUnavailable


class PostgresFailureKind(Enum):
    """The cause of an error."""

    # The server does not answer, or the connection is unusable.
    AWAY = "away"
    # Postgres refused the statement for now.
    BUSY = "busy"
    # The server's disk is full.
    FULL = "full"
    # The role is not bound to the tenant of the rows.
    UNBOUND = "unbound"
    # The statement or its caller is wrong; a retry would fail too.
    DEFECT = "defect"


# Causes by class, then by code where a code differs from its class.
_CLASSES = {
    "08": PostgresFailureKind.AWAY,  # connection exception
    "28": PostgresFailureKind.AWAY,  # invalid authorization
    "3D": PostgresFailureKind.AWAY,  # no such database
    "40": PostgresFailureKind.BUSY,  # rolled back: deadlock, serialization
    "53": PostgresFailureKind.BUSY,  # insufficient resources
    "55": PostgresFailureKind.BUSY,  # object not in prerequisite state: locks
    "57": PostgresFailureKind.BUSY,  # operator intervention
    "58": PostgresFailureKind.AWAY,  # system error: the machine's
    "F0": PostgresFailureKind.AWAY,  # configuration file error
    "XX": PostgresFailureKind.AWAY,  # internal error, corrupted data
}
_CODES = {
    "25006": PostgresFailureKind.AWAY,  # read-only: this is a standby, the primary is elsewhere
    "25P03": PostgresFailureKind.BUSY,  # idle in a transaction for too long: this process was stopped
    "25P04": PostgresFailureKind.BUSY,  # the transaction took too long
    "53100": PostgresFailureKind.FULL,  # disk full
    "53300": PostgresFailureKind.AWAY,  # too many connections
    "57P01": PostgresFailureKind.AWAY,  # admin shutdown
    "57P02": PostgresFailureKind.AWAY,  # crash shutdown
    "57P03": PostgresFailureKind.AWAY,  # cannot connect now
    "57P04": PostgresFailureKind.AWAY,  # the database was dropped
    "57P05": PostgresFailureKind.AWAY,  # idle session timeout
    "SM001": PostgresFailureKind.UNBOUND,  # raised by migrations/*_role_tenants.sql
}
# A statement that was prepared is not there, is somebody else's, or has another result since a migration. Another
# connection helps.
LOST_STATEMENT = (
    asyncpg.InvalidSQLStatementNameError,
    asyncpg.DuplicatePreparedStatementError,
    asyncpg.InvalidCachedStatementError,
)
# Errors of the driver, of the network and of our time limits.
_AWAY = (
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.UnsupportedServerFeatureError,
    OSError,  # includes ConnectionError, TimeoutError and ssl.SSLError
    EOFError,  # includes asyncio.IncompleteReadError
)


_CUT = "the connection was cut while it was made", "look into the server's log, and at what is between"
# Why the store cannot be reached, and what to change: fixed texts, by code or by class.
_URL = "SIDEMIRROR_DATABASE_URL (serve) or --database-url (migrate)"
_HINTS = {
    "08003": _CUT,
    "28P01": ("the password is wrong, or the role does not exist", f"change them in {_URL}"),
    "28000": (
        "the server does not let this role in",
        (
            "it may not exist, may lack LOGIN, or pg_hba.conf has no line for it; "
            f"change the role in {_URL}, or the server's set-up"
        ),
    ),
    "3D000": ("there is no such database", f"change its name in {_URL}, or create it"),
    "42501": ("the role may not connect to this database", "GRANT CONNECT ON DATABASE … TO the role"),
    "53300": (
        "the server has no connection left",
        "raise its max_connections, lower SIDEMIRROR_DATABASE_CONNECTIONS, or put PgBouncer between",
    ),
    "57P03": ("the server is starting or stopping", "wait, or look into its log"),
    "08P01": (
        "a pooler turned the connection away (no such database or role, or it cannot log in itself)",
        f"look into its log, and at {_URL}",
    ),
    "25006": ("this server is read-only, a standby", f"name the primary in {_URL}"),
}
_NO_HINT = "", ""
# Errors of the settings: retries fail until somebody changes them.
_SETTINGS_CODES = {"28P01", "28000", "3D000", "42501"}
_TLS_HINT = (
    "no TLS connection could be made",
    f"look at sslmode and sslrootcert in {_URL}, and at the server's certificate",
)
_HOST_HINT = "the host's name cannot be resolved", f"change it in {_URL}, or mend DNS"


def meaning_of(error: BaseException) -> PostgresFailureKind:
    """The cause of `error`, raised by asyncpg. An unknown error is a defect."""
    if isinstance(error, LOST_STATEMENT):
        return PostgresFailureKind.BUSY
    if isinstance(error, asyncpg.PostgresError):
        code = error.sqlstate or ""
        return _CODES.get(code) or _CLASSES.get(code[:2], PostgresFailureKind.DEFECT)
    if isinstance(error, asyncpg.ClientConfigurationError):  # an InterfaceError, but about the settings
        return PostgresFailureKind.DEFECT
    return PostgresFailureKind.AWAY if isinstance(error, _AWAY) else PostgresFailureKind.DEFECT


def store_failure(error: BaseException) -> SidemirrorError | None:
    """The error to raise instead of `error` if the store failed; None if the statement or its caller is wrong."""
    meaning = meaning_of(error)
    if meaning is PostgresFailureKind.DEFECT:
        return None
    if meaning is PostgresFailureKind.UNBOUND:
        return not_bound()
    if meaning is PostgresFailureKind.FULL:
        return StoreFull(store="postgres", reason=_told(error))
    return StoreUnavailable(store="postgres", reason=_with_hint(error, _lost_hint(error)))


def not_bound() -> NotPermitted:
    """The error for a tenant whose rows the role does not reach."""
    return NotPermitted(reason="the role that the store is used by is not bound to this tenant", refused_by="store")


def connect_failure(error: BaseException) -> StoreUnavailable | None:
    """The error to raise if a connection failed: StoreRefused if the settings must change, StoreUnavailable if a retry
    may succeed. None for errors that neither the store nor the network raises."""
    code = getattr(error, "sqlstate", None) if isinstance(error, asyncpg.PostgresError) else None
    if code is None and meaning_of(error) is PostgresFailureKind.DEFECT:
        return None
    cause, remedy = _HINTS.get(code, _NO_HINT) if code else _network_hint(error)
    is_refused = code in _SETTINGS_CODES or isinstance(error, ssl.SSLCertVerificationError)
    kind = StoreRefused if is_refused else StoreUnavailable
    return kind(store="postgres", reason=_with_hint(error, cause), remedy=remedy)


# The server and the database of a URL, and its query. What does not have this form, such as a password with `/` or `@`
# that is not written as %XX, is not taken apart.
_PLACE = re.compile(r"postgres(?:ql)?://(?:[^/?#@]*@)?([^/?#@]*)/([^/?#@]*)(?:\?([^#@]*))?")


def place_of(url: str) -> str:
    """Where a database is, such as `db:5432/sidemirror`, without credentials; empty if the URL does not say it."""
    found = _PLACE.fullmatch(url)
    if found is None:
        return ""
    server, database, query = found.groups()
    return f"{server or ','.join(urllib.parse.parse_qs(query or '').get('host', []))}/{database}"


def _network_hint(error: BaseException) -> tuple[str, str]:
    """The cause and the remedy; empty texts for an error of another kind."""
    if isinstance(error, ssl.SSLError) or (type(error) is ConnectionError and "SSL" in str(error)):
        return _TLS_HINT  # asyncpg raises the second if the server has no TLS
    if isinstance(error, socket.gaierror):
        return _HOST_HINT
    if isinstance(error, (ConnectionRefusedError, FileNotFoundError)):
        return "nobody listens there", f"start the server, or change host and port in {_URL}"
    if isinstance(error, PermissionError):
        return "this user may not use the server's socket", f"change its rights, or the host in {_URL}"
    if isinstance(error, TimeoutError):
        return "no answer in time", f"look at the network and the server, or change host and port in {_URL}"
    if isinstance(error, OSError) and error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH):
        return "there is no way to that host", f"mend the network, or change the host in {_URL}"
    return _CUT if isinstance(error, (ConnectionError, EOFError, asyncpg.InternalClientError)) else _NO_HINT


def _lost_hint(error: BaseException) -> str:
    """What an error says of a connection that had been made."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, (asyncpg.ConnectionDoesNotExistError, ConnectionError, EOFError)):
        return "the connection was lost"
    is_closed = isinstance(error, (asyncpg.InterfaceError, asyncpg.InternalClientError))
    return "the connection cannot be used any more" if is_closed else ""


def _with_hint(error: BaseException, hint: str) -> str:
    return f"{_told(error)}: {hint}" if hint else _told(error)


def _told(error: BaseException) -> str:
    name = type(error).__name__
    code = getattr(error, "sqlstate", None)
    if code:
        return f"{name} ({code})"
    return "TLS" if isinstance(error, ssl.SSLError) else name
