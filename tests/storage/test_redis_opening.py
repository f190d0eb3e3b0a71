"""What the Redis store says of the server that it is given, and which ones it refuses."""

import asyncio
import contextlib
import random
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio.connection import Connection

from sidemirror_server.storage.redis import database as redis_database
from sidemirror_server.storage.redis import goal_reflections
from sidemirror_server.storage.redis.database import RedisDatabase
from sidemirror_server.storage.redis.server_facts import RedisFacts
from sidemirror_server.vocabulary.errors import StoreRefused, StoreUnavailable
from tests.faults.machine import Machine
from tests.faults.waiting import until
from tests.redis.server import REDIS, RedisServer, program

SCRIPTS = goal_reflections.SCRIPTS
EVERY_SECOND = (
    "an OK survives a crash of Redis; one of its machine may take the last second with it (appendfsync everysec)"
)
AGAIN = "; what is lost within 7 days is published again from finished reports"


@contextlib.contextmanager
def served(kind: str = "", **settings: str) -> Iterator[RedisServer]:
    server = RedisServer(kind, **settings)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[RedisDatabase]:
    database = await RedisDatabase.open(url, SCRIPTS)
    try:
        yield database
    finally:
        await database.close()


def warnings(caplog: pytest.LogCaptureFixture, event: str) -> list[str]:
    return [str(vars(record)["reason"]) for record in caplog.records if record.message == event]


@pytest.mark.parametrize(
    ("settings", "risks", "durability"),
    [
        ({}, (), "an OK survives a crash of Redis and of its machine (appendfsync always)"),
        (
            {"appendfsync": "everysec"},
            (),
            EVERY_SECOND,
        ),
        (
            {"appendonly": "no"},
            ("a restart forgets everything (appendonly no, no snapshots)",),
            "a restart forgets everything (appendonly no, no snapshots)" + AGAIN,
        ),
        (
            {"appendonly": "no", "save": "3600 1"},
            ("a restart may forget what came since its last snapshot (appendonly no)",),
            "a restart may forget what came since its last snapshot (appendonly no)" + AGAIN,
        ),
        (
            {"maxmemory": "20mb", "maxmemory_policy": "allkeys-lru"},
            ("it may evict when its memory is full (maxmemory-policy allkeys-lru)",),
            "it may evict when its memory is full (maxmemory-policy allkeys-lru)" + AGAIN,
        ),
        (
            {"maxmemory": "20mb", "maxmemory_policy": "noeviction"},
            (),
            "an OK survives a crash of Redis and of its machine (appendfsync always)",
        ),
    ],
)
async def test_what_it_may_forget_is_said(
    settings: dict[str, str], risks: tuple[str, ...], durability: str, caplog: pytest.LogCaptureFixture
) -> None:
    with served(**settings) as server:
        async with opened(server.url) as database:
            assert database.is_available()
            assert database.risks() == risks
            assert database.durability() == durability
            assert tuple(warnings(caplog, "store_not_durable")) == risks


