"""Vectors of the embedded store, held in memory by whatever searches: all in a byte a number, by which the best are
found, and these are scored anew by their floats. Those are held too up to EXACT_ROWS in a scope, and read beyond.

Signs alone (a bit a number, as design section 10 has it) find 0.57 of the first ten where vectors lie at random; bytes
find 0.97 by themselves, and all of them in the first thirty. They take eight times the memory, and a comparison
three times as long. Comparing the floats of a few thousand takes four times as long as their bytes.

numpy and simsimd are loaded with the first vector; a sidecar without an embedding model never loads them.
"""

import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from sidemirror_server.storage.sql import load_statements

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]
    Floats = np.ndarray[Any, np.dtype[np.float32]]
    Numbers = np.ndarray[Any, np.dtype[np.int64]]

_SQL = load_statements(Path(__file__).with_name("memory_search.sql"))

# Packages of the extra `embeddings`.
NEEDED = ("numpy", "simsimd")
# Design, section 10: so many floats are held.
EXACT_ROWS = 20_000
# Candidates by bytes that are scored anew, at least, and for each that is asked for. Chosen here: 30 hold the first ten
# of vectors that lie at random (tests/storage/test_sqlite_memory_vectors.py).
_RESCORED, _RESCORED_RATIO = 100, 2
_READ_AT_ONCE = 5_000
_FLOAT_BYTES = 4
_LARGEST_CODE = 127
# How much of the vectors stays in memory, but for one scope's at least. Chosen here: a million of 384 numbers.
HELD_BYTES = 512 * 1024 * 1024
# Rows for which there is room beyond those that are held, as a part of them: what is added moves the rest rarely.
_SPARE_RATIO = 0.25
# The lowest of many numbers: in a sample of so many it is seen below which some times as many lie as are wanted.
# Chosen here: too few are left once in thousands of questions.
_SAMPLE, _SAMPLED_RATIO, _SAMPLED_AT_LEAST = 8_192, 3, 8
# The place of a row that has another vector by now.
_GONE = -1


class Read(Protocol):
    """Reads what is wanted of rows that have a vector now, each begun with that vector, or else with the row's number.
    Rows without one, and those that do not count, are left out."""

    def __call__(self, rows: list[int], *, with_vectors: bool) -> list[tuple[Any, ...]]: ...


class Vectors:
    """The vectors of some scopes."""

    def __init__(self, exact_rows: int = EXACT_ROWS, held_bytes: int = HELD_BYTES) -> None:
        self._exact_rows = exact_rows
        self._held_bytes = held_bytes
        self._held: dict[tuple[int, int, int], _Held] = {}

    def nearest(
        self,
        connection: sqlite3.Connection,
        scope_no: int,
        model_no: int,
        vector: tuple[float, ...],
        first: int,
        read: "Read",
    ) -> Iterator[list[tuple[float, tuple[Any, ...]]]]:
        """Similarities, and what `read` says of each, in portions: of the most similar of all, then of ever more. A
        portion is in no order. Vectors of other dimensions than the question's are left out."""
        import numpy as np

        key = (scope_no, model_no, len(vector))
        held = self._held.pop(key, None) or _Held(*key)
        self._held[key] = held
        held.bring_up_to_date(connection, self._exact_rows)
        self._make_room()
        asked = np.asarray(vector, dtype=np.float32)
        if held.count == 0:
            return
        portion, given = max(first * _RESCORED_RATIO, _RESCORED), 0
        order = held.in_order(asked)
        while given < held.count:
            places = order(given + portion)[given:]
            yield from held.rescored(places, asked, first, read)
            given += len(places)
            portion *= 4

    def _make_room(self) -> None:
        """Lets go of the scopes that were searched longest ago."""
        held_bytes = sum(held.size_bytes for held in self._held.values())
        while held_bytes > self._held_bytes and len(self._held) > 1:
            held_bytes -= self._held.pop(next(iter(self._held))).size_bytes


def _rescored(found: list[tuple[Any, ...]], asked: "Floats") -> list[tuple[float, tuple[Any, ...]]]:
    """What was found, with its similarity by the vector that it begins with."""
    import numpy as np

    found = [one for one in found if len(one[0]) == _FLOAT_BYTES * len(asked)]
    if not found:
        return []
    matrix = np.frombuffer(b"".join([one[0] for one in found]), dtype="<f4").reshape(len(found), -1)
    return [(similarity, one[1:]) for similarity, one in zip((matrix @ asked).tolist(), found, strict=True)]


