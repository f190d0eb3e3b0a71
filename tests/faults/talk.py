"""A RunTurn stream in the test's hand."""

import asyncio

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.sidecars import Stub


class Talk:
    """A stream, and all that was heard on it."""

    def __init__(self, stub: Stub) -> None:
        self.stream = stub.RunTurn()
        self.heard: list[pb.TurnDirective] = []
        self._hearing = asyncio.create_task(self._hear())

    async def _hear(self) -> None:
        while (response := await self.stream.read()) is not grpc.aio.EOF:
            self.heard.extend(response.directives)

    async def say(self, *events: pb.TurnEvent, resume: pb.TurnResume | None = None) -> None:
        """One message."""
        await self.stream.write(pb.RunTurnRequest(events=events, resume=resume))

    def said(self, kind: str) -> list[pb.TurnDirective]:
        return [directive for directive in self.heard if directive.WhichOneof("kind") == kind]

    @property
    def has_ended(self) -> bool:
        return self._hearing.done()

    def received(self) -> int:
        return max((directive.ack.received for directive in self.said("ack")), default=0)

    def durable(self) -> int:
        return max((directive.ack.durable for directive in self.said("ack")), default=0)

    async def broken(self) -> grpc.StatusCode:
        """How the stream broke."""
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await asyncio.wait_for(self._hearing, 10)
        return caught.value.code()

    async def ended(self) -> None:
        """The stream ends well."""
        await asyncio.wait_for(self._hearing, 10)
