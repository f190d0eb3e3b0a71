"""One turn on a RunTurn stream, as an agent uses it: sends events and returns the sidecar's directives."""

import asyncio
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

import grpc

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1 import thinking_pb2_grpc as pb_grpc
from sidemirror_server.operations.shown import plain

# How long to wait for an answer. A local sidecar that takes longer is gone or stuck.
_PATIENCE_S = 60.0
# A request holds at most 4 MiB, an event at most 1 MiB (`rpc/boundary/limit_table.py`). Chosen here: few enough events
# that directives arrive between messages.
_EVENTS_A_MESSAGE = 15
_BYTES_A_MESSAGE = 3 * 1024 * 1024


class TurnBroken(Exception):
    """The stream ended before the turn did; says why."""


def messages_of(events: Sequence[pb.TurnEvent]) -> Iterator[list[pb.TurnEvent]]:
    """Splits the events, in their order, into messages of bounded size."""
    part: list[pb.TurnEvent] = []
    size = 0
    for event in events:
        if part and (len(part) == _EVENTS_A_MESSAGE or size + event.ByteSize() > _BYTES_A_MESSAGE):
            yield part
            part, size = [], 0
        part.append(event)
        size += event.ByteSize()
    if part:
        yield part


class TurnStream:
    """A turn. `sent` counts the events sent, `durable` those that the sidecar acknowledged as durable."""

    def __init__(self, stub: "pb_grpc.ThinkingServiceAsyncStub") -> None:
        self._call = stub.RunTurn()
        self.sent = 0
        self.durable = 0
        self.over = False
        self._ending = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if not self.over:
            self._call.cancel()

    async def report(self, events: Sequence[pb.TurnEvent]) -> list[pb.TurnDirective]:
        """Sends the events and returns the directives (plan, nudges, reflections) in their order, until the sidecar has
        received all events and no directive is pending. After `turn_finished` it waits for the summary, when the whole
        turn is durable.

        Raises TurnBroken.
        """
        self._ending = any(event.HasField("turn_finished") for event in events)
        said: list[pb.TurnDirective] = []
        try:
            async with asyncio.timeout(_PATIENCE_S):
                for part in messages_of(events):
                    self.sent += len(part)
                    await self._call.write(pb.RunTurnRequest(events=part))
                while not await self._settled(said):
                    pass
        except TimeoutError as error:
            raise TurnBroken(f"the sidecar has not answered for {_PATIENCE_S:g} s") from error
        except grpc.aio.AioRpcError as error:
            raise TurnBroken(f"{error.code().name}: {plain(error.details() or '')}") from error
        except asyncio.InvalidStateError as error:
            # The server ended the stream while we were writing; its status says why.
            raise TurnBroken(f"{(await self._call.code()).name}: {await self._call.details()}") from error
        return said

    async def _settled(self, said: list[pb.TurnDirective]) -> bool:
        """Takes one response. True when no directive about the sent events is pending."""
        response = await self._call.read()
        if not isinstance(response, pb.RunTurnResponse):
            if (code := await self._call.code()) is grpc.StatusCode.OK:
                raise TurnBroken("the sidecar ended the stream before the turn was over")
            raise TurnBroken(f"{code.name}: {await self._call.details()}")
        settled = False
        for directive in response.directives:
            match directive.WhichOneof("kind"):
                case "ack":
                    self.durable = directive.ack.durable
                    settled = directive.ack.received >= self.sent and not directive.ack.pending_ids
                case "turn_summary":
                    self.over = True
                    said.append(directive)
                case "closing":
                    raise TurnBroken(f"the sidecar is going away: {directive.closing.reason}")
                case "heartbeat":
                    pass
                case _:
                    said.append(directive)
        return self.over or (settled and not self._ending)
