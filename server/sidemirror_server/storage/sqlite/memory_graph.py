"""The links of memories in SQLite."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

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
from sidemirror_server.storage.sql import columns_of, json_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.vocabulary.errors import NotFound
from sidemirror_server.vocabulary.scope import Scope

_SQL = load_statements(Path(__file__).with_name("memory_graph.sql"))
# The links of so many nodes are read on the event loop. Chosen here: those of a turn's failures take less time than the
# way to a thread and back.
_AT_ONCE_NODES = 10


class SqliteMemoryGraph:
    """The port `MemoryGraph` on the embedded store."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def link(self, scope: Scope, links: tuple[Link, ...]) -> int:
        ends = (node_of(key) for link in links for key in (link.source, link.target))
        memory_ids = [node.name for node in ends if node.kind is NodeKind.MEMORY]

        def change(connection: sqlite3.Connection) -> int:
            named = {**columns_of(scope), "memory_ids": json_of(memory_ids)}
            missing = connection.execute(_SQL["missing"], named).fetchone()
            if missing is not None:
                raise NotFound("reflection", missing[0])
            return connection.execute(_SQL["link"], {**columns_of(scope), "links": _rows(links)}).rowcount

        return await self._database.write(change)

    async def unlink(self, scope: Scope, links: tuple[Link, ...]) -> int:
        wanted = {**columns_of(scope), "links": _rows(links)}
        return await self._database.write(lambda connection: connection.execute(_SQL["unlink"], wanted).rowcount)

    async def around(
        self, scope: Scope, nodes: tuple[str, ...], kinds: tuple[LinkKind, ...], limit: int
    ) -> tuple[Link, ...]:
        wanted = {**columns_of(scope), "nodes": json_of(nodes), "kinds": json_of(kinds), "limit": limit}

        def look_up(connection: sqlite3.Connection) -> list[Any]:
            found = connection.execute(_SQL["from_nodes"], wanted).fetchall()
            return found + connection.execute(_SQL["to_nodes"], wanted).fetchall()

        if len(nodes) <= _AT_ONCE_NODES:
            return _links(self._database.read(look_up))
        return _links(await self._database.search(look_up))

    async def of_memories(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[Link, ...]:
        wanted = {**columns_of(scope), "nodes": json_of([memory_key(one) for one in memory_ids])}
        return _links(
            await self._database.search(lambda connection: connection.execute(_SQL["of_memories"], wanted).fetchall())
        )


def keep_links(
    connection: sqlite3.Connection, scope: Scope, memory: MemoryRecord, more: Iterable[NewLink] = ()
) -> None:
    """Stores the links of a memory that is learned or put, and `more`, in the transaction that stores the memory."""
    add_links(connection, scope, memory, (*links_of(memory), *more))


def add_links(connection: sqlite3.Connection, scope: Scope, memory: MemoryRecord, links: Iterable[NewLink]) -> None:
    """Stores these links of a memory, and links to the newest other memories with the same failure signature."""
    source = memory_key(memory.memory_id)
    new = [Link(source, one.kind, one.target, memory.created_us) for one in links]
    if new:
        connection.execute(_SQL["link"], {**columns_of(scope), "links": _rows(new)})
    if signature := signature_key(memory):
        same = {"signature": signature, "source": source, "created_us": memory.created_us, "limit": MOST_SAME_ERROR}
        connection.execute(_SQL["link_same_error"], {**columns_of(scope), **same})


def _links(rows: Iterable[Any]) -> tuple[Link, ...]:
    return in_order(Link(source, LinkKind(kind), target, at) for source, kind, target, at in rows)


def _rows(links: Iterable[Link]) -> str:
    return msgspec.json.encode([msgspec.structs.astuple(link) for link in links]).decode()
