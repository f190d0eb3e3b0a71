"""What every adapter of the port `Dreams` does, clause by clause.

Each test is given a function that opens the ports on one empty store; called again, it gives other objects on it.
"""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import msgspec
import pytest

from sidemirror_server.memory.dreams.dreams import Dream, DreamHistory, Dreams, DreamtLesson, Waiting
from sidemirror_server.memory.record import Change, Lesson, MemoryHistory, MemoryKind, MemoryRecord, Revision
from sidemirror_server.memory.store import Memories
from sidemirror_server.vocabulary.errors import WrongState
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from tests.conformance.served import ACME, REST, SHOP

ONE, OTHER, THIRD = Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop")
T0 = 1_700_000_000_000_000
LATE = T0 + 10**12


class Stores(NamedTuple):
    """The port, and that of the memories which are dreamt of."""

    memories: Memories
    dreams: Dreams


Open = Callable[[], Stores]


def memory(memory_id: str, at_us: int = T0, **fields: object) -> MemoryRecord:
    """A reflection that says its own id."""
    record = MemoryRecord(
        memory_id=memory_id,
        kind=MemoryKind.REFLECTION,
        content=f"It is {memory_id}.",
        importance=0.6,
        created_us=at_us,
        updated_us=at_us,
        text_key=memory_id,
        origin=Origin.AGENT,
        episodes=(f"{memory_id:0>32}",),
    )
    return msgspec.structs.replace(record, **fields)


def dream(number: int = 1, **fields: object) -> Dream:
    made = Dream(dream_id=f"d{number}", number=number, started_us=T0 + number, ended_us=T0 + number + 5, read=1)
    return msgspec.structs.replace(made, **fields)


LESSON = DreamtLesson("r", "s", ("a", "b"), 2, is_new=True)


class HasMemories(Protocol):
    """Stores, as far as memories go."""

    @property
    def memories(self) -> Memories: ...


async def keep(stores: HasMemories, scope: Scope, *memories: MemoryRecord) -> None:
    for one in memories:
        assert await stores.memories.put(scope, MemoryHistory(one))


async def dr1_what_is_kept_is_unread(open_stores: Open) -> None:
    stores = open_stores()
    assert await stores.dreams.unread(ONE, 10) == ()
    lesson = Lesson(memory("r"), memory("s", kind=MemoryKind.STRATEGY, strategy_of="r"))
    await stores.memories.learn(ONE, lesson, T0)
    await keep(stores, ONE, memory("put", T0 + 1), memory("dreamt", T0 + 2, derived_from=("r", "put")))
    assert await stores.dreams.unread(ONE, 10) == ("put", "r")
    await stores.dreams.close(ONE, dream(), ("put", "r"), T0)
    await stores.memories.learn(ONE, Lesson(memory("again", text_key="r")), T0 + 3)
    await stores.memories.revise(ONE, "put", Revision(Change.UPDATED, importance=0.9), T0 + 4)
    assert await stores.dreams.unread(ONE, 10) == ()
    await keep(stores, ONE, memory("gone", T0 + 5), memory("stays", T0 + 6))
    await stores.memories.delete(ONE, "gone")
    assert await stores.dreams.unread(ONE, 10) == ("stays",)


async def dr2_unread_newest_first(open_stores: Open) -> None:
    stores = open_stores()
    await keep(stores, ONE, *(memory(name, T0 + at_us) for name, at_us in (("b", 5), ("a", 5), ("z", 1), ("c", 9))))
    assert await stores.dreams.unread(ONE, 10) == ("c", "b", "a", "z")
    assert await open_stores().dreams.unread(ONE, 2) == ("c", "b")


async def dr3_a_pass_is_closed(open_stores: Open) -> None:
    stores = open_stores()
    await keep(stores, ONE, memory("a"), memory("b", T0 + 1), memory("c", T0 + 2))
    usage = Usage("p", "m", input_tokens=3, cost_usd=0.25)
    made = dream(read=2, left=1, lessons=(LESSON,), usage=usage, status=ResultStatus.SKIPPED_SPEND, detail="the cap 🙂")
    assert await stores.dreams.close(ONE, made, ("a", "c", "unknown"), T0 + 7) == made
    assert await open_stores().dreams.unread(ONE, 10) == ("b",)
    assert await stores.dreams.list(ONE, None, 10) == (made,)
    assert await stores.dreams.standing(ONE) == DreamHistory(1, 0, made.ended_us, T0 + 7)


async def dr4_a_pass_is_closed_once(open_stores: Open) -> None:
    stores = open_stores()
    await keep(stores, ONE, memory("a"), memory("b", T0 + 1))
    first = await stores.dreams.close(ONE, dream(), ("a",), T0)
    again = dream(dream_id="another", read=5, lessons=(LESSON,))
    closed = await asyncio.gather(*(open_stores().dreams.close(ONE, again, ("a", "b"), LATE) for _ in range(4)))
    assert set(map(repr, closed)) == {repr(first)}
    assert await stores.dreams.unread(ONE, 10) == ("b",)
    assert await stores.dreams.standing(ONE) == DreamHistory(1, 1, first.ended_us, T0)
    assert await stores.dreams.list(ONE, None, 10) == (first,)


