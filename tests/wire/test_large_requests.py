"""A large request is read on a thread: other calls go on meanwhile."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.event_counts import event_counter_of
from sidemirror_server.rpc.boundary.reading import reader_of, requests_of
from sidemirror_server.rpc.thinking.turn_events import start_event
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE

LONGEST = "row 12; " * 32_000
CALL = Call(DEFAULT_SCOPE, "RunTurn", "", SystemClock(), None)


async def turns_of_others(awaited: Awaitable[object]) -> int:
    """How often others come meanwhile."""
    done = asyncio.ensure_future(awaited)
    turns = 0
    while not done.done():
        await asyncio.sleep(0)
        turns += 1
    await done
    return turns


async def test_a_start_with_long_messages() -> None:
    """Seen to fail when it is read on the loop."""
    messages = [common_pb2.Message(role="MESSAGE_ROLE_USER", content=LONGEST)] * 4
    assert await turns_of_others(start_event(pb.TurnEvent(turn_started=pb.TurnStarted(messages=messages)), CALL)) > 2
    short = pb.TurnEvent(turn_started=pb.TurnStarted(task="t"))
    assert await turns_of_others(start_event(short, CALL)) <= 2


async def test_a_request_of_many_events() -> None:
    """Its fields are checked on the thread, too. Seen to fail when it is parsed and checked on the loop."""
    parse, check = reader_of(pb.RunTurnRequest, 2**18)
    called = pb.ToolCalled(call_id="c", name="sql", arguments="x" * 200)
    many = pb.RunTurnRequest(events=[pb.TurnEvent(tool_called=called)] * 500).SerializeToString()

    async def raws() -> AsyncIterator[bytes]:
        yield pb.RunTurnRequest(tenant_id="t").SerializeToString()
        yield many

    parsed_on: list[int] = []
    checked_on: list[int] = []

    def parsed(raw: bytes) -> pb.RunTurnRequest:
        parsed_on.append(threading.get_ident())
        return parse(raw)

    def checked(request: pb.RunTurnRequest) -> None:
        checked_on.append(threading.get_ident())
        check(request)

    events_in = event_counter_of(pb.RunTurnRequest)
    requests = requests_of(raws(), parsed, checked, lambda: None, None, "RunTurn", events_in)
    assert [len(request.events) async for request in requests] == [0, 500]
    assert parsed_on[0] == threading.get_ident() != parsed_on[1]
    assert checked_on == parsed_on[1:]
