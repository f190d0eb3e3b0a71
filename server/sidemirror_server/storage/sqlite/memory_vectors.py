"""Vectors of the embedded store, held in memory by whatever searches: exact up to EXACT_ROWS in a scope, beyond that by
their signs, with the best scored anew from the stored floats (design section 10).

numpy is loaded with the first vector; a sidecar without an embedding model never loads it.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from sidemirror_server.storage.sql import load_statements

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float32]]
    Codes = np.ndarray[Any, np.dtype[np.uint64]]
    Numbers = np.ndarray[Any, np.dtype[np.int64]]

_SQL = load_statements(Path(__file__).with_name("memory_search.sql"))

# Design, section 10.
EXACT_ROWS = 20_000
# Candidates by sign that are scored anew. Chosen here from bench/: recall of the first ten is 0.99 and more with these.
_RESCORED = 400
_READ_AT_ONCE = 5_000
_FLOAT_BYTES = 4
# Scopes whose vectors stay in memory.
_SCOPES = 8


class Vectors:
    """The vectors of some scopes."""

    def __init__(self, exact_rows: int = EXACT_ROWS) -> None:
        self._exact_rows = exact_rows
        self._held: dict[tuple[int, int, int], _Held] = {}

    def nearest(
        self, connection: sqlite3.Connection, scope_no: int, model_no: int, vector: tuple[float, ...], first: int
    ) -> Iterator[list[tuple[int, float]]]:
        """Rows and their similarity, the most similar first, in portions: at least `first`, then ever more. Vectors of
        other dimensions than the question's are left out."""
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
        portion, given = first if held.is_exact else max(first, _RESCORED), 0
        order = held.in_order(asked)
        while given < held.count:
            rows = [int(row) for row in order(given + portion)[given:]]
            yield _rescored(connection, model_no, rows, asked)
            given += len(rows)
            portion *= 4


def _rescored(
    connection: sqlite3.Connection, model_no: int, rows: list[int], asked: "Floats"
) -> list[tuple[int, float]]:
    """The similarity of rows by their vectors as they are stored now; those without one are left out."""
    import numpy as np

    wanted = {"rows": msgspec.json.encode(rows).decode(), "model_no": model_no}
    rows_of = connection.execute(_SQL["vectors_of"], wanted)
    found = [(row, stored) for row, _, stored in rows_of if len(stored) == _FLOAT_BYTES * len(asked)]
    if not found:
        return []
    matrix = np.frombuffer(b"".join(stored for _, stored in found), dtype="<f4").reshape(len(found), -1)
    similarity = matrix @ asked
    scored = [(row, float(value)) for (row, _), value in zip(found, similarity, strict=True)]
    return sorted(scored, key=lambda hit: -hit[1])


class _Held:
    """What is held of one scope's vectors of one model and one length. Rows that lost their vector since stay, and
    are left out when they are scored anew."""

    def __init__(self, scope_no: int, model_no: int, dimensions: int) -> None:
        self._of = {"scope_no": scope_no, "model_no": model_no}
        self._bytes = _FLOAT_BYTES * dimensions
        self._last_no = 0
        self.count = 0
        self._rows: Numbers | None = None
        self._floats: Floats | None = None
        self._codes: Codes | None = None

    @property
    def is_exact(self) -> bool:
        """What is held are the floats, so that the order is the right one."""
        return self._floats is not None

    def bring_up_to_date(self, connection: sqlite3.Connection, exact_rows: int) -> None:
        """Reads what was kept since."""
        import numpy as np

        # What is read at once has each row once; what was read before may have an earlier vector of it.
        before = self.count
        while True:
            wanted = {**self._of, "vector_no": self._last_no, "limit": _READ_AT_ONCE}
            read = connection.execute(_SQL["vectors_after"], wanted).fetchall()
            if not read:
                return
            self._last_no = read[-1][0]
            read = [row for row in read if len(row[2]) == self._bytes]
            if not read:
                continue
            stored = np.frombuffer(b"".join(vector for _, _, vector in read), dtype="<f4").reshape(len(read), -1)
            rows = np.array([row for _, row, _ in read], dtype=np.int64)
            if before:
                self._forget(rows)
            self._add(rows, stored, exact_rows)

    def _forget(self, rows: "Numbers") -> None:
        """Lets go of the earlier vectors of these rows."""
        import numpy as np

        assert self._rows is not None
        stays = ~np.isin(self._rows, rows)
        if stays.all():
            return
        self._rows = self._rows[stays]
        if self._floats is not None:
            self._floats = self._floats[stays]
        if self._codes is not None:
            self._codes = np.ascontiguousarray(self._codes[:, stays])

    def _add(self, rows: "Numbers", stored: "Floats", exact_rows: int) -> None:
        import numpy as np

        self._rows = rows if self._rows is None else np.concatenate([self._rows, rows])
        self.count = len(self._rows)
        if self._codes is None and self.count <= exact_rows:
            self._floats = stored if self._floats is None else np.concatenate([self._floats, stored])
            return
        if self._floats is not None:
            stored, self._floats = np.concatenate([self._floats, stored]), None
        codes = _codes(stored)
        self._codes = codes if self._codes is None else np.concatenate([self._codes, codes], axis=1)

    def in_order(self, asked: "Floats") -> Any:
        """A function that gives the best rows by what is held, the best first, as many as it is asked for."""
        import numpy as np

        assert self._rows is not None
        if self._floats is not None:
            distance = -(self._floats @ asked)
        else:
            assert self._codes is not None
            code = _codes(asked.reshape(1, -1))
            distance = np.zeros(self.count, dtype=np.uint16)
            for column, word in zip(self._codes, code, strict=True):  # one column at a time stays in the cache
                distance += np.bitwise_count(column ^ word[0])
        rows = self._rows

        def best(many: int) -> "Numbers":
            if many >= len(rows):
                found: Numbers = rows[np.argsort(distance, kind="stable")]
                return found
            some = np.argpartition(distance, many)[:many]
            chosen: Numbers = rows[some[np.argsort(distance[some], kind="stable")]]
            return chosen

        return best


def _codes(floats: "Floats") -> "Codes":
    """The signs of vectors, 64 in a number, one column of numbers after the other."""
    import numpy as np

    bits = np.packbits(floats > 0, axis=1)
    spare = -bits.shape[1] % 8
    padded = np.pad(bits, ((0, 0), (0, spare))) if spare else bits
    codes: Codes = np.ascontiguousarray(padded).view(np.uint64).T.copy()
    return codes
