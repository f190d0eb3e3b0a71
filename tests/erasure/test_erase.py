"""One person among ten is forgotten: nothing of theirs is left anywhere, and the other nine lose nothing.

Seen to fail with a WAL that was not emptied, with stored answers that noted no sources, with blocks of other turns left
as they were, and with an import that asked for no tombstones."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import grpc
import pytest

from sidemirror.v1 import reflective_memory_pb2 as rm
from sidemirror.v1 import sidecar_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.storage.sqlite.database import FILE_NAME
from tests.erasure.embedding import Embedding
from tests.erasure.people import PEOPLE, TIMEOUT_S, Stubs, canary, export, live, methods_with_texts, shown, subject
from tests.postgres.databases import Databases
from tests.redis.server import RedisServer
from tests.wire.sidecar import sidecar
from tests.wire.test_memory_search import topical
from tests.wire.test_text_entry import log_lines

__all__ = ["log_lines"]
OWN_TURNS = {"turn-0", "later-0", "run-0"}

# Lessons whose halves mean the same to the endpoint, and share no word.
TOPICS = 40

# What is learned of one person's turn is shown in the turns of others, which an erasure then changes
# (tests/wire/test_learning.py, tests/postgres/test_learning_of_two.py).
UNSHARED = {"defaults__learning": "false"}


class Store:
    """Where a sidecar keeps everything: `settings` say where, and `holds` finds a word in it."""

    def __init__(self, folder: Path, request: pytest.FixtureRequest, kind: str) -> None:
        self.folder = folder
        self.settings: dict[str, str] = {}
        self.redis: RedisServer | None = None
        self._url = ""
        if kind == "postgres":
            databases: Databases = request.getfixturevalue("databases")
            name = asyncio.run(databases.create())
            self.settings["database_url"] = databases.cluster.url("sidecar", name)
            self._url = databases.cluster.url("superuser", name)
        if kind == "redis":
            self.redis = request.getfixturevalue("redis_itself")
            self.redis.ask("FLUSHALL")
            self.settings["redis_url"] = self.redis.url

    def vectors(self) -> tuple[bool, int]:
        """Whether there are vectors, and how many of them are of memories that are not there."""
        if self._url:
            return asyncio.run(self._vectors_in_postgres())
        with closing(sqlite3.connect(self.folder / "data" / FILE_NAME)) as connection:
            counts = "SELECT count(*), count(*) FILTER (WHERE row_id NOT IN (SELECT row_id FROM memories))"
            every, strays = connection.execute(f"{counts} FROM memory_vectors").fetchone()
        return every > 0, strays

    async def _vectors_in_postgres(self) -> tuple[bool, int]:
        connection = await asyncpg.connect(self._url, timeout=60)
        try:
            every, strays = await connection.fetchrow(
                "SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (SELECT FROM sidemirror.memories AS of "
                "WHERE of.memory_id = vectors.memory_id)) FROM sidemirror.memory_vectors AS vectors"
            )
            return every > 0, strays
        finally:
            await connection.close()

    def holds(self, word: str) -> dict[str, int]:
        """How often a word is kept, in any case, by file, table and key."""
        counts = in_files(self.folder / "data", word)
        if self._url:
            counts |= asyncio.run(in_tables(self._url, word))
        if self.redis is not None:
            counts |= {key: f"{key} {_kept_at(self.redis, key)}".lower().count(word) for key in _keys(self.redis)}
        return {place: count for place, count in counts.items() if count}


def _keys(server: RedisServer) -> list[str]:
    keys: Any = server.ask("KEYS", "*")
    return list(keys)


def _kept_at(server: RedisServer, key: str) -> object:
    kind = server.ask("TYPE", key)
    if kind == "string":
        return server.ask("GET", key)
    return server.ask("LRANGE" if kind == "list" else "ZRANGE", key, "0", "-1")


def in_files(folder: Path, word: str) -> dict[str, int]:
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.exists() else []
    return {path.name: path.read_bytes().lower().count(word.encode()) for path in files}


async def in_tables(url: str, word: str) -> dict[str, int]:
    """As a superuser, who sees every row. Bytes are shown as text, since bodies are JSON."""
    connection = await asyncpg.connect(url, timeout=60)
    try:
        tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'sidemirror'")
        counts = {}
        for (table,) in tables:
            rows = await connection.fetch(f"SELECT * FROM sidemirror.{table}")
            kept = b"\n".join(_bytes_of(value) for row in rows for value in row)
            counts[table] = kept.lower().count(word.encode())
        return counts
    finally:
        await connection.close()


def _bytes_of(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


OTHERS = [pytest.param(name, marks=pytest.mark.slow("the same on another store")) for name in ("redis", "postgres")]


@pytest.fixture(params=["sqlite", *OTHERS])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return Store(tmp_path, request, request.param)


def test_one_of_ten_is_forgotten(store: Store, log_lines: list[str]) -> None:
    words = [canary(person) for person in range(PEOPLE)]
    with (
        Embedding() as embedding,
        sidecar(store.folder, settings=UNSHARED | store.settings | embedding.settings) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        stubs = Stubs(channel)
        for person in range(PEOPLE):
            live(stubs, person)
        # With these the embedding model counts in what is found (memory/finding/weighing.py).
        for number in range(TOPICS):
            stubs.memory.StoreReflection(topical(number), timeout=TIMEOUT_S)
        assert stubs.called >= methods_with_texts()
        dreamt = list(stubs.memory.Dream(rm.DreamRequest(), timeout=TIMEOUT_S))[-1].dream.lessons
        assert dreamt
        by_meaning(stubs, words[0])
        assert store.vectors() == (True, 0)
        before, lines = list(shown(stubs)), export(stubs)
        for word in words:
            assert store.holds(word), word
            assert any(word in str(one) for one in before)
        began_s = time.monotonic()
        answer = stubs.sidecar.Erase(sidecar_pb2.EraseRequest(subject_id=subject(0)), timeout=TIMEOUT_S)
        assert time.monotonic() - began_s < 60
        assert answer.counts["turns"] == len(OWN_TURNS)
        assert answer.counts["goal_reports"] == 1
        embedding.forget_sent()
        assert store.vectors() == (True, 0)
        assert words[0] not in str(by_meaning(stubs, words[1]))
        after = list(shown(stubs))
        assert not [one for one in after if words[0] in str(one)]
        assert store.holds(words[0]) == {}
        assert store.holds(subject(0)) == {}
        check_the_others(before, after)
        # The old export does not bring it back.
        told = imported(stubs, lines)
        assert told.erased_count >= answer.counts["memories"]
        assert told.refused_count == 0
        assert store.holds(words[0]) == {}
        again = stubs.sidecar.Erase(sidecar_pb2.EraseRequest(subject_id=subject(0)), timeout=TIMEOUT_S)
        assert not again.counts
        tombstones = stubs.sidecar.ListTombstones(sidecar_pb2.ListTombstonesRequest(page_size=1_000)).tombstones
        assert {one.kind for one in tombstones} >= {"subject", "session", "turn", "memory", "critique", "goal_report"}
        by_meaning(stubs, words[2])
        assert embedding.sent
        assert not [text for text in embedding.sent if words[0] in text.lower()]
    assert store.holds(words[0]) == {}
    assert log_lines
    assert not [line for line in log_lines if any(word in line for word in words)]


def by_meaning(stubs: Stubs, word: str) -> rm.QueryReflectionsResponse:
    """What a question with this word finds by words and vectors, once the embedding model counts."""
    asked = rm.QueryReflectionsRequest(query_text=f"what did {word} say of orders?", k=100, min_importance=0.0)
    until = time.monotonic() + TIMEOUT_S
    found: rm.QueryReflectionsResponse = stubs.memory.QueryReflections(asked, timeout=TIMEOUT_S)
    while found.search_mode != rm.SEARCH_MODE_HYBRID:
        assert time.monotonic() < until, "the embedding model does not count"
        time.sleep(0.05)
        found = stubs.memory.QueryReflections(asked, timeout=TIMEOUT_S)
    return found


def check_the_others(before: list[Any], after: list[Any]) -> None:
    """What the other nine had is there: as it was, or without what it showed of the one who is gone."""
    kept = {str(one) for one in after}
    entries = {(one.turn_id, one.sequence) for one in after if isinstance(one, pb.TurnEntry)}
    memories = {one.id: one for one in after if isinstance(one, rm.Memory)}
    taught_by_all = {one.id for one in before if isinstance(one, rm.Memory) and one.strength == PEOPLE}
    gone = (canary(0), *taught_by_all)
    count = 0
    for one in before:
        is_changed = any(word in str(one) for word in gone)
        if isinstance(one, rm.Memory) and one.derived_from:
            assert one.id not in memories, "it rests on the words of all"
        elif isinstance(one, pb.TurnEntry) and one.turn_id not in OWN_TURNS:
            assert (one.turn_id, one.sequence) in entries
            assert str(one) in kept or (is_changed and one.WhichOneof("entry") == "directive"), one
            count += 1
        elif isinstance(one, rm.Memory) and one.id in taught_by_all:
            (anew,) = [other for other in memories.values() if other.content == one.content]
            assert anew.id not in taught_by_all, "what came of it is found by its id"
            assert anew.strength == PEOPLE - 1, "the other nine taught it too"
        elif not isinstance(one, pb.Session):
            assert str(one) in kept or is_changed or getattr(one, "turn_id", "") in OWN_TURNS, one
            count += 1
    assert count > 100
    assert taught_by_all


def imported(stubs: Stubs, lines: list[str]) -> rm.ImportReflectionsResponse:
    return stubs.memory.ImportReflections(iter([rm.ImportReflectionsRequest(lines=lines)]), timeout=TIMEOUT_S)
