"""Files that hold secrets: read only when nobody else can read them, and again when they have changed."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from sidemirror_server.vocabulary.clock import Clock

T = TypeVar("T")

# The group may read: that is how Kubernetes gives a mounted secret to a user who is not root. It may not write, and
# others may do nothing.
_FORBIDDEN = 0o037
# How often a file is looked at, at most, in seconds. Chosen here: a look costs a few µs, and a rotation takes longer.
LOOK_EVERY_S = 1.0

# What tells one state of a file from another.
Signature = tuple[int, ...]


class CannotUse(Exception):
    """A file cannot be used; says which one, why, and what to change. Never says what is in it."""


def read_secret(path: Path) -> bytes:
    """What the file holds. Raises CannotUse when it is not there, or when others than its owner and group may read it,
    or others than its owner write it."""
    return _read(path, is_secret=True)


def read_public(path: Path) -> bytes:
    """What the file holds, whoever else may read it. Raises CannotUse when it is not there."""
    return _read(path, is_secret=False)


def _read(path: Path, *, is_secret: bool) -> bytes:
    try:
        # Without waiting: a pipe that nobody writes to would hold whoever opens it, and with it every call.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise CannotUse(f"{path}: it is no file")
            if is_secret:
                _check_secret(path, found)
            return file.read()
    except OSError as error:
        raise CannotUse(f"{path}: {error.strerror}") from error


def _check_secret(path: Path, found: os.stat_result) -> None:
    """Raises CannotUse when others can use what is found there."""
    if found.st_uid not in (0, os.geteuid()):
        raise CannotUse(f"{path}: it belongs to user {found.st_uid}; make it this server's user's, or root's")
    if found.st_mode & _FORBIDDEN:
        mode = stat.S_IMODE(found.st_mode)
        raise CannotUse(f"{path}: its mode is {mode:04o}, so that others can use it; chmod 0640 or less")


def signature_of(paths: tuple[Path, ...]) -> Signature:
    """Changes when one of the files does; a file that is not there counts too."""
    parts: list[int] = []
    for path in paths:
        try:
            found = path.stat()
        except OSError as error:
            parts += (error.errno or -1,)
        else:
            parts += (found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode, found.st_uid)
    return tuple(parts)


class Reread(Generic[T]):
    """What is made of files, made anew when one of them has changed; what was made before stays as long as the new
    state cannot be used, so that a rotation that is half done locks nobody out."""

    def __init__(
        self, paths: tuple[Path, ...], make: Callable[[], T], clock: Clock, told: Callable[[CannotUse | None], None]
    ) -> None:
        """`make` raises CannotUse, which leaves here only from the constructor. `told`: of each change, None when the
        new state is in use."""
        self._paths = paths
        self._make = make
        self._clock = clock
        self._told = told
        self._signature = signature_of(paths)
        self._looked_s = clock.monotonic_s()
        self._made = make()

    def current(self) -> T:
        """What the files say now, as of the last second."""
        now_s = self._clock.monotonic_s()
        if now_s - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = now_s
            signature = signature_of(self._paths)
            if signature != self._signature:
                self._signature = signature
                try:
                    self._made = self._make()
                except CannotUse as error:
                    self._told(error)
                else:
                    self._told(None)
        return self._made
