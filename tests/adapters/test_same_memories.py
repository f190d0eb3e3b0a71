"""SQLite and Postgres keep, change and find memories alike: the same operations, the same answers.

In a machine of its own, beside that of `test_same_answers.py`.
"""

from collections.abc import Awaitable
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from sidemirror_server.memory.finding.search import Filter, TextHits
from sidemirror_server.memory.record import (
    AppliesWhen,
    Change,
    Lesson,
    MemoryHistory,
    MemoryKind,
    MemoryRecord,
    MemoryState,
    Quarantine,
    Revision,
    TaskOutcome,
)
from sidemirror_server.memory.store import MemoryKey
from sidemirror_server.memory.trials.evidence import Arm
from sidemirror_server.memory.trials.trials import Settled, Trial
from sidemirror_server.trace.receipts import Receipt, ReceiptKind
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from sidemirror_server.vocabulary.terms import terms_of
from tests.adapters.same_stores import ALL, BothStores, limits, names, run, scopes, texts, times
from tests.postgres.databases import Databases

# Few, so that many are equal; and some that only a float can tell apart.
scores = st.sampled_from([0.0, 0.5, 0.5, 1.0, 1 / 3, 0.1 + 0.2])
no_scores = st.sampled_from([float("nan"), -0.1, 1.5, float("inf")])
words = st.lists(
    st.sampled_from(["join", "slow", "index", "é", "שלום", "\U0001f642", "cannot"]), min_size=1, max_size=4
)
said = st.one_of(
    words.map(" ".join),
    texts.filter(bool),
    st.builds(lambda text: (text * (1 << 20))[: 1 << 20], st.sampled_from(["x", "\ufffd", "\U0001f642", "ש "])),
)
keys = st.sampled_from(["k1", "k2", "k3", "\U0001f642"])
episodes = st.lists(st.sampled_from(["e1", "e2", "e3"]), max_size=2, unique=True).map(tuple)
tags = st.lists(names, max_size=2, unique=True).map(tuple)
applies = st.builds(
    AppliesWhen,
    st.lists(names, max_size=2, unique=True).map(tuple),
    st.lists(st.sampled_from(["timeout", "tool"]), max_size=1).map(tuple),
    texts,
)
kinds = st.sampled_from(list(MemoryKind))
states = st.sampled_from(list(MemoryState))
origins = st.sampled_from(list(Origin))
standings = st.sampled_from(
    [
        (MemoryState.ACTIVE, None),
        (MemoryState.ACTIVE, None),
        (MemoryState.QUARANTINED, Quarantine.STEERING),
        (MemoryState.QUARANTINED, Quarantine.UNCORROBORATED),
        (MemoryState.RETIRED, None),
    ]
)


@st.composite
def drafts(draw: st.DrawFn, kind: MemoryKind | None = None) -> MemoryRecord:
    """A memory as it is made, with anything that one can have."""
    at_us = draw(times)
    state, quarantine = draw(standings)
    return MemoryRecord(
        memory_id=draw(names),
        kind=kind or draw(kinds),
        content=draw(said),
        importance=draw(scores),
        created_us=at_us,
        updated_us=at_us,
        text_key=draw(keys),
        origin=draw(origins),
        confidence=draw(st.none() | scores),
        tags=draw(tags),
        error_category=draw(st.sampled_from(["", "timeout", "tool"])),
        task_text=draw(texts),
        metadata={"session_id": draw(names), "deep": [None, 1, 0.1, draw(texts)]},
        applies_when=draw(applies),
        state=state,
        quarantine=quarantine,
        episodes=draw(episodes),
        reason=draw(texts),
    )


revisions = st.builds(
    Revision,
    st.sampled_from([Change.UPDATED, Change.REVIEWED]),
    texts,
    content=st.none() | said,
    text_key=st.none() | keys,
    importance=st.none() | scores | no_scores,
    confidence=st.none() | scores | no_scores,
    tags=st.none() | tags,
    applies_when=st.none() | applies,
    origin=st.none() | origins,
    state=st.none() | states,
    quarantine=st.none() | st.just(Quarantine.REVIEWED),
)
filters = st.builds(
    Filter,
    scores,
    tags,
    st.none() | kinds,
    st.sampled_from([(MemoryState.ACTIVE,), (MemoryState.ACTIVE, MemoryState.QUARANTINED), tuple(MemoryState)]),
)


trials = st.builds(Trial, names, st.integers(1, 3), st.sampled_from(list(Arm)), st.sampled_from([0.0, 0.1, 1 / 3, 0.5]))


