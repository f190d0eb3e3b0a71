"""How memories are looked up in SQLite: on a connection that only reads, wherever that runs.

`memory_search.py` calls it, beside the event loop. Full text: the index finds and weighs roughly, then the best of
that are scored by the rule that all stores share (`vocabulary/bm25.py`).
"""

import heapq
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from sidemirror_server.memory.finding.search import Filter, MemoryFacts, TextHit, TextHits, VectorHit, VectorHits
from sidemirror_server.storage.sql import load_statements
from sidemirror_server.storage.sqlite.memory_vectors import Vectors
from sidemirror_server.vocabulary.bm25 import MOST_LED_TO, Field, chosen, scorer
from sidemirror_server.vocabulary.scope import Scope

SQL = load_statements(Path(__file__).with_name("memory_search.sql"))

# Candidates of the index that are scored anew, for each hit that is asked for, and at least. Chosen here: the index
# weighs both texts together, so that the order differs among the first few.
_RESCORED = 2
_RESCORED_AT_LEAST = 100
# Of what the index finds so many for each of those are weighed by their length: it knows none itself.
_WEIGHED = 4
# Terms whose figures are remembered, and how far a scope may grow before they are read anew: a large one further, where
# a tenth more of all changes what a term tells by a fiftieth.
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
    """Looks memories up. Remembers how common words are in large scopes, and vectors; not to be shared by threads."""

    def __init__(self) -> None:
        self._having: OrderedDict[tuple[int, str], _Having] = OrderedDict()
        self._vectors = Vectors()

    def by_text(
        self, connection: sqlite3.Connection, scope: Scope, asked: Mapping[str, float], wanted: Filter, limit: int
    ) -> TextHits:
        """As the port says."""
        known = _scope(connection, scope)
        if known is None or not asked:
            return TextHits(())
        having = {term: self._term(connection, known, term) for term in asked}
        terms = chosen(asked, {term: has.content + has.task for term, has in having.items()}, known.memories)
        if not terms:
            return TextHits(())
        weights = {term: asked[term] for term in terms}
        content_score = scorer(weights, {term: having[term].content for term in terms}, known.content)
        task_score = scorer(weights, {term: having[term].task for term in terms}, known.task)
        led_to = sum(having[term].content + having[term].task for term in terms)
        rows = _best_by_words(connection, known, terms, led_to, wanted, max(limit * _RESCORED, _RESCORED_AT_LEAST))
        hits = [(content_score(content), task_score(task) if task else 0.0, facts) for content, task, *facts in rows]
        # The best score first, then the newest, then by id.
        best = heapq.nsmallest(limit, hits, key=lambda hit: (-hit[0] - hit[1], -hit[2][3], hit[2][0]))
        return TextHits(tuple(TextHit(MemoryFacts(*facts), *scores) for *scores, facts in best), terms)

    def _term(self, connection: sqlite3.Connection, known: _Scope, term: str) -> _Having:
        """How common a term is. Reading that takes as long as the term is common, so it is remembered."""
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
        """As the port says."""
        known = _scope(connection, scope)
        if known is None:
            return ()
        if wanted.tags:
            labels = [f"g:{tag}" for tag in wanted.tags]
            values = {**_filter(known, wanted), "labels": _json(labels), "tags": "[]", "limit": limit}
            name = "labelled_newest" if newest_first else "labelled"
            return tuple(MemoryFacts(*row) for row in connection.execute(SQL[name], values))
        found: list[MemoryFacts] = []
        place = {"tenant_id": scope.tenant_id, "project_id": scope.project_id}
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
        """As the port says."""
        known = _scope(connection, scope)
        labels = [f"t:{tool}" for tool in tools] + [f"c:{category}" for category in error_categories]
        if known is None or not labels:
            return ()
        tags = _json([f"g:{tag}" for tag in wanted.tags])
        values = {**_filter(known, wanted), "labels": _json(labels), "tags": tags, "limit": limit}
        found = [MemoryFacts(*row) for row in connection.execute(SQL["labelled"], values)]
        return tuple(sorted(found, key=_by_importance))

    def by_vector(
        self,
        connection: sqlite3.Connection,
        scope: Scope,
        model: str,
        vector: tuple[float, ...],
        wanted: Filter,
        limit: int,
    ) -> VectorHits:
        """As the port says."""
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
            return connection.execute(statement, {**passing, "rows": _json(rows)}).fetchall()

        found: list[tuple[float, tuple[Any, ...]]] = []
        for nearest in self._vectors.nearest(connection, known.scope_no, model_no, vector, limit, read):
            found += nearest
            if len(found) >= limit:
                break
        # The most similar first, then the newest, then by id.
        found.sort(key=lambda hit: (-hit[0], -hit[1][3], hit[1][0]))
        hits = tuple(VectorHit(MemoryFacts(*facts), similarity) for similarity, facts in found[:limit])
        return VectorHits(hits, embedded, known.memories)


def model_number(connection: sqlite3.Connection, name: str) -> int | None:
    """The number of an embedding model; None when it made no vector yet."""
    row = connection.execute(SQL["model"], {"name": name}).fetchone()
    return None if row is None else int(row[0])


def scope_number(connection: sqlite3.Connection, scope: Scope) -> int | None:
    """The number of a scope; None when it has no memory yet."""
    known = _scope(connection, scope)
    return None if known is None else known.scope_no


def _scope(connection: sqlite3.Connection, scope: Scope) -> _Scope | None:
    wanted = {"tenant_id": scope.tenant_id, "project_id": scope.project_id}
    row = connection.execute(SQL["scope"], wanted).fetchone()
    if row is None:
        return None
    scope_no, memories, content_terms, tasks, task_terms = row
    return _Scope(scope_no, memories, Field(memories, content_terms), Field(tasks, task_terms))


def _is_near(then: int, now: int) -> bool:
    """Small scopes are counted anew each time that they change."""
    less, more = sorted((then, now))
    return more <= less * (_GROWTH_RATIO if less < _LARGE else _GROWTH_RATIO_OF_LARGE)


def _best_by_words(
    connection: sqlite3.Connection, known: _Scope, terms: Iterable[str], led_to: int, wanted: Filter, enough: int
) -> list[tuple[Any, ...]]:
    """The words and facts of the best of what the index finds that pass the filter: `enough`, if there are so many.

    `led_to`: how many memories have one of the terms, at most. With a filter that leaves little all of them are looked
    at, up to MOST_LED_TO.
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
    return {**_filter(known, wanted), "labels": _json([f"g:{tag}" for tag in wanted.tags])}


def _filter(known: _Scope, wanted: Filter) -> dict[str, Any]:
    return {
        "scope_no": known.scope_no,
        "min_importance": wanted.min_importance,
        "kind": wanted.kind,
        "states": _json(wanted.states),
    }


def _by_importance(facts: MemoryFacts) -> tuple[float, int, str]:
    return (-facts.importance, -facts.created_us, facts.memory_id)


def _json(values: Iterable[Any]) -> str:
    return msgspec.json.encode(list(values)).decode()
