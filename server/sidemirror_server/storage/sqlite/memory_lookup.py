"""Looks memories up on a read-only SQLite connection.

It runs on a thread or in another process (`memory_search.py`), but for few memories with a label. Full text search has
two steps: the index finds and roughly ranks candidates, then the best of them are scored by the rule of all stores
(`vocabulary/bm25.py`).
"""

import heapq
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sidemirror_server.memory.finding.closest import by_words, closest
from sidemirror_server.memory.finding.search import Filter, MemoryFacts, TextHit, TextHits, VectorHit, VectorHits
from sidemirror_server.storage.sql import columns_of, json_of, load_statements
from sidemirror_server.storage.sqlite.memory_vectors import Vectors
from sidemirror_server.vocabulary.bm25 import MOST_LED_TO, Field, chosen, scorer, worth
from sidemirror_server.vocabulary.closeness import CANDIDATES
from sidemirror_server.vocabulary.scope import Scope

SQL = load_statements(Path(__file__).with_name("memory_search.sql"))

# How many candidates are scored: this many for each hit wanted, but not fewer than the minimum. Chosen here: the index
# ranks content and task as one text, so its order of the first few differs from that of the scores.
_RESCORED = 2
_RESCORED_AT_LEAST = 100
# Index rows read for each of these candidates. Their rank is then corrected by text length, which the index lacks.
_WEIGHED = 4
# How many terms have cached frequencies, and the growth of a scope that invalidates them. A large scope may grow more:
# there 10 % more memories change a term's weight by only 2 %.
_REMEMBERED = 50_000
_GROWTH_RATIO, _GROWTH_RATIO_OF_LARGE = 1.02, 1.1
_LARGE = 1_000


class _Scope(msgspec.Struct, frozen=True):
    scope_no: int
    memories: int
    content: Field
    task: Field


class _Having(msgspec.Struct, frozen=True):
    content: int
    task: int
    memories: int


class Lookup:
    """Looks memories up. Caches term frequencies and vectors. Not thread-safe."""

    def __init__(self) -> None:
        self._having: OrderedDict[tuple[int, str], _Having] = OrderedDict()
        self._vectors = Vectors()

    def by_text(
        self,
        connection: sqlite3.Connection,
        scope: Scope,
        asked: Mapping[str, float],
        wanted: Filter,
        limit: int,
        *,
        said: Sequence[str] = (),
    ) -> TextHits:
        """Like `MemorySearch.by_text`."""
        known = _scope(connection, scope)
        if known is None or not asked:
            return TextHits(())
        having = {term: self._term(connection, known, term) for term in asked}
        in_all = {term: has.content + has.task for term, has in having.items()}
        terms = chosen(asked, in_all, known.memories)
        if not terms:
            return TextHits(())
        weights = {term: asked[term] for term in terms}
        content_score = scorer(weights, {term: having[term].content for term in terms}, known.content)
        task_score = scorer(weights, {term: having[term].task for term in terms}, known.task)
        led_to = sum(having[term].content + having[term].task for term in terms)
        many = max(limit, CANDIDATES) if said else limit
        enough = max(limit * _RESCORED, _RESCORED_AT_LEAST, many)
        rows = _best_by_words(connection, known, terms, led_to, wanted, enough)
        scored = [
            (TextHit(MemoryFacts(*facts), content_score(content), task_score(task) if task else 0.0), content, task)
            for content, task, *facts in rows
        ]
        best = heapq.nsmallest(many, scored, key=lambda found: by_words(found[0]))
        hits = tuple(hit for hit, *_ in best)
        if said:
            hits = closest(asked, said, hits, [f"{content} {task}".strip() for _, content, task in best])[:limit]
        return TextHits(hits, terms, worth(asked, in_all, known.memories))

    def _term(self, connection: sqlite3.Connection, known: _Scope, term: str) -> _Having:
        """How often a term occurs in a scope. Cached, because the time to count it grows with the number."""
        key = (known.scope_no, term)
        remembered = self._having.get(key)
        if remembered is not None and _is_near(remembered.memories, known.memories):
            self._having.move_to_end(key)
            return remembered
        counted = dict(connection.execute(SQL["having"], {"term": f"{known.scope_no}·{term}"}).fetchall())
        having = _Having(counted.get("content", 0), counted.get("task", 0), known.memories)
        self._having[key] = having
        if len(self._having) > _REMEMBERED:
            self._having.popitem(last=False)
        return having

    def best(
        self, connection: sqlite3.Connection, scope: Scope, wanted: Filter, limit: int, *, newest_first: bool
    ) -> tuple[MemoryFacts, ...]:
        """Like `MemorySearch.best`."""
        known = _scope(connection, scope)
        if known is None:
            return ()
        if wanted.tags:
            labels = [f"g:{tag}" for tag in wanted.tags]
            values = {**_filter(known, wanted), "labels": json_of(labels), "tags": "[]", "limit": limit}
            name = "labelled_newest" if newest_first else "labelled"
            return tuple(MemoryFacts(*row) for row in connection.execute(SQL[name], values))
        found: list[MemoryFacts] = []
        place = columns_of(scope)
        for state in wanted.states:
            values = {**_filter(known, wanted), **place, "state": state, "limit": limit}
            found += [
                MemoryFacts(*row) for row in connection.execute(SQL["newest" if newest_first else "best"], values)
            ]
        if newest_first:
            return tuple(heapq.nlargest(limit, found, key=lambda facts: (facts.created_us, facts.memory_id)))
        return tuple(heapq.nsmallest(limit, found, key=_by_importance))

    def labelled(
        self,
        connection: sqlite3.Connection,
        scope: Scope,
        tools: tuple[str, ...],
        error_categories: tuple[str, ...],
        wanted: Filter,
        limit: int,
    ) -> tuple[MemoryFacts, ...]:
        """Like `MemorySearch.labelled`."""
        known = _scope(connection, scope)
        labels = _labels(tools, error_categories)
        if known is None or not labels:
            return ()
        tags = json_of([f"g:{tag}" for tag in wanted.tags])
        values = {**_filter(known, wanted), "labels": json_of(labels), "tags": tags, "limit": limit}
        found = [MemoryFacts(*row) for row in connection.execute(SQL["labelled"], values)]
        return tuple(sorted(found, key=_by_importance))

    def has_more(
        self,
        connection: sqlite3.Connection,
        scope: Scope,
        tools: tuple[str, ...],
        error_categories: tuple[str, ...],
        most: int,
    ) -> bool:
        """Whether `labelled` would read more than `most` rows of labels."""
        scope_no = scope_number(connection, scope)
        labels = _labels(tools, error_categories)
        if scope_no is None or not labels:
            return False
        values = {"scope_no": scope_no, "labels": json_of(labels), "limit": most + 1}
        (found,) = connection.execute(SQL["have_label"], values).fetchone()
        return bool(found > most)

    def by_vector(
        self,
        connection: sqlite3.Connection,
        scope: Scope,
        model: str,
        vector: tuple[float, ...],
        wanted: Filter,
        limit: int,
    ) -> VectorHits:
        """Like `MemorySearch.by_vector`."""
        known = _scope(connection, scope)
        model_no = model_number(connection, model)
        if known is None or model_no is None:
            return VectorHits((), 0, 0 if known is None else known.memories)
        of = {"scope_no": known.scope_no, "model_no": model_no}
        (without,) = connection.execute(SQL["without_vector"], of).fetchone()
        embedded = known.memories - without
        passing = {**_passing(known, wanted), "model_no": model_no}

        def read(rows: list[int], *, with_vectors: bool) -> list[tuple[Any, ...]]:
            statement = SQL["vectors_of" if with_vectors else "facts_of"]
            return connection.execute(statement, {**passing, "rows": json_of(rows)}).fetchall()

        found: list[tuple[float, tuple[Any, ...]]] = []
        for nearest in self._vectors.nearest(connection, known.scope_no, model_no, vector, limit, read):
            found += nearest
            if len(found) >= limit:
                break
        # By similarity, then newest first, then by id.
        found.sort(key=lambda hit: (-hit[0], -hit[1][3], hit[1][0]))
        hits = tuple(VectorHit(MemoryFacts(*facts), similarity) for similarity, facts in found[:limit])
        return VectorHits(hits, embedded, known.memories)


