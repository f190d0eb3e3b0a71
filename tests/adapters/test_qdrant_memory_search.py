"""The port `MemorySearch` with vectors in Qdrant: its clauses, and what becomes of two stores that differ.

The client's own local mode, in this process, stands for a server. The clauses also run on a server whose address is in
SIDEMIRROR_TEST_QDRANT_URL; `deploy/compose/qdrant.yaml` starts one.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc
import msgspec
import pytest
from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http import exceptions as raised

from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import sidecar_pb2
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.assembly.custom_stores import opener_of
from sidemirror_server.memory.finding.search import Embedded, Filter, Unembedded, VectorHits
from sidemirror_server.memory.record import MemoryHistory, MemoryRecord
from sidemirror_server.settings import BadSettings
from sidemirror_server.storage.qdrant.database import QdrantDatabase, opened
from sidemirror_server.storage.qdrant.memory_search import QdrantMemorySearch
from sidemirror_server.storage.qdrant.points import of_scope
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.erasures import SqliteErasures
from sidemirror_server.storage.sqlite.goal_reflections import SqliteGoalReflections
from sidemirror_server.storage.sqlite.journal import SqliteJournal
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.turns.erasing import NOTHING_IN_MEMORY, Eraser
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import StoreRefused, StoreUnavailable
from sidemirror_server.vocabulary.ids import new_id
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import memory_search as suite
from tests.conformance.clauses import clauses_of
from tests.conformance.memories import ONE, OTHER, T0, memory
from tests.conformance.memory_search import turned
from tests.wire.calls import TIMEOUT_S
from tests.wire.sidecar import sidecar

# What the local mode does without.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]

CLAUSES = clauses_of(suite)
SERVER = os.environ.get("SIDEMIRROR_TEST_QDRANT_URL", "")


class Own(msgspec.Struct, frozen=True):
    """A main store, and a Qdrant beside it."""

    main: SqliteDatabase
    qdrant: QdrantDatabase
    kind: Callable[..., QdrantMemorySearch] = QdrantMemorySearch

    @property
    def memories(self) -> SqliteMemories:
        return SqliteMemories(self.main)

    def search(self) -> QdrantMemorySearch:
        """As a new process has it."""
        return self.kind(self.qdrant, SqliteMemorySearch(self.main), self.memories)

    def stores(self) -> suite.Stores:
        return suite.Stores(self.memories, self.search())

    async def kept(self) -> int:
        """How many vectors there are in Qdrant, whoever's."""
        names = await self.qdrant.collections()
        return sum([(await self.qdrant.client.count(name)).count for name in names])


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[Own]:
    async with sqlite_database(tmp_path) as database:
        qdrant = QdrantDatabase(AsyncQdrantClient(":memory:"), SystemClock())
        yield Own(database, qdrant)
        await qdrant.close()


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, own: Own) -> None:
    await CLAUSES[clause](own.stores)


@pytest.mark.skipif(not SERVER, reason="SIDEMIRROR_TEST_QDRANT_URL names no Qdrant")
@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause_on_a_server(clause: str, tmp_path: Path) -> None:
    mark = "&" if "?" in SERVER else "?"
    qdrant = opened(f"{SERVER}{mark}prefix=test_{new_id(T0)}", SystemClock())
    async with sqlite_database(tmp_path) as database:
        try:
            await CLAUSES[clause](Own(database, qdrant).stores)
        finally:
            for name in await qdrant.collections():
                await qdrant.client.delete_collection(name)
            await qdrant.close()


class WhateverIsFound(QdrantMemorySearch):
    """Does not look whether the memory still has the text."""

    async def _those_that_count(self, scope: Scope, some: object) -> dict[str, MemoryRecord]:
        every = await self._memories.list(scope, None, None, None, 100)
        return {one.memory_id: one for one in every}


class OfAnyScope(QdrantMemorySearch):
    async def unembedded(self, scope: Scope, model: str, limit: int) -> tuple[Unembedded, ...]:
        return await super().unembedded(OTHER, model, limit)


class NotFiltered(QdrantMemorySearch):
    async def by_vector(
        self, scope: Scope, model: str, vector: tuple[float, ...], wanted: Filter, limit: int
    ) -> VectorHits:
        return await super().by_vector(scope, model, vector, suite.EVERYTHING, limit)


class MarksNothing(QdrantMemorySearch):
    async def embed(self, scope: Scope, model: str, embedded: tuple[Embedded, ...]) -> None:
        await super().embed(scope, model, embedded)
        marks = tuple(Embedded(one.memory_id, one.content, (1.0,)) for one in embedded)
        await self._main.embed(scope, "another", marks)  # a memory has one mark


