"""Reads secret files: only if nobody else can read them, and again when they change."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from sidemirror_server.vocabulary.clock import Clock

T = TypeVar("T")

# The group may read, because Kubernetes gives a mounted secret to a non-root user that way. The group may not write,
# and others have no access.
_FORBIDDEN = 0o037
# Seconds between two checks of a file, at least. Chosen here: a check costs a few µs, and a rotation takes longer.
LOOK_EVERY_S = 1.0
# Seconds for which files must be empty or gone before that counts. Chosen here: a file that is rewritten or replaced is
# missing for less time. With a check a second and a stream's check of its token every 5 s (`rpc/boundary/streams.py`),
# a revocation takes less than 10 s.
EMPTY_FOR_S = 2.0

# Changes with the state of the files (`signature_of`).
Signature = tuple[int, ...]


class CannotUse(Exception):
    """A file cannot be used. The text names the file, the reason and what to change, never the content."""


class Emptied(CannotUse):
    """A file is missing or empty. This is taken for a deliberate removal of its content, whereas an unusable file is
    taken for a mistake."""


def read_secret(path: Path) -> bytes:
    """The file's content. Raises Emptied when it is missing; CannotUse when users other than its owner and group may
    read it, or users other than its owner may write it."""
    return _read(path, is_secret=True)


def read_public(path: Path) -> bytes:
    """The file's content, without a check of who may read it. Raises Emptied when it is missing, and CannotUse."""
    return _read(path, is_secret=False)


def _read(path: Path, *, is_secret: bool) -> bytes:
    try:
        # O_NONBLOCK: opening a pipe without a writer would block this call, and every other one with it.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise CannotUse(f"{path}: it is no file")
            if is_secret:
                _check_secret(path, found)
            return file.read()
    except FileNotFoundError as error:
        raise Emptied(f"{path}: {error.strerror}") from error
    except OSError as error:
        raise CannotUse(f"{path}: {error.strerror}") from error


def _check_secret(path: Path, found: os.stat_result) -> None:
    """Raises CannotUse when another user owns the file or has access to it."""
    if found.st_uid not in (0, os.geteuid()):
        raise CannotUse(f"{path}: it belongs to user {found.st_uid}; make it this server's user's, or root's")
    if found.st_mode & _FORBIDDEN:
        mode = stat.S_IMODE(found.st_mode)
        raise CannotUse(f"{path}: its mode is {mode:04o}, so that others can use it; chmod 0640 or less")


def signature_of(paths: tuple[Path, ...]) -> Signature:
    """A value that changes when one of the files changes, appears or disappears."""
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
    """A value made from files, and made again when one of them changes. If the new state cannot be used, the old value
    stays, so that a half-finished rotation locks nobody out. Files that stay empty or gone may have a value of their
    own."""

    def __init__(
        self,
        paths: tuple[Path, ...],
        make: Callable[[], T],
        clock: Clock,
        told: Callable[[CannotUse | None], None],
        *,
        when_empty: T | None = None,
    ) -> None:
        """`make` raises CannotUse, which only the constructor passes on. `told` is called after each change: with that
        error, or with None when the new value is in use. Emptied is reported only after EMPTY_FOR_S. `when_empty`: the
        value from then on; None: the old value stays."""
        self._paths = paths
        self._make = make
        self._clock = clock
        self._told = told
        self._when_empty = when_empty
        # When the files became empty, and the error; None if they are not empty or `told` has been called.
        self._empty: tuple[float, Emptied] | None = None
        self._signature = signature_of(paths)
        self._looked_s = clock.monotonic_s()
        self._made = make()

    def current(self) -> T:
        """The current value, at most a second old."""
        now_s = self._clock.monotonic_s()
        if now_s - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = now_s
            signature = signature_of(self._paths)
            if signature != self._signature:
                self._signature = signature
                self._read(now_s)
            self._empty_out(now_s)
        return self._made

    def _read(self, now_s: float) -> None:
        try:
            self._made = self._make()
        except Emptied as error:
            # The time runs from the first check, even if an emptied file is removed later.
            self._empty = (self._empty[0] if self._empty else now_s, error)
        except CannotUse as error:
            self._empty = None
            self._told(error)
        else:
            self._empty = None
            self._told(None)

    def _empty_out(self, now_s: float) -> None:
        if self._empty is None or now_s - self._empty[0] < EMPTY_FOR_S:
            return
        (_, error), self._empty = self._empty, None
        if self._when_empty is not None:
            self._made = self._when_empty
        self._told(error)