def model_number(connection: sqlite3.Connection, name: str) -> int | None:
    """The number of an embedding model; None if the store has no vector of it."""
    row = connection.execute(SQL["model"], {"name": name}).fetchone()
    return None if row is None else int(row[0])


def scope_number(connection: sqlite3.Connection, scope: Scope) -> int | None:
    """The number of a scope; None if it has never had a memory."""
    known = _scope(connection, scope)
    return None if known is None else known.scope_no


def _scope(connection: sqlite3.Connection, scope: Scope) -> _Scope | None:
    row = connection.execute(SQL["scope"], columns_of(scope)).fetchone()
    if row is None:
        return None
    scope_no, memories, content_terms, tasks, task_terms = row
    return _Scope(scope_no, memories, Field(memories, content_terms), Field(tasks, task_terms))


def _labels(tools: Sequence[str], error_categories: Sequence[str]) -> list[str]:
    return [f"t:{tool}" for tool in tools] + [f"c:{category}" for category in error_categories]


def _is_near(then: int, now: int) -> bool:
    """Whether a frequency that was counted with `then` memories is still valid with `now`."""
    less, more = sorted((then, now))
    return more <= less * (_GROWTH_RATIO if less < _LARGE else _GROWTH_RATIO_OF_LARGE)


def _best_by_words(
    connection: sqlite3.Connection, known: _Scope, terms: Iterable[str], led_to: int, wanted: Filter, enough: int
) -> list[tuple[Any, ...]]:
    """Terms and facts of the best candidates that pass the filter: `enough`, or fewer if there are no more.

    `led_to`: an upper bound for the number of memories with one of the terms. If the filter leaves too few candidates,
    all of these memories are checked, up to MOST_LED_TO.
    """
    values = {
        **_passing(known, wanted),
        "words": " OR ".join(f'"{known.scope_no}·{term}"' for term in terms),
        "mean_terms": known.content.mean_terms() + known.task.terms / known.memories,
        "most": MOST_LED_TO,
        "few": enough * _WEIGHED,
        "limit": enough,
    }
    found = connection.execute(SQL["best_by_words"], values).fetchall()
    if len(found) < enough and led_to > enough * _WEIGHED:
        found = connection.execute(SQL["best_by_words"], {**values, "few": MOST_LED_TO}).fetchall()
    return found


def _passing(known: _Scope, wanted: Filter) -> dict[str, Any]:
    return {**_filter(known, wanted), "labels": json_of([f"g:{tag}" for tag in wanted.tags])}


def _filter(known: _Scope, wanted: Filter) -> dict[str, Any]:
    return {
        "scope_no": known.scope_no,
        "min_importance": wanted.min_importance,
        "kind": wanted.kind,
        "states": json_of(wanted.states),
    }


def _by_importance(facts: MemoryFacts) -> tuple[float, int, str]:
    return (-facts.importance, -facts.created_us, facts.memory_id)
