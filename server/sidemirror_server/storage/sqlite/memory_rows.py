"""The rows of a new memory: the memory, its keys, and its entries in the search indexes. Used by `memories.py`.

The rows are prepared before the transaction, and many memories share the statements that insert them. Triggers update
the search indexes when a memory changes, but not when one is added: FTS5 would write a segment for each.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sidemirror_server.memory.kin.links import links_of
from sidemirror_server.memory.record import LAYER, SOURCE, MemoryRecord, NewLink, known_by, memory_body, sources_of
from sidemirror_server.storage.sql import columns_of, json_of, load_statements
from sidemirror_server.storage.sqlite.sources import note_sources
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.terms import terms_of

_SQL = load_statements(Path(__file__).with_name("memories.sql"))


class New(NamedTuple):
    """A memory that may be new, with its rows' values. `values`: those of table `memories`, without the row id."""

    scope: Scope
    memory: MemoryRecord
    values: dict[str, Any]
    keys: tuple[str, ...]
    labels: frozenset[str]
    links: tuple[NewLink, ...]


def new_row(scope: Scope, memory: MemoryRecord) -> New:
    """Prepares the rows of a memory."""
    values = {**values_of(scope, memory), "task_terms": terms_of(memory.task_text), **texts_of(memory)}
    return New(scope, memory, values, known_by(memory), _labels_of(memory), links_of(memory))


def add_new(connection: sqlite3.Connection, rows: Sequence[New]) -> str:
    """Inserts new memories without their links. Returns an empty text, or the first memory id that is taken. In that
    case the caller must roll back, except for a single memory: then nothing was inserted."""
    (first,) = connection.execute(_SQL["next_row"]).fetchone()
    values = [{**row.values, "row_id": row_id} for row_id, row in enumerate(rows, first)]
    if connection.executemany(_SQL["add"], values).rowcount != len(rows):
        ids = (row.memory.memory_id for row, its in zip(rows, values, strict=True) if _is_taken(connection, its))
        return next(ids)
    numbers = {scope: _counted(connection, rows, scope) for scope in dict.fromkeys(row.scope for row in rows)}
    facts: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = []
    keys: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    for its, row in zip(values, rows, strict=True):
        at = {"row_id": its["row_id"], "scope_no": numbers[row.scope]}
        content, task = its["content_terms"], its["task_terms"]
        facts.append({**its, **at, "terms": _count(content) + _count(task)})
        labels += [{**at, "label": label} for label in row.labels]
        keys += [{**its, "known_by": key} for key in row.keys]
        words.append({**at, "content": _of_scope(content, at["scope_no"]), "task": _of_scope(task, at["scope_no"])})
    connection.executemany(_SQL["add_facts"], facts)
    connection.executemany(_SQL["add_label"], labels)
    connection.executemany(_SQL["know"], keys)
    for row in rows:
        note_sources(connection, row.scope, key(SourceKind.MEMORY, row.memory.memory_id), sources_of(row.memory))
    # Must be the last statement, see `add_words`.
    connection.executemany(_SQL["add_words"], words)
    return ""


def _is_taken(connection: sqlite3.Connection, values: dict[str, Any]) -> bool:
    """Whether another row has this memory id."""
    (row_id,) = connection.execute(_SQL["row_of"], values).fetchone()
    return bool(row_id != values["row_id"])


def _counted(connection: sqlite3.Connection, rows: Iterable[New], scope: Scope) -> int:
    """Adds new memories to the counts of their scope; returns the scope's number."""
    texts = [row.values for row in rows if row.scope == scope]
    counted = {
        **columns_of(scope),
        "memories": len(texts),
        "tasks": sum(one["task_terms"] != "" for one in texts),
        "content_terms": sum(_count(one["content_terms"]) for one in texts),
        "task_terms": sum(_count(one["task_terms"]) for one in texts),
    }
    (scope_no,) = connection.execute(_SQL["add_to_scope"], counted).fetchone()
    return int(scope_no)


def values_of(scope: Scope, memory: MemoryRecord) -> dict[str, Any]:
    """The values of a memory's row in table `memories`, without its texts."""
    return {
        **columns_of(scope),
        "memory_id": memory.memory_id,
        "kind": memory.kind,
        "state": memory.state,
        "source": SOURCE,
        "layer": LAYER,
        "importance": memory.importance,
        "confidence": memory.confidence,
        "origin": int(memory.origin),
        "error_category": memory.error_category,
        "tags": json_of(memory.tags),
        "version": memory.version,
        "strength": memory.strength,
        "created_us": memory.created_us,
        "updated_us": memory.updated_us,
        "body": memory_body(memory),
    }


def texts_of(memory: MemoryRecord) -> dict[str, str]:
    """The texts of a memory's row. The task never changes."""
    return {
        "content": memory.content,
        "task_text": memory.task_text,
        "content_terms": terms_of(memory.content),
    }


def _labels_of(memory: MemoryRecord) -> frozenset[str]:
    """A memory's labels in the index. The trigger `memory_is_labelled` writes the same ones after a change."""
    when = memory.applies_when
    categories = (*when.error_categories, *filter(None, (memory.error_category,)))
    return frozenset(
        (
            *(f"g:{tag}" for tag in memory.tags),
            *(f"t:{tool}" for tool in when.tools),
            *(f"c:{one}" for one in categories),
        )
    )


def _count(terms: str) -> int:
    """The number of terms; they are separated by single blanks."""
    return terms.count(" ") + 1 if terms else 0


def _of_scope(terms: str, scope_no: int) -> str:
    """The terms with the scope's number before each, as the full text index has them."""
    return f" {terms}".replace(" ", f" {scope_no}·")