class SameMemories(BothStores):
    """Everything but vectors, which are in test_same_vectors.py."""

    @rule(
        scope=scopes,
        reflection=drafts(MemoryKind.REFLECTION),
        strategy=st.none() | drafts(MemoryKind.STRATEGY),
        lesson=st.just("") | names,
        now=times,
    )
    def learn(
        self, scope: Scope, reflection: MemoryRecord, strategy: MemoryRecord | None, lesson: str, now: int
    ) -> None:
        self.one(lambda stores: stores.memories.learn(scope, Lesson(reflection, strategy, lesson), now))

    @rule(scope=scopes, ids=st.lists(names, max_size=4, unique=True))
    def get(self, scope: Scope, ids: list[str]) -> None:
        self.one(lambda stores: stores.memories.get(scope, tuple(ids)))

    @rule(scope=scopes, kind=st.none() | kinds, state=st.none() | states, limit=st.integers(1, 3), begin=st.booleans())
    def pages(self, scope: Scope, kind: MemoryKind | None, state: MemoryState | None, limit: int, begin: bool) -> None:
        self.page(
            (scope, kind, state),
            begin,
            lambda stores, after: stores.memories.list(scope, kind, state, after, limit),
            lambda last: MemoryKey(last.created_us, last.memory_id),
        )

    @rule(scope=scopes, memory=names, revision=revisions, now=times, if_version=st.none() | st.integers(1, 3))
    def revise(self, scope: Scope, memory: str, revision: Revision, now: int, if_version: int | None) -> None:
        self.one(lambda stores: stores.memories.revise(scope, memory, revision, now, if_version))

    @rule(scope=scopes, memory=names, before=st.none() | st.integers(1, 4), limit=limits)
    def versions(self, scope: Scope, memory: str, before: int | None, limit: int) -> None:
        self.one(lambda stores: stores.memories.versions(scope, memory, before, limit))

    @rule(scope=scopes, memory=names)
    def delete(self, scope: Scope, memory: str) -> None:
        self.one(lambda stores: stores.memories.delete(scope, memory))

    @rule(scope=scopes, memory=drafts(), earlier=st.integers(0, 2))
    def put(self, scope: Scope, memory: MemoryRecord, earlier: int) -> None:
        before = tuple(msgspec.structs.replace(memory, version=1 + number) for number in range(earlier))
        kept = MemoryHistory(msgspec.structs.replace(memory, version=1 + earlier), before)
        self.one(lambda stores: stores.memories.put(scope, kept))

    @rule(scope=scopes, outcome=st.builds(TaskOutcome, names, st.sampled_from(["success", "error"]), times))
    def report(self, scope: Scope, outcome: TaskOutcome) -> None:
        self.one(lambda stores: stores.memories.report(scope, outcome))
        self.one(lambda stores: stores.memories.outcome(scope, outcome.receipt_id))

    @rule(
        scope=scopes, receipt=names, trials=st.lists(trials, max_size=3, unique_by=lambda one: one.memory_id), now=times
    )
    def issue(self, scope: Scope, receipt: str, trials: list[Trial], now: int) -> None:
        made = Receipt(receipt, ReceiptKind.MEMORY, now)
        self.one(lambda stores: stores.trials.issue(scope, made, trials))
        self.one(lambda stores: stores.trials.of_receipt(scope, receipt))

    @rule(
        scope=scopes,
        receipt=names,
        settled=st.lists(
            st.builds(Settled, trials, st.booleans(), st.none() | st.booleans()),
            max_size=3,
            unique_by=lambda one: one.trial.memory_id,
        ),
        now=times,
    )
    def settle(self, scope: Scope, receipt: str, settled: list[Settled], now: int) -> None:
        self.one(lambda stores: stores.trials.settle(scope, receipt, settled, now))
        wanted = [(one.trial.memory_id, one.trial.version) for one in settled]
        self.one(lambda stores: stores.trials.tallies(scope, wanted))

    @rule(scope=scopes, before=st.none() | names, limit=limits)
    def lessons(self, scope: Scope, before: str | None, limit: int) -> None:
        self.one(lambda stores: stores.trials.lessons(scope, before, limit))

    @rule(before=times)
    def forget_trials(self, before: int) -> None:
        self.one(lambda stores: stores.trials.forget(SERVES_ALL, before, 1_000))

    @rule(scope=scopes, ids=st.lists(names, max_size=4, unique=True))
    def terms_in(self, scope: Scope, ids: list[str]) -> None:
        self.one(lambda stores: stores.search.terms_in(scope, tuple(ids)))

    @rule(scope=scopes, wanted=filters, limit=limits, newest_first=st.booleans())
    def best(self, scope: Scope, wanted: Filter, limit: int, newest_first: bool) -> None:
        self.one(lambda stores: stores.search.best(scope, wanted, limit, newest_first=newest_first))

    @rule(scope=scopes, question=words, wanted=filters)
    def by_text(self, scope: Scope, question: list[str], wanted: Filter) -> None:
        asked = dict.fromkeys(terms_of(" ".join(question)).split(), 1.0)
        self.one(lambda stores: _rounded(stores.search.by_text(scope, asked, wanted, ALL)))

    @rule(
        scope=scopes, tool=names, category=st.sampled_from(["timeout", "tool", "logic"]), wanted=filters, limit=limits
    )
    def labelled(self, scope: Scope, tool: str, category: str, wanted: Filter, limit: int) -> None:
        self.one(lambda stores: stores.search.labelled(scope, (tool,), (category,), wanted, limit))


async def _rounded(found: Awaitable[TextHits]) -> Any:
    """What was found, without the last digits of its scores and the order of those that are then equal."""
    hits = await found
    told = [(hit.facts.memory_id, round(hit.content_score, 6), round(hit.task_score, 6)) for hit in hits.hits]
    return sorted(told), sorted(hits.terms)


def test_same_operations_same_answers(databases: Databases) -> None:
    run(SameMemories, databases, examples=10, steps=40, shrink=False)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_same_operations_same_answers_for_long(databases: Databases) -> None:
    run(SameMemories, databases, examples=200, steps=80, shrink=True)
