"""A sidecar starts while Postgres is away: it thinks, says what it lacks, and works with the store once it is there."""

from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidemirror.v1 import critique_pb2, critique_pb2_grpc, sidecar_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.agents import failing_calls, record_of, started
from tests.faults.figures import show
from tests.faults.process import Process
from tests.faults.sidecars import channel, stub_on
from tests.faults.talk import Talk
from tests.faults.waiting import until
from tests.postgres.databases import Databases
from tests.postgres.test_stopped import is_available

pytestmark = pytest.mark.slow("a store is away for seconds")

EVENTS = failing_calls("t", 50)
THINKING, CRITIQUE = "sidemirror.v1.ThinkingService", "sidemirror.v1.CritiqueService"
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


async def health_of(connection: grpc.aio.Channel) -> dict[str, int]:
    """What health says of each service, and of the server ("")."""
    stub: Any = health_pb2_grpc.HealthStub(connection)
    names = ("", THINKING, CRITIQUE, "sidemirror.v1.SidecarService")
    return {name: (await stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=60)).status for name in names}


async def test_a_start_without_postgres(durable: Databases, tmp_path: Path) -> None:
    """Seen to fail when `assemble` opens the store with `must_answer`."""
    cluster = durable.cluster
    url = cluster.url("sidecar", await durable.create())
    cluster.kill()
    async with Process(tmp_path, {"database_url": url}) as process, channel(process.address) as connection:
        stub, info = stub_on(connection), sidecar_pb2_grpc.SidecarServiceStub(connection)
        assert '"store_away"' in process.text()
        assert "nobody listens there: start the server" in process.text()
        assert "hunter2" not in process.text()
        assert not await is_available(info)
        assert (await health_of(connection)) == {
            "": SERVING,
            THINKING: SERVING,
            CRITIQUE: NOT_SERVING,
            "sidemirror.v1.SidecarService": SERVING,
        }
        critiques: Any = critique_pb2_grpc.CritiqueServiceStub(connection)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await critiques.ListCritiques(critique_pb2.ListCritiquesRequest(), timeout=60)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        talk = Talk(stub)
        await talk.say(started("t", "s"), *EVENTS)
        await until(lambda: talk.received() == 51)
        assert talk.said("turn_plan")
        await until(lambda: bool(talk.said("nudge") or talk.said("reflection")))  # it thinks
        assert talk.durable() == 0
        cluster.start()
        took_s = await until(lambda: talk.durable() == 51, within_s=60)
        assert await is_available(info)
        assert set((await health_of(connection)).values()) == {SERVING}
        talk.stream.cancel()
        _, entries = await record_of(stub, "t")
        assert sum(entry.HasField("event") for entry in entries) == 51
    show(f"51 events durable {took_s:.2f} s after Postgres answered for the first time")


async def test_what_comes_up_must_pass_too(durable: Databases, tmp_path: Path) -> None:
    """A server that started without its store does not use one that it must not use, and says so once. Seen to fail
    when `Database._probe` takes any connection for one that may be used."""
    cluster = durable.cluster
    name = await durable.create()
    await durable.as_superuser("ALTER TABLE sidemirror.turns NO FORCE ROW LEVEL SECURITY", name)
    cluster.kill()
    async with Process(tmp_path, {"database_url": cluster.url("sidecar", name)}) as process:
        cluster.start()
        await until(lambda: "row level security is not in force on turns" in process.text())
        async with channel(process.address) as connection:
            assert (await health_of(connection))[CRITIQUE] == NOT_SERVING
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stub_on(connection).CreateSession(pb.CreateSessionRequest(), timeout=60)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
            assert "it cannot be used as it is" in str(caught.value.details())
            await durable.as_superuser("ALTER TABLE sidemirror.turns FORCE ROW LEVEL SECURITY", name)
            await until(lambda: '"store_back"' in process.text(), within_s=60)
            await stub_on(connection).CreateSession(pb.CreateSessionRequest(), timeout=60)
        assert process.text().count("row level security is not in force on turns") == 1


async def test_health_follows_the_store(durable: Databases, tmp_path: Path) -> None:
    """Also when it goes away later. Seen to fail when `Database._away` does not call `changed`."""
    cluster = durable.cluster
    url = cluster.url("sidecar", await durable.create())
    async with Process(tmp_path, {"database_url": url}) as process, channel(process.address) as connection:
        assert set((await health_of(connection)).values()) == {SERVING}
        seen: list[int] = []
        health: Any = health_pb2_grpc.HealthStub(connection)
        talk = Talk(stub_on(connection))
        await talk.say(started("t", "s"), *EVENTS[:5])
        await until(lambda: talk.durable() == 6)
        async for answer in health.Watch(health_pb2.HealthCheckRequest(service=CRITIQUE)):
            seen.append(answer.status)
            if seen == [SERVING]:
                cluster.kill()
                await talk.say(*EVENTS[5:])
            elif answer.status == NOT_SERVING:
                cluster.start()
            else:
                break
        assert seen == [SERVING, NOT_SERVING, SERVING]
        await until(lambda: talk.durable() == 51, within_s=60)
        talk.stream.cancel()
