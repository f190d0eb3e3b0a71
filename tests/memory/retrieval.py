"""The recorded retrieval sets (`../shared/data/retrieval`) as memories, and how well they are found again."""

from collections.abc import Iterable
from typing import Any

import msgspec

from sidemirror_server.memory.finding.recall import Question, Recall
from sidemirror_server.memory.finding.search import Filter, MemorySearch
from sidemirror_server.memory.record import MemoryHistory, MemoryKind, MemoryRecord
from sidemirror_server.memory.store import Memories
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope
from tests.faults.clocks import SetClock
from tests.recorded import read_rows, recordings

SETS = {"programming": "reflexion_programming", "HotpotQA": "reflexion_hotpot", "tau": "tau_episodes"}
# Recall at 5 and hit at 1 of plain BM25 on the texts of the lessons alone (issue of the service).
PLAIN_BM25 = {"programming": (0.575, 0.644), "HotpotQA": (0.934, 0.950), "tau": (0.654, 0.760)}
_T0 = 1_700_000_000_000_000
_DEEP = 60  # enough to drop every `ignore` and still have five


class Figures(msgspec.Struct, frozen=True):
    """Means over the queries. `newest`: how often the first is the newest relevant one, where the set says which."""

    recall_at_5: float
    hit_at_1: float
    newest_at_1: float | None


def rows(name: str, kind: str) -> list[dict[str, Any]]:
    return list(read_rows(recordings() / "retrieval" / f"{SETS[name]}.{kind}.jsonl.gz"))


def scope_of(name: str, *, with_task: bool) -> Scope:
    return Scope(name, "with-task" if with_task else "lesson-only")


def records(name: str, *, with_task: bool) -> Iterable[MemoryRecord]:
    """The documents in their order, a second apart; with the task that they were learned in, or without."""
    for number, row in enumerate(rows(name, "docs")):
        yield MemoryRecord(
            memory_id=row["doc_id"],
            kind=MemoryKind.REFLECTION,
            content=row["text"],
            importance=0.8,
            created_us=_T0 + number * 1_000_000,
            updated_us=_T0 + number * 1_000_000,
            text_key=row["doc_id"],
            origin=Origin.AGENT,
            task_text=row.get("task_text", "") if with_task else "",
        )


async def measured(memories: Memories, search: MemorySearch, name: str, *, with_task: bool) -> Figures:
    """Keeps a set and asks for it. Only the query goes to the product; what is relevant stays here."""
    scope = scope_of(name, with_task=with_task)
    for record in records(name, with_task=with_task):
        await memories.put(scope, MemoryHistory(record))
    recall = Recall(memories, search, None, SetClock(_T0 + 10_000_000_000))
    found, first, newest = [], [], []
    for row in rows(name, "queries"):
        ranked = await recall.ranked(scope, Question(row["query"], _DEEP, Filter()))
        ids = [one.facts.memory_id for one in ranked if one.facts.memory_id not in row["ignore"]]
        relevant = set(row["relevant"])
        found.append(len(relevant & set(ids[:5])) / len(relevant))
        first.append(bool(ids) and ids[0] in relevant)
        if row.get("newest_relevant"):
            newest.append(bool(ids) and ids[0] == row["newest_relevant"])
    return Figures(_mean(found), _mean(first), _mean(newest) if newest else None)


def _mean(values: list[float] | list[bool]) -> float:
    return sum(values) / len(values)