@pytest.mark.parametrize(
    ("clause", "broken"),
    [
        ("FM3", NotFiltered), ("FM6", MarksNothing), ("FM7", OfAnyScope), ("FM8", WhateverIsFound),
        ("FM10", OfAnyScope), ("FM14", OfAnyScope),
    ],
)  # fmt: skip
async def test_a_broken_adapter_is_noticed(clause: str, broken: type[QdrantMemorySearch], own: Own) -> None:
    with pytest.raises((Exception, pytest.fail.Exception)) as caught:
        await CLAUSES[clause](msgspec.structs.replace(own, kind=broken).stores)
    assert not isinstance(caught.value, TypeError | AttributeError | NameError)


async def embedded(own: Own, search: QdrantMemorySearch, names: tuple[str, ...]) -> None:
    """Stores memories, and makes their vectors, a degree apart."""
    await suite.keep(own.stores(), [memory(name, f"text {name}", T0) for name in names])
    await embed(search, names)


async def embed(search: QdrantMemorySearch, names: tuple[str, ...]) -> None:
    made = [Embedded(name, f"text {name}", turned(number)) for number, name in enumerate(names)]
    await search.embed(ONE, "m", tuple(made))


async def found(search: QdrantMemorySearch) -> tuple[list[str], int, int]:
    hits = await search.by_vector(ONE, "m", turned(0), suite.EVERYTHING, 10)
    return [hit.facts.memory_id for hit in hits.hits], hits.embedded, hits.memories


async def test_a_vector_goes_from_qdrant_at_the_next_look_after_its_memory(own: Own) -> None:
    """Seen to fail when the stores are compared once only."""
    search = own.search()
    await embedded(own, search, ("a", "b", "c"))
    assert await search.unembedded(ONE, "m", 10) == ()
    await own.memories.delete(ONE, "b")
    assert await found(search) == (["a", "c"], 2, 2), "it is never told"
    assert await own.kept() == 3
    assert await search.unembedded(ONE, "m", 10) == ()
    assert await own.kept() == 2


async def test_what_qdrant_lost_is_made_again(own: Own) -> None:
    """Seen to fail when the marks of lost vectors stay."""
    search = own.search()
    await embedded(own, search, ("a", "b"))
    assert await search.unembedded(ONE, "m", 10) == ()
    for name in await own.qdrant.collections():
        await own.qdrant.client.delete_collection(name)
    assert await found(search) == ([], 0, 2), "none, so that words answer"
    assert {one.memory_id for one in await search.unembedded(ONE, "m", 10)} == {"a", "b"}
    await embed(search, ("a", "b"))
    assert await found(search) == (["a", "b"], 2, 2)


async def test_a_main_store_from_a_backup_is_compared_at_the_first_look(own: Own) -> None:
    """As many vectors as marks, and others. Seen to fail when only the numbers are compared."""
    search = own.search()
    await embedded(own, search, ("a", "b"))
    point = (await own.qdrant.client.scroll("sidemirror_memories_3", of_scope(ONE), limit=1))[0][0]
    assert point.payload is not None
    await own.qdrant.client.set_payload("sidemirror_memories_3", {"text": "of another day"}, [point.id])
    stale = point.payload["memory_id"]
    restarted = own.search()
    assert {one.memory_id for one in await restarted.unembedded(ONE, "m", 10)} == {stale}
    assert await own.kept() == 1


async def test_few_that_pass_are_found_far_down(own: Own) -> None:
    """Seen to fail when the filter is applied to the nearest hundred alone."""
    search, many = own.search(), [memory(f"m{at:03}", f"text {at}", T0 + at) for at in range(110)]
    many[-1] = msgspec.structs.replace(many[-1], tags=("rare",))
    await asyncio.gather(*(own.memories.put(ONE, MemoryHistory(one)) for one in many))
    await search.embed(
        ONE, "m", tuple(Embedded(one.memory_id, one.content, turned(at / 2)) for at, one in enumerate(many))
    )
    hits = await search.by_vector(ONE, "m", turned(0), Filter(tags=("rare",)), 5)
    assert [hit.facts.memory_id for hit in hits.hits] == ["m109"]


async def test_an_erasure_reaches_qdrant_before_it_ends(own: Own) -> None:
    """Seen to fail with an eraser that was given no search."""
    search = own.search()
    await embedded(own, search, ("a", "b"))
    erasures = SqliteErasures(own.main)
    stores = (SqliteGoalReflections(own.main), SqliteJournal(own.main), SqliteReceipts(own.main))
    eraser = Eraser(erasures, *stores, NOTHING_IN_MEMORY, SystemClock(), settle_s=0.0, search=search)
    await erasures.begin(ONE, "e", (key(SourceKind.MEMORY, "a"),), T0)
    await eraser.erase(ONE, "e")
    erasure = await erasures.get(ONE, "e")
    assert erasure is not None
    assert erasure.ended_us is not None
    assert await own.kept() == 1


