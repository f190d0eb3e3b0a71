"""`sidemirror goals`: what finished goals have taught a running sidecar, and the reports it could make nothing of."""

import json
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import grpc

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror.v1 import goal_reflection_pb2_grpc as pb_grpc
from sidemirror_server.operations.shown import name_of, plain, with_defaults
from sidemirror_server.operations.target import EXIT_FAILED, address_of, failed, open_channel

_TIMEOUT_S = 5.0
_PAGE = 200


class Place(NamedTuple):
    """A sidecar, and whose data to ask it about; empty is its own."""

    address: str
    tenant_id: str = ""
    project_id: str = ""

    @property
    def scope(self) -> dict[str, str]:
        """As fields of a request."""
        return {"tenant_id": self.tenant_id, "project_id": self.project_id}


def list_reports(place: Place, *, only_dead: bool, limit: int, as_json: bool) -> int:
    """Prints reports, the newest first, at most `limit`; returns the exit code."""

    def ask(stub: pb_grpc.GoalReflectionServiceStub) -> int:
        state = pb.GOAL_REPORT_STATE_DEAD if only_dead else pb.GOAL_REPORT_STATE_UNSPECIFIED
        reports = [report for _, report in zip(range(limit), _reports(stub, place, state), strict=False)]
        if as_json:
            print(json.dumps([with_defaults(report) for report in reports], indent=2))
        else:
            _show_reports(reports, "No report is dead." if only_dead else "No goal was reported in the last 7 days.")
        return 0

    return _asking(place, ask)


def show(place: Place, goal_id: str, *, as_json: bool) -> int:
    """Prints a goal's reflections, or of the recent goals when it is empty; returns the exit code."""

    def ask(stub: pb_grpc.GoalReflectionServiceStub) -> int:
        if goal_id:
            one = pb.GetGoalReflectionsRequest(goal_id=goal_id, **place.scope)
            found = list(stub.GetGoalReflections(one, timeout=_TIMEOUT_S).reflections)
        else:
            recent = stub.ListRecentGoals(pb.ListRecentGoalsRequest(**place.scope), timeout=_TIMEOUT_S)
            found = [reflection for goal in recent.goals for reflection in goal.reflections]
        if as_json:
            print(json.dumps([with_defaults(reflection) for reflection in found], indent=2))
        else:
            _show_reflections(found)
        return 0

    return _asking(place, ask)


def retry(place: Place, report_ids: list[str], *, every: bool) -> int:
    """Queues dead reports again: these, or every one. Returns 0 when all of them were."""

    def ask(stub: pb_grpc.GoalReflectionServiceStub) -> int:
        # All of them first: pages would move under our feet.
        dead = [report.report_id for report in _reports(stub, place, pb.GOAL_REPORT_STATE_DEAD)] if every else []
        refused = 0
        for report_id in (*report_ids, *dead):
            request = pb.RetryGoalReportRequest(report_id=report_id, **place.scope)
            try:
                stub.RetryGoalReport(request, timeout=_TIMEOUT_S)
            except grpc.RpcError as error:
                if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                    raise
                refused += 1
                print(f"sidemirror: {report_id}: {error.code().name}: {error.details()}", file=sys.stderr)
            else:
                print(f"{report_id} is queued again")
        if every and not dead:
            print("no report is dead")
        return EXIT_FAILED if refused else 0

    return _asking(place, ask)


def _asking(place: Place, ask: "Callable[[pb_grpc.GoalReflectionServiceStub], int]") -> int:
    address = address_of(place.address)
    with open_channel(address) as channel:
        try:
            return ask(pb_grpc.GoalReflectionServiceStub(channel))
        except grpc.RpcError as error:
            return failed(address, error)


def _reports(
    stub: "pb_grpc.GoalReflectionServiceStub", place: Place, state: pb.GoalReportState
) -> Iterator[pb.GoalReport]:
    token = ""
    while True:
        request = pb.ListGoalReportsRequest(report_state=state, page_size=_PAGE, page_token=token, **place.scope)
        page = stub.ListGoalReports(request, timeout=_TIMEOUT_S)
        yield from page.reports
        token = page.next_page_token
        if not token:
            return


def _show_reports(reports: list[pb.GoalReport], none: str) -> None:
    """Two lines for each; whole, however narrow the terminal is, because `retry` and `show` take what stands there."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if not reports:
        console.print(none)
    for report in reports:
        made = f"{report.create_time.ToDatetime():%Y-%m-%d %H:%M:%S}"
        stands = name_of(pb.GoalReportState, report.report_state)
        ended = name_of(pb.GoalState, report.state)
        console.print(Text(f"{made} {report.report_id} {stands}", "bold"), soft_wrap=True)
        tries = f"{report.attempts} {'try' if report.attempts == 1 else 'tries'}"
        last = f", last error: {plain(report.last_error)}" if report.last_error else ""
        console.print(Text(f"  {report.goal_id} {ended}, {tries}{last}"), soft_wrap=True)


def _show_reflections(reflections: list[pb.GoalReflection]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if not reflections:
        console.print("Nothing is known that is younger than 7 days.")
    for reflection in reflections:
        made = f"{reflection.create_time.ToDatetime():%Y-%m-%d %H:%M:%S}"
        ended = name_of(pb.GoalState, reflection.goal_state)
        console.print(Text(f"{made} {reflection.goal_id} {ended}, importance {reflection.importance:.1f}", "bold"))
        console.print(Text(f"  {plain(reflection.objective)}\n  {plain(reflection.insight)}"))
