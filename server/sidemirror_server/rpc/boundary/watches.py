"""The watches of one topic, which follow its log as it grows. They read only the log, so nothing they show can be
lost."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeAlias, TypeVar

from sidemirror.v1 import goal_reflection_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, token_for
from sidemirror_server.rpc.boundary.streams import Streams, StreamTimes
from sidemirror_server.rpc.wire.common import duration
from sidemirror_server.trace.live import Bell
from sidemirror_server.trace.log import Entry, Log
from sidemirror_server.trace.shared_reads import SharedReads
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.telemetry import GAPS

T = TypeVar("T")
WatchRequest: TypeAlias = pb.WatchTurnsRequest | goal_reflection_pb2.WatchGoalReflectionsRequest


class Watches:
    """The parts that all watches of one topic share."""

    def __init__(self, log: Log, topic: str, bell: Bell, streams: Streams) -> None:
        self.looks = SharedReads(log, topic)
        self._bell = bell
        self._streams = streams

    async def follow(
        self,
        request: WatchRequest,
        call: Call,
        group: str,
        *query: object,
        entry_to_wire: Callable[[Entry, str], T | None],
        notice_to_wire: Callable[..., T],
        past_gap: Callable[[int], Awaitable[int | None]],
        gap_reason: str,
        from_us: int | None = None,
    ) -> AsyncGenerator[T, None]:
        """The entries of `group`, or of all groups if it is empty, with the stream's own notices.

        `query`: the values that cursors are bound to. `entry_to_wire` takes an entry and its cursor, and returns None
        to skip the entry. `notice_to_wire` takes a cursor, and `heartbeat`, `gap` or `closing` by keyword. `past_gap`
        takes a position, and returns where to go on if entries after it were pruned, else None; `gap_reason` explains
        the gap. `from_us`: begin near the first entry of this time; None: as the request says. Raises BadInput, and the
        error of `StreamTimes.end`.
        """
        after = await self._begin(request, call, query, from_us)
        follow = request.follow if request.HasField("follow") else True
        # Without `follow` the watch ends where the log ends now: a log that always grows has no other end.
        until = None if follow else await self.looks.end(call.scope)
        waiter = self._bell.waiter(call.scope, group or None)
        times = StreamTimes(self._streams, call.clock, waiter.wake, ends_idle=False, barred=call.barred)
        try:
            if request.new_only:
                # Send the present position at once: a client can resume from it even if no entry has come.
                yield notice_to_wire(token_for(after, *query), heartbeat=pb.Heartbeat())
            if request.cursor and (past := await past_gap(after)) is not None:
                GAPS.add(1)
                after = past
                yield notice_to_wire(token_for(after, *query), gap=pb.Gap(reason=gap_reason))
            page: tuple[Entry, ...] = ()
            while True:
                # Read after a page that had entries, and when the bell rang; not for each heartbeat.
                page = await self.looks.page(call.scope, group or None, after) if waiter.clear() or page else ()
                for entry in page:
                    after = entry.position
                    if (told := entry_to_wire(entry, token_for(after, *query))) is not None:
                        yield told
                        times.said()
                if due := _due(times):
                    yield notice_to_wire(token_for(after, *query), **due)
                    times.said()
                    if times.told_closing:
                        raise times.end()
                if until is not None and (not page or after >= until):
                    return
                if not page:
                    await waiter.wait()
        finally:
            times.close()
            waiter.close()

    async def _begin(self, request: WatchRequest, call: Call, query: tuple[object, ...], from_us: int | None) -> int:
        """The position after which the watch begins. From here on the watch is in force: it shows all later entries."""
        after = place_in(request.cursor, int, "cursor", *query) or 0
        if request.new_only and request.cursor:
            raise BadInput([("new_only", "not together with a cursor")])
        if from_us is not None and (request.cursor or request.new_only):
            raise BadInput([("from_time", "not together with a cursor or new_only")])
        if request.new_only:
            after = await self.looks.end(call.scope)
        if from_us is not None:
            after = await self.looks.before(call.scope, from_us)
        # Not earlier: a watch that was refused has no initial metadata, so that clients may try again.
        if call.in_force is not None:
            await call.in_force()
        return after


def _due(times: StreamTimes) -> dict[str, pb.Closing | pb.Heartbeat]:
    """The notice that is due, by its keyword; empty if none is."""
    if times.closing_due():
        grace = duration(int(times.grace_s * 1e6))
        return {"closing": pb.Closing(reason=times.closing_reason, grace=grace)}
    return {"heartbeat": pb.Heartbeat()} if times.heartbeat_due() else {}