async def dr5_passes_follow_each_other(open_stores: Open) -> None:
    stores = open_stores()
    await keep(stores, ONE, memory("a"))
    for number in (0, 2):
        with pytest.raises(WrongState):
            await stores.dreams.close(ONE, dream(number), ("a",), T0)
    assert await stores.dreams.unread(ONE, 10) == ("a",)
    assert await stores.dreams.standing(ONE) == DreamHistory()
    await stores.dreams.close(ONE, dream(1), ("a",), T0)
    await stores.dreams.close(ONE, dream(2), (), T0)
    assert (await stores.dreams.standing(ONE)).dreams == 2


async def dr6_how_a_project_stands(open_stores: Open) -> None:
    stores = open_stores()
    assert await stores.dreams.standing(ONE) == DreamHistory()
    idle = []
    # One had nothing to read, another could read nothing and left it.
    passes: list[dict[str, Any]] = [
        {},
        {},
        {"read": 0},
        {"lessons": (LESSON,)},
        {"read": 0},
        {},
        {"read": 0, "left": 1},
    ]
    for number, fields in enumerate(passes, start=1):
        await stores.dreams.close(ONE, dream(number, **fields), (), T0 + 100 * number)
        standing = await open_stores().dreams.standing(ONE)
        assert standing == DreamHistory(number, standing.idle_dreams, T0 + number + 5, T0 + 100 * number)
        idle.append(standing.idle_dreams)
    assert idle == [1, 2, 2, 0, 0, 1, 2]


async def dr7_projects_that_wait(open_stores: Open) -> None:
    stores = open_stores()
    assert await stores.dreams.waiting(SERVES_ALL, LATE, 10) == ()
    await keep(stores, OTHER, memory("a", T0 + 5), memory("b", T0 + 9))
    await keep(stores, ONE, memory("a", T0 + 3), memory("b", T0 + 4), memory("c", T0 + 7))
    await keep(stores, THIRD, memory("a", T0 + 1))
    third = Waiting(THIRD, DreamHistory(), T0 + 1, T0 + 1)
    one = Waiting(ONE, DreamHistory(), T0 + 3, T0 + 7)
    other = Waiting(OTHER, DreamHistory(), T0 + 5, T0 + 9)
    assert await stores.dreams.waiting(SERVES_ALL, T0, 10) == (third, one, other)
    assert await stores.dreams.waiting(SERVES_ALL, T0, 2) == (third, one)
    await stores.dreams.close(THIRD, dream(), ("a",), T0)
    await stores.dreams.close(ONE, dream(), ("a", "b"), T0 + 500)
    resting = Waiting(ONE, DreamHistory(1, 1, T0 + 6, T0 + 500), T0 + 7, T0 + 7)
    assert await stores.dreams.waiting(SERVES_ALL, T0 + 499, 10) == (other,)
    assert await stores.dreams.waiting(SERVES_ALL, T0 + 500, 10) == (other, resting)


async def dr8_the_log_from_the_newest(open_stores: Open) -> None:
    stores = open_stores()
    made = [dream(number, read=number) for number in range(1, 6)]
    for one in made:
        await stores.dreams.close(ONE, one, (), T0)
    found: list[Dream] = []
    before: int | None = None
    while page := await stores.dreams.list(ONE, before, 2):
        assert len(page) <= 2
        found += page
        before = page[-1].number
        # A newer one does not move a list that is being read.
        await stores.dreams.close(ONE, dream(len(made) + len(found) // 2), (), T0)
        assert len(found) <= len(made)
    assert found == list(reversed(made))


async def dr9_scopes_never_meet(open_stores: Open) -> None:
    stores = open_stores()
    for number, scope in enumerate((ONE, OTHER, THIRD)):
        await keep(stores, scope, memory("a", T0), memory("b", T0 + 1))
        assert await stores.dreams.unread(scope, 10) == ("b", "a")
        own = dream(read=number + 1)
        assert await stores.dreams.close(scope, own, ("a",), T0 + number) == own
    for number, scope in enumerate((ONE, OTHER, THIRD)):
        assert await stores.dreams.list(scope, None, 10) == (dream(read=number + 1),)
        assert await stores.dreams.unread(scope, 10) == ("b",)
        assert await stores.dreams.standing(scope) == DreamHistory(1, 1, T0 + 6, T0 + number)


async def dr10_projects_of_others_wait_for_them(open_stores: Open) -> None:
    stores = open_stores()
    for number, scope in enumerate((OTHER, THIRD, ONE)):
        await keep(stores, scope, memory("a", T0 + number))
    # What others have waits longer, and there is no room for it in the limit.
    assert [one.scope for one in await stores.dreams.waiting(SHOP, T0, 1)] == [ONE]
    assert [one.scope for one in await stores.dreams.waiting(ACME, T0, 9)] == [OTHER, ONE]
    assert [one.scope for one in await stores.dreams.waiting(REST, T0, 9)] == [OTHER, THIRD]
    assert [one.scope for one in await stores.dreams.waiting(REST, T0, 1)] == [OTHER]
