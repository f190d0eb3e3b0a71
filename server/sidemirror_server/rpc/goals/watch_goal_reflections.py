"""WatchGoalReflections: each reflection as it is stored, read from the log alone, whichever sidecar made it."""

from collections.abc import AsyncGenerator

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror.v1 import thinking_pb2
from sidemirror_server.goals.publish import TOPIC
from sidemirror_server.goals.report import reflection_in
from sidemirror_server.goals.store import KEPT_FOR_US
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, token_for
from sidemirror_server.rpc.boundary.streams import Streams, StreamTimes
from sidemirror_server.rpc.goals.reflections import reflection_to_wire
from sidemirror_server.rpc.wire.common import duration
from sidemirror_server.trace.live import Bell
from sidemirror_server.trace.log import Entry, Journal
from sidemirror_server.trace.looks import Looks
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.telemetry import GAPS


class GoalWatchStreams:
    """The streaming call of GoalReflectionService."""

    keeps_times = True  # the boundary leaves the end of its streams to it

    def __init__(self, journal: Journal, bell: Bell, streams: Streams) -> None:
        self._journal = journal
        self._looks = Looks(journal, TOPIC)
        self._bell = bell
        self._streams = streams

    async def WatchGoalReflections(
        self, request: pb.WatchGoalReflectionsRequest, call: Call
    ) -> AsyncGenerator[pb.WatchGoalReflectionsResponse, None]:
        after = await self._begin(request, call.scope)
        follow = request.follow if request.HasField("follow") else True
        until = None if follow else await self._looks.end(call.scope)
        group = request.goal_id or None
        waiter = self._bell.waiter(call.scope, group)
        times = StreamTimes(self._streams, call.clock, waiter.wake, ends_idle=False, barred=call.barred)
        try:
            if request.new_only:
                yield _heartbeat(after, call.scope)
            if request.cursor and (past := await self._past_what_is_missing(call, after)) is not None:
                GAPS.add(1)
                after = past
                yield _gap(after, call.scope)
            page: tuple[Entry, ...] = ()
            while True:
                # After a page there may be more of it; else only where the bell rang, not for each heartbeat.
                page = await self._looks.page(call.scope, group, after) if waiter.clear() or page else ()
                for entry in page:
                    after = entry.position
                    if _is_told(entry, call):
                        reflection = reflection_to_wire(reflection_in(entry.body))
                        yield pb.WatchGoalReflectionsResponse(
                            cursor=token_for(after, call.scope, TOPIC), reflection=reflection
                        )
                        times.said()
                if times.closing_due():
                    closing = thinking_pb2.Closing(
                        reason=times.closing_reason, grace=duration(int(times.grace_s * 1e6))
                    )
                    yield pb.WatchGoalReflectionsResponse(cursor=token_for(after, call.scope, TOPIC), closing=closing)
                    raise times.end()
                if times.heartbeat_due():
                    yield _heartbeat(after, call.scope)
                    times.said()
                if until is not None and (not page or after >= until):
                    return
                if not page:
                    await waiter.wait()
        finally:
            times.close()
            waiter.close()

    async def _past_what_is_missing(self, call: Call, after: int) -> int | None:
        """Where the watch goes on when reflections after this position are not told any more, because they are too old
        or gone already; None when none is missing."""
        # In this order: what is forgotten between the two looks is in the first, or in the second.
        page = await self._looks.page(call.scope, None, after)
        gone: int = await self._looks.shared((call.scope, "gone"), lambda: self._journal.gone_up_to(call.scope, TOPIC))
        told = [entry.position for entry in page if _is_told(entry, call)]
        if after >= gone and len(told) == len(page):
            return None
        return told[0] - 1 if told else max(gone, *(entry.position for entry in page), after)

    async def _begin(self, request: pb.WatchGoalReflectionsRequest, scope: Scope) -> int:
        """The position after which the watch begins."""
        after = place_in(request.cursor, int, "cursor", scope, TOPIC)
        if request.new_only and after is not None:
            raise BadInput([("new_only", "not together with a cursor")])
        if request.new_only:
            return await self._looks.end(scope)
        return after or 0


def _is_told(entry: Entry, call: Call) -> bool:
    return entry.at_us + KEPT_FOR_US > call.clock.now_us()


def _heartbeat(after: int, scope: Scope) -> pb.WatchGoalReflectionsResponse:
    return pb.WatchGoalReflectionsResponse(cursor=token_for(after, scope, TOPIC), heartbeat=thinking_pb2.Heartbeat())


def _gap(after: int, scope: Scope) -> pb.WatchGoalReflectionsResponse:
    gap = thinking_pb2.Gap(
        reason="reflections that were stored after this cursor are no longer told, because they are old"
    )
    return pb.WatchGoalReflectionsResponse(cursor=token_for(after, scope, TOPIC), gap=gap)
