"""The process that searches memories: `python -m sidemirror_server.storage.sqlite.memory_searcher FILE`.

A thread would hold the interpreter while it scores, and every call of the server would wait for it (research page
performance: a p99 of 5.9 times idle). It reads questions from its standard input and answers on its standard output,
one after the other, until the input ends, which it does when the server is gone in whatever way.
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
# How much of the file is read where it lies in memory (SQLite's own limit): hundreds of vectors a question, each on a
# page of its own. A disk that fails then ends this process, and no other: it is started again with the next question.
_MAPPED_BYTES = 0x7FFF0000
# Whatever the server does at the same time goes before a search: on few cores its calls would wait for a core.
_NICENESS = 5


class ByText(msgspec.Struct, frozen=True, tag=True):
    """A question of `MemorySearch.by_text`."""

    scope: tuple[str, str]
    asked: dict[str, float]
    wanted: Filter
    limit: int


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
    """What was found: one of these."""

    texts: TextHits | None = None
    vectors: VectorHits | None = None
    facts: tuple[MemoryFacts, ...] = ()


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The file could not be read."""

    reason: str


Asked: TypeAlias = ByText | Best | Labelled | ByVector
Answer: TypeAlias = Found | Failed

_read_question = msgspec.msgpack.Decoder(Asked).decode
_write = msgspec.msgpack.Encoder().encode


def looked_up(lookup: Lookup, connection: sqlite3.Connection, question: Asked) -> Found:
    """What a question finds. Raises sqlite3.Error."""
    scope = Scope(*question.scope)
    match question:
        case ByText():
            return Found(texts=lookup.by_text(connection, scope, question.asked, question.wanted, question.limit))
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
    """A message as it is sent: its length, then itself."""
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
        answers.write(framed(answer))
        answers.flush()


def connect(path: str) -> sqlite3.Connection:
    """A connection that only reads."""
    connection = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=1)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
    return connection


if __name__ == "__main__":
    os.nice(_NICENESS)
    # numpy's library would share out each comparison among threads, which wait for one another by spinning: on two busy
    # cores a question then takes twice as long. Read when numpy is loaded, with the first question by meaning.
    os.putenv("OPENBLAS_NUM_THREADS", "1")  # noqa: TID251  # a library reads it, nothing of ours
    _serve(sys.argv[1], sys.stdin.buffer, sys.stdout.buffer)
