"""The graph of memories: the port behind it, and how it is explored.

Adapters: `storage/sqlite/memory_graph.py`, `storage/postgres/memory_graph.py`. The links that arise from what is
learned are kept by `Memories.learn` and `put`, in the transaction that keeps the memory.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from sidemirror_server.memory.kin.links import Link, Node, NodeKind, node_of
from sidemirror_server.memory.record import LinkKind, MemoryRecord
from sidemirror_server.memory.store import Memories
from sidemirror_server.vocabulary.scope import Scope

# Of a node, in each direction, the links of a kind that are followed. Chosen here: a tool or an error that many
# memories mention is not followed to all of them.
FAN_OUT = 25
_READ_AT_ONCE = 100
# Nodes whose links are read at once. Chosen here: with all kinds and both directions 15,000 links at most.
_FOLLOWED_AT_ONCE = 50


class MemoryGraph(Protocol):
    """Keeps links. Nodes are named by their keys (`links.Node.key`).

    MG1  `link` keeps links and returns how many were not there; one that is there keeps its time. A memory at an end
         that the scope does not have is refused (NotFound), and nothing is kept then.
    MG2  `unlink` removes links and returns how many were there.
    MG3  `around` returns the links from and to the nodes, of the kinds, each link once: for each node and kind at most
         `limit` from it, those to the last keys, and the `limit` newest to it; in the order of `links.in_order`.
    MG4  What `Memories.learn` and `Memories.put` keep has the links of `links.links_of`, and those that come with it; a
         reflection also `same_error` links to the newest MOST_SAME_ERROR others of its signature. What is learned once
         more keeps its links and gets those of the draft.
    MG5  With a memory all its links go.
    MG6  Links may lead to memories that the scope does not have (yet).
    MG7  `of_memories` returns the links that begin at these memories, in the same order.
    MG8  Scopes never meet.
    Raises StoreUnavailable, StoreFull.
    """

    async def link(self, scope: Scope, links: tuple[Link, ...]) -> int: ...

    async def unlink(self, scope: Scope, links: tuple[Link, ...]) -> int: ...

    async def around(
        self, scope: Scope, nodes: tuple[str, ...], kinds: tuple[LinkKind, ...], limit: int
    ) -> tuple[Link, ...]: ...

    async def of_memories(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[Link, ...]: ...


class Reached(msgspec.Struct, frozen=True):
    """A node, how many links away it is, and the memory when it is one."""

    node: Node
    distance: int
    memory: MemoryRecord | None = None


class Explored(msgspec.Struct, frozen=True):
    """What hangs together: the nearest first, and the links between them. `truncated`: there is more."""

    nodes: tuple[Reached, ...]
    links: tuple[Link, ...]
    truncated: bool = False


class Explorer:
    """Goes along links."""

    def __init__(self, graph: MemoryGraph, memories: Memories) -> None:
        self._graph = graph
        self._memories = memories

    async def explore(
        self, scope: Scope, start: Sequence[Node], depth: int, kinds: tuple[LinkKind, ...], most_nodes: int
    ) -> Explored:
        """What is at most `depth` links away from these nodes, at most `most_nodes` of it and of them. Nodes in a ring
        come once; memories that are not there are left out with their links. Raises what the store raises."""
        distances = {node.key: 0 for node in start}
        records = await self._records(scope, list(distances))
        begun = [key for key in distances if _is_there(key, records)]
        distances = dict.fromkeys(begun[:most_nodes], 0)
        links: dict[Link, None] = {}
        truncated = len(begun) > most_nodes
        frontier = list(distances)
        for distance in range(1, depth + 1):
            if not frontier:
                break
            nearer, frontier = frontier, []
            for at in range(0, len(nearer), _FOLLOWED_AT_ONCE):
                some = nearer[at : at + _FOLLOWED_AT_ONCE]
                found = await self._graph.around(scope, tuple(some), kinds, FAN_OUT)
                new = dict.fromkeys(key for link in found for key in (link.source, link.target) if key not in distances)
                there, is_more = await self._there(scope, list(new), most_nodes - len(distances), records)
                truncated = truncated or is_more or _is_cut(found, some)
                distances |= dict.fromkeys(there, distance)
                links |= dict.fromkeys(one for one in found if one.source in distances and one.target in distances)
                frontier += there
        nodes = [Reached(node_of(key), distance, _memory(key, records)) for key, distance in distances.items()]
        return Explored(tuple(nodes), tuple(links), truncated)

    async def _there(
        self, scope: Scope, keys: Sequence[str], room: int, records: dict[str, MemoryRecord]
    ) -> tuple[list[str], bool]:
        """The first `room` of these nodes that are there, and whether there are more; their memories come to
        `records`. No more are read than it takes to know."""
        there: list[str] = []
        for at in range(0, len(keys), _READ_AT_ONCE):
            if len(there) > room:
                break
            some = keys[at : at + _READ_AT_ONCE]
            read = await self._records(scope, some)
            there += [key for key in some if _is_there(key, read)]
            records |= read
        return there[:room], len(there) > room

    async def _records(self, scope: Scope, keys: Sequence[str]) -> dict[str, MemoryRecord]:
        """The memories among these nodes, by their ids."""
        ids = [node.name for node in map(node_of, keys) if node.kind is NodeKind.MEMORY]
        found: dict[str, MemoryRecord] = {}
        for at in range(0, len(ids), _READ_AT_ONCE):
            some = await self._memories.get(scope, tuple(ids[at : at + _READ_AT_ONCE]))
            found |= {memory.memory_id: memory for memory in some}
        return found


def _is_there(key: str, records: Mapping[str, MemoryRecord]) -> bool:
    node = node_of(key)
    return node.kind is not NodeKind.MEMORY or node.name in records


def _memory(key: str, records: Mapping[str, MemoryRecord]) -> MemoryRecord | None:
    node = node_of(key)
    return records.get(node.name) if node.kind is NodeKind.MEMORY else None


def _is_cut(found: Sequence[Link], frontier: Sequence[str]) -> bool:
    """A node has as many links of a kind, in one direction, as are followed."""
    counted: dict[tuple[str, str, LinkKind], int] = {}
    asked = set(frontier)
    for link in found:
        for direction, key in (("from", link.source), ("to", link.target)):
            if key in asked:
                place = (direction, key, link.kind)
                counted[place] = counted.get(place, 0) + 1
    return any(count >= FAN_OUT for count in counted.values())
