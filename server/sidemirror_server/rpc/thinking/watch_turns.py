"""WatchTurns: the record as it grows, read from the log alone, so that nothing that it shows can be lost."""

from collections.abc import AsyncGenerator

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.memory.pruning import Pruning
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, token_for
from sidemirror_server.rpc.boundary.streams import Streams, StreamTimes
from sidemirror_server.rpc.thinking.directives import entry_to_wire
from sidemirror_server.rpc.wire.common import duration, timestamp
from sidemirror_server.thinking.record import recorded_in
from sidemirror_server.trace.live import Bell
from sidemirror_server.trace.log import TURN_TOPIC, Entry, TurnLog
from sidemirror_server.trace.looks import Looks
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.telemetry import GAPS


class WatchStreams:
    """The streaming call of ThinkingService that follows the record."""

    keeps_times = True  # the boundary leaves the end of its streams to it

    def __init__(self, log: TurnLog, pruning: Pruning, bell: Bell, streams: Streams) -> None:
        self._looks = Looks(log, TURN_TOPIC)
        self._pruning = pruning
        self._bell = bell
        self._streams = streams

    async def WatchTurns(
        self, request: pb.WatchTurnsRequest, call: Call
    ) -> AsyncGenerator[pb.WatchTurnsResponse, None]:
        after = await self._begin(request, call.scope)
        follow = request.follow if request.HasField("follow") else True
        # The present is where the record ends now: one that grows all the time would never let go.
        until = None if follow else await self._looks.end(call.scope)
        group = request.session_id or None
        waiter = self._bell.waiter(call.scope, group)
        times = StreamTimes(self._streams, call.clock, waiter.wake, ends_idle=False, barred=call.barred)
        try:
            if request.new_only:
                # Where the present is, at once: whoever asked for no more, and a watch that breaks before its first
                # entry, can go on from here.
                yield _notice_to_wire(_heartbeat(call.clock.now_us()), after, call.scope)
            if after < await self._gone_up_to(request, call.scope):
                GAPS.add(1)
                yield _notice_to_wire(_gap(call.clock.now_us()), after, call.scope)
            page: tuple[Entry, ...] = ()
            while True:
                # After a page there may be more of it; else only where the bell rang, not for each heartbeat.
                page = await self._looks.page(call.scope, group, after) if waiter.clear() or page else ()
                for entry in page:
                    yield pb.WatchTurnsResponse(entry=_entry_to_wire(entry, call.scope))
                    after = entry.position
                    times.said()
                if (notice := _notice(times, call.clock.now_us())) is not None:
                    yield _notice_to_wire(notice, after, call.scope)
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

    async def _begin(self, request: pb.WatchTurnsRequest, scope: Scope) -> int:
        """The position after which the watch begins."""
        after = place_in(request.cursor, int, "cursor", scope)
        if request.new_only and after is not None:
            raise BadInput([("new_only", "not together with a cursor")])
        if request.new_only:
            return await self._looks.end(scope)
        return after or 0

    async def _gone_up_to(self, request: pb.WatchTurnsRequest, scope: Scope) -> int:
        """The last place of the record that was removed because it is old, for a watch that goes on from somewhere."""
        if not request.cursor:
            return 0
        position: int = await self._looks.shared((scope, "gone"), lambda: self._pruning.turns_gone_up_to(scope))
        return position


def _entry_to_wire(entry: Entry, scope: Scope) -> pb.TurnEntry:
    return entry_to_wire(recorded_in(entry), entry.key, entry.sequence, token_for(entry.position, scope))


def _notice_to_wire(notice: pb.TurnDirective, after: int, scope: Scope) -> pb.WatchTurnsResponse:
    return pb.WatchTurnsResponse(entry=pb.TurnEntry(cursor=token_for(after, scope), directive=notice))


def _heartbeat(now_us: int) -> pb.TurnDirective:
    return pb.TurnDirective(time=timestamp(now_us), heartbeat=pb.Heartbeat())


def _gap(now_us: int) -> pb.TurnDirective:
    gap = pb.Gap(reason="turns that were recorded after this cursor have been removed since, because they are old")
    return pb.TurnDirective(time=timestamp(now_us), gap=gap)


def _notice(times: StreamTimes, now_us: int) -> pb.TurnDirective | None:
    """What a watch says beside entries, when it is due."""
    if times.closing_due():
        closing = pb.Closing(reason=times.closing_reason, grace=duration(int(times.grace_s * 1e6)))
        return pb.TurnDirective(time=timestamp(now_us), closing=closing)
    if times.heartbeat_due():
        return _heartbeat(now_us)
    return None
