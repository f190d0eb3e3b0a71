"""`uv run python -m bench.retrieval_weights`: are a question's weights good for others than they were chosen on?

Two weights of `vocabulary/terms.py` were chosen with the recorded retrieval sets (`../shared/data`) in view: what a
function word counts, and how soon repetition in a question stops to count. Here the queries are parted in halves, by
their task, so that no task is in both. Of all pairs of weights the best on one half is measured on the other, beside
those that the product has and beside none at all. Texts are the lessons alone, without the task they were learned in.
"""

import argparse
import asyncio
import contextlib
import hashlib
import itertools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sidemirror_server.memory.finding.recall import Question, Recall
from sidemirror_server.memory.finding.search import Filter
from sidemirror_server.memory.record import MemoryHistory
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.vocabulary import terms
from sidemirror_server.vocabulary.clock import SystemClock
from tests.memory.retrieval import SETS, records, rows, scope_of

_FUNCTION_WORDS = (0.2, 0.4, 0.6, 0.8, 1.0)
_SATURATIONS = (0.6, 1.2, 8.0)
_DEEP = 60  # enough to drop every `ignore` and still have five


class Weights(NamedTuple):
    """What a function word counts, and `vocabulary.terms._ASKED_SATURATION`."""

    function_word: float
    saturation: float


OURS = Weights(terms._FUNCTION_WORD_WEIGHT, terms._ASKED_SATURATION)  # noqa: SLF001  # what is looked into
NONE = Weights(1.0, 1e9)  # each word as often as it stands there


class Found(NamedTuple):
    """What one query found: the part of the relevant ones among the first five, and whether the first is one."""

    recall_at_5: float
    hit_at_1: float


_Results = Mapping[Weights, Mapping[str, Sequence[Found]]]  # by set, in the order of its queries


@contextlib.contextmanager
def _weighed(weights: Weights) -> Iterator[None]:
    try:
        _set(weights)
        yield
    finally:
        _set(OURS)


def _set(weights: Weights) -> None:
    terms._FUNCTION_WORD_WEIGHT, terms._ASKED_SATURATION = weights  # type: ignore[misc]  # noqa: SLF001  # as above


def half_of(query: Mapping[str, Any]) -> int:
    """0 or 1, the same for all queries of a task."""
    return hashlib.sha256(query["task_key"].encode()).digest()[0] % 2


async def _all(folder: Path, queries: Mapping[str, Sequence[Mapping[str, Any]]]) -> _Results:
    database = await SqliteDatabase.open(folder, now_us=0)
    try:
        memories = SqliteMemories(database)
        recall = Recall(memories, SqliteMemorySearch(database), None, SystemClock())
        for name in SETS:
            for record in records(name, with_task=False):
                await memories.put(scope_of(name, with_task=False), MemoryHistory(record))
        results = {}
        for weights in (NONE, *map(Weights._make, itertools.product(_FUNCTION_WORDS, _SATURATIONS))):
            with _weighed(weights):
                results[weights] = {
                    name: [await _found(recall, name, query) for query in of] for name, of in queries.items()
                }
        return results
    finally:
        await database.close()


async def _found(recall: Recall, name: str, query: Mapping[str, Any]) -> Found:
    ranked = await recall.ranked(scope_of(name, with_task=False), Question(query["query"], _DEEP, Filter()))
    ids = [one.facts.memory_id for one in ranked if one.facts.memory_id not in query["ignore"]]
    relevant = set(query["relevant"])
    return Found(len(relevant & set(ids[:5])) / len(relevant), float(bool(ids) and ids[0] in relevant))


def _means(found: Sequence[Found], of: Sequence[Mapping[str, Any]], half: int) -> Found:
    mine = [one for one, query in zip(found, of, strict=True) if half_of(query) == half]
    if not mine:  # of a few queries
        return Found(0.0, 0.0)
    return Found(*(sum(values) / len(mine) for values in zip(*mine, strict=True)))


def table(results: _Results, queries: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """A line for each half and set: recall at 5 and hit at 1."""
    lines = [
        "| measured on | set | queries | no weights | the product's | chosen on the other half | which are |",
        "|---|---|---|---|---|---|---|",
    ]
    for half in (0, 1):
        best = max(
            results,
            key=lambda weights: sum(sum(_means(results[weights][name], queries[name], 1 - half)) for name in SETS),
        )
        for name, of in queries.items():
            told = [_told(_means(results[weights][name], of, half)) for weights in (NONE, OURS, best)]
            count = sum(half_of(query) == half for query in of)
            chosen = f"{best.function_word:g}, {best.saturation:g}" if best != NONE else "none"
            lines.append(f"| half {half + 1} | {name} | {count} | {' | '.join(told)} | {chosen} |")
    return "\n".join(lines)


def _some(queries: Sequence[Mapping[str, Any]], many: int | None) -> Sequence[Mapping[str, Any]]:
    """From all parts of a set: its queries come task by task."""
    return queries if many is None else queries[:: max(1, len(queries) // many)]


def _told(found: Found) -> str:
    return f"{found.recall_at_5:.3f} / {found.hit_at_1:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval_weights")
    parser.add_argument("--queries", type=int, default=None, metavar="N", help="so many of each set (default: all)")
    options = parser.parse_args()
    queries = {name: _some(rows(name, "queries"), options.queries) for name in SETS}
    with tempfile.TemporaryDirectory() as folder:
        results = asyncio.run(_all(Path(folder), queries))
    print(f"The product's: {OURS.function_word:g}, {OURS.saturation:g}\n{table(results, queries)}")


if __name__ == "__main__":
    main()
