"""A sidecar beside an endpoint that plays its provider, and a client of both of its services."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.sidecars import Stub, channel, running
from tests.models.endpoint import CLAUDE, KEY, LOCAL, Endpoint

PROVIDERS = ("anthropic", "openai_compatible")
# USD for a million tokens in and out: the list's for Claude Haiku 5.5; ours, since no list has a local model.
PRICES = {"anthropic": (0.10, 0.50), "openai_compatible": (2.0, 8.0)}
CANARY = "canary-93be"


class Talk(NamedTuple):
    """A sidecar beside an endpoint, and clients of both of its services."""

    endpoint: Endpoint
    thinking: Stub
    sidecar: Stub
    address: str = ""

    async def turn(self, turn_id: str, *, time_limit_s: float = 0.0, **budget: Any) -> None:
        """A turn in which one call of a tool has failed, and no reflection is due by itself."""
        given = pb.TurnBudget(max_reflections=50, **budget)
        if time_limit_s:
            given.time_limit.FromNanoseconds(int(time_limit_s * 1e9))
        started = pb.StartTurnRequest(
            session_id=f"of {turn_id}", turn_id=turn_id, user_message=f"Where is W17? {CANARY}", budget=given
        )
        await self.thinking.StartTurn(started)
        events = [
            pb.TurnEvent(event_id="e1", tool_called=pb.ToolCalled(name="search", arguments="W17")),
            pb.TurnEvent(event_id="e2", tool_failed=pb.ToolFailed(error="order not found")),
        ]
        await self.thinking.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events))

    async def reflect(self, turn_id: str = "t") -> pb.MidTurnReflection:
        response = await self.thinking.Reflect(pb.ReflectRequest(turn_id=turn_id), timeout=60)
        result: pb.MidTurnReflection = response.result
        return result

    async def info(self, **scope: Any) -> sidecar_pb2.GetServerInfoResponse:
        answer: sidecar_pb2.GetServerInfoResponse = await self.sidecar.GetServerInfo(
            sidecar_pb2.GetServerInfoRequest(**scope)
        )
        return answer

    async def spend(self) -> sidecar_pb2.Spend:
        """Today's, once every call is settled."""
        found = sidecar_pb2.Spend(reserved_tokens=1)
        while found.reserved_tokens:
            (found,) = (await self.info()).spend
        return found


def settings_of(provider: str, endpoint: Endpoint, url: str = "") -> dict[str, str]:
    """What chooses the endpoint (or `url`) as the provider, but for its key."""
    per_input, per_output = PRICES["openai_compatible"]
    own: Mapping[str, str] = {}
    if provider == "openai_compatible":
        own = {"model__input_usd_per_mtok": str(per_input), "model__output_usd_per_mtok": str(per_output)}
    return {
        "model__provider": provider,
        "model__name": CLAUDE if provider == "anthropic" else LOCAL,
        "model__base_url": url or (endpoint.anthropic_url if provider == "anthropic" else endpoint.openai_url),
        **own,
    }


@contextlib.asynccontextmanager
async def talk(folder: Path, provider: str, url: str = "", **more: str) -> AsyncIterator[Talk]:
    async with Endpoint() as endpoint:
        settings: dict[str, Any] = {**settings_of(provider, endpoint, url), "model__api_key": KEY, **more}
        async with running(folder, **settings) as served, channel(served.address) as connection:
            await served.sidecar.gateway.prepare()
            sidecar_stub = sidecar_pb2_grpc.SidecarServiceStub(connection)
            yield Talk(endpoint, served.stub, sidecar_stub, served.address)
