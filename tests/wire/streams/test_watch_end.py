"""A watch that ends at the present ends, although the record grows all the while."""

import asyncio
from pathlib import Path

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.streams import StreamLimits, Streams
from sidemirror_server.rpc.boundary.watches import Watches
from sidemirror_server.rpc.thinking.watch_turns import watch_turns
from sidemirror_server.trace.event import UserMessage
from sidemirror_server.trace.live import Bell
from sidemirror_server.trace.log import TURN_TOPIC, Entry
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.scope import Scope
from tests.turns.house import PATIENCE_S, SCOPE, House, house


class GrowingLog:
    """Has one more entry each time that it was read."""

    def __init__(self, own: House) -> None:
        self._own = own

    async def tail(
        self, scope: Scope, topic: str, group: str | None, after: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]:
        page = await self._own.log.tail(scope, topic, group, after, limit, max_bytes)
        await self.grow()
        return page

    async def grow(self) -> None:
        turn = await self._own.start("turn")
        self._own.report(turn, UserMessage("more"))
        await self._own.recorder.wait_durable(turn, turn.state.last_sequence)

    async def last_position(self, scope: Scope) -> int:
        return await self._own.log.last_position(scope)


async def test_it_ends_where_the_record_ended_when_it_began(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        log = GrowingLog(own)
        await log.grow()
        clock = SystemClock()
        watches = Watches(log, TURN_TOPIC, Bell(), Streams(StreamLimits()))
        call = Call(SCOPE, "WatchTurns", "", clock, None)
        request = pb.WatchTurnsRequest(follow=False)
        watch = watch_turns(watches, None, request, call)  # type: ignore[arg-type]  # without a cursor nothing is missing
        seen = [response.entry async for response in watch]
        assert [entry.sequence for entry in seen] == [1, 2, 3]
