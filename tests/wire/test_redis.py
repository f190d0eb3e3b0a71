"""A sidecar with a Redis: what it says of it at start and to whoever asks."""

import json
from pathlib import Path

import pytest

from sidemirror.v1 import sidecar_pb2
from sidemirror_server.assembly import assemble
from sidemirror_server.settings import load
from sidemirror_server.vocabulary.errors import StoreRefused
from tests.faults.process import Process
from tests.faults.sidecars import health_of, running, server_info, until_health
from tests.faults.waiting import until
from tests.redis.server import RedisServer

GOALS = "sidemirror.v1.GoalReflectionService"


async def stores_of(address: str) -> list[sidecar_pb2.StoreInfo]:
    return list((await server_info(address)).stores)


async def test_a_redis_that_may_forget_says_so(tmp_path: Path) -> None:
    server = RedisServer(appendonly="no", maxmemory="50mb", maxmemory_policy="volatile-lru")
    try:
        server.start()
        async with Process(tmp_path, {"redis_url": server.url}) as process:
            embedded, redis = await stores_of(process.address)
            assert (embedded.kind, embedded.holds) == ("sqlite", "everything but goal reflections")
            assert (redis.kind, redis.holds, redis.available) == ("redis", "goal reflections", True)
            assert redis.durability == (
                "it may evict when its memory is full (maxmemory-policy volatile-lru); "
                "a restart forgets everything (appendonly no, no snapshots); "
                "what is lost within 7 days is published again from finished reports"
            )
            await until_health(process.address, f"{GOALS}/durable", "NOT_SERVING")
            assert await health_of(process.address, GOALS) == "SERVING", "it answers, whatever it may forget"
            lines = [json.loads(line) for line in process.text().splitlines() if line.startswith("{")]
        told = [line["reason"] for line in lines if line["event"] == "store_not_durable"]
        assert told == [
            "it may evict when its memory is full (maxmemory-policy volatile-lru)",
            "a restart forgets everything (appendonly no, no snapshots)",
        ]
    finally:
        server.remove()


async def test_one_that_is_away_does_not_keep_the_sidecar_from_serving(tmp_path: Path) -> None:
    server = RedisServer()
    try:
        async with running(tmp_path, redis_url=server.url) as served:
            _, redis = await stores_of(served.address)
            assert not redis.available
            assert served.sidecar._standing.unable() == (GOALS,), "health says so from the first moment"
            await until_health(served.address, GOALS, "NOT_SERVING")
            assert await health_of(served.address, "") == "SERVING"
            assert await health_of(served.address, "sidemirror.v1.ThinkingService") == "SERVING"
            assert redis.durability == "it has not been reached yet"
            server.start()
            facts = served.sidecar._stores.facts[1]
            await until(facts.is_available, within_s=60)
            await until_health(served.address, GOALS, "SERVING")
            await until_health(served.address, f"{GOALS}/durable", "SERVING")
            _, redis = await stores_of(served.address)
            assert redis.available
            assert redis.durability == "an OK survives a crash of Redis and of its machine (appendfsync always)"
    finally:
        server.remove()


async def test_one_that_can_never_be_used_ends_the_start(tmp_path: Path) -> None:
    settings = load({"address": "127.0.0.1:0", "data_dir": str(tmp_path), "redis_url": "http://hunter2@x"}, {})
    with pytest.raises(StoreRefused) as caught:
        async with assemble(settings):
            pass
    assert "hunter2" not in str(caught.value)
