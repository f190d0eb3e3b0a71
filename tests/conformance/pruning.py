"""What every adapter of the port `Pruning` does, clause by clause.

Each test is given a function that opens the ports on one empty store; called again, it gives other objects on it.
"""

from collections.abc import Callable
from typing import NamedTuple

from sidemirror_server.memory.record import Change, Lesson, MemoryKind, MemoryState, Revision
from sidemirror_server.memory.store import Memories
from sidemirror_server.memory.trials.trials import Trial, Trials
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.trace.log import TURN_TOPIC, Batch, Draft, TurnHead, TurnLog, TurnStanding
from sidemirror_server.trace.pruning import Pruned, PrunedKind, Pruning
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Served, Serves
from tests.conformance.dreams import ONE, OTHER, T0, THIRD, keep, memory
from tests.conformance.served import ACME, REST, SHOP
from tests.conformance.trials import assign

DAY_US = 24 * 3600 * 1_000_000
OLD, BEFORE, NOW = T0, T0 + DAY_US, T0 + 30 * DAY_US


class Stores(NamedTuple):
    """The port, and those whose records it removes."""

    memories: Memories
    log: TurnLog
    sessions: Sessions
    pruning: Pruning
    trials: Trials


Open = Callable[[], Stores]


async def left(stores: Stores, scope: Scope) -> list[str]:
    return sorted(one.memory_id for one in await stores.memories.list(scope, None, None, None, 100))


async def turn(stores: Stores, scope: Scope, turn_id: str, at_us: int, **more: str) -> None:
    """A turn of one entry: `standing`, `session`."""
    standing, session_id = TurnStanding(more.get("standing", "finished")), more.get("session", f"s-{turn_id}")
    head = TurnHead(TurnId(turn_id), SessionId(session_id), 1, standing, 1, at_us, at_us, b"{}")
    await stores.log.append(scope, (Batch(head, (Draft(1, at_us, b"{}"),), b"{}"),))


async def turns(stores: Stores, scope: Scope) -> list[str]:
    return sorted(head.turn_id for head in await stores.log.heads(scope, None, None, None, 100))


async def pu1_what_is_old_and_unimportant(open_stores: Open) -> None:
    stores = open_stores()
    assert await stores.pruning.prune_memories(SERVES_ALL, 0.5, BEFORE, 10, NOW) == 0
    await keep(
        stores,
        ONE,
        memory("old", importance=0.49),
        memory("important", importance=0.5),
        memory("young", BEFORE, importance=0.1),
        memory("strengthened", importance=0.2),
        memory("more", importance=0.3, created_us=OLD + 1, updated_us=OLD + 1),
    )
    await stores.memories.learn(ONE, Lesson(memory("again", importance=0.2, text_key="strengthened")), BEFORE)
    assert await stores.pruning.prune_memories(SERVES_ALL, 0.5, BEFORE, 1, NOW) == 1
    assert await left(stores, ONE) == ["important", "more", "strengthened", "young"]
    assert await open_stores().pruning.prune_memories(SERVES_ALL, 0.5, BEFORE, 10, NOW) == 1
    assert await stores.pruning.prune_memories(SERVES_ALL, 0.5, BEFORE, 10, NOW) == 0
    assert await left(stores, ONE) == ["important", "strengthened", "young"]
    assert await stores.memories.versions(ONE, "old", None, 10) == ()
    # All that it was known by is gone: it can be learned anew.
    learned = await stores.memories.learn(ONE, Lesson(memory("anew", NOW, importance=0.1, text_key="old")), NOW)
    assert learned.reflection.memory_id == "anew"


async def pu2_what_people_decided_stays(open_stores: Open) -> None:
    stores = open_stores()
    names = ("retired", "reviewed", "updated", "quarantined", "plain")
    await keep(stores, ONE, *(memory(name, importance=0.1) for name in names))
    await stores.memories.revise(ONE, "retired", Revision(Change.LEARNED, state=MemoryState.RETIRED), OLD + 1)
    await stores.memories.revise(ONE, "reviewed", Revision(Change.REVIEWED, state=MemoryState.ACTIVE), OLD + 1)
    await stores.memories.revise(ONE, "updated", Revision(Change.UPDATED, tags=("x",)), OLD + 1)
    await stores.memories.revise(ONE, "quarantined", Revision(Change.LEARNED, state=MemoryState.QUARANTINED), OLD + 1)
    assert await stores.pruning.prune_memories(SERVES_ALL, 0.5, BEFORE, 10, NOW) == 2
    assert await left(stores, ONE) == ["retired", "reviewed", "updated"]


