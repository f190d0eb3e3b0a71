"""The process that searches memories: `python -m sidemirror_server.storage.sqlite.memory_searcher FILE`.

A thread would hold the GIL while it scores, and delay every call of the server (decision 031). Measured: a p99 of 5.9
times the idle one. The process reads questions from standard input and answers them in order on standard output. It
ends when its input ends, and so always when the server ends.
"""

import os
import sqlite3
import sys
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import msgspec

from sidemirror_server.memory.finding.search import Filter, MemoryFacts, TextHits, VectorHits
from sidemirror_server.storage.sqlite.memory_lookup import Lookup
from sidemirror_server.vocabulary.scope import Scope

LENGTH_BYTES = 4
# The part of the file that is memory-mapped: SQLite's limit. A question reads hundreds of vectors on separate pages.
# An I/O error in mapped memory kills this process only, and the next question starts another.
_MAPPED_BYTES = 0x7FFF0000
# Searches have a lower priority than the server, whose calls would otherwise wait for a core on a small machine.
_NICENESS = 5


class ByText(msgspec.Struct, frozen=True, tag=True):
    """A question of `MemorySearch.by_text`."""

    scope: tuple[str, str]
    asked: dict[str, float]
    wanted: Filter
    limit: int
    said: tuple[str, ...] = ()


class Best(msgspec.Struct, frozen=True, tag=True):
    """A question of `MemorySearch.best`."""

    scope: tuple[str, str]
    wanted: Filter
    limit: int
    newest_first: bool


class Labelled(msgspec.Struct, frozen=True, tag=True):
    """A question of `MemorySearch.labelled`."""

    scope: tuple[str, str]
    tools: tuple[str, ...]
    error_categories: tuple[str, ...]
    wanted: Filter
    limit: int


class ByVector(msgspec.Struct, frozen=True, tag=True):
    """A question of `MemorySearch.by_vector`."""

    scope: tuple[str, str]
    model: str
    vector: tuple[float, ...]
    wanted: Filter
    limit: int


class Found(msgspec.Struct, frozen=True, tag=True):
    """The result of a question: one of these fields."""

    texts: TextHits | None = None
    vectors: VectorHits | None = None
    facts: tuple[MemoryFacts, ...] = ()


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The search failed because SQLite could not read the file."""

    reason: str


Asked: TypeAlias = ByText | Best | Labelled | ByVector
Answer: TypeAlias = Found | Failed

_read_question = msgspec.msgpack.Decoder(Asked).decode
_write = msgspec.msgpack.Encoder().encode


def looked_up(lookup: Lookup, connection: sqlite3.Connection, question: Asked) -> Found:
    """Answers a question. Raises sqlite3.Error."""
    scope = Scope(*question.scope)
    match question:
        case ByText():
            by_text = (question.asked, question.wanted, question.limit)
            return Found(texts=lookup.by_text(connection, scope, *by_text, said=question.said))
        case Best():
            best = lookup.best(connection, scope, question.wanted, question.limit, newest_first=question.newest_first)
            return Found(facts=best)
        case Labelled():
            labels = (question.tools, question.error_categories)
            return Found(facts=lookup.labelled(connection, scope, *labels, question.wanted, question.limit))
        case ByVector():
            asked = (question.model, question.vector, question.wanted, question.limit)
            return Found(vectors=lookup.by_vector(connection, scope, *asked))


def _in_snapshot(lookup: Lookup, connection: sqlite3.Connection, question: Asked) -> Found:
    connection.execute("BEGIN")
    try:
        return looked_up(lookup, connection, question)
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def framed(message: Any) -> bytes:
    """A message in its wire format: the length (LENGTH_BYTES, big-endian), then msgpack."""
    body = _write(message)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def _serve(path: str, questions: BinaryIO, answers: BinaryIO) -> None:
    lookup = Lookup()
    connection: sqlite3.Connection | None = None
    while len(head := questions.read(LENGTH_BYTES)) == LENGTH_BYTES:
        question = _read_question(questions.read(int.from_bytes(head, "big")))
        answer: Answer
        try:
            if connection is None:
                connection = connect(path)
            answer = _in_snapshot(lookup, connection, question)
        except sqlite3.Error as error:
            answer = Failed(str(error))
        try:
            answers.write(framed(answer))
            answers.flush()
        except BrokenPipeError:  # the sidecar has ended meanwhile
            os._exit(0)


def connect(path: str) -> sqlite3.Connection:
    """A read-only connection."""
    connection = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=1)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
    return connection


if __name__ == "__main__":
    os.nice(_NICENESS)
    # OpenBLAS would split each comparison among threads that spin while they wait: on two busy cores a question then
    # takes twice as long. OpenBLAS reads this when numpy is loaded, at the first question by vector.
    os.putenv("OPENBLAS_NUM_THREADS", "1")  # noqa: TID251  # OpenBLAS reads it, not our code
    _serve(sys.argv[1], sys.stdin.buffer, sys.stdout.buffer)