async def test_an_operators_change_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    with served() as server:
        async with opened(server.url) as database:
            server.ask("CONFIG", "SET", "maxmemory", "100mb")
            server.ask("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
            await until(lambda: bool(database.risks()), within_s=60)
    assert warnings(caplog, "store_not_durable") == [
        "it may evict when its memory is full (maxmemory-policy volatile-ttl)"
    ]


async def test_one_that_tells_little_is_not_trusted(caplog: pytest.LogCaptureFixture) -> None:
    """As hosted ones do: no CONFIG, and for some users no INFO."""
    with served() as server:
        server.ask("ACL", "SETUSER", "app", "on", ">pw", "~*", "+@all", "-config")
        server.ask("ACL", "SETUSER", "less", "on", ">pw", "~*", "+@all", "-config", "-info")
        async with opened(f"unix://app:pw@{server.socket}") as database:
            assert database.risks() == ()
            assert database.durability() == "an OK survives a crash of Redis, not always one of its machine"
        async with opened(f"unix://less:pw@{server.socket}") as database:
            assert database.is_available()
            assert database.risks() == (
                "whether it evicts when its memory is full is not known",
                "whether it keeps anything over a restart is not known",
            )


async def test_a_cluster_is_refused() -> None:
    with (
        served(cluster_enabled="yes", port=str(free_port())) as server,
        pytest.raises(StoreRefused, match="it is a Redis Cluster"),
    ):
        await RedisDatabase.open(server.url, SCRIPTS)


async def test_a_wrong_password_is_refused_and_not_shown() -> None:
    with served(requirepass="right") as server:
        for url in (server.url, f"unix://:hunter2@{server.socket}"):
            with pytest.raises(StoreRefused) as caught:
                await RedisDatabase.open(url, SCRIPTS)
            assert "it does not take this user and password" in str(caught.value)
            assert "hunter2" not in str(caught.value)
        async with opened(f"unix://:right@{server.socket}") as database:
            assert database.is_available()


async def test_a_number_that_no_database_has_is_refused(valkey_itself: RedisServer) -> None:
    with pytest.raises(StoreRefused, match="it has no database of the number"):
        await RedisDatabase.open(f"{valkey_itself.url}?db=9999", SCRIPTS)


@pytest.mark.parametrize("url", ["http://localhost", "localhost:6379", "redis://host:port/0"])
async def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(StoreRefused, match="its URL is not one of"):
        await RedisDatabase.open(url, SCRIPTS)


async def test_one_that_is_away_at_start_is_waited_for(tmp_path: Path) -> None:
    server = RedisServer()
    try:
        async with opened(server.url) as database:
            assert not database.is_available()
            assert database.durability() == "it has not been reached yet"
            with pytest.raises(StoreUnavailable):
                await database.ask("PING")
            await asyncio.to_thread(server.start)
            took_s = await until(database.is_available, within_s=60)
            assert await database.ask("PING") == b"PONG"
            assert took_s < 15, "it is asked again every half second"
    finally:
        server.remove()


async def test_one_that_stops_answering_costs_a_second_and_then_nothing(
    own_server: RedisServer, machine: Machine
) -> None:
    """Seen to fail when `RedisDatabase._failed` does nothing: each call then waits for a second."""
    async with opened(own_server.url) as database:
        own_server.send(signal.SIGSTOP)
        try:
            for _ in range(2):
                machine.late_s()
                began_s = time.monotonic()
                with pytest.raises(StoreUnavailable):
                    await database.ask("PING")
                assert time.monotonic() - began_s < 3 + machine.late_s()
            began_s = time.monotonic()
            for _ in range(100):
                with pytest.raises(StoreUnavailable):
                    await database.ask("PING")
            assert time.monotonic() - began_s < 20, "a hundred seconds, if each waited"
            assert not database.is_available()
        finally:
            own_server.send(signal.SIGCONT)
        assert await until(database.is_available, within_s=60) < 15
        assert await database.ask("PING") == b"PONG"


async def test_one_that_nobody_asks_is_known_to_be_away(
    own_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """And told of once, with the reason. Seen to fail without it."""
    async with opened(own_server.url) as database:
        own_server.kill()
        await until(lambda: not database.is_available(), within_s=60)
        await asyncio.to_thread(own_server.start)
        await until(database.is_available, within_s=60)
    away = [vars(line) for line in caplog.records if line.message == "store_away"]
    assert [line.get("reason") for line in away] == ["ConnectionError"]


async def test_a_restart_and_an_eviction_may_have_lost_something(
    own_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail when only `run_id` is compared in `_tell_of_losses`, and when only `evicted_keys` is."""
    monkeypatch.setattr("sidemirror_server.storage.redis.database._EVICTED_EVERY_S", 0.0)
    async with opened(own_server.url) as database:
        assert database.may_have_forgotten.is_set(), "nobody knows what happened before the start"
        database.may_have_forgotten.clear()
        own_server.kill()
        await asyncio.to_thread(own_server.start)
        await until(database.may_have_forgotten.is_set, within_s=60)
        await until(database.is_available, within_s=60)
        database.may_have_forgotten.clear()
        own_server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-random")
        own_server.ask("CONFIG", "SET", "maxmemory", "2mb")
        for number in range(50):
            own_server.ask("SET", f"key{number}", "x" * 100_000)
        await until(database.may_have_forgotten.is_set, within_s=60)


@pytest.mark.parametrize("command", ["FLUSHALL", "FLUSHDB"])
async def test_one_that_was_emptied_has_lost_everything(command: str, own_server: RedisServer) -> None:
    """Everybody notices within a look, not only who sets the marker again. Seen to fail when `_tell_of_losses` does not
    compare markers."""
    async with opened(own_server.url) as one, opened(own_server.url) as other:
        await until(
            lambda: all(each.standing is not None and each.standing.marker for each in (one, other)), within_s=60
        )
        for _ in range(2):
            one.may_have_forgotten.clear()
            other.may_have_forgotten.clear()
            own_server.ask(command)
            await until(one.may_have_forgotten.is_set, within_s=60)
            await until(other.may_have_forgotten.is_set, within_s=60)
        assert one.is_available()
        assert other.is_available()


async def looked_again(database: RedisDatabase) -> None:
    before = database.standing
    database._look.set()
    await until(lambda: database.standing is not before, within_s=60)


async def test_a_marker_is_set_once_and_stays(own_server: RedisServer) -> None:
    async with opened(own_server.url) as database:
        await until(lambda: bool(database.standing and database.standing.marker), within_s=60)
        first = own_server.ask("GET", "sidemirror:marker")
        assert own_server.ask("TTL", "sidemirror:marker") == -1
        database.may_have_forgotten.clear()
        own_server.ask("SET", "another", "key")
        for _ in range(2):
            await looked_again(database)
        assert not database.may_have_forgotten.is_set()
    async with opened(own_server.url) as database:
        await until(lambda: bool(database.standing and database.standing.marker), within_s=60)
    assert own_server.ask("GET", "sidemirror:marker") == first


async def test_one_that_takes_no_marker_is_used_all_the_same(own_server: RedisServer) -> None:
    """A user who may write the reflections' keys only, and a server that is full."""
    own_server.ask("ACL", "SETUSER", "app", "on", ">pw", "~reflection:*", "+@all")
    own_server.ask("CONFIG", "SET", "maxmemory", "1")
    for url in (f"unix://app:pw@{own_server.socket}", own_server.url):
        async with opened(url) as database:
            await looked_again(database)
            assert database.is_available()
            assert database.standing is not None
            assert database.standing.marker == ""


async def test_a_full_one_is_no_news_all_the_time() -> None:
    """An eviction is told of once a minute, and none is left out. Seen to fail when each look that finds one tells:
    each makes every sidecar put everything back, which evicts more."""
    database = RedisDatabase(Connection, {}, SCRIPTS)

    def told(standing: RedisFacts) -> bool:
        database._tell_of_losses(standing)
        was_set = database.may_have_forgotten.is_set()
        database.may_have_forgotten.clear()
        return was_set

    assert told(RedisFacts("run 1", 0))
    assert not told(RedisFacts("run 1", 5))
    assert told(RedisFacts("run 2", 0)), "a restart is always news"
    assert not told(RedisFacts("run 2", 1))
    assert not told(RedisFacts("run 2", 1))
    database._told_s -= redis_database._EVICTED_EVERY_S
    assert told(RedisFacts("run 2", 1)), "what was not news then"
    database._told_s -= redis_database._EVICTED_EVERY_S
    assert not told(RedisFacts("run 2", 1))
    assert not told(RedisFacts("run 2", 1, marker="a")), "the first marker"
    assert told(RedisFacts("run 2", 1, marker="b"))
    assert not told(RedisFacts("run 2", 1, marker="")), "it could not be asked for"
    assert not told(RedisFacts("run 2", 1, marker="b"))
    assert not told(RedisFacts("run 2", 2, marker="c")), "evicted itself"


async def test_cancelled_callers_leave_nothing_behind(own_server: RedisServer) -> None:
    """Answers never go to somebody else, and connections are not lost. Seen to fail when `_connection` gives its place
    back only after an answer."""
    async with opened(own_server.url) as database:

        async def echo(number: int) -> None:
            assert await database.ask("ECHO", str(number)) == str(number).encode()

        chance = random.Random(4)
        for start in range(0, 4_000, 40):
            calls = [asyncio.create_task(echo(number)) for number in range(start, start + 40)]
            await asyncio.sleep(chance.random() * 0.003)
            for call in calls[::2]:
                call.cancel()
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert all(result is None or isinstance(result, asyncio.CancelledError) for result in results)
        await asyncio.gather(*(echo(number) for number in range(20)))
        assert database.is_available()


async def test_it_ends_whenever_it_is_closed(valkey_itself: RedisServer) -> None:
    """Closed after each of the first steps of a look at the server. Seen to fail when the driver has a time limit of
    its own and `_attend` goes on while nobody cancels it: before Python 3.12 the driver's sending then loses the
    cancellation, and `close` waits for ever."""
    for steps in range(60):
        database = await RedisDatabase.open(valkey_itself.url, SCRIPTS)
        database._look.set()
        for _ in range(steps):
            await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await database.close()


async def test_a_cancellation_is_never_lost(valkey_itself: RedisServer) -> None:
    """Whoever is cancelled while a question is under way ends, at whatever step of it. Seen to fail when the
    driver has a time limit of its own."""
    async with opened(valkey_itself.url) as database:
        cancelled = 0
        for steps in [*range(40)] * 5:  # how many of them it takes is the machine's affair
            asking = asyncio.create_task(database.ask("PING"))
            for _ in range(steps):
                await asyncio.sleep(0)
            if asking.cancel():
                cancelled += 1
                with pytest.raises(asyncio.CancelledError):
                    await asking
        assert cancelled >= 5


def test_a_standing_that_nothing_is_known_of() -> None:
    assert len(RedisFacts().risks) == 2


def free_port() -> int:
    """Below 50,000: a Cluster opens another port, 10,000 higher."""
    while True:
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            port: int = chosen.getsockname()[1]
        if port < 50_000:
            return port


@pytest.mark.skipif(program(REDIS) is None, reason="there is no wheel of redis for this Python")
async def test_redis_of_an_older_release(caplog: pytest.LogCaptureFixture) -> None:
    with served(REDIS, maxmemory="20mb", maxmemory_policy="allkeys-lru") as server:
        async with opened(server.url) as database:
            assert database.risks() == ("it may evict when its memory is full (maxmemory-policy allkeys-lru)",)
