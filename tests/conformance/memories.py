"""What every adapter of the port `Memories` does, clause by clause.

Each test is given a function that opens the port on one empty store; called again, it gives another object on it.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sidemirror_server.memory.record import (
    MOST_REVISIONS,
    AppliesWhen,
    Change,
    Learned,
    Lesson,
    MemoryHistory,
    MemoryKind,
    MemoryRecord,
    MemoryState,
    Quarantine,
    Revision,
    TaskOutcome,
    revised,
    strengthened,
)
from sidemirror_server.memory.store import LESSON_KEPT_US, Memories, MemoryKey
from sidemirror_server.vocabulary.errors import BadInput, NotFound, StoreUnavailable, WrongState
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope

OpenMemories = Callable[[], Memories]

ONE, OTHER, THIRD = Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop")
T0 = 1_700_000_000_000_000
replace = msgspec.structs.replace


def memory(memory_id: str, text: str = "", at_us: int = T0, **fields: Any) -> MemoryRecord:
    """A reflection that says `text`, and nothing that another one of these says when there is none."""
    content = text or f"what {memory_id} says"
    given = {"importance": 0.5, "text_key": key_of(content), "origin": Origin.AGENT, **fields}
    kind = given.pop("kind", MemoryKind.REFLECTION)
    return MemoryRecord(memory_id=memory_id, kind=kind, content=content, created_us=at_us, updated_us=at_us, **given)


def key_of(text: str) -> str:
    """Equal for equal texts; as short as a digest."""
    return text if len(text) < 40 else f"{len(text)} of {text[:8]}"


def strategy(memory_id: str, text: str = "", at_us: int = T0, **fields: Any) -> MemoryRecord:
    return memory(memory_id, text, at_us, kind=MemoryKind.STRATEGY, **fields)


async def all_of(memories: Memories, scope: Scope = ONE) -> tuple[MemoryRecord, ...]:
    return await memories.list(scope, None, None, None, 1_000)


async def ms1_a_lesson_is_kept_whole_or_not_at_all(open_memories: OpenMemories) -> None:
    memories = open_memories()
    lesson = Lesson(memory("r", "it broke"), strategy("s", "do not", T0 + 1))
    learned = await memories.learn(ONE, lesson, T0)
    assert learned.reflection == lesson.reflection
    assert learned.strategy is not None
    assert await all_of(open_memories()) == (learned.strategy, learned.reflection)
    # The strategy's id is taken by something else: then its reflection is not kept either.
    with pytest.raises(WrongState):
        await memories.learn(ONE, Lesson(memory("r2"), strategy("s", "something else")), T0)
    assert len(await all_of(memories)) == 2
    alone = await memories.learn(ONE, Lesson(memory("alone")), T0)
    assert alone == Learned(memory("alone"))


async def ms2_what_is_known_is_strengthened(open_memories: OpenMemories) -> None:
    memories = open_memories()
    await memories.learn(ONE, Lesson(memory("old", "same", T0, episodes=("e0",))), T0)
    await memories.learn(ONE, Lesson(memory("e1", at_us=T0 + 1, episodes=("e1",))), T0 + 1)
    await memories.learn(ONE, Lesson(strategy("other kind", "same", T0 + 2)), T0 + 2)
    # By its text, wherever it comes from.
    draft = memory("x", "same", T0 + 3, importance=0.9, episodes=("e2",), origin=Origin.TOOL)
    known = await get(memories, "old")
    learned = await memories.learn(ONE, Lesson(draft), T0 + 3)
    assert learned.reflection == strengthened(known, draft, T0 + 3) == await get(open_memories(), "old")
    assert (learned.reflection.strength, learned.reflection.importance) == (2, 0.9)
    # By its episode, also by one that it was strengthened with; a surer one of the same episode says it better.
    for number, episode in enumerate(("e0", "e2")):
        better = memory("x", f"wording {number}", T0 + 4, confidence=0.5 + number / 10, episodes=(episode,))
        known = await get(memories, "old")
        learned = await memories.learn(ONE, Lesson(better), T0 + 4)
        assert learned.reflection == strengthened(known, better, T0 + 4) == await get(memories, "old")
        assert learned.reflection.content == f"wording {number}"
    # And by any text that it had.
    for text in ("same", "wording 0", "wording 1"):
        assert (await memories.learn(ONE, Lesson(memory("x", text)), T0 + 5)).reflection.memory_id == "old"
    # The text counts before the episode, and of several the oldest.
    newer = memory("x", "what e1 says", episodes=("e0",))
    assert (await memories.learn(ONE, Lesson(newer), T0 + 6)).reflection.memory_id == "e1"
    both = memory("x", "same", episodes=("e1",))
    assert (await memories.learn(ONE, Lesson(both), T0 + 6)).reflection.memory_id == "old"
    await memories.put(ONE, MemoryHistory(memory("older", "same", T0 - 1)))
    assert (await memories.learn(ONE, Lesson(both), T0 + 7)).reflection.memory_id == "older"
    assert len(await all_of(memories)) == 4
    assert (await get(memories, "other kind")).strength == 1


async def ms3_a_strategy_belongs_to_what_its_reflection_became(open_memories: OpenMemories) -> None:
    memories = open_memories()
    first = await memories.learn(ONE, Lesson(memory("r1", "why"), strategy("s1", "how", strategy_of="x")), T0)
    assert first.strategy is not None
    assert first.strategy.strategy_of == "r1"
    second = await memories.learn(ONE, Lesson(memory("r2", "why"), strategy("s2", "another way")), T0 + 1)
    assert second.reflection.memory_id == "r1"
    assert second.strategy is not None
    assert (second.strategy.memory_id, second.strategy.strategy_of) == ("s2", "r1")
    assert (await get(memories, "s2")).strategy_of == "r1"


async def ms4_a_repeated_lesson_changes_nothing(open_memories: OpenMemories) -> None:
    memories = open_memories()
    lesson = Lesson(memory("r"), strategy("s"), "l")
    first = await memories.learn(ONE, lesson, T0)
    assert await open_memories().learn(ONE, lesson, T0 + 1) == first
    counted = await memories.learn(ONE, Lesson(memory("r9", "what r says"), None, "m"), T0 + 2)
    assert counted.reflection.strength == 2
    again = await memories.learn(ONE, Lesson(memory("r9", "what r says"), None, "m"), T0 + 3)
    assert again == counted
    assert await memories.learn(ONE, lesson, T0 + 4) == Learned(counted.reflection, first.strategy)
    await memories.delete(ONE, "s")
    assert await memories.learn(ONE, lesson, T0 + 5) == Learned(counted.reflection, first.strategy)
    assert len(await all_of(memories)) == 1
    later = T0 + LESSON_KEPT_US
    assert (await memories.learn(ONE, lesson, later - 1)).reflection.strength == 2
    # Unnamed ones, and other scopes', are never the same.
    for _ in range(2):
        await memories.learn(ONE, Lesson(memory("u")), T0)
    assert (await get(memories, "u")).strength == 2
    assert (await memories.learn(OTHER, lesson, T0)).reflection == memory("r")


async def ms5_lessons_at_the_same_time(open_memories: OpenMemories) -> None:
    memories, others = open_memories(), open_memories()
    lessons = [
        Lesson(
            memory(f"r{n}", f"text {n % 3}", episodes=(f"e{n % 2}",)), strategy(f"s{n}", f"way {n % 2}"), f"l{n % 9}"
        )
        for n in range(18)
    ]

    async def learn(number: int, lesson: Lesson) -> None:
        # A store that is asked by too many at once may say so.
        with contextlib.suppress(StoreUnavailable):
            await (memories, others)[number % 2].learn(ONE, lesson, T0)
            return
        await memories.learn(ONE, lesson, T0)

    await asyncio.gather(*(learn(number, lesson) for number, lesson in enumerate(lessons)))
    kept = await all_of(memories)
    reflections = [one for one in kept if one.kind is MemoryKind.REFLECTION]
    strategies = [one for one in kept if one.kind is MemoryKind.STRATEGY]
    assert sum(one.strength for one in reflections) == 9
    assert sum(one.strength for one in strategies) == 9
    assert len({one.text_key for one in reflections}) == len(reflections)
    assert len(strategies) == len({one.text_key for one in strategies}) == 2


async def ms6_get_in_the_order_asked_for(open_memories: OpenMemories) -> None:
    memories = open_memories()
    assert await memories.get(ONE, ("a",)) == ()
    for name in ("a", "b", "c"):
        await memories.learn(ONE, Lesson(memory(name)), T0)
    assert await memories.get(ONE, ("c", "nobody", "a")) == (memory("c"), memory("a"))
    assert await memories.get(ONE, ("A", "")) == ()
    assert await memories.get(ONE, ()) == ()


async def ms7_lists_page_from_the_newest(open_memories: OpenMemories) -> None:
    memories = open_memories()
    made = []
    for number, at_us in enumerate((T0, T0 + 1, T0 + 1, T0 + 2, T0, T0 + 3)):
        one = (memory, strategy)[number % 2](f"m{number}", at_us=at_us)
        if number % 3 == 2:
            one = replace(one, state=MemoryState.QUARANTINED, quarantine=Quarantine.STEERING)
        made.append(one)
        await memories.put(ONE, MemoryHistory(one))
    await memories.revise(ONE, "m3", Revision(Change.REVIEWED, state=MemoryState.RETIRED), T0 + 50)
    made[3] = await get(memories, "m3")
    ordered = sorted(made, key=lambda one: (one.created_us, one.memory_id), reverse=True)
    new = 0
    for kind in (None, *MemoryKind):
        for state in (None, *MemoryState):
            wanted = [one for one in ordered if kind in (None, one.kind) and state in (None, one.state)]
            found: list[MemoryRecord] = []
            after: MemoryKey | None = None
            while page := await memories.list(ONE, kind, state, after, 2):
                assert len(page) <= 2
                found += [one for one in page if not one.memory_id.startswith("new")]
                after = MemoryKey(page[-1].created_us, page[-1].memory_id)
                # Newer ones do not move a list that is being read.
                new += 1
                await memories.put(ONE, MemoryHistory(memory(f"new{new}", at_us=T0 + 100 + new)))
            assert found == wanted, (kind, state)


async def ms8_a_revision_makes_a_version(open_memories: OpenMemories) -> None:
    memories = open_memories()
    first = memory("m", tags=("a",), metadata={"outcome": "failure"}, confidence=0.25)
    await memories.learn(ONE, Lesson(first), T0)
    revision = Revision(
        *(Change.UPDATED, "better words"),
        content="other words",
        text_key="other",
        importance=0.9,
        tags=("b", "c"),
        changed_by="Ann",
    )
    second = await memories.revise(ONE, "m", revision, T0 + 5)
    assert second == revised(first, revision, T0 + 5) == await get(open_memories(), "m")
    assert (second.version, second.content, second.importance, second.tags) == (2, "other words", 0.9, ("b", "c"))
    assert (second.created_us, second.updated_us, second.metadata) == (T0, T0 + 5, {"outcome": "failure"})
    retired = await memories.revise(ONE, "m", Revision(Change.REVIEWED, "wrong", state=MemoryState.RETIRED), T0 + 6, 2)
    assert (retired.version, retired.state, retired.reason) == (3, MemoryState.RETIRED, "wrong")
    assert (second.changed_by, retired.changed_by) == ("Ann", "")
    with pytest.raises(WrongState):
        await memories.revise(ONE, "m", revision, T0 + 7, 2)
    with pytest.raises(NotFound):
        await memories.revise(ONE, "nobody", revision, T0 + 7)
    assert await get(memories, "m") == retired
    # What it says now, and what it said, are both known to be this one.
    for text_key in (first.text_key, "other"):
        draft = memory("x", "words", text_key=text_key)
        assert (await memories.learn(ONE, Lesson(draft), T0 + 8)).reflection.memory_id == "m"
    racing = [memories.revise(ONE, "m", Revision(Change.UPDATED, str(n), importance=n / 10), T0 + 9) for n in range(8)]
    assert sorted(one.version for one in await asyncio.gather(*racing)) == list(range(4, 12))


async def ms15_a_repeated_revision_changes_nothing(open_memories: OpenMemories) -> None:
    memories = open_memories()
    await memories.learn(ONE, Lesson(memory("m", confidence=0.5)), T0)
    once = Revision(Change.UPDATED, "clearer", importance=0.75, without_confidence=True, revision_id="once")
    second = await memories.revise(ONE, "m", once, T0 + 1, 1)
    assert (second.version, second.importance, second.confidence, second.revision_ids) == (2, 0.75, None, ("once",))
    assert await memories.revise(ONE, "m", once, T0 + 2, 1) == second
    for number in range(MOST_REVISIONS - 1):
        other = Revision(Change.UPDATED, importance=0.25, revision_id=f"other {number}")
        await memories.revise(ONE, "m", other, T0 + 3)
    last = await get(memories, "m")
    assert await open_memories().revise(ONE, "m", once, T0 + 4) == last == await get(memories, "m")
    assert (last.version, last.importance, len(last.revision_ids)) == (MOST_REVISIONS + 1, 0.25, MOST_REVISIONS)
    # A revision that nobody will repeat is always another one.
    for _ in range(2):
        last = await memories.revise(ONE, "m", Revision(Change.UPDATED, importance=0.5), T0 + 5)
    assert last.version == MOST_REVISIONS + 3


async def ms9_versions_from_the_newest(open_memories: OpenMemories) -> None:
    memories = open_memories()
    await memories.learn(ONE, Lesson(memory("m", episodes=("e",))), T0)
    kept = [await get(memories, "m")]
    for number in range(4):
        text = f"words {number}" if number % 2 else None
        revision = Revision(Change.UPDATED, str(number), content=text, text_key=text, importance=number / 10)
        kept.insert(0, await memories.revise(ONE, "m", revision, T0 + number))
        # Strengthening makes no version: it is told with the one that is there.
        kept[0] = (await memories.learn(ONE, Lesson(memory("x", episodes=("e",))), T0 + number)).reflection
    assert [one.version for one in kept] == [5, 4, 3, 2, 1]
    assert await memories.versions(ONE, "m", None, 10) == tuple(kept)
    assert await memories.versions(ONE, "m", None, 2) == tuple(kept[:2])
    assert await memories.versions(ONE, "m", 5, 2) == tuple(kept[1:3])
    assert await memories.versions(ONE, "m", 2, 2) == tuple(kept[4:])
    assert await memories.versions(ONE, "m", 1, 2) == ()
    assert await memories.versions(ONE, "nobody", None, 2) == ()


async def ms10_what_is_deleted_can_be_learned_anew(open_memories: OpenMemories) -> None:
    memories = open_memories()
    await memories.learn(ONE, Lesson(memory("m", episodes=("e",)), strategy("s")), T0)
    await memories.revise(ONE, "m", Revision(Change.UPDATED, content="w", text_key="w"), T0)
    await memories.delete(ONE, "m")
    assert await memories.get(ONE, ("m",)) == ()
    assert await memories.versions(ONE, "m", None, 9) == ()
    assert [one.memory_id for one in await all_of(memories)] == ["s"]
    with pytest.raises(NotFound):
        await memories.delete(ONE, "m")
    anew = memory("m2", "what m says", episodes=("e",))
    assert (await memories.learn(ONE, Lesson(anew), T0)).reflection == anew
    again = memory("m", "w2", text_key="w")
    assert (await memories.learn(ONE, Lesson(again), T0)).reflection == again
    assert await memories.versions(ONE, "m", None, 9) == (again,)
    assert (await memories.learn(ONE, Lesson(memory("x", "what m says")), T0)).reflection.memory_id == "m2"


async def ms11_put_keeps_what_it_is_given(open_memories: OpenMemories) -> None:
    memories = open_memories()
    earlier = tuple(memory("m", f"v{n}", version=n) for n in (1, 2))
    now = memory("m", "v3", version=3, strength=7, episodes=("e",), state=MemoryState.RETIRED)
    assert await memories.put(ONE, MemoryHistory(now, earlier)) is True
    assert await open_memories().put(ONE, MemoryHistory(memory("m", "else"), ())) is False
    assert await memories.versions(ONE, "m", None, 9) == (now, *reversed(earlier))
    by_episode = memory("x", episodes=("e",))
    assert (await memories.learn(ONE, Lesson(by_episode), T0)).reflection.memory_id == "m"
    assert (await memories.learn(ONE, Lesson(memory("x", "v3")), T0)).reflection.strength == 9


async def ms12_outcomes_are_replaced(open_memories: OpenMemories) -> None:
    memories = open_memories()
    assert await memories.outcome(ONE, "receipt") is None
    await memories.report(ONE, TaskOutcome("receipt", "failure", T0, 0.1, "timeout"))
    await memories.report(ONE, TaskOutcome("another", "partial", T0))
    last = TaskOutcome("receipt", "success", T0 + 1)
    await memories.report(ONE, last)
    assert await open_memories().outcome(ONE, "receipt") == last
    assert await memories.outcome(ONE, "another") == TaskOutcome("another", "partial", T0)
    assert await memories.outcome(OTHER, "receipt") is None
    assert await memories.outcome(ONE, "nobody") is None


async def ms13_texts_and_scores_come_back_as_they_were(open_memories: OpenMemories) -> None:
    memories = open_memories()
    texts = ["\U0001f642\u200d\u202e שלום \x7f\u2028\r\n\t\\u0000'\"", "é e\u0301", "x" * (1 << 20), "\ufffd" * 300_000]
    for number, text in enumerate(texts):
        odd = memory(
            f"m{number}",
            text,
            task_text=text,
            importance=1 / 3,
            confidence=0.1 + 0.2,
            tags=("\U0001f642", "a,b", '"', "{}"),
            error_category="timeout",
            source_event_ids=("e\u0301", "'"),
            related_ids=("x",),
            metadata={"outcome": "failure", "n": 3, "deep": [{"\U0001f642": None}, 0.1]},
            applies_when=AppliesWhen(("psql",), ("timeout",), "never \U0001f642"),
            episodes=("e",) if number == 0 else (),
            strength=2,
            strengthened_us=T0,
            reason="\u202e",
        )
        await memories.put(ONE, MemoryHistory(replace(odd, version=2), (replace(odd, content=text[::-1]),)))
        assert await get(open_memories(), f"m{number}") == replace(odd, version=2)
        assert (await memories.versions(ONE, f"m{number}", 2, 9))[-1].content == text[::-1]
    for bad in (float("nan"), -0.1, 1.1, float("inf")):
        with pytest.raises(BadInput):
            memory("bad", importance=bad)
        with pytest.raises(BadInput):
            await memories.revise(ONE, "m0", Revision(Change.UPDATED, confidence=bad), T0)


async def ms14_scopes_never_meet(open_memories: OpenMemories) -> None:
    memories = open_memories()
    scopes = (ONE, OTHER, THIRD)
    for number, scope in enumerate(scopes):
        assert await memories.get(scope, ("m",)) == ()
        assert await memories.versions(scope, "m", None, 9) == ()
        with pytest.raises(NotFound):
            await memories.delete(scope, "m")
        with pytest.raises(NotFound):
            await memories.revise(scope, "m", Revision(Change.UPDATED), T0)
        own = memory("m", "same", T0 + number, episodes=("e",))
        learned = await memories.learn(scope, Lesson(own, strategy("s", "same", T0 + number - 9), "l"), T0)
        assert learned.reflection == own
    changed = await memories.revise(OTHER, "m", Revision(Change.UPDATED, content="w", text_key="w"), T0)
    for number, scope in enumerate(scopes):
        own = changed if scope == OTHER else memory("m", "same", T0 + number, episodes=("e",))
        assert await memories.get(scope, ("m",)) == (own,)
        assert [one.memory_id for one in await all_of(memories, scope)] == ["m", "s"]
        assert await memories.list(scope, MemoryKind.REFLECTION, MemoryState.ACTIVE, None, 9) == (own,)
        assert len(await memories.versions(scope, "m", None, 9)) == own.version
    await memories.delete(ONE, "m")
    assert (await memories.get(OTHER, ("m",)))[0].version == 2
    assert len(await memories.versions(OTHER, "m", None, 9)) == 2
    again = await memories.learn(THIRD, Lesson(memory("x", "same")), T0)
    assert (again.reflection.memory_id, again.reflection.strength) == ("m", 2)


async def get(memories: Memories, memory_id: str, scope: Scope = ONE) -> MemoryRecord:
    (found,) = await memories.get(scope, (memory_id,))
    return found
