"""A cache of the embedded store's vectors in the searching process. Candidates are found by codes of one byte per
number and scored by their float vectors. The floats are cached too in scopes of up to EXACT_ROWS vectors.

One bit per number (the sign) finds 0.57 of the ten nearest among random vectors. Bytes find 0.97 of them, and all ten
among their first thirty candidates (decision 031). Bytes take eight times the memory of bits and three times as long
to compare; floats of a few thousand vectors take four times as long as bytes.

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
# The largest scope, in vectors, whose floats are cached (decision 031).
EXACT_ROWS = 20_000
# Candidates that are scored by floats: a minimum, and a factor of the hits wanted. Chosen here: among random vectors
# the first 30 candidates contain the ten nearest (tests/storage/test_sqlite_memory_vectors.py).
_RESCORED, _RESCORED_RATIO = 100, 2
_READ_AT_ONCE = 5_000
_FLOAT_BYTES = 4
_LARGEST_CODE = 127
# The size of the cache; the scope searched last always stays. Chosen here: room for a million vectors of 384 numbers.
HELD_BYTES = 512 * 1024 * 1024
# Spare capacity of an array, as a fraction of its rows, so that an append rarely copies the array.
_SPARE_RATIO = 0.25
# A threshold from a sample of this size selects the lowest of many numbers. The factor and the minimum raise it, so
# that more numbers than are wanted remain. Chosen here: too few remain only once in thousands of questions.
_SAMPLE, _SAMPLED_RATIO, _SAMPLED_AT_LEAST = 8_192, 3, 8
# Replaces the row number of a vector that is out of date.
_GONE = -1


class Read(Protocol):
    """Reads the facts of rows, each preceded by the row's current vector or else by its number. Rows without a vector
    and rows that do not pass the filter are left out."""

    def __call__(self, rows: list[int], *, with_vectors: bool) -> list[tuple[Any, ...]]: ...


class Vectors:
    """A cache of the vectors of recently searched scopes."""

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
        """Yields hits as (similarity, facts from `read`), in growing portions: the most similar candidates first.
        Within a portion there is no order. Vectors whose dimensions differ from the question's are left out."""
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
        """Evicts the least recently searched scopes."""
        held_bytes = sum(held.size_bytes for held in self._held.values())
        while held_bytes > self._held_bytes and len(self._held) > 1:
            held_bytes -= self._held.pop(next(iter(self._held))).size_bytes


def _rescored(found: list[tuple[Any, ...]], asked: "Floats") -> list[tuple[float, tuple[Any, ...]]]:
    """Replaces the vector at the start of each row by its similarity to `asked`."""
    import numpy as np

    found = [one for one in found if len(one[0]) == _FLOAT_BYTES * len(asked)]
    if not found:
        return []
    matrix = np.frombuffer(b"".join([one[0] for one in found]), dtype="<f4").reshape(len(found), -1)
    return [(similarity, one[1:]) for similarity, one in zip((matrix @ asked).tolist(), found, strict=True)]


class _Held:
    """The cached vectors of one scope, model and length: codes of all, and floats while there are few. Vectors that
    were deleted from the store stay cached, and are left out when candidates are scored."""

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
        """Reads the vectors that were stored since the last call."""
        import numpy as np

        # One read returns each row once, but an earlier read may have cached an older vector of the row.
        while True:
            wanted = {**self._of, "vector_no": self._last_no, "limit": _READ_AT_ONCE}
            read = connection.execute(_SQL["vectors_after"], wanted).fetchall()
            if not read:
                return
            self._last_no = read[-1][0]
            rows = np.array([row for _, row, _ in read], dtype=np.int64)
            if rows.min() <= self._newest_row:  # not only new memories, whose row numbers are above all others
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
        """Marks the cached vectors of these rows as out of date. Removes marked ones once they are the majority."""
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
        """A function that returns the indexes of the n best candidates by their codes, best first."""
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
        """Yields (similarity by floats, facts from `read`) of the candidates at `places`. If the floats are cached, the
        `first` best come as a separate list, because they are usually enough."""
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
        # Candidates with the same similarity as the last of the `first` are read with them.
        until = sum(near >= by_row[exact[first - 1]] for near in by_row.values()) if first < len(exact) else len(exact)
        for some in (exact[:until], exact[until:]):
            found = read(some, with_vectors=False) if some else []
            yield [(by_row[row], tuple(facts)) for row, *facts in found]


def _empty(shape: Any, kind: str) -> "Array":
    import numpy as np

    return np.empty(shape, dtype=kind)


def _with(held: "Array", new: "Array", count: int) -> "Array":
    """Appends `new` after the first `count` rows of `held`, in the same array or in a larger copy."""
    until = count + len(new)
    if len(held) < until:
        larger = _empty((until + int(until * _SPARE_RATIO), *held.shape[1:]), held.dtype.str)
        larger[:count] = held[:count]
        held = larger
    held[count:until] = new
    return held


def _lowest(values: "Floats", many: int) -> "Numbers":
    """Indexes of the `many` lowest values, lowest first."""
    import numpy as np

    if many >= len(values):
        all_places: Numbers = np.argsort(values, kind="stable")
        return all_places
    # Partitioning half a million values takes 6 ms; dropping those above a threshold first takes 0.2 ms. The threshold
    # comes from a sample; if too few values are below it, all are partitioned.
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
    """Vectors as one byte per number, and the scale of each. The largest absolute number of a vector becomes 127."""
    import numpy as np

    largest = np.abs(floats).max(axis=1)
    largest[largest == 0] = 1
    codes = np.rint(floats * (_LARGEST_CODE / largest)[:, None]).astype(np.int8)
    return codes, (largest / _LARGEST_CODE).astype(np.float32)
