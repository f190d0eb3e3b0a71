"""What exploring the graph reads: no more than it shows, and a little."""

import asyncio
from pathlib import Path

from sidemirror_server.memory.kin.graph import Explorer
from sidemirror_server.memory.kin.links import Node, NodeKind
from sidemirror_server.memory.record import LinkKind, MemoryHistory, MemoryRecord
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_graph import SqliteMemoryGraph
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.memories import ONE, memory
from tests.conformance.memory_graph import link


class Counted(SqliteMemories):
    """Counts the memories that are asked for."""

    read = 0

    async def get(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[MemoryRecord, ...]:
        self.read += len(memory_ids)
        return await super().get(scope, memory_ids)


async def test_no_more_memories_are_read_than_there_is_room_for(tmp_path: Path) -> None:
    """Seen to fail, with 1,500, when every memory that the links lead to was read before the room was looked at."""
    async with sqlite_database(tmp_path) as database:
        graph, memories = SqliteMemoryGraph(database), Counted(database)
        names = [Node(NodeKind.NAME, f"name {number}") for number in range(60)]
        known = [(f"m{place}-{number}", name) for place, name in enumerate(names) for number in range(25)]
        await asyncio.gather(*(memories.put(ONE, MemoryHistory(memory(one))) for one, _ in known))
        await asyncio.gather(*(graph.link(ONE, (link(one, name.key, LinkKind.MENTIONS),)) for one, name in known))
        memories.read = 0
        explored = await Explorer(graph, memories).explore(ONE, names, 2, tuple(LinkKind), 130)
        assert (len(explored.nodes), explored.truncated) == (130, True)
        assert {one.source for one in explored.links} <= {one.node.key for one in explored.nodes}
        assert len(explored.links) == 70
        assert memories.read <= 500
        everything = await Explorer(graph, memories).explore(ONE, names, 1, tuple(LinkKind), 2_000)
        assert len(everything.nodes) == 60 + 1_500
