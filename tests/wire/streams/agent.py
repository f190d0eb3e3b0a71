"""An agent at the other end of RunTurn, and a sidecar in the loop of the test."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import grpc
import msgspec

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.assembly import assemble
from sidemirror_server.settings import load
from tests.wire.calls import MEDIUM
from tests.wire.sidecar import PATIENCE_S

if TYPE_CHECKING:
    from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceAsyncStub

    Stub: TypeAlias = ThinkingServiceAsyncStub
else:
    Stub = ThinkingServiceStub  # on an asyncio channel its methods are the asynchronous ones


class Sidecar(NamedTuple):
    address: str
    stub: Stub


@asynccontextmanager
async def sidecar(folder: Path, **given: Any) -> AsyncIterator[Sidecar]:
    """A sidecar with a stub. `given`: what `assemble` takes beside the settings."""
    socket = folder / "s"
    flags = {"address": "127.0.0.1:0", "socket": str(socket), "data_dir": str(folder / "data"), "grace_s": "2"}
    async with assemble(load(flags, {}), **given) as server:
        await server.start()
        stop = asyncio.Event()
        serving = asyncio.create_task(server.serve_until(stop.wait()))
        try:
            async with grpc.aio.insecure_channel(f"unix:{socket}") as channel:
                yield Sidecar(f"unix:{socket}", ThinkingServiceStub(channel))
        finally:
            stop.set()
            await serving
    # A grpc.aio server that is collected after its loop was closed complains, and warnings are errors here.
    del server
    gc.collect()


class Agent:
    """One RunTurn stream. `seen`: every directive so far; `acks`: those of them that are acks."""

    def __init__(self, stub: Stub) -> None:
        self._call: Any = stub.RunTurn(timeout=3 * PATIENCE_S)
        self.seen: list[pb.TurnDirective] = []

    async def start(self, *events: pb.TurnEvent, turn_id: str = "", **fields: Any) -> pb.TurnPlan:
        """Starts a turn, at level MEDIUM where nothing is said, and returns its plan."""
        fields.setdefault("config", MEDIUM)
        begin = pb.TurnEvent(turn_id=turn_id, turn_started=pb.TurnStarted(**fields))
        await self.send(begin, *events)
        return (await self.until("turn_plan")).turn_plan

    async def resume(self, turn_id: str, after_sequence: int = 0, *events: pb.TurnEvent) -> None:
        resume = pb.TurnResume(turn_id=turn_id, after_sequence=after_sequence)
        await self._call.write(pb.RunTurnRequest(resume=resume, events=events))

    async def send(self, *events: pb.TurnEvent) -> None:
        await self._call.write(pb.RunTurnRequest(events=events))

    async def until(self, kind: str) -> pb.TurnDirective:
        """The next directive of that kind."""
        known = len(self.seen)
        while True:
            for directive in self.seen[known:]:
                if directive.WhichOneof("kind") == kind:
                    return directive
            known = len(self.seen)
            assert await self._read(), f"the stream ended without {kind}"

    async def durable(self, events: int) -> pb.TurnAck:
        """The first ack that calls as many events durable and names nothing that is being made."""
        while True:
            for ack in self.acks:
                if ack.durable >= events and not ack.pending_ids:
                    return ack
            assert await self._read(), f"the stream ended before {events} events were durable"

    async def half_close(self) -> None:
        """Closes the sending side and reads the stream to its end."""
        await self._call.done_writing()
        await self.end()

    async def end(self) -> None:
        """Reads the stream to its end."""
        while await self._read():
            pass

    async def code(self) -> grpc.StatusCode:
        code: grpc.StatusCode = await self._call.code()
        return code

    def cancel(self) -> None:
        self._call.cancel()

    def of(self, kind: str) -> list[Any]:
        """What the directives of that kind said, in their order."""
        return [getattr(directive, kind) for directive in self.seen if directive.WhichOneof("kind") == kind]

    @property
    def acks(self) -> list[pb.TurnAck]:
        return self.of("ack")

    @property
    def kinds(self) -> list[str]:
        """The kinds of what is recorded: without acks."""
        return [kind for directive in self.seen if (kind := directive.WhichOneof("kind")) and kind != "ack"]

    async def _read(self) -> bool:
        response = await asyncio.wait_for(self._call.read(), PATIENCE_S)
        if response is grpc.aio.EOF:
            return False
        assert len(response.directives) > 0
        self.seen += response.directives
        return True


class Recorded(msgspec.Struct):
    """A turn as GetTurn shows it."""

    turn: pb.Turn
    entries: list[pb.TurnEntry]


async def recorded(stub: Stub, turn_id: str) -> Recorded:
    answer = await stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id, page_size=1000), timeout=PATIENCE_S)
    return Recorded(answer.turn, list(answer.entries))
