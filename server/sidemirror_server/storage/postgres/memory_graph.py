"""The links of memories in Postgres."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sidemirror_server.memory.kin.links import (
    MOST_SAME_ERROR,
    Link,
    NodeKind,
    in_order,
    links_of,
    memory_key,
    node_of,
    signature_key,
)
from sidemirror_server.memory.record import LinkKind, MemoryRecord, NewLink
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.transactions import Transaction
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.vocabulary.errors import NotFound
from sidemirror_server.vocabulary.scope import Scope

_SQL = load_statements(Path(__file__).with_name("memory_graph.sql"))


class PostgresMemoryGraph:
    """The port `MemoryGraph` on the shared store."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def link(self, scope: Scope, links: tuple[Link, ...]) -> int:
        ends = (node_of(key) for link in links for key in (link.source, link.target))
        memory_ids = [node.name for node in ends if node.kind is NodeKind.MEMORY]
        async with self._database.transaction(scope) as transaction:
            rows = await transaction.fetch(_SQL["hold_memories"], *ids_of(scope), memory_ids)
            there = {row[0] for row in rows}
            for memory_id in memory_ids:
                if memory_id not in there:
                    raise NotFound("reflection", memory_id)
            return await transaction.change(_SQL["link"], *ids_of(scope), *_columns(links))

    async def unlink(self, scope: Scope, links: tuple[Link, ...]) -> int:
        return await self._database.change(scope, _SQL["unlink"], *_columns(links)[:3])

    async def around(
        self, scope: Scope, nodes: tuple[str, ...], kinds: tuple[LinkKind, ...], limit: int
    ) -> tuple[Link, ...]:
        wanted = (*ids_of(scope), list(nodes), list(kinds), limit)
        async with self._database.transaction(scope, reads_only=True) as transaction:
            rows = await transaction.fetch(_SQL["from_nodes"], *wanted)
            rows = [*rows, *await transaction.fetch(_SQL["to_nodes"], *wanted)]
        return _links(rows)

    async def of_memories(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[Link, ...]:
        keys = [memory_key(one) for one in memory_ids]
        return _links(await self._database.fetch(scope, _SQL["of_memories"], keys))


async def keep_links(
    transaction: Transaction, scope: Scope, memory: MemoryRecord, more: Iterable[NewLink] = ()
) -> None:
    """Adds the links of a new memory, and `more`, in the transaction that adds the memory."""
    source = memory_key(memory.memory_id)
    new = [Link(source, one.kind, one.target, memory.created_us) for one in (*links_of(memory), *more)]
    if new:
        await transaction.change(_SQL["link"], *ids_of(scope), *_columns(new))
    if signature := signature_key(memory):
        same = (signature, source, memory.created_us, MOST_SAME_ERROR)
        await transaction.change(_SQL["link_same_error"], *ids_of(scope), *same)


def _links(rows: Iterable[Any]) -> tuple[Link, ...]:
    return in_order(Link(source, LinkKind(kind), target, at) for source, kind, target, at in rows)


def _columns(links: Iterable[Link]) -> tuple[list[Any], ...]:
    """The columns of links: sources, kinds, targets and times."""
    each = list(links)
    return (
        [link.source for link in each],
        [link.kind for link in each],
        [link.target for link in each],
        [link.created_us for link in each],
    )