async def pu8_what_is_in_use_stays(open_stores: Open) -> None:
    stores = open_stores()
    names = ("tried", "tried long ago", "tried elsewhere", "why", "why not", "before")
    await keep(stores, ONE, *(memory(name, importance=0.45) for name in names))
    await assign(stores.trials, ONE, "receipt", [Trial("tried", 1)], BEFORE)
    await assign(stores.trials, ONE, "earlier", [Trial("tried long ago", 1)], BEFORE - 1)
    await assign(stores.trials, OTHER, "receipt", [Trial("tried elsewhere", 1)], BEFORE)
    for name, of, importance in (("what to do", "why", 0.5), ("what not to do", "why not", 0.49)):
        strategy = memory(name, importance=importance, kind=MemoryKind.STRATEGY, strategy_of=of)
        await keep(stores, ONE, strategy)
    await keep(stores, OTHER, memory("elsewhere", importance=0.9, kind=MemoryKind.STRATEGY, strategy_of="before"))
    await stores.pruning.prune_memories(SERVES_ALL, 0.5, BEFORE, 10, NOW)
    assert await left(stores, ONE) == ["tried", "what to do", "why"]


async def pu3_turns_that_ended(open_stores: Open) -> None:
    stores = open_stores()
    assert await stores.pruning.prune_turns(SERVES_ALL, BEFORE, 10, NOW) == 0
    await turn(stores, ONE, "c", OLD + 2)
    await turn(stores, ONE, "a", OLD, standing="abandoned")
    await turn(stores, ONE, "b", OLD + 1)
    await turn(stores, ONE, "open", OLD, standing="open")
    await turn(stores, ONE, "young", BEFORE)
    assert await stores.pruning.prune_turns(SERVES_ALL, BEFORE, 2, NOW) == 2
    assert await turns(stores, ONE) == ["c", "open", "young"]
    assert await open_stores().pruning.prune_turns(SERVES_ALL, BEFORE, 10, NOW) == 1
    assert await stores.pruning.prune_turns(SERVES_ALL, BEFORE, 10, NOW) == 0
    assert await turns(stores, ONE) == ["open", "young"]
    entries = await stores.log.tail(ONE, TURN_TOPIC, None, 0, 10, 10**6)
    assert sorted(entry.key for entry in entries) == ["open", "young"]
    assert await stores.log.read(ONE, TurnId("a"), 0, 10, 10**6) == ()


async def pu4_sessions_go_with_their_last_turn(open_stores: Open) -> None:
    stores = open_stores()
    await turn(stores, ONE, "a1", OLD, session="a")
    await turn(stores, ONE, "a2", OLD + 1, session="a")
    await turn(stores, ONE, "b1", OLD, session="b")
    await turn(stores, ONE, "b2", BEFORE, session="b")
    await turn(stores, ONE, "c1", OLD, session="c")
    await stores.sessions.update(ONE, SessionId("c"), b"{}", BEFORE)
    assert await stores.pruning.prune_turns(SERVES_ALL, BEFORE, 1, NOW) == 1
    assert await stores.pruning.prune_turns(SERVES_ALL, BEFORE, 10, NOW) == 3
    found = {name: await stores.sessions.get(ONE, SessionId(name)) for name in ("a", "b", "c")}
    assert found["a"] is None
    assert found["b"] is not None
    assert found["b"].turn_count == 1
    assert found["c"] is not None
    assert found["c"].turn_count == 0


async def pu5_it_is_written_down(open_stores: Open) -> None:
    stores = open_stores()
    await keep(stores, ONE, memory("a", importance=0.1), memory("b", importance=0.1))
    await keep(stores, OTHER, memory("a", importance=0.1), memory("b"))
    await turn(stores, OTHER, "t", OLD)
    assert await stores.pruning.prune_memories(SERVES_ALL, 0.25, BEFORE, 10, NOW) == 3
    assert await stores.pruning.prune_turns(SERVES_ALL, BEFORE + 1, 10, NOW + 1) == 1
    assert await stores.pruning.prune_turns(SERVES_ALL, BEFORE + 1, 10, NOW + 2) == 0
    (of_one,) = await open_stores().pruning.list(ONE, None, 10)
    assert of_one == Pruned(of_one.number, PrunedKind.MEMORIES, 2, NOW, BEFORE, 0.25)
    last, first = await stores.pruning.list(OTHER, None, 10)
    assert first == Pruned(first.number, PrunedKind.MEMORIES, 1, NOW, BEFORE, 0.25)
    assert last == Pruned(last.number, PrunedKind.TURNS, 1, NOW + 1, BEFORE + 1)
    assert last.number > first.number


