"""Vectors of the embedded store, held in memory by whatever searches: exact up to EXACT_ROWS in a scope, beyond that in
a byte a number, with the best scored anew from the stored floats.

Signs alone (a bit a number, as design section 10 has it) find 0.57 of the first ten where vectors lie at random; bytes
find 0.97 by themselves, and all of them in the first thirty. They take eight times the memory, and a comparison
three times as long.

numpy and simsimd are loaded with the first vector; a sidecar without an embedding model never loads them.
"""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidemirror_server.storage.sql import load_statements

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]
    Floats = np.ndarray[Any, np.dtype[np.float32]]
    Numbers = np.ndarray[Any, np.dtype[np.int64]]

_SQL = load_statements(Path(__file__).with_name("memory_search.sql"))

# Design, section 10.
EXACT_ROWS = 20_000
# Candidates by bytes that are scored anew, at least, and for each that is asked for. Chosen here: 30 hold the first ten
# of vectors that lie at random (tests/storage/test_sqlite_memory_vectors.py).
_RESCORED, _RESCORED_RATIO = 100, 2
_READ_AT_ONCE = 5_000
_FLOAT_BYTES = 4
_LARGEST_CODE = 127
# Scopes whose vectors stay in memory.
_SCOPES = 8
# Rows for which there is room beyond those that are held, as a part of them: what is added moves the rest rarely.
_SPARE_RATIO = 0.25
# The place of a row that has another vector by now.
_GONE = -1

# Reads the vectors of rows as they are stored now, each followed by what else is wanted of its row. Rows without one,
# and those that do not count, are left out.
Read = Callable[[list[int]], list[tuple[Any, ...]]]


class Vectors:
    """The vectors of some scopes."""

    def __init__(self, exact_rows: int = EXACT_ROWS) -> None:
        self._exact_rows = exact_rows
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
        while len(self._held) > _SCOPES:
            del self._held[next(iter(self._held))]
        held.bring_up_to_date(connection, self._exact_rows)
        asked = np.asarray(vector, dtype=np.float32)
        if held.count == 0:
            return
        portion, given = first if held.is_exact else max(first * _RESCORED_RATIO, _RESCORED), 0
        order = held.in_order(asked)
        while given < held.count:
            rows = order(given + portion)[given:].tolist()
            yield _rescored(read([row for row in rows if row != _GONE]), asked)
            given += len(rows)
            portion *= 4


def _rescored(found: list[tuple[Any, ...]], asked: "Floats") -> list[tuple[float, tuple[Any, ...]]]:
    """What was found, with its similarity by the vector that it begins with."""
    import numpy as np

    found = [one for one in found if len(one[0]) == _FLOAT_BYTES * len(asked)]
    if not found:
        return []
    matrix = np.frombuffer(b"".join([one[0] for one in found]), dtype="<f4").reshape(len(found), -1)
    return [(similarity, one[1:]) for similarity, one in zip((matrix @ asked).tolist(), found, strict=True)]


class _Held:
    """What is held of one scope's vectors of one model and one length. Rows that lost their vector since stay, and
    are left out when they are scored anew."""

    def __init__(self, scope_no: int, model_no: int, dimensions: int) -> None:
        self._of = {"scope_no": scope_no, "model_no": model_no}
        self._dimensions = dimensions
        self._last_no = 0
        self._newest_row = 0
        self.count = 0
        self.is_exact = True  # the floats themselves are held, so that the order is the right one
        self._some_are_gone = False
        self._rows: Array | None = None
        self._vectors: Array | None = None  # floats, or codes
        self._scales: Array | None = None

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
            read = [row for row in read if len(row[2]) == _FLOAT_BYTES * self._dimensions]
            if not read:
                continue
            stored = np.frombuffer(b"".join(vector for _, _, vector in read), dtype="<f4").reshape(len(read), -1)
            rows = np.array([row for _, row, _ in read], dtype=np.int64)
            if rows.min() <= self._newest_row:  # a memory that is new has a number above all others
                self._forget(rows)
            self._newest_row = max(self._newest_row, int(rows.max()))
            if self.is_exact and self.count + len(rows) > exact_rows:
                self._encode_all()
            self._add(rows, stored)

    def _forget(self, rows: "Numbers") -> None:
        """Lets go of the earlier vectors of these rows. They keep their places until half of all are such."""
        import numpy as np

        if self._rows is None or self._vectors is None:
            return
        held = self._rows[: self.count]
        held[np.isin(held, rows)] = _GONE
        stays = held != _GONE
        self._some_are_gone = not stays.all()
        if 2 * np.count_nonzero(stays) < self.count:
            self._rows, self._vectors = held[stays], self._vectors[: self.count][stays]
            if self._scales is not None:
                self._scales = self._scales[: self.count][stays]
            self.count, self._some_are_gone = len(self._rows), False

    def _encode_all(self) -> None:
        """From here on bytes are held."""
        floats = None if self._vectors is None else self._vectors[: self.count]
        rows = None if self._rows is None else self._rows[: self.count]
        self.is_exact, self.count, self._rows, self._vectors = False, 0, None, None
        if rows is not None and floats is not None:
            self._add(rows, floats)

    def _add(self, rows: "Numbers", stored: "Floats") -> None:
        until = self.count + len(rows)
        vectors, scales = (stored, None) if self.is_exact else _codes(stored)
        self._rows = _with_room(self._rows, rows, self.count, until)
        self._rows[self.count : until] = rows
        self._vectors = _with_room(self._vectors, vectors, self.count, until)
        self._vectors[self.count : until] = vectors
        if scales is not None:
            self._scales = _with_room(self._scales, scales, self.count, until)
            self._scales[self.count : until] = scales
        self.count = until

    def in_order(self, asked: "Floats") -> Any:
        """A function that gives the best rows by what is held, the best first, as many as it is asked for."""
        import numpy as np

        assert self._rows is not None
        assert self._vectors is not None
        rows, vectors = self._rows[: self.count], self._vectors[: self.count]
        if self._scales is None:
            distance = -(vectors @ asked)
        else:
            import simsimd

            code, _ = _codes(asked.reshape(1, -1))
            products = np.empty((1, self.count), dtype=np.float32)
            simsimd.cdist(code, vectors, "dot", out=products)
            distance = products[0] * -self._scales[: self.count]
        if self._some_are_gone:
            distance[rows == _GONE] = np.inf

        def best(many: int) -> "Numbers":
            if many >= len(rows):
                found: Numbers = rows[np.argsort(distance, kind="stable")]
                return found
            some = np.argpartition(distance, many)[:many]
            chosen: Numbers = rows[some[np.argsort(distance[some], kind="stable")]]
            return chosen

        return best


def _with_room(held: "Array | None", like: "Array", count: int, until: int) -> "Array":
    """An array of what is held that has room for `until`: the same, or a larger one."""
    import numpy as np

    if held is not None and len(held) >= until:
        return held
    room = until if held is None else until + int(until * _SPARE_RATIO)
    larger = np.empty((room, *like.shape[1:]), dtype=like.dtype)
    if held is not None:
        larger[:count] = held[:count]
    return larger


def _codes(floats: "Floats") -> "tuple[Array, Array]":
    """Vectors in a byte a number, and what each must be multiplied with: its largest number becomes 127."""
    import numpy as np

    largest = np.abs(floats).max(axis=1)
    largest[largest == 0] = 1
    codes = np.rint(floats * (_LARGEST_CODE / largest)[:, None]).astype(np.int8)
    return codes, (largest / _LARGEST_CODE).astype(np.float32)