class _Held:
    """What is held of one scope's vectors of one model and one length: codes of all, and the floats too as long as they
    are few. Rows that lost their vector since stay, and are left out when they are scored anew."""

    def __init__(self, scope_no: int, model_no: int, dimensions: int) -> None:
        self._of = {"scope_no": scope_no, "model_no": model_no}
        self._last_no = 0
        self._newest_row = 0
        self.count = 0
        self._some_are_gone = False
        self._rows: Array = _empty(0, "int64")
        self._codes: Array = _empty((0, dimensions), "int8")
        self._scales: Array = _empty(0, "float32")
        self._floats: Array | None = _empty((0, dimensions), "float32")

    @property
    def size_bytes(self) -> int:
        held = (self._rows, self._codes, self._scales, *([] if self._floats is None else [self._floats]))
        return sum(array.nbytes for array in held)

    def bring_up_to_date(self, connection: sqlite3.Connection, exact_rows: int) -> None:
        """Reads what was kept since."""
        import numpy as np

        # What is read at once has each row once; what was read before may have an earlier vector of it.
        while True:
            wanted = {**self._of, "vector_no": self._last_no, "limit": _READ_AT_ONCE}
            read = connection.execute(_SQL["vectors_after"], wanted).fetchall()
            if not read:
                return
            self._last_no = read[-1][0]
            rows = np.array([row for _, row, _ in read], dtype=np.int64)
            if rows.min() <= self._newest_row:  # a memory that is new has a number above all others
                self._forget(rows)
            self._newest_row = max(self._newest_row, int(rows.max()))
            dimensions = self._codes.shape[1]
            read = [row for row in read if len(row[2]) == _FLOAT_BYTES * dimensions]
            rows = np.array([row for _, row, _ in read], dtype=np.int64)
            stored = np.frombuffer(b"".join(vector for _, _, vector in read), dtype="<f4").reshape(-1, dimensions)
            if self.count + len(rows) > exact_rows:
                self._floats = None
            self._add(rows, stored)

    def _forget(self, rows: "Numbers") -> None:
        """Lets go of the earlier vectors of these rows. They keep their places until half of all are such."""
        import numpy as np

        held = self._rows[: self.count]
        held[np.isin(held, rows)] = _GONE
        stays = held != _GONE
        self._some_are_gone = not stays.all()
        if 2 * np.count_nonzero(stays) < self.count:
            self._rows, self._codes = held[stays], self._codes[: self.count][stays]
            self._scales = self._scales[: self.count][stays]
            if self._floats is not None:
                self._floats = self._floats[: self.count][stays]
            self.count, self._some_are_gone = len(self._rows), False

    def _add(self, rows: "Numbers", stored: "Floats") -> None:
        codes, scales = _codes(stored)
        self._rows = _with(self._rows, rows, self.count)
        self._codes = _with(self._codes, codes, self.count)
        self._scales = _with(self._scales, scales, self.count)
        if self._floats is not None:
            self._floats = _with(self._floats, stored, self.count)
        self.count += len(rows)

    def in_order(self, asked: "Floats") -> "Callable[[int], Numbers]":
        """A function that gives the best places by what is held, the best first, as many as it is asked for."""
        import numpy as np
        import simsimd

        code, _ = _codes(asked.reshape(1, -1))
        products = np.empty((1, self.count), dtype=np.float32)
        simsimd.cdist(code, self._codes[: self.count], "dot", out=products)
        distance = products[0] * -self._scales[: self.count]
        if self._some_are_gone:
            distance[self._rows[: self.count] == _GONE] = np.inf

        return partial(_lowest, distance)

    def rescored(
        self, places: "Numbers", asked: "Floats", first: int, read: Read
    ) -> Iterator[list[tuple[float, tuple[Any, ...]]]]:
        """Similarities by the vectors themselves, and what `read` says of each; where the floats are held, of the first
        ones apart, which mostly are enough."""
        import numpy as np

        rows = self._rows[places]
        if self._floats is None:
            yield _rescored(read(rows[rows != _GONE].tolist(), with_vectors=True), asked)
            return
        similarity = self._floats[places] @ asked
        order = np.argsort(-similarity, kind="stable")
        order = order[rows[order] != _GONE]
        by_row = dict(zip(rows[order].tolist(), similarity[order].tolist(), strict=True))
        exact = list(by_row)
        # Those that are as near as the last of the first ones are read with them.
        until = sum(near >= by_row[exact[first - 1]] for near in by_row.values()) if first < len(exact) else len(exact)
        for some in (exact[:until], exact[until:]):
            found = read(some, with_vectors=False) if some else []
            yield [(by_row[row], tuple(facts)) for row, *facts in found]


def _empty(shape: Any, kind: str) -> "Array":
    import numpy as np

    return np.empty(shape, dtype=kind)


def _with(held: "Array", new: "Array", count: int) -> "Array":
    """The first `count` of what is held with the new ones after them: in the same array, or in a larger one."""
    until = count + len(new)
    if len(held) < until:
        larger = _empty((until + int(until * _SPARE_RATIO), *held.shape[1:]), held.dtype.str)
        larger[:count] = held[:count]
        held = larger
    held[count:until] = new
    return held


def _lowest(values: "Floats", many: int) -> "Numbers":
    """Places of the lowest values, the lowest first, as many as are asked for."""
    import numpy as np

    if many >= len(values):
        all_places: Numbers = np.argsort(values, kind="stable")
        return all_places
    # Parting half a million takes 6 ms, and leaving out beforehand what is higher than a few times as many 0.2 ms. How
    # high that is, a sample says; when it says too little, all are parted.
    step = len(values) // _SAMPLE + 1
    sample = values[::step]
    enough = _SAMPLED_RATIO * many // step + _SAMPLED_AT_LEAST
    if step > 1 and enough < len(sample):
        few = np.flatnonzero(values <= np.partition(sample, enough)[enough])
        if many < len(few) < len(values):
            return cast("Numbers", few[_lowest(values[few], many)])
    some = np.argpartition(values, many)[:many]
    chosen: Numbers = some[np.argsort(values[some], kind="stable")]
    return chosen


def _codes(floats: "Floats") -> "tuple[Array, Array]":
    """Vectors in a byte a number, and what each must be multiplied with: its largest number becomes 127."""
    import numpy as np

    largest = np.abs(floats).max(axis=1)
    largest[largest == 0] = 1
    codes = np.rint(floats * (_LARGEST_CODE / largest)[:, None]).astype(np.int8)
    return codes, (largest / _LARGEST_CODE).astype(np.float32)
