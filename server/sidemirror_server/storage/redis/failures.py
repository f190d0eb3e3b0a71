"""Translates the errors of redis-py and Redis. No other module reads their classes and codes.

An error of Redis begins with a code in capitals (https://redis.io/docs/latest/develop/reference/protocol-spec/, "Simple
errors"). Before release 7 the code of an error inside a script is in the middle of the text. Error texts may contain
keys, so only the code is passed on.
"""

import re
from enum import Enum

import redis.exceptions as raised

from sidemirror_server.vocabulary.errors import (
    PlaceTaken,
    SidemirrorError,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
)


class RedisFailureKind(Enum):
    """The cause of an error."""

    # The server does not answer, or answers in a way that the connection cannot use.
    AWAY = "away"
    # Redis refuses the command for the moment.
    BUSY = "busy"
    # Another program keeps another type of value under this key. Other keys work.
    TAKEN = "taken"
    # Redis has no room in memory or on disk; nothing was written.
    FULL = "full"
    # A bug in this adapter: a retry would fail too.
    DEFECT = "defect"


_CODES = {
    "OOM": RedisFailureKind.FULL,
    "MISCONF": RedisFailureKind.FULL,  # Redis cannot write to disk, and is configured to refuse writes then
    "BUSY": RedisFailureKind.BUSY,  # another client's script runs for too long
    "TRYAGAIN": RedisFailureKind.BUSY,
    "WRONGTYPE": RedisFailureKind.TAKEN,
    "LOADING": RedisFailureKind.AWAY,
    "READONLY": RedisFailureKind.AWAY,  # a replica: the primary is elsewhere
    "MASTERDOWN": RedisFailureKind.AWAY,
    "NOREPLICAS": RedisFailureKind.AWAY,
    "CLUSTERDOWN": RedisFailureKind.AWAY,
    "NOAUTH": RedisFailureKind.AWAY,
    "WRONGPASS": RedisFailureKind.AWAY,
    "NOPERM": RedisFailureKind.AWAY,
    "ASK": RedisFailureKind.AWAY,
    "MOVED": RedisFailureKind.AWAY,
    "CROSSSLOT": RedisFailureKind.AWAY,
}
_CLASSES = {
    raised.OutOfMemoryError: "OOM",
    raised.TryAgainError: "TRYAGAIN",
    raised.BusyLoadingError: "LOADING",
    raised.ReadOnlyError: "READONLY",
    raised.MasterDownError: "MASTERDOWN",
    raised.ClusterDownError: "CLUSTERDOWN",
    raised.NoPermissionError: "NOPERM",
    raised.AskError: "ASK",
    raised.MovedError: "MOVED",
    raised.ClusterCrossSlotError: "CROSSSLOT",
}
_AT_THE_START = re.compile(r"-?([A-Z]+)\b")
_IN_A_SCRIPT = re.compile(r": -?([A-Z]{3,}) ")
# Errors that Redis did not send: those of the driver, of the network and of our own time limits.
_AWAY = (
    raised.ConnectionError,  # includes AuthenticationError and BusyLoadingError
    raised.TimeoutError,
    raised.InvalidResponse,
    OSError,  # includes ConnectionError and TimeoutError
    EOFError,
)


def meaning_of(error: BaseException) -> RedisFailureKind:
    """The kind of an error that redis-py raised. Every error that is not listed here is a defect."""
    if isinstance(error, raised.ResponseError):
        return _CODES.get(_code_of(error), RedisFailureKind.DEFECT)
    return RedisFailureKind.AWAY if isinstance(error, _AWAY) else RedisFailureKind.DEFECT


def store_failure(error: BaseException) -> SidemirrorError | None:
    """The error to raise instead if the store failed; None for a defect of this adapter."""
    meaning = meaning_of(error)
    if meaning is RedisFailureKind.DEFECT:
        return None
    told = _code_of(error) if isinstance(error, raised.ResponseError) else type(error).__name__
    if meaning is RedisFailureKind.FULL:
        return StoreFull(store="redis", reason=told)
    if meaning is RedisFailureKind.TAKEN:
        return PlaceTaken(store="redis", reason=told)
    return StoreUnavailable(store="redis", reason=told)


def refusal(error: BaseException | None) -> StoreRefused | None:
    """The error to raise at start if an operator must change the settings; None otherwise. All causes of `error` are
    checked too."""
    while error is not None:
        if isinstance(error, raised.AuthenticationError):
            return StoreRefused(store="redis", reason="it does not take this user and password")
        if isinstance(error, raised.ResponseError) and "DB index" in str(error):
            return StoreRefused(store="redis", reason="it has no database of the number that its URL ends with")
        error = error.__cause__
    return None


def _code_of(error: raised.ResponseError) -> str:
    for kind in type(error).__mro__:
        if kind in _CLASSES:
            return _CLASSES[kind]
    text = str(error)
    first = _AT_THE_START.match(text)
    if first is not None and first[1] in _CODES:
        return first[1]
    inner = _IN_A_SCRIPT.search(text)
    return inner[1] if inner is not None else ""
