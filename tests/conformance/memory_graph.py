"""The suite of the port `MemoryGraph`: one test for each clause. It takes a factory of both ports of one store, for
links arise from what `Memories` keeps."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from sidemirror_server.memory.kin.graph import MemoryGraph
from sidemirror_server.memory.kin.links import MOST_SAME_ERROR, Link, in_order
from sidemirror_server.memory.record import AppliesWhen, Lesson, LinkKind, MemoryHistory, NewLink
from sidemirror_server.memory.store import Memories
from sidemirror_server.vocabulary.errors import NotFound
from sidemirror_server.vocabulary.scope import Scope
from tests.conformance.memories import ONE, OTHER, T0, THIRD, memory, strategy

KINDS = tuple(LinkKind)
OTHERS = (OTHER, THIRD)
SIGNATURE = "sql|timeout|timed_out"


class Stores(NamedTuple):
    """Both ports of one store."""

    graph: MemoryGraph
    memories: Memories


OpenStores = Callable[[], Stores]


def link(source: str, target: str, kind: LinkKind = LinkKind.SIMILAR_TO, at_us: int = T0) -> Link:
    return Link(f"m:{source}", kind, target if target[1:2] == ":" else f"m:{target}", at_us)


async def keep(stores: Stores, *memory_ids: str, scope: Scope = ONE) -> None:
    for memory_id in memory_ids:
        # Without a capital or a name in it: it mentions nothing.
        await stores.memories.put(scope, MemoryHistory(memory(memory_id)))


async def around(
    stores: Stores, *nodes: str, kinds: tuple[LinkKind, ...] = KINDS, limit: int = 100, scope: Scope = ONE
) -> set[Link]:
    found = await stores.graph.around(scope, nodes, kinds, limit)
    assert len(set(found)) == len(found)
    assert found == in_order(found)
    return set(found)


async def mg1_links_are_kept_once(open_stores: OpenStores) -> None:
    stores = open_stores()
    await keep(stores, "a", "b", "c")
    first, second = link("a", "b"), link("a", "b", LinkKind.SUPERSEDES)
    mention = link("a", "n:find_user", LinkKind.MENTIONS)
    assert await stores.graph.link(ONE, (first, second, mention)) == 3
    assert await around(open_stores(), "m:a") == {first, second, mention}
    later = (link("a", "b", at_us=T0 + 9), link("a", "c"))
    assert await stores.graph.link(ONE, later) == 1
    assert await around(stores, "m:a") == {first, second, mention, later[1]}
    for refused in ((link("c", "b"), link("c", "nobody")), (link("c", "b"), link("nobody", "b"))):
        with pytest.raises(NotFound):
            await stores.graph.link(ONE, refused)
    assert await around(stores, "m:c") == {later[1]}
    assert await stores.graph.link(ONE, ()) == 0


async def mg2_links_are_removed(open_stores: OpenStores) -> None:
    stores = open_stores()
    await keep(stores, "a", "b", "c")
    links = (link("a", "b"), link("b", "a"), link("a", "c"), link("a", "b", LinkKind.SUPERSEDES))
    await stores.graph.link(ONE, links)
    # By its ends and its kind, whatever its time says; a memory that is not there has none.
    gone = (link("a", "b", at_us=T0 + 5), link("a", "c"), link("c", "a"), link("nobody", "a"))
    assert await stores.graph.unlink(ONE, gone) == 2
    assert await around(stores, "m:a") == {links[1], links[3]}
    assert await stores.graph.unlink(ONE, gone) == 0


async def mg3_what_is_around(open_stores: OpenStores) -> None:
    stores = open_stores()
    others = [f"o{number:02}" for number in range(12)]
    await keep(stores, "a", "b", *others)
    # The last keys are not the newest.
    out = [link("a", other, at_us=T0 - number) for number, other in enumerate(others)]
    back = [link(other, "a", at_us=T0 - number) for number, other in enumerate(others)]
    kinds = [link("a", "b", LinkKind.SUPERSEDES), link("a", "n:x", LinkKind.MENTIONS)]
    await stores.graph.link(ONE, (*out, *back, *kinds))
    assert await around(stores, "m:a") == {*out, *back, *kinds}
    assert await around(stores, "m:a", limit=3) == {*out[-3:], *back[:3], *kinds}
    assert await around(stores, "m:a", kinds=(LinkKind.MENTIONS, LinkKind.SUPERSEDES)) == set(kinds)
    assert await around(stores, "n:x") == {kinds[1]}
    # Each link once, also when both of its ends are asked for; for each node its own.
    assert await around(stores, "m:a", "m:b", "m:o03", limit=1) == {out[-1], back[0], *kinds, out[3], back[3]}
    assert await around(stores, "m:nobody", "t:none") == set()
    assert await around(stores) == set()


async def mg4_what_is_learned_is_linked(open_stores: OpenStores) -> None:
    stores = open_stores()
    await keep(stores, "old", "older")
    told: dict[str, Any] = {
        "applies_when": AppliesWhen(tools=("sql",)),
        "error_category": "timeout",
        "error_signature": SIGNATURE,
    }
    reflection = memory("r", "it was slow in find_user", related_ids=("old",), **told)
    more = (NewLink(LinkKind.SUPERSEDES, "m:older"),)
    await stores.memories.learn(ONE, Lesson(reflection, strategy("s", "do better"), links=more), T0)
    mentions = ("t:sql", "c:timeout", f"s:{SIGNATURE}", "n:find_user")
    arisen = {
        *(link("r", name, LinkKind.MENTIONS) for name in mentions),
        link("r", "old", LinkKind.DERIVED_FROM),
        link("r", "older", LinkKind.SUPERSEDES),
        link("s", "r", LinkKind.STRATEGY_OF),
    }
    assert await around(open_stores(), "m:r", "m:s") == arisen
    # Learned once more, by another reflection: the strategy is of both.
    again = Lesson(memory("r2", "also slow", T0 + 1), strategy("x", "do better", T0 + 1))
    await stores.memories.learn(ONE, again, T0 + 1)
    assert await around(stores, "m:s") == {
        link("s", "r", LinkKind.STRATEGY_OF),
        link("s", "r2", LinkKind.STRATEGY_OF, T0 + 1),
    }
    # What is put has its links too, and those that come with it, wherever they lead.
    put = memory("p", "slow once more", T0 + 2, error_signature=SIGNATURE)
    await stores.memories.put(ONE, MemoryHistory(put, (), (NewLink(LinkKind.SIMILAR_TO, "m:not yet"),)))
    assert await around(stores, "m:p") == {
        link("p", f"s:{SIGNATURE}", LinkKind.MENTIONS, T0 + 2),
        link("p", "t:sql", LinkKind.MENTIONS, T0 + 2),
        link("p", "r", LinkKind.SAME_ERROR, T0 + 2),
        link("p", "not yet", LinkKind.SIMILAR_TO, T0 + 2),
    }
    # One that is there already is left as it is.
    await stores.memories.put(ONE, MemoryHistory(put, (), (NewLink(LinkKind.SIMILAR_TO, "m:old"),)))
    assert link("p", "old", at_us=T0 + 2) not in await around(stores, "m:p")
    await same_errors(stores)


async def same_errors(stores: Stores) -> None:
    """The newest others, not all, and no strategy."""
    signature = "t|logic|other"
    for number in range(MOST_SAME_ERROR + 3):
        # The newest have not the last ids.
        one = memory(f"e{50 - number}", f"text {number}", T0 + number, error_signature=signature)
        strategies = strategy(f"f{number}", f"how {number}", T0 + number, error_signature=signature)
        await stores.memories.learn(ONE, Lesson(one, strategies), T0 + number)
    found = await stores.graph.of_memories(ONE, (f"e{50 - MOST_SAME_ERROR - 2}",))
    same = {one.target for one in found if one.kind is LinkKind.SAME_ERROR}
    assert same == {f"m:e{50 - number}" for number in range(2, MOST_SAME_ERROR + 2)}


async def mg5_with_a_memory_its_links_go(open_stores: OpenStores) -> None:
    stores = open_stores()
    await keep(stores, "a", "b", "c")
    stays = link("b", "c")
    await stores.graph.link(ONE, (link("a", "b"), link("b", "a"), link("a", "n:x", LinkKind.MENTIONS), stays))
    await stores.memories.delete(ONE, "a")
    assert await around(open_stores(), "m:a", "n:x") == set()
    assert await around(stores, "m:b") == {stays}


async def mg6_links_may_lead_nowhere(open_stores: OpenStores) -> None:
    stores = open_stores()
    await stores.memories.learn(ONE, Lesson(memory("a", related_ids=("not yet",))), T0)
    assert await around(stores, "m:not yet") == {link("a", "not yet", LinkKind.DERIVED_FROM)}
    await keep(stores, "not yet")
    assert await around(stores, "m:not yet") == {link("a", "not yet", LinkKind.DERIVED_FROM)}


async def mg7_what_begins_at_memories(open_stores: OpenStores) -> None:
    stores = open_stores()
    await keep(stores, "a", "b", "c")
    links = (link("a", "b"), link("b", "c", LinkKind.SUPERSEDES), link("c", "a"))
    await stores.graph.link(ONE, links)
    found = await stores.graph.of_memories(ONE, ("a", "b", "nobody"))
    assert found == in_order(links[:2])
    assert await stores.graph.of_memories(ONE, ()) == ()


async def mg8_scopes_never_meet(open_stores: OpenStores) -> None:
    stores = open_stores()
    for number, scope in enumerate((ONE, *OTHERS)):
        await keep(stores, "a", "b", scope=scope)
        await stores.graph.link(scope, (link("a", "b", at_us=T0 + number),))
        told: dict[str, Any] = {"at_us": T0 + number, "error_signature": SIGNATURE}
        await stores.memories.learn(scope, Lesson(memory(f"r{number}", "slow", **told)), T0)
    for number, scope in enumerate((ONE, *OTHERS)):
        for node in ("m:a", "m:b"):
            assert await around(stores, node, scope=scope) == {link("a", "b", at_us=T0 + number)}
        assert await around(stores, f"s:{SIGNATURE}", scope=scope) == {
            link(f"r{number}", f"s:{SIGNATURE}", LinkKind.MENTIONS, T0 + number)
        }
        assert len(await around(stores, f"m:r{number}", scope=scope)) == 2
        assert await stores.graph.of_memories(scope, ("a",)) == (link("a", "b", at_us=T0 + number),)
    await keep(stores, "only here")
    for scope in OTHERS:
        with pytest.raises(NotFound):
            await stores.graph.link(scope, (link("a", "only here"),))
        await stores.memories.delete(scope, "b")
        assert await stores.graph.unlink(scope, (link("a", "b"),)) == 0
    assert await around(stores, "m:a") == {link("a", "b")}
