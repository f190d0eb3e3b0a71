"""WatchGoalReflections: each reflection as it is stored, whichever sidecar made it."""

from collections.abc import AsyncGenerator
from typing import Any

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.goals.publish import TOPIC
from sidemirror_server.goals.report import reflection_in
from sidemirror_server.goals.store import KEPT_FOR_US
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.watches import Watches
from sidemirror_server.rpc.goals.reflections import reflection_to_wire
from sidemirror_server.trace.log import Entry, Journal


def watch_goal_reflections(
    watches: Watches, journal: Journal, request: pb.WatchGoalReflectionsRequest, call: Call
) -> AsyncGenerator[pb.WatchGoalReflectionsResponse, None]:
    def told(entry: Entry, cursor: str) -> pb.WatchGoalReflectionsResponse | None:
        return notice(cursor, reflection=reflection_to_wire(reflection_in(entry.body))) if is_told(entry) else None

    def notice(cursor: str, **what: Any) -> pb.WatchGoalReflectionsResponse:
        return pb.WatchGoalReflectionsResponse(cursor=cursor, **what)

    def is_told(entry: Entry) -> bool:
        return entry.at_us + KEPT_FOR_US > call.clock.now_us()

    async def past_gap(after: int) -> int | None:
        # The page is read first: an entry pruned between the two reads is either in the page or counted in `gone`.
        page = await watches.looks.page(call.scope, None, after)
        gone: int = await watches.looks.shared((call.scope, "gone"), lambda: journal.gone_up_to(call.scope, TOPIC))
        kept = [entry.position for entry in page if is_told(entry)]
        if after >= gone and len(kept) == len(page):
            return None
        return kept[0] - 1 if kept else max(gone, *(entry.position for entry in page), after)

    reason = "reflections that were stored after this cursor are no longer told, because they are old"
    return watches.follow(
        *(request, call, request.goal_id, call.scope, TOPIC),
        entry_to_wire=told,
        notice_to_wire=notice,
        past_gap=past_gap,
        gap_reason=reason,
    )