async def pu6_the_log_from_the_newest(open_stores: Open) -> None:
    stores = open_stores()
    for number in range(5):
        await keep(stores, ONE, memory(f"m{number}", importance=0.1))
        assert await stores.pruning.prune_memories(SERVES_ALL, 0.5, BEFORE, 10, NOW + number) == 1
    found: list[Pruned] = []
    before: int | None = None
    while page := await stores.pruning.list(ONE, before, 2):
        assert len(page) <= 2
        found += page
        before = page[-1].number
        assert len(found) <= 5
    assert [pruned.pruned_us - NOW for pruned in found] == [4, 3, 2, 1, 0]


async def pu7_scopes_never_meet(open_stores: Open) -> None:
    stores = open_stores()
    scopes = (ONE, OTHER, THIRD)
    for number, scope in enumerate(scopes):
        at_us = OLD if number else BEFORE
        await keep(stores, scope, memory("m", at_us, importance=0.1))
        await turn(stores, scope, "t", at_us, session="s")
    assert await stores.pruning.prune_memories(SERVES_ALL, 0.5, BEFORE, 10, NOW) == 2
    assert await stores.pruning.prune_turns(SERVES_ALL, BEFORE, 10, NOW) == 2
    for number, scope in enumerate(scopes):
        assert await left(stores, scope) == ([] if number else ["m"])
        assert await turns(stores, scope) == ([] if number else ["t"])
        assert (await stores.sessions.get(scope, SessionId("s")) is None) == bool(number)
        entries = await stores.log.tail(scope, TURN_TOPIC, None, 0, 10, 10**6)
        assert len(entries) == (0 if number else 1)
        assert len(await stores.pruning.list(scope, None, 10)) == (2 if number else 0)


async def pu9_what_is_too_much_goes_by_how_much_it_matters(open_stores: Open) -> None:
    stores = open_stores()
    await keep(
        stores,
        ONE,
        memory("most", importance=0.9),
        memory("least", T0 + 5, importance=0.1),
        memory("less", T0 + 4, importance=0.3),
        memory("less and later", T0 + 9, importance=0.3),
        memory("retired", importance=0.0, state=MemoryState.RETIRED),
    )
    await keep(stores, OTHER, memory("m", importance=0.1))
    assert await stores.pruning.prune_surplus(SERVES_ALL, 5, 10, NOW) == 0
    assert await open_stores().pruning.prune_surplus(SERVES_ALL, 2, 1, NOW) == 1
    assert await left(stores, ONE) == ["less", "less and later", "most", "retired"]
    assert await stores.pruning.prune_surplus(SERVES_ALL, 3, 10, NOW + 1) == 1
    assert await left(stores, ONE) == ["less and later", "most", "retired"]
    assert await left(stores, OTHER) == ["m"]
    last, first = await stores.pruning.list(ONE, None, 10)
    assert first == Pruned(first.number, PrunedKind.MEMORIES, 1, NOW, NOW, 0.1)
    assert last == Pruned(last.number, PrunedKind.MEMORIES, 1, NOW + 1, NOW + 1, 0.3)
    # What is retired stays, even when nothing else is left.
    assert await stores.pruning.prune_surplus(SERVES_ALL, 1, 10, NOW + 2) == 2
    assert await stores.pruning.prune_surplus(SERVES_ALL, 1, 10, NOW + 3) == 0
    assert await left(stores, ONE) == ["retired"]
    assert await left(stores, OTHER) == ["m"]


