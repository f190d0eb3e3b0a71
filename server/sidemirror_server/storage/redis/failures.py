"""What redis-py's and Redis' errors mean to a caller. The only place that reads their classes and codes.

An error of Redis begins with a code in capitals (https://redis.io/docs/latest/develop/reference/protocol-spec/, "Simple
errors"); what a script met stands inside the text in releases before 7. Texts may name keys: only the code leaves this
place.
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
    """What an error tells of."""

    # Nobody answers there, or not in a way that a connection can go on with.
    AWAY = "away"
    # Redis answered that it will not do this now.
    BUSY = "busy"
    # Somebody keeps something else under our key: this one only, until it is removed.
    TAKEN = "taken"
    # There is no room, in its memory or on its disk; nothing was written.
    FULL = "full"
    # Ours: trying again would fail again.
    DEFECT = "defect"


_CODES = {
    "OOM": RedisFailureKind.FULL,
    "MISCONF": RedisFailureKind.FULL,  # it cannot write to its disk, and was told to refuse writes then
    "BUSY": RedisFailureKind.BUSY,  # a script of somebody else's runs for too long
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
# Not Redis' own answer: the driver's, the network's, and what our own time limits become.
_AWAY = (
    raised.ConnectionError,  # with AuthenticationError and BusyLoadingError
    raised.TimeoutError,
    raised.InvalidResponse,
    OSError,  # with ConnectionError and TimeoutError
    EOFError,
)


def meaning_of(error: BaseException) -> RedisFailureKind:
    """What `error`, raised by redis-py, tells of. Whatever is not known to come from outside is a defect."""
    if isinstance(error, raised.ResponseError):
        return _CODES.get(_code_of(error), RedisFailureKind.DEFECT)
    return RedisFailureKind.AWAY if isinstance(error, _AWAY) else RedisFailureKind.DEFECT


def store_failure(error: BaseException) -> SidemirrorError | None:
    """The error to raise instead when the store itself failed; None when we are at fault."""
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
    """The error to raise at start when the settings have to change first, however often `error` was wrapped; None when
    they need not."""
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
