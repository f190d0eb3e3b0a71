"""ExploreGraph on 100,000 memories with 1,000,000 links: depth 2 from an index, as fast as on a hundredth of it.

Prints the times (`-s`). Seen to fail when SQLite went through all links that end at a hub to find the newest of them:
nine times as long as on a hundredth.
"""

import sqlite3
import time
from pathlib import Path

import pytest

from sidemirror_server.memory.kin.graph import Explored, Explorer, MemoryGraph
from sidemirror_server.memory.kin.links import Node, NodeKind
from sidemirror_server.memory.record import LinkKind, memory_body
from sidemirror_server.memory.store import Memories
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.postgres.memory_graph import PostgresMemoryGraph
from sidemirror_server.storage.sqlite.database import FILE_NAME
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_graph import SqliteMemoryGraph
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.memories import ONE, T0, memory
from tests.faults.figures import show
from tests.postgres.databases import Databases

LARGE, SMALL = 100_000, 1_000
LINKS_EACH = 10
# Every memory mentions the tool, a tenth one of a hundred names; the rest leads to others.
_HUB, _HUB_NAME = Node(NodeKind.TOOL, "sql"), Node(NodeKind.NAME, "name 7")
_ROUNDS = 30
KINDS = tuple(LinkKind)
_BODY = memory_body(memory("x")).decode()

_SQLITE = """
WITH RECURSIVE n (r) AS (SELECT 0 UNION ALL SELECT r + 1 FROM n WHERE r < {rows} - 1)
INSERT INTO memories (tenant_id, project_id, memory_id, kind, state, source, layer, importance, confidence, origin,
                      error_category, tags, version, strength, created_us, updated_us, content, task_text,
                      content_terms, task_terms, body)
SELECT 'acme', 'shop', 'r' || r, 'reflection', 'active', 'x', 'rm', 0.5, NULL, 10, '', '[]', 1, 1, {t0} + r, {t0} + r,
       'text', '', '', '', CAST(replace('{body}', '"x"', '"r' || r || '"') AS BLOB)
FROM n;
WITH RECURSIVE n (r) AS (SELECT 0 UNION ALL SELECT r + 1 FROM n WHERE r < {rows} - 1),
k (l) AS (SELECT 0 UNION ALL SELECT l + 1 FROM k WHERE l < {each} - 1)
INSERT OR IGNORE INTO memory_links
SELECT 'acme', 'shop', 'm:r' || r,
       CASE WHEN l < 2 THEN 'mentions' WHEN l < 6 THEN 'similar_to' ELSE 'same_error' END,
       CASE WHEN l = 0 THEN 't:sql' WHEN l = 1 THEN 'n:name ' || (r % 100)
            ELSE 'm:r' || ((r * 7 + l * l * 13) % {rows}) END,
       {t0} + r
FROM n, k;
"""
_POSTGRES = """
SET session_replication_role = replica;
INSERT INTO sidemirror.memories
SELECT 'acme', 'shop', 'r' || r, 'reflection', 'active', 'x', 'rm', 0.5, NULL, 10, '', '{{}}', 1, 1, {t0} + r, {t0} + r,
       'text', '', '', '', convert_to(replace('{body}', '"x"', '"r' || r || '"'), 'UTF8')
FROM generate_series(0, {rows} - 1) AS r;
INSERT INTO sidemirror.memory_links
SELECT 'acme', 'shop', 'm:r' || r,
       CASE WHEN l < 2 THEN 'mentions' WHEN l < 6 THEN 'similar_to' ELSE 'same_error' END,
       CASE WHEN l = 0 THEN 't:sql' WHEN l = 1 THEN 'n:name ' || (r % 100)
            ELSE 'm:r' || ((r::bigint * 7 + l * l * 13) % {rows}) END,
       {t0} + r
FROM generate_series(0, {rows} - 1) AS r, generate_series(0, {each} - 1) AS l
ON CONFLICT DO NOTHING;
SET session_replication_role = DEFAULT;
ANALYZE sidemirror.memories;
ANALYZE sidemirror.memory_links;
"""


def filling(template: str, rows: int) -> str:
    return template.format(rows=rows, each=LINKS_EACH, t0=T0, body=_BODY)


async def explored_ms(graph: MemoryGraph, memories: Memories, rows: int) -> dict[str, list[float]]:
    """How long explorations of depth 2 take, in milliseconds, by where they begin."""
    explorer = Explorer(graph, memories)
    took: dict[str, list[float]] = {"a memory": [], "a name": [], "a tool": []}
    for number in range(_ROUNDS):
        one = Node(NodeKind.MEMORY, f"r{number * 31 % rows}")
        for name, start in (("a memory", one), ("a name", _HUB_NAME), ("a tool", _HUB)):
            began_s = time.perf_counter()
            found = await explorer.explore(ONE, [start], 2, KINDS, 100)
            took[name].append((time.perf_counter() - began_s) * 1e3)
            check(found, start)
    return {name: sorted(times) for name, times in took.items()}


def check(found: Explored, start: Node) -> None:
    assert found.nodes[0].node == start
    assert len(found.nodes) == 100
    assert found.truncated
    assert {reached.distance for reached in found.nodes} <= {0, 1, 2}
    keys = {reached.node.key for reached in found.nodes}
    assert all(link.source in keys and link.target in keys for link in found.links)


def compared(where: str, large: dict[str, list[float]], small: dict[str, list[float]]) -> None:
    for name, times in large.items():
        half, last = times[_ROUNDS // 2], times[-1]
        less = small[name][_ROUNDS // 2]
        show(f"{where}, depth 2 from {name}: p50 {half:.1f} ms, most {last:.1f} ms; on a hundredth p50 {less:.1f} ms")
        # A scan would take a hundred times as long.
        assert half < 5 * less + 5


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_sqlite(tmp_path: Path) -> None:
    took = {}
    for rows in (LARGE, SMALL):
        folder = tmp_path / str(rows)
        async with sqlite_database(folder):
            pass
        connection = sqlite3.connect(folder / FILE_NAME)
        connection.executescript(filling(_SQLITE, rows))
        (links,) = connection.execute("SELECT count(*) FROM memory_links").fetchone()
        connection.close()
        show(f"SQLite: {rows} memories, {links} links")
        assert links >= 0.99 * rows * LINKS_EACH
        async with sqlite_database(folder) as database:
            took[rows] = await explored_ms(SqliteMemoryGraph(database), SqliteMemories(database), rows)
    compared("SQLite", took[LARGE], took[SMALL])


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_postgres(databases: Databases) -> None:
    took = {}
    for rows in (LARGE, SMALL):
        async with databases.fresh() as name:
            await databases.as_superuser(filling(_POSTGRES, rows), name)
            database = await PostgresDatabase.open(databases.cluster.url("sidecar", name))
            try:
                took[rows] = await explored_ms(PostgresMemoryGraph(database), PostgresMemories(database), rows)
            finally:
                await database.close()
    compared("Postgres", took[LARGE], took[SMALL])