async def pu10_how_far_the_log_has_holes(open_stores: Open) -> None:
    stores = open_stores()
    assert await stores.pruning.turns_gone_up_to(ONE) == 0
    for scope, turn_id, at_us in ((ONE, "a", OLD + 1), (ONE, "b", OLD), (ONE, "young", BEFORE), (OTHER, "c", OLD + 2)):
        await turn(stores, scope, turn_id, at_us)
    places = {entry.key: entry.position for entry in await stores.log.tail(ONE, TURN_TOPIC, None, 0, 10, 10**6)}
    await keep(stores, ONE, memory("m", importance=0.1))
    assert await stores.pruning.prune_memories(SERVES_ALL, 0.5, BEFORE, 10, NOW) == 1
    assert await stores.pruning.turns_gone_up_to(ONE) == 0
    # The last one in the log goes first: what is older goes later, and changes nothing.
    assert await stores.pruning.prune_turns(SERVES_ALL, BEFORE, 1, NOW) == 1
    assert await stores.pruning.turns_gone_up_to(ONE) == places["b"]
    assert await stores.pruning.prune_turns(SERVES_ALL, BEFORE, 1, NOW) == 1
    assert await open_stores().pruning.turns_gone_up_to(ONE) == places["b"]
    assert await stores.pruning.turns_gone_up_to(OTHER) == 0
    assert await stores.pruning.prune_turns(SERVES_ALL, BEFORE, 10, NOW) == 1
    assert places["b"] == await stores.pruning.turns_gone_up_to(ONE) < await stores.pruning.turns_gone_up_to(OTHER)


async def pu11_what_others_have_stays(open_stores: Open) -> None:
    stores = open_stores()
    for number, scope in enumerate((OTHER, THIRD, ONE)):
        await keep(stores, scope, *(memory(name, T0 + number, importance=0.1) for name in ("a", "b", "c")))
        await turn(stores, scope, "t", T0 + number)

    async def everything() -> list[int]:
        return [len(await left(stores, scope) + await turns(stores, scope)) for scope in (ONE, OTHER, THIRD)]

    # The others were looked through less recently, and come first where they count.
    assert await stores.pruning.prune_memories(SHOP, 0.5, T0 - 1, 1, NOW) == 0
    # What others have is older, and there is no room for it in the limits.
    assert await stores.pruning.prune_turns(SHOP, BEFORE, 1, NOW) == 1
    assert await stores.pruning.prune_surplus(SHOP, 2, 1, NOW) == 1
    assert await stores.pruning.prune_memories(SHOP, 0.5, BEFORE, 1, NOW) == 1
    assert await everything() == [1, 4, 4]
    assert await stores.pruning.prune_turns(ACME, BEFORE, 9, NOW) == 1
    assert await stores.pruning.prune_surplus(ACME, 2, 9, NOW) == 1
    assert await stores.pruning.prune_memories(ACME, 0.5, BEFORE, 9, NOW) == 3
    assert await everything() == [0, 0, 4]
    assert await stores.pruning.prune_turns(REST, BEFORE, 9, NOW) == 1
    assert await stores.pruning.prune_surplus(REST, 2, 9, NOW) == 1
    assert await stores.pruning.prune_memories(REST, 0.5, BEFORE, 9, NOW) == 2


async def pu12_what_is_excepted_stays(open_stores: Open) -> None:
    stores = open_stores()
    for number, scope in enumerate((OTHER, THIRD, ONE)):
        await keep(stores, scope, *(memory(name, T0 + number, importance=0.1) for name in ("a", "b", "c")))
        await turn(stores, scope, "t", T0 + number)

    async def everything() -> list[int]:
        return [len(await left(stores, scope) + await turns(stores, scope)) for scope in (ONE, OTHER, THIRD)]

    async def prune(serves: Serves, limit: int, *but: Served) -> list[int]:
        return [
            await stores.pruning.prune_turns(serves, BEFORE, limit, NOW, but),
            await stores.pruning.prune_surplus(serves, 2, limit, NOW, but),
            await stores.pruning.prune_memories(serves, 0.5, BEFORE, limit, NOW, but),
        ]

    # What is excepted is older, and there is no room for it in the limits.
    assert await prune(SERVES_ALL, 1, Served("acme", "blog"), Served("other")) == [1, 1, 1]
    assert await everything() == [1, 4, 4]
    assert await prune(ACME, 9, Served("acme", "blog"), Served("acme", "shop")) == [0, 0, 0]
    assert await prune(SERVES_ALL, 9, Served("acme")) == [1, 1, 2]
    assert await everything() == [1, 4, 0]
    assert await prune(ACME, 9, Served("acme", "shop"), Served("other", "blog")) == [1, 1, 2]
    assert await everything() == [1, 0, 0]
