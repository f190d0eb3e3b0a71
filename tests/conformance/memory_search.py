"""What every adapter of the port `MemorySearch` does, clause by clause.

Each test is given a function that opens both ports, memories and their search, on one empty store.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from sidemirror_server.memory.finding.search import (
    EMBEDDING_LEASE_US,
    Embedded,
    Filter,
    MemoryFacts,
    MemorySearch,
    TextHits,
)
from sidemirror_server.memory.record import (
    AppliesWhen,
    Change,
    MemoryHistory,
    MemoryKind,
    MemoryRecord,
    MemoryState,
    Revision,
)
from sidemirror_server.memory.store import Memories
from sidemirror_server.vocabulary.bm25 import Field, chosen, score
from sidemirror_server.vocabulary.closeness import CANDIDATES, closeness
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.terms import asked_terms, terms_of
from tests.conformance.memories import ONE, OTHER, T0, THIRD, memory, strategy


class Stores(msgspec.Struct, frozen=True):
    memories: Memories
    search: MemorySearch


OpenStores = Callable[[], Stores]

EVERYTHING = Filter(states=tuple(MemoryState))
TEXTS = (
    ("a", "the query timed out on a join of two large tables", "fetch the order history"),
    ("b", "add an index on the columns that a join uses", "fetch the order history"),
    ("c", "find_user_id failed: no such user", "change a flight"),
    ("d", "join join join", ""),
    ("e", "日本語のテキスト 🚀 rocket", "הזמנה"),
    ("f", "", "an empty lesson about tables"),
)
QUESTIONS = (
    "joins on large tables",
    "order history",
    "user id",
    "日本語",
    "🚀",
    "הזמנה",
    "the a of on",
    "nothing of this is there: zebra",
    "",
)


async def keep(stores: Stores, records: Iterable[MemoryRecord], scope: Scope = ONE) -> None:
    for record in records:
        assert await stores.memories.put(scope, MemoryHistory(record))


def corpus() -> list[MemoryRecord]:
    found = []
    for number, (memory_id, text, task) in enumerate(TEXTS):
        one = memory(memory_id, text or "x", T0 + number, task_text=task)
        found.append(msgspec.structs.replace(one, content=text))
    return found


def expected(records: list[MemoryRecord], question: str) -> list[tuple[str, float, float]]:
    """What the rule says of each memory that has one of the words, the best first."""
    asked = asked_terms(question)
    contents = {record.memory_id: terms_of(record.content).split() for record in records}
    tasks = {record.memory_id: terms_of(record.task_text).split() for record in records}
    in_content = Counter(term for terms in contents.values() for term in set(terms))
    in_task = Counter(term for terms in tasks.values() for term in set(terms))
    content = Field(len(records), sum(map(len, contents.values())))
    task = Field(sum(1 for terms in tasks.values() if terms), sum(map(len, tasks.values())))
    looked_up = chosen(asked, in_content + in_task, len(records))
    weights = {term: asked[term] for term in looked_up}
    found = []
    for record in records:
        mine, its_task = contents[record.memory_id], tasks[record.memory_id]
        if set(looked_up) & {*mine, *its_task}:
            content_score = score(weights, in_content, Counter(mine), len(mine), content)
            task_score = score(weights, in_task, Counter(its_task), len(its_task), task)
            found.append((record.memory_id, content_score, task_score))
    newest = {record.memory_id: record.created_us for record in records}
    return sorted(found, key=lambda hit: (-round(hit[1] + hit[2], 6), -newest[hit[0]]))


def scored(found: TextHits) -> list[tuple[str, Any, Any]]:
    """Compares as equal with what differs in the seventh digit."""
    return [
        (hit.facts.memory_id, pytest.approx(hit.content_score, abs=1e-6), pytest.approx(hit.task_score, abs=1e-6))
        for hit in found.hits
    ]


def ids(found: Iterable[MemoryFacts]) -> list[str]:
    return [facts.memory_id for facts in found]


def close(records: list[MemoryRecord], question: str, without: str = "") -> dict[str, float]:
    """How close the best CANDIDATES by words are, of those that have one of the words; not the memory `without`."""
    hits = [hit for hit in expected(records, question) if hit[0] != without][:CANDIDATES]
    texts = {one.memory_id: f"{terms_of(one.content)} {terms_of(one.task_text)}".strip() for one in records}
    found = closeness(
        asked_terms(question), said(question), [texts[name] for name, *_ in hits], [sum(scores) for _, *scores in hits]
    )
    return {name: one for (name, *_), one in zip(hits, found, strict=True)}


def said(question: str) -> list[str]:
    return terms_of(question).split()


def told(found: TextHits) -> dict[str, Any]:
    """The closeness of each hit; compares as equal with what differs in the seventh digit."""
    return {hit.facts.memory_id: pytest.approx(hit.closeness, abs=1e-6) for hit in found.hits}


async def ask(stores: Stores, question: str, wanted: Filter = EVERYTHING, scope: Scope = ONE) -> list[str]:
    found = await stores.search.by_text(scope, asked_terms(question), wanted, 100)
    return [hit.facts.memory_id for hit in found.hits]


async def fm1_the_best_by_their_words_come_first(open_stores: OpenStores) -> None:
    stores, records = open_stores(), corpus()
    await keep(stores, records)
    for question in QUESTIONS:
        asked = asked_terms(question)
        found = await stores.search.by_text(ONE, asked, EVERYTHING, 100)
        assert expected(records, question) == scored(found), question
        assert set(found.terms) <= set(asked)
        first = await stores.search.by_text(ONE, asked, EVERYTHING, 1)
        assert first.hits == found.hits[:1]
    found = await stores.search.by_text(ONE, asked_terms("join"), EVERYTHING, 100)
    fact = next(hit.facts for hit in found.hits if hit.facts.memory_id == "a")
    assert fact == MemoryFacts("a", 0.5, None, T0)


async def fm2_what_is_found_is_what_is_kept_now(open_stores: OpenStores) -> None:
    stores = open_stores()
    await keep(stores, corpus())
    revision = Revision(Change.UPDATED, content="pagination helps", text_key="k")
    await stores.memories.revise(ONE, "d", revision, T0 + 9)
    assert await ask(stores, "pagination") == ["d"]
    assert "d" not in await ask(stores, "join")
    await stores.memories.delete(ONE, "a")
    assert await ask(stores, "large timed") == []
    assert await ask(stores, "order history") == ["b"]
    now = [one for one in corpus() if one.memory_id not in ("a", "d")]
    now.append(msgspec.structs.replace(corpus()[3], content="pagination helps"))
    found = await stores.search.by_text(ONE, asked_terms("join pagination order"), EVERYTHING, 100)
    assert expected(now, "join pagination order") == scored(found)
    # A strengthening and a review leave the words as they are.
    await stores.memories.revise(ONE, "b", Revision(Change.REVIEWED, state=MemoryState.RETIRED), T0 + 10)
    assert await ask(stores, "index columns") == ["b"]


def varied() -> list[MemoryRecord]:
    return [
        memory("low", "join low", T0, importance=0.2, tags=("sql",)),
        memory("high", "join high", T0 + 1, importance=0.9, tags=("sql", "slow")),
        strategy("rule", "join rule", T0 + 2, importance=0.9, tags=("sql", "strategy")),
        memory("held", "join held", T0 + 3, importance=0.9, state=MemoryState.QUARANTINED),
        memory("gone", "join gone", T0 + 4, importance=0.5, state=MemoryState.RETIRED, tags=("slow",)),
        memory("plain", "join plain", T0 + 5, importance=0.5, confidence=0.25),
    ]


FILTERS: tuple[tuple[Filter, set[str]], ...] = (
    (Filter(), {"low", "high", "rule", "plain"}),
    (Filter(min_importance=0.5), {"high", "rule", "plain"}),
    (Filter(min_importance=0.9), {"high", "rule"}),
    (Filter(tags=("slow",)), {"high"}),
    (Filter(tags=("slow", "strategy")), {"high", "rule"}),
    (Filter(tags=("SQL",)), set()),
    (Filter(kind=MemoryKind.STRATEGY), {"rule"}),
    (Filter(states=(MemoryState.QUARANTINED,)), {"held"}),
    (Filter(states=(MemoryState.ACTIVE, MemoryState.RETIRED), tags=("slow",)), {"high", "gone"}),
)  # fmt: skip


async def fm3_every_way_of_finding_keeps_to_the_filter(open_stores: OpenStores) -> None:
    stores = open_stores()
    # All of them apply to the tool.
    applies = AppliesWhen(tools=("psql",))
    await keep(stores, [msgspec.structs.replace(one, applies_when=applies) for one in varied()])
    vectors = tuple(Embedded(one.memory_id, one.content, (1.0, 0.0)) for one in varied())
    await stores.search.embed(ONE, "m", vectors)
    for wanted, passing in FILTERS:
        assert set(await ask(stores, "join", wanted)) == passing
        assert set(ids(await stores.search.best(ONE, wanted, 10))) == passing
        assert set(ids(await stores.search.labelled(ONE, ("psql",), (), wanted, 10))) == passing
        found = await stores.search.by_vector(ONE, "m", (1.0, 0.0), wanted, 10)
        assert {hit.facts.memory_id for hit in found.hits} == passing
    # A filter that changes lets others through at once.
    await stores.memories.revise(ONE, "held", Revision(Change.REVIEWED, state=MemoryState.ACTIVE), T0 + 9)
    await stores.memories.revise(ONE, "plain", Revision(Change.UPDATED, tags=("slow",), importance=1.0), T0 + 9)
    assert "held" in await ask(stores, "join")
    assert set(await ask(stores, "join", Filter(tags=("slow",)))) == {"high", "plain"}
    assert ids(await stores.search.best(ONE, Filter(min_importance=0.95), 10)) == ["plain"]


async def fm4_the_most_important_come_first(open_stores: OpenStores) -> None:
    stores = open_stores()
    await keep(stores, varied())
    assert ids(await stores.search.best(ONE, Filter(), 10)) == ["rule", "high", "plain", "low"]
    assert ids(await stores.search.best(ONE, Filter(), 2)) == ["rule", "high"]
    everything = await stores.search.best(ONE, EVERYTHING, 10)
    assert ids(everything) == ["held", "rule", "high", "plain", "gone", "low"]
    assert everything[3] == MemoryFacts("plain", 0.5, 0.25, T0 + 5)
    tagged = await stores.search.best(ONE, Filter(tags=("sql", "slow")), 10)
    assert ids(tagged) == ["rule", "high", "low"]
    newest = await stores.search.best(ONE, EVERYTHING, 10, newest_first=True)
    assert ids(newest) == [
        one.memory_id for one in sorted(varied(), key=lambda one: (one.created_us, one.memory_id), reverse=True)
    ]
    for wanted, _ in FILTERS:
        passing = set(ids(await stores.search.best(ONE, wanted, 10)))
        of_these = [one for one in ids(newest) if one in passing]
        for limit in (1, 2, 10):
            assert ids(await stores.search.best(ONE, wanted, limit, newest_first=True)) == of_these[:limit]


async def fm5_what_applies_is_found_by_tool_and_error(open_stores: OpenStores) -> None:
    stores = open_stores()
    await keep(
        stores,
        [
            memory("tool", at_us=T0, applies_when=AppliesWhen(tools=("psql", "mysql"))),
            memory("error", at_us=T0 + 1, applies_when=AppliesWhen(error_categories=("timeout_error",))),
            memory("own", at_us=T0 + 2, error_category="timeout_error", importance=0.9),
            memory("none", at_us=T0 + 3, tags=("psql",)),
            memory("both", at_us=T0 + 4, error_category="timeout_error", applies_when=AppliesWhen(tools=("psql",))),
        ],
    )
    search = stores.search
    assert ids(await search.labelled(ONE, ("psql",), (), Filter(), 10)) == ["both", "tool"]
    assert ids(await search.labelled(ONE, (), ("timeout_error",), Filter(), 10)) == ["own", "both", "error"]
    assert ids(await search.labelled(ONE, ("psql", "mysql"), ("timeout_error",), Filter(), 10)) == [
        "own", "both", "error", "tool",
    ]  # fmt: skip
    assert ids(await search.labelled(ONE, ("psql",), ("timeout_error",), Filter(), 1)) == ["own"]
    assert await search.labelled(ONE, ("PSQL",), ("x",), Filter(), 10) == ()
    assert await search.labelled(ONE, (), (), Filter(), 10) == ()
    revision = Revision(Change.UPDATED, applies_when=AppliesWhen(tools=("redis",)), error_category="")
    await stores.memories.revise(ONE, "both", revision, T0 + 9)
    assert ids(await search.labelled(ONE, ("psql",), ("timeout_error",), Filter(), 10)) == ["own", "error", "tool"]
    assert ids(await search.labelled(ONE, ("redis",), (), Filter(), 10)) == ["both"]


def turned(degrees: float) -> tuple[float, float, float]:
    """A vector of length 1, so far from the first axis."""
    return (math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0.0)


async def fm6_vectors_of_one_model_are_compared(open_stores: OpenStores) -> None:
    stores = open_stores()
    records = [memory(name, at_us=T0 + number) for number, name in enumerate(("near", "far", "opposite", "without"))]
    await keep(stores, records)
    assert await stores.search.by_vector(ONE, "m", turned(0), Filter(), 10) == empty_hits(0, 4)
    angles = {"near": 10.0, "far": 80.0, "opposite": 180.0}
    made = tuple(Embedded(one.memory_id, one.content, turned(angles[one.memory_id])) for one in records[:3])
    await stores.search.embed(ONE, "m", made)
    found = await stores.search.by_vector(ONE, "m", turned(0), Filter(), 10)
    assert [hit.facts.memory_id for hit in found.hits] == ["near", "far", "opposite"]
    cosines = [math.cos(math.radians(angle)) for angle in angles.values()]
    assert [hit.similarity for hit in found.hits] == pytest.approx(cosines, abs=1e-6)
    assert (found.embedded, found.memories) == (3, 4)
    two = await stores.search.by_vector(ONE, "m", turned(90), Filter(), 2)
    assert [hit.facts.memory_id for hit in two.hits] == ["far", "near"]
    # Another model's vectors are none of these, whatever they are like.
    other = await stores.search.by_vector(ONE, "n", turned(0), Filter(), 10)
    assert (other.hits, other.embedded) == ((), 0)
    await stores.search.embed(ONE, "n", (Embedded("near", records[0].content, turned(0)),))
    found = await stores.search.by_vector(ONE, "m", turned(0), Filter(), 10)
    assert ([hit.facts.memory_id for hit in found.hits], found.embedded) == (["far", "opposite"], 2)
    found = await stores.search.by_vector(ONE, "n", turned(0), Filter(), 10)
    assert ([hit.facts.memory_id for hit in found.hits], found.embedded) == (["near"], 1)
    await stores.memories.delete(ONE, "far")
    found = await stores.search.by_vector(ONE, "m", turned(0), Filter(), 10)
    assert ([hit.facts.memory_id for hit in found.hits], found.embedded, found.memories) == (["opposite"], 1, 3)
    # Neither are those of other dimensions, should a model have changed them.
    await stores.search.embed(ONE, "m", (Embedded("without", records[3].content, (0.6, 0.8)),))
    found = await stores.search.by_vector(ONE, "m", turned(0), Filter(), 10)
    assert [hit.facts.memory_id for hit in found.hits] == ["opposite"]
    found = await stores.search.by_vector(ONE, "m", (1.0, 0.0), Filter(), 10)
    assert [hit.facts.memory_id for hit in found.hits] == ["without"]


def empty_hits(embedded: int, memories: int) -> object:
    from sidemirror_server.memory.finding.search import VectorHits

    return VectorHits((), embedded, memories)


async def fm7_what_has_no_vector_is_told(open_stores: OpenStores) -> None:
    stores, records = open_stores(), corpus()
    search = stores.search
    assert await search.unembedded(ONE, "m", 10) == ()
    await keep(stores, records)
    waiting = await search.unembedded(ONE, "m", 10)
    texts = {one.memory_id: (one.content, one.task_text) for one in waiting}
    assert texts == {one.memory_id: (one.content, one.task_text) for one in records}
    assert len(await search.unembedded(ONE, "m", 2)) == 2
    await search.embed(ONE, "m", tuple(Embedded(one.memory_id, one.content, (1.0,)) for one in records[:4]))
    assert {one.memory_id for one in await search.unembedded(ONE, "m", 10)} == {"e", "f"}
    assert len(await search.unembedded(ONE, "n", 10)) == len(records)
    await search.embed(ONE, "n", tuple(Embedded(one.memory_id, one.content, (1.0,)) for one in records))
    assert await search.unembedded(ONE, "n", 10) == ()
    assert len(await search.unembedded(ONE, "m", 10)) == len(records)


async def fm8_a_vector_belongs_to_the_text_it_was_made_from(open_stores: OpenStores) -> None:
    stores = open_stores()
    records = [memory("kept", at_us=T0), memory("changed", at_us=T0 + 1), memory("gone", at_us=T0 + 2)]
    await keep(stores, records)
    made = tuple(Embedded(one.memory_id, one.content, turned(0)) for one in records)
    await stores.memories.revise(ONE, "changed", Revision(Change.UPDATED, content="new", text_key="new"), T0 + 9)
    await stores.memories.delete(ONE, "gone")
    await stores.search.embed(ONE, "m", made)
    found = await stores.search.by_vector(ONE, "m", turned(0), EVERYTHING, 10)
    assert ([hit.facts.memory_id for hit in found.hits], found.embedded, found.memories) == (["kept"], 1, 2)
    # Again, with another vector: it has that one.
    await stores.search.embed(ONE, "m", (Embedded("kept", records[0].content, turned(60)),))
    found = await stores.search.by_vector(ONE, "m", turned(0), EVERYTHING, 10)
    assert [hit.similarity for hit in found.hits] == pytest.approx([0.5], abs=1e-6)
    # A changed text waits for its own.
    await stores.memories.revise(ONE, "kept", Revision(Change.UPDATED, content="newer", text_key="newer"), T0 + 9)
    assert (await stores.search.by_vector(ONE, "m", turned(0), EVERYTHING, 10)).hits == ()
    assert {one.memory_id for one in await stores.search.unembedded(ONE, "m", 10)} == {"kept", "changed"}


async def fm9_the_terms_of_memories_are_told(open_stores: OpenStores) -> None:
    stores = open_stores()
    await keep(stores, corpus())
    found = await stores.search.terms_in(ONE, ("a", "e", "unknown"))
    assert set(found) == {"a", "e"}
    assert found["a"] == frozenset(f"{terms_of(TEXTS[0][1])} {terms_of(TEXTS[0][2])}".split())


async def fm10_scopes_never_meet(open_stores: OpenStores) -> None:
    stores, records = open_stores(), corpus()
    await keep(stores, records)
    before = await stores.search.by_text(ONE, asked_terms("join tables order"), EVERYTHING, 100)
    theirs = [memory(f"x{number}", f"join {number}", applies_when=AppliesWhen(tools=("psql",))) for number in range(20)]
    for scope in (OTHER, THIRD):
        await keep(stores, theirs, scope)
        made = tuple(Embedded(one.memory_id, one.content, turned(0)) for one in theirs)
        await stores.search.embed(scope, "m", made)
    after = await stores.search.by_text(ONE, asked_terms("join tables order"), EVERYTHING, 100)
    assert scored(before) == [(hit.facts.memory_id, hit.content_score, hit.task_score) for hit in after.hits]
    search = stores.search
    assert ids(await search.best(ONE, EVERYTHING, 100)) == [name for name, *_ in reversed(TEXTS)]
    assert await search.labelled(ONE, ("psql",), (), EVERYTHING, 100) == ()
    assert await search.by_vector(ONE, "m", turned(0), EVERYTHING, 100) == empty_hits(0, len(TEXTS))
    assert len(await search.unembedded(ONE, "m", 100)) == len(TEXTS)
    await search.embed(ONE, "m", (Embedded("x1", "join 1", turned(0)),))
    assert (await search.by_vector(ONE, "m", turned(0), EVERYTHING, 100)).hits == ()
    assert await search.terms_in(ONE, ("x1",)) == {}
    assert len(await ask(stores, "join", scope=OTHER)) == 20


async def fm11_a_scope_is_embedded_by_one_at_a_time(open_stores: OpenStores) -> None:
    take, until = open_stores().search.take, T0 + EMBEDDING_LEASE_US
    assert sorted(await asyncio.gather(*(take(ONE, "m", f"h{number}", T0) for number in range(5)))) == [False] * 4 + [
        True
    ]
    assert await take(ONE, "n", "a", T0)
    assert not await take(ONE, "n", "b", until - 1)
    assert await take(OTHER, "n", "b", T0)
    # Taking it again prolongs it; when it is over, it is anybody's.
    assert await take(ONE, "n", "a", T0 + 10)
    assert not await take(ONE, "n", "b", until)
    assert await take(ONE, "n", "b", until + 10)
    assert not await take(ONE, "n", "a", until + 11)


async def fm12_what_was_taken_is_given_back(open_stores: OpenStores) -> None:
    search = open_stores().search
    await search.leave(ONE, "m", "a")
    assert await search.take(ONE, "m", "a", T0)
    await search.leave(ONE, "m", "b")
    await search.leave(OTHER, "m", "a")
    await search.leave(ONE, "n", "a")
    assert not await search.take(ONE, "m", "b", T0)
    await search.leave(ONE, "m", "a")
    assert await search.take(ONE, "m", "b", T0)


async def fm13_the_closest_come_first(open_stores: OpenStores) -> None:
    stores, records = open_stores(), corpus()
    await keep(stores, records)
    for question in (*QUESTIONS, "find user ids", "columns that a join uses"):
        found = await stores.search.by_text(ONE, asked_terms(question), EVERYTHING, 100, said=said(question))
        assert close(records, question) == told(found), question
        near = [hit.closeness or 0.0 for hit in found.hits]
        assert near == sorted(near, reverse=True)
        first = await stores.search.by_text(ONE, asked_terms(question), EVERYTHING, 1, said=said(question))
        assert first.hits == found.hits[:1], "the others are measured all the same"
    (plain, *_) = (await stores.search.by_text(ONE, asked_terms("join"), EVERYTHING, 100)).hits
    assert plain.closeness is None
    # What the filter excludes is no neighbour of those that pass.
    await stores.memories.revise(ONE, "d", Revision(Change.REVIEWED, state=MemoryState.RETIRED), T0 + 9)
    found = await stores.search.by_text(ONE, asked_terms("join tables"), Filter(), 100, said=["join", "tabl"])
    assert close(records, "join tables", without="d") == told(found)
    # The closest one is returned, though another is the best by words.
    pair = [
        memory("words", "history of an order and order of a history", T0),
        memory("pair", "order history of one customer in words", T0 + 1),
        memory("neither", "nothing of it here at all", T0 + 2),
    ]
    await keep(stores, pair, THIRD)
    asked = asked_terms("order history")
    plainly = await stores.search.by_text(THIRD, asked, EVERYTHING, 1)
    closely = await stores.search.by_text(THIRD, asked, EVERYTHING, 1, said=said("order history"))
    assert [hit.facts.memory_id for hit in (*plainly.hits, *closely.hits)] == ["words", "pair"]
    # Of many the best by words are measured, whatever the limit.
    many = [memory(f"m{number:03}", f"join {'pad ' * number}", T0 + number) for number in range(CANDIDATES + 5)]
    await keep(stores, many, OTHER)
    found = await stores.search.by_text(OTHER, asked_terms("join"), EVERYTHING, 3, said=["join"])
    nearest = sorted(close(many, "join").items(), key=lambda pair: -pair[1])[:3]
    assert dict(nearest) == told(found)


async def fm14_what_is_forgotten_has_no_vector_left(open_stores: OpenStores) -> None:
    stores, records = open_stores(), [memory("kept", at_us=T0), memory("gone", at_us=T0 + 1)]
    await keep(stores, records)
    await stores.search.embed(ONE, "m", tuple(Embedded(one.memory_id, one.content, turned(0)) for one in records))
    # As an erasure does it: before the memory goes, and once more when it is gone.
    await stores.search.forget(ONE, ("gone", "unknown"))
    await stores.memories.delete(ONE, "gone")
    await stores.search.forget(ONE, ("gone",))
    await stores.search.forget(OTHER, ("kept",))
    assert await stores.search.unembedded(ONE, "m", 10) == ()
    await keep(stores, records[1:])
    found = await stores.search.by_vector(ONE, "m", turned(0), EVERYTHING, 10)
    assert ([hit.facts.memory_id for hit in found.hits], found.embedded, found.memories) == (["kept"], 1, 2)
    assert [one.memory_id for one in await stores.search.unembedded(ONE, "m", 10)] == ["gone"]
    # One that stays has its vector, or gets it again.
    await stores.search.forget(ONE, ("kept",))
    waiting = {one.memory_id for one in await stores.search.unembedded(ONE, "m", 10)}
    found = await stores.search.by_vector(ONE, "m", turned(0), EVERYTHING, 10)
    assert waiting | {hit.facts.memory_id for hit in found.hits} == {"kept", "gone"}
