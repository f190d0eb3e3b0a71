"""The suite of `MemoryGraph` on Postgres can fail: each clause is seen to catch an adapter that breaks it."""

from typing import Any

import asyncpg
import pytest

from sidemirror_server.memory.kin.links import Link, node_of
from sidemirror_server.memory.record import LinkKind
from sidemirror_server.storage.postgres import memory_graph as adapter
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.postgres.memory_graph import PostgresMemoryGraph
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.broken_postgres import of_one_project
from tests.conformance import memory_graph as suite
from tests.conformance.clauses import clauses_of
from tests.postgres.databases import Databases

pytestmark = pytest.mark.slow("the conformance suite is held against stores that are broken, on a server")

CLAUSES = clauses_of(suite)

# (clause that must notice, statement of memory_graph.sql, a piece of it, what stands there instead)
BROKEN = [
    ("MG1", "link", "DO NOTHING", "DO UPDATE SET created_us = excluded.created_us"),
    ("MG2", "unlink", "AND link.kind = gone.kind ", ""),
    ("MG3", "from_nodes", "ORDER BY target DESC", "ORDER BY target"),
    ("MG3", "from_nodes", "AND kind = wanted", "AND wanted IS NOT NULL"),
    ("MG3", "to_nodes", "ORDER BY created_us DESC", "ORDER BY created_us"),
    ("MG3", "to_nodes", "target = node", "target >= node"),
    ("MG4", "link_same_error", "ORDER BY created_us DESC", "ORDER BY created_us"),
    ("MG4", "link_same_error", "LIMIT $6", "LIMIT $6 + 1"),
    ("MG4", "link_same_error", "target = $3", "target <> $3"),
    ("MG7", "of_memories", "source = ANY", "target = ANY"),
]


class ForgetsNothing(PostgresMemoryGraph):
    """Links that were seen once are there for ever."""

    def __init__(self, database: Any) -> None:
        super().__init__(database)
        self._seen: dict[Link, None] = {}

    async def link(self, scope: Scope, links: tuple[Link, ...]) -> int:
        self._seen |= dict.fromkeys(links)
        return await super().link(scope, links)

    async def around(
        self, scope: Scope, nodes: tuple[str, ...], kinds: tuple[LinkKind, ...], limit: int
    ) -> tuple[Link, ...]:
        known = (link for link in self._seen if {link.source, link.target} & set(nodes))
        return tuple(dict.fromkeys((*await super().around(scope, nodes, kinds, limit), *known)))


class LeadsSomewhere(PostgresMemoryGraph):
    """Only links to memories that are there."""

    async def around(
        self, scope: Scope, nodes: tuple[str, ...], kinds: tuple[LinkKind, ...], limit: int
    ) -> tuple[Link, ...]:
        found = await super().around(scope, nodes, kinds, limit)
        names = tuple(node_of(link.target).name for link in found)
        there = {memory.memory_id for memory in await PostgresMemories(self._database).get(scope, names)}
        return tuple(link for link in found if node_of(link.target).name in there)


BROKEN_VERBS = [
    ("MG5", ForgetsNothing),
    ("MG6", LeadsSomewhere),
    ("MG8", of_one_project(PostgresMemoryGraph)),
]


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in adapter._SQL[name]
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)})
    await noticed(clause, databases, PostgresMemoryGraph)


@pytest.mark.parametrize(("clause", "broken"), BROKEN_VERBS)
async def test_broken_verb_is_noticed(clause: str, broken: type[Any], databases: Databases) -> None:
    await noticed(clause, databases, broken)


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in BROKEN} | {clause for clause, _ in BROKEN_VERBS} == set(CLAUSES)


async def noticed(clause: str, databases: Databases, broken: type[Any]) -> None:
    async with databases.opened() as database:
        stores = suite.Stores(broken(database), PostgresMemories(database))
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: stores)
    assert not isinstance(caught.value, (TypeError, AttributeError, NameError, asyncpg.PostgresError)), "does not run"
