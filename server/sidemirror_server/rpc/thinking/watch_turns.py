"""WatchTurns: follows the record of turns as it grows."""

from collections.abc import AsyncGenerator
from typing import Any

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.watches import Watches
from sidemirror_server.rpc.thinking.directives import entry_to_wire
from sidemirror_server.rpc.wire.common import microseconds, timestamp
from sidemirror_server.thinking.record import recorded_in
from sidemirror_server.trace.log import Entry
from sidemirror_server.trace.pruning import Pruning


def watch_turns(
    watches: Watches, pruning: Pruning, request: pb.WatchTurnsRequest, call: Call
) -> AsyncGenerator[pb.WatchTurnsResponse, None]:
    scope = call.scope

    def told(entry: Entry, cursor: str) -> pb.WatchTurnsResponse:
        return pb.WatchTurnsResponse(entry=entry_to_wire(recorded_in(entry), entry.key, entry.sequence, cursor))

    def notice(cursor: str, **what: Any) -> pb.WatchTurnsResponse:
        directive = pb.TurnDirective(time=timestamp(call.clock.now_us()), **what)
        return pb.WatchTurnsResponse(entry=pb.TurnEntry(cursor=cursor, directive=directive))

    async def past_gap(after: int) -> int | None:
        gone: int = await watches.looks.shared((scope, "gone"), lambda: pruning.turns_gone_up_to(scope))
        return after if after < gone else None

    reason = "turns that were recorded after this cursor have been removed since, because they are old"
    return watches.follow(
        *(request, call, request.session_id, scope),
        entry_to_wire=told,
        notice_to_wire=notice,
        past_gap=past_gap,
        gap_reason=reason,
        from_us=microseconds(request.from_time) if request.HasField("from_time") else None,
    )
