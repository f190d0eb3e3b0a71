"""The graph of memories: its port, and how to explore it.

Adapters: `storage/sqlite/memory_graph.py`, `storage/postgres/memory_graph.py`. `Memories.learn` and `put` store the
links that follow from a memory, in the memory's transaction.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from sidemirror_server.memory.kin.links import Link, Node, NodeKind, node_of
from sidemirror_server.memory.record import LinkKind, MemoryRecord
from sidemirror_server.memory.store import Memories
from sidemirror_server.vocabulary.scope import Scope

# Limit on the links of one kind that are followed from a node, in each direction. Chosen here: a tool or an error must
# not lead to every memory that mentions it.
FAN_OUT = 25
_READ_AT_ONCE = 100
# How many nodes' links are read at once. Chosen here: at most 15,000 links, with all kinds and both directions.
_FOLLOWED_AT_ONCE = 50


class MemoryGraph(Protocol):
    """Stores links. Callers name nodes by their keys (`links.Node.key`).

    MG1  `link` stores links and returns how many are new; an existing link keeps its time. If the scope lacks a memory
         at either end of a link, it stores none of them (NotFound).
    MG2  `unlink` removes links and returns how many existed.
    MG3  `around` returns the links of these kinds from and to the nodes, each once, in the order of `links.in_order`.
         For each node and kind it returns at most `limit` links from the node, those with the highest target keys, and
         the `limit` newest links to the node.
    MG4  `Memories.learn` and `Memories.put` store the links of `links.links_of` and those given with the memory; for a
         reflection also `same_error` links to the newest MOST_SAME_ERROR others with its signature. A strengthened
         memory keeps its links and gets those of the draft.
    MG5  Deleting a memory removes all its links.
    MG6  Links of a stored memory may lead to memories that the scope does not have (yet).
    MG7  `of_memories` returns the links that begin at these memories, in the same order.
    MG8  Scopes are isolated.
    Raises StoreUnavailable, StoreFull.
    """

    async def link(self, scope: Scope, links: tuple[Link, ...]) -> int: ...

    async def unlink(self, scope: Scope, links: tuple[Link, ...]) -> int: ...

    async def around(
        self, scope: Scope, nodes: tuple[str, ...], kinds: tuple[LinkKind, ...], limit: int
    ) -> tuple[Link, ...]: ...

    async def of_memories(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[Link, ...]: ...


class Reached(msgspec.Struct, frozen=True):
    """A node, its distance in links, and its memory if the node is a memory."""

    node: Node
    distance: int
    memory: MemoryRecord | None = None


class Explored(msgspec.Struct, frozen=True):
    """The nodes found, the nearest first, and the links between them. `truncated`: a limit left some out."""

    nodes: tuple[Reached, ...]
    links: tuple[Link, ...]
    truncated: bool = False


class Explorer:
    """Follows links from node to node."""

    def __init__(self, graph: MemoryGraph, memories: Memories) -> None:
        self._graph = graph
        self._memories = memories

    async def explore(
        self, scope: Scope, start: Sequence[Node], depth: int, kinds: tuple[LinkKind, ...], most_nodes: int
    ) -> Explored:
        """The nodes within `depth` links of `start`, at most `most_nodes` including `start`. Each node comes once, also
        in a cycle. Missing memories are left out with their links. Raises what the store raises."""
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
        """The first `room` existing nodes of these, and whether there are more. Adds their memories to `records`, and
        reads no more nodes than needed."""
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
        """The memories among these nodes, by id."""
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
    """Whether a node reached the limit of links of one kind in one direction, so that it may have more."""
    counted: dict[tuple[str, str, LinkKind], int] = {}
    asked = set(frontier)
    for link in found:
        for direction, key in (("from", link.source), ("to", link.target)):
            if key in asked:
                place = (direction, key, link.kind)
                counted[place] = counted.get(place, 0) + 1
    return any(count >= FAN_OUT for count in counted.values())
