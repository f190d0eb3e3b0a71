"""Which goals a turn was reported for. Used by `turn_silences.py`."""

from collections.abc import Iterator
from typing import Any

import grpc

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror_server.operations.shown import clock_time, in_short
from sidemirror_server.operations.turn_entries import TIMEOUT_S
from sidemirror_server.rpc.wire.common import name_of

# Of the newest reports so many pages are looked through.
_PAGE, _MOST_PAGES = 1_000, 5
_ID_CHARS = 256


def goals_of(channel: grpc.Channel, turn_id: str, scope: dict[str, Any]) -> Iterator[str]:
    """A line for each report that names the turn, the newest first; one where the store of goals does not answer."""
    stub = GoalReflectionServiceStub(channel)
    request = pb.ListGoalReportsRequest(page_size=_PAGE, **scope)
    for _ in range(_MOST_PAGES):
        try:
            page = stub.ListGoalReports(request, timeout=TIMEOUT_S)
        except grpc.RpcError as error:
            # Goals may be in a store of their own; the turn is told without it.
            yield f"  for which goals it was reported is not known: {error.code().name}"
            return
        yield from (_told(report) for report in page.reports if report.turn_id == turn_id)
        request.page_token = page.next_page_token
        if not page.next_page_token:
            return


def _told(report: pb.GoalReport) -> str:
    ended, stands = name_of(pb.GoalState, report.state), name_of(pb.GoalReportState, report.report_state)
    insight = report.reflection.insight
    lesson = f"; its lesson: {in_short(insight)}" if insight else ""
    goal = in_short(report.goal_id, _ID_CHARS)
    return f"{clock_time(report.create_time)}  reported for goal {goal}: {ended}, report {stands}{lesson}"
