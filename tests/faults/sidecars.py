"""A sidecar in the test's own process, with what the test puts into it; and the contract's stubs, typed for asyncio."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc
from sidemirror.v1 import thinking_pb2_grpc as pb_grpc
from sidemirror_server import assembly
from sidemirror_server.assembly import stores as opened
from sidemirror_server.models.language_model import LanguageModel
from sidemirror_server.operations.loop import GIVE_WAY_S
from sidemirror_server.settings import load
from sidemirror_server.turns.limits import TurnLimits
from sidemirror_server.vocabulary.clock import Clock
from tests.faults.stores import Switch, behind

Stub = Any  # the generated async stub has no runtime class


class Running(NamedTuple):
    """A sidecar that serves, and a client of it."""

    sidecar: assembly.Sidecar
    address: str
    stub: Stub


# Settings by which nothing is told before it was learned.
WITHOUT_STARTERS = {"advice__starter_pack": "false"}


@contextlib.asynccontextmanager
async def running(
    folder: Path,
    *,
    model: LanguageModel | None = None,
    clock: Clock | None = None,
    turn_limits: TurnLimits | None = None,
    switch: Switch | None = None,
    **settings: str,
) -> AsyncIterator[Running]:
    """Serves until the end of the block. `settings` by their names, as flags give them. The starter pack is off unless
    they say otherwise: most tests see what was learned, and what is told when nothing was."""
    sys.setswitchinterval(GIVE_WAY_S)  # as the command does, for the whole process
    given = {"address": "127.0.0.1:0", "data_dir": str(folder / "data"), "grace_s": "1", **WITHOUT_STARTERS, **settings}
    with pytest.MonkeyPatch.context() as patch:
        if switch is not None:
            patch.setattr(opened, "_embedded", behind(switch, opened._embedded))
        made = assembly.assemble(load(given, {}), model=model, clock=clock, turn_limits=turn_limits)
        async with made as sidecar:
            await sidecar.start()
            stop = asyncio.Event()
            serving = asyncio.create_task(sidecar.serve_until(stop.wait()))
            address = f"127.0.0.1:{sidecar.port}"
            try:
                async with connected(address) as stub:
                    yield Running(sidecar, address, stub)
            finally:
                stop.set()
                await serving


@contextlib.asynccontextmanager
async def connected(address: str) -> AsyncIterator[Stub]:
    """A stub of the thinking service on a connection of its own."""
    async with channel(address) as connection:
        yield stub_on(connection)


def stub_on(connection: grpc.aio.Channel) -> Stub:
    """The thinking service's stub on this connection."""
    return pb_grpc.ThinkingServiceStub(connection)


async def server_info(address: str) -> sidecar_pb2.GetServerInfoResponse:
    """What the sidecar says of itself."""
    async with channel(address) as connection:
        stub = sidecar_pb2_grpc.SidecarServiceStub(connection)
        answer: sidecar_pb2.GetServerInfoResponse = await stub.GetServerInfo(
            sidecar_pb2.GetServerInfoRequest(), timeout=60
        )
    return answer


async def health_of(address: str, service: str) -> str:
    """The health of a service ("" is the whole server)."""
    async with channel(address) as connection:
        check = health_pb2_grpc.HealthStub(connection).Check  # type: ignore[attr-defined]
        answer = await check(health_pb2.HealthCheckRequest(service=service), timeout=60)
    return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)


async def until_health(address: str, service: str, wanted: str) -> None:
    async with asyncio.timeout(60):
        while await health_of(address, service) != wanted:  # noqa: ASYNC110 - asked over the wire, as a probe does
            await asyncio.sleep(0.05)


def channel(address: str) -> grpc.aio.Channel:
    """A connection that no other channel shares, that tries again soon, and takes large answers."""
    return grpc.aio.insecure_channel(
        address,
        options=[
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.min_reconnect_backoff_ms", 5_000),  # how long one attempt may take
            ("grpc.max_reconnect_backoff_ms", 500),
            ("grpc.max_receive_message_length", -1),
        ],
    )
