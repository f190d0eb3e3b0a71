"""A sidecar with a Redis: what it says of it at start and to whoever asks."""

import asyncio
import json
from pathlib import Path

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc
from sidemirror_server.assembly import assemble
from sidemirror_server.settings import load
from sidemirror_server.vocabulary.errors import StoreRefused
from tests.faults.process import Process
from tests.faults.sidecars import channel, running
from tests.faults.waiting import until
from tests.redis.server import RedisServer

GOALS = "sidemirror.v1.GoalReflectionService"


async def health_of(address: str, service: str) -> str:
    async with channel(address) as connection:
        check = health_pb2_grpc.HealthStub(connection).Check  # type: ignore[attr-defined]
        answer = await check(health_pb2.HealthCheckRequest(service=service), timeout=60)
    return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)


async def until_health(address: str, service: str, wanted: str) -> None:
    async with asyncio.timeout(60):
        while await health_of(address, service) != wanted:  # noqa: ASYNC110 - asked over the wire, as a probe does
            await asyncio.sleep(0.05)


async def stores_of(address: str) -> list[sidecar_pb2.StoreInfo]:
    async with channel(address) as connection:
        stub = sidecar_pb2_grpc.SidecarServiceStub(connection)
        answer = await stub.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=60)
        return list(answer.stores)


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
