"""The tests' Postgres: one server for all of them, started when the first test asks for it."""

import inspect
from collections.abc import Iterator

import pytest

from sidemirror_server.storage.postgres import database, memory_search, turn_log
from tests.postgres.cluster import PATIENCE_S, Cluster
from tests.postgres.databases import Databases


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    """What it keeps has to survive no crash: tests that kill a server start their own."""
    cluster = Cluster(fsync="off", full_page_writes="off")
    try:
        cluster.start()
        yield Databases(cluster)
    finally:
        cluster.remove()


@pytest.fixture
def durable() -> Iterator[Databases]:
    """A server of the test's own, to be killed and stopped, that keeps what it has said it keeps."""
    cluster = Cluster()
    try:
        cluster.start()
        yield Databases(cluster)
    finally:
        cluster.remove()


@pytest.fixture
def patient_postgres(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what is stored, not of how soon: the adapter waits for a server that the machine leaves no time."""
    monkeypatch.setattr(database, "_TAKE_S", PATIENCE_S)
    monkeypatch.setattr(database.PostgresDatabase._connect, "__defaults__", (PATIENCE_S,))
    monkeypatch.setattr(memory_search, "_SEARCH_S", PATIENCE_S)
    monkeypatch.setattr(turn_log, "TRANSACTION_S", PATIENCE_S)
    transaction = inspect.unwrap(database.PostgresDatabase.transaction)
    assert transaction.__kwdefaults__ is not None
    monkeypatch.setitem(transaction.__kwdefaults__, "within_s", PATIENCE_S)
