"""What happens to a sidecar in the middle of a turn (clients/scenario/faults.json and full_disk.json)."""

import contextlib
import errno
import itertools
import json
import socket
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from tests.clients.harness import SCENARIO, Sidecar, Version

_BLOCK_BYTES = 64 * 1024


@contextlib.contextmanager
def killed(beside: Sidecar) -> Iterator[None]:
    beside.do("kill")
    yield
    beside.do("start")


@contextlib.contextmanager
def paused(beside: Sidecar) -> Iterator[None]:
    """SIGSTOP: its connections stay, and nothing answers."""
    beside.do("pause")
    yield
    beside.do("continue")


@contextlib.contextmanager
def swapped(beside: Sidecar) -> Iterator[None]:
    """Something else listens in its place, and says nothing."""
    beside.do("kill")
    host, _, port = beside.address.rpartition(":")
    with socket.create_server((host, int(port))):
        yield
    beside.do("start")


@contextlib.contextmanager
def restarted(beside: Sidecar) -> Iterator[None]:
    """SIGTERM: it says that it goes away."""
    beside.do("stop")
    yield
    beside.do("start")


def back_as(version: Version | None) -> Callable[[Sidecar], AbstractContextManager[None]]:
    """A fault: the one that comes back is of another version, or of this checkout, with the same store."""

    @contextlib.contextmanager
    def fault(beside: Sidecar) -> Iterator[None]:
        beside.do("kill")
        yield
        beside.version = version
        beside.do("start")

    return fault


def anew(version: Version | None, folders: Path) -> Callable[[Sidecar], None]:
    """What goes before `back_as`: a sidecar of the other of the two versions, with a store of its own."""
    numbers = itertools.count()

    def before(beside: Sidecar) -> None:
        beside.do("kill")
        beside.folder = folders / f"store-{next(numbers)}"
        beside.folder.mkdir()
        beside.version = version
        beside.do("start")

    return before


def full(disk: Path) -> Callable[[Sidecar], AbstractContextManager[None]]:
    """A fault: the file system of the sidecar's data has no room."""

    @contextlib.contextmanager
    def fault(_: Sidecar) -> Iterator[None]:
        ballast, store = disk / "ballast", disk / "data" / "sidemirror.db"
        # A WAL that was written to the database is written over, which needs no room.
        with contextlib.closing(sqlite3.connect(store, timeout=60)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with ballast.open("wb", buffering=0) as file:
            size = _BLOCK_BYTES
            while size:
                try:
                    file.write(b"x" * size)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    size //= 2
        yield
        ballast.unlink()

    return fault


class Fault(NamedTuple):
    """`before`: done at the beginning of each round. `during`: goes wrong when it is entered, is over when it ends."""

    during: Callable[[Sidecar], AbstractContextManager[None]]
    before: Callable[[Sidecar], None] | None = None
    steps: str = "faults.json"


class Faulty:
    """A sidecar that a runner has broken and mended."""

    def __init__(self, beside: Sidecar, fault: Fault) -> None:
        self._beside = beside
        self._fault = fault
        self._going: AbstractContextManager[None] | None = None
        self.address = beside.address
        self.socket = beside.socket
        self.variables = beside.variables

    @property
    def complaints(self) -> str:
        return self._beside.complaints

    def do(self, what: str) -> None:
        if what == "ready":
            if self._fault.before is not None:
                self._fault.before(self._beside)
        elif what == "break":
            self._going = self._fault.during(self._beside)
            self._going.__enter__()
        elif what == "mend":
            assert self._going is not None
            self._going.__exit__(None, None, None)
            self._going = None
        else:
            self._beside.do(what)


def told(lines: Sequence[str]) -> list[tuple[str, int]]:
    """How often the agent was told that the sidecar is away, after each thing that the runner had done to it. A client
    tells it beside the agent: what comes while the sidecar is being mended was begun before."""
    asked: list[list[Any]] = [["", 0]]
    is_mending = False
    for line in lines:
        if line.startswith("@"):
            asked.append([line, 0])
            is_mending = line == "@mend"
        elif line.startswith("told "):
            asked[-2 if is_mending else -1][1] += 1
        elif line.startswith("step "):
            is_mending = False
    return [(what, times) for what, times in asked]


# What the times of the first rounds are called, behind the name of what is timed.
BEFORE = ", before"


def rounds(steps: str, count: int, file: Path, *, first_apart: int = 0) -> Path:
    """The scenario with the steps of its round as often, written to `file`. `first_apart`: of so many rounds, the first
    ones, what is timed has a name that says so."""
    given: list[dict[str, Any]] = json.loads((SCENARIO / steps).read_text())
    places = [place for place, step in enumerate(given) if step.get("round")]
    first, last = places[0], places[-1] + 1
    assert places == list(range(first, last)), "the steps of a round stand together"
    repeated = [
        json.loads(json.dumps(step).replace("$round", str(number)))
        for number in range(count)
        for step in given[first:last]
    ]
    for step in repeated[: first_apart * (last - first)]:
        if "timed" in step:
            step["timed"] += BEFORE
    file.write_text(json.dumps([*given[:first], *repeated, *given[last:]]))
    return file