async def test_while_qdrant_is_away_words_answer(own: Own) -> None:
    search = own.search()
    await embedded(own, search, ("a", "b"))
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        away = opened(f"http://127.0.0.1:{held.getsockname()[1]}", SystemClock())
        lost = QdrantMemorySearch(away, SqliteMemorySearch(own.main), own.memories)
        assert away.is_available(), "nothing was asked"
        assert await found(lost) == ([], 0, 2)
        assert not away.is_available()
        with pytest.raises(StoreUnavailable):
            await lost.forget(ONE, ("a",))
        with pytest.raises(StoreUnavailable):
            await lost.embed(ONE, "m", (Embedded("a", "text a", turned(0)),))
        with pytest.raises(StoreUnavailable):
            await lost.unembedded(ONE, "m", 10)
        assert await suite.ask(suite.Stores(own.memories, lost), "text") == ["a", "b"]
        await away.close()


async def test_a_qdrant_that_never_answers_is_away(own: Own) -> None:
    """Seen to fail without a limit of time on requests."""
    await embedded(own, own.search(), ("a",))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        away = opened(f"http://127.0.0.1:{silent.getsockname()[1]}", SystemClock())
        lost = QdrantMemorySearch(away, SqliteMemorySearch(own.main), own.memories)
        async with asyncio.timeout(10):
            assert await found(lost) == ([], 0, 1)
        assert not away.is_available()
        await away.close()


def answer(status: int) -> raised.UnexpectedResponse:
    import httpx

    return raised.UnexpectedResponse(status, "", b"what was sent", httpx.Headers())


@pytest.mark.parametrize(
    ("error", "becomes", "reason"),
    [
        (raised.ResponseHandlingException(TimeoutError("secret")), StoreUnavailable, "TimeoutError"),
        (ResourceExhaustedResponse("secret", 1), StoreUnavailable, "ResourceExhaustedResponse"),
        (answer(500), StoreUnavailable, "status 500"),
        (answer(429), StoreUnavailable, "status 429"),
        (answer(404), StoreUnavailable, "status 404"),
        (answer(400), StoreUnavailable, "status 400"),
        (answer(401), StoreRefused, "API key"),
        (answer(403), StoreRefused, "API key"),
    ],
)
async def test_errors_of_the_client(own: Own, error: Exception, becomes: type[Exception], reason: str) -> None:
    with pytest.raises(becomes, match=reason) as caught, own.qdrant.asking():
        raise error
    assert "secret" not in str(caught.value)
    assert "sent" not in str(caught.value)
    assert not own.qdrant.is_available()


def test_every_error_of_the_client_is_known() -> None:
    """Seen to fail when the client gets a class of its own that is none of these."""
    classes = {one for one in vars(raised).values() if isinstance(one, type) and issubclass(one, Exception)}
    assert {one for one in classes if not issubclass(one, raised.ApiException | QdrantException)} == set()


@pytest.mark.parametrize(
    "url",
    ["", "localhost:6333", "grpc://h:6334", "http://", "http://key@h", "http://h?prefix=a/b", "http://h?colour=red"],
)
def test_a_url_of_another_form_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="it is not of the form"):
        opened(url, SystemClock())


def test_a_sidecar_starts_and_serves_while_qdrant_is_away(tmp_path: Path) -> None:
    settings = {"store": "qdrant", "store_url": "http://:key@127.0.0.1:1"}
    with (
        sidecar(tmp_path / "data", settings=settings) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        info = SidecarServiceStub(channel).GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=TIMEOUT_S)
        assert [(store.kind, store.holds) for store in info.stores] == [
            ("sqlite", "everything"), ("qdrant", "memory search"),
        ]  # fmt: skip
        memories = ReflectiveMemoryServiceStub(channel)
        found = memories.QueryReflections(memory_pb.QueryReflectionsRequest(query_text="a join"), timeout=TIMEOUT_S)
        assert list(found.hits) == []


@pytest.mark.parametrize(
    ("url", "why"),
    [("redis://h", r"store_url \(SIDEMIRROR_STORE_URL\): it is not of the form"), ("", "it is not of the form")],
)
async def test_a_wrong_url_ends_the_start(url: str, why: str) -> None:
    with pytest.raises(BadSettings, match=why):
        async with opener_of("qdrant")(url, {}):
            pass
