"""The tests' Redis: one server of each kind for all of them, started when the first test asks for it."""

from collections.abc import Iterator

import pytest

from sidemirror_server.storage.redis import database
from tests.redis.server import PATIENCE_S, REDIS, VALKEY, RedisServer, program


def _served(kind: str) -> Iterator[RedisServer]:
    if program(kind) is None:
        pytest.skip(f"there is no wheel of {kind} for this Python and this machine")
    # What it keeps has to survive no crash: tests that kill a server start their own.
    server = RedisServer(kind, appendonly="no")
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def redis_itself() -> Iterator[RedisServer]:
    yield from _served(REDIS)


@pytest.fixture(scope="session")
def valkey_itself() -> Iterator[RedisServer]:
    yield from _served(VALKEY)


@pytest.fixture(params=[REDIS, VALKEY])
def either_server(request: pytest.FixtureRequest) -> RedisServer:
    """An empty server, once Redis and once Valkey."""
    server: RedisServer = request.getfixturevalue(f"{request.param}_itself")
    server.ask("FLUSHALL")
    return server


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    """A server of the test's own, to be killed and stopped, that keeps what it has said it keeps."""
    server = RedisServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
def patiently(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what is stored, not of how soon: the adapter waits for a server that the machine leaves no time."""
    monkeypatch.setattr(database, "_ANSWER_S", PATIENCE_S)
