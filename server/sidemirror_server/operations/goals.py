"""`sidemirror goals`: lists the lessons of finished goals in a running sidecar, and the reports that failed."""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import grpc

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror.v1 import goal_reflection_pb2_grpc as pb_grpc
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.shown import clock_time, plain, print_lines, with_defaults, words_of
from sidemirror_server.operations.target import asked, reason_of, scope_of
from sidemirror_server.rpc.wire.common import name_of

_TIMEOUT_S = 5.0
_PAGE = 200
# The most showings of a reflection that are listed.
_MOST_SHOWINGS = 20


def goals(options: argparse.Namespace) -> int:
    """Runs the subcommand `options.verb`; returns the exit code."""
    verbs = {"list": _list, "dead": _list, "retry": _retry}

    def run(channel: grpc.Channel) -> int:
        stub = pb_grpc.GoalReflectionServiceStub(channel)
        return _show(stub, options, channel) if options.verb == "show" else verbs[options.verb](stub, options)

    return asked(options.address, run)


def _list(stub: pb_grpc.GoalReflectionServiceStub, options: argparse.Namespace) -> int:
    only_dead = options.verb == "dead"
    state = pb.GOAL_REPORT_STATE_DEAD if only_dead else pb.GOAL_REPORT_STATE_UNSPECIFIED
    reports = list(islice(_reports(stub, options, state), options.limit))
    if options.json:
        print(json.dumps([with_defaults(report) for report in reports], indent=2))
    else:
        _show_reports(reports, "No report is dead." if only_dead else "No goal was reported in the last 7 days.")
    return 0


def _show(stub: pb_grpc.GoalReflectionServiceStub, options: argparse.Namespace, channel: grpc.Channel) -> int:
    """Shows a goal's reflections with where they were shown, and its reports; or the reflections of recent goals if no
    goal is named."""
    if options.goal_id:
        one = pb.GetGoalReflectionsRequest(goal_id=options.goal_id, **scope_of(options))
        found = list(stub.GetGoalReflections(one, timeout=_TIMEOUT_S).reflections)
    else:
        recent = stub.ListRecentGoals(pb.ListRecentGoalsRequest(**scope_of(options)), timeout=_TIMEOUT_S)
        found = [reflection for goal in recent.goals for reflection in goal.reflections]
    memories = ReflectiveMemoryServiceStub(channel)
    if options.json:
        told = [with_defaults(reflection) for reflection in found]
        if options.goal_id:
            of_it = list(_reports(stub, options, goal_id=options.goal_id))
            told = [{**one, **_beside(memories, of_it, one["id"], options)} for one in told]
        print(json.dumps(told, indent=2))
        return 0
    if not options.goal_id:
        _show_reflections(found)
        return 0
    for same in _alike(found):
        _show_reflections(same[:1])
        if len(same) > 1:
            print(f"  learned {len(same)} times, first at {clock_time(same[-1].create_time)}")
        print_lines(_showings(memories, same, options), cut=False)
    if not found:
        _show_reflections([])
    reports = _reports(stub, options, goal_id=options.goal_id)
    _show_reports(list(islice(reports, _PAGE)), "No report of it is kept.")
    return 0


def _beside(
    stub: ReflectiveMemoryServiceStub, reports: Iterable[pb.GoalReport], reflection_id: str, options: argparse.Namespace
) -> dict[str, list[dict[str, Any]]]:
    """The reports that a reflection was made of, and the receipts of where it was shown or held back, as JSON."""
    made_it = [report for report in reports if reflection_id and report.reflection.id == reflection_id]
    receipts = _receipts(stub, reflection_id, _PAGE, options) if reflection_id else ()
    return {"reports": list(map(with_defaults, made_it)), "receipts": list(map(with_defaults, receipts))}


def _receipts(
    stub: ReflectiveMemoryServiceStub, reflection_id: str, most: int, options: argparse.Namespace
) -> Iterable[memory_pb.Receipt]:
    """The newest receipts of a reflection, at most so many."""
    request = memory_pb.ListReceiptsRequest(lesson_id=reflection_id, page_size=most, **scope_of(options))
    try:
        return stub.ListReceipts(request, timeout=_TIMEOUT_S).receipts
    except grpc.RpcError as error:
        if reason_of(error) != "DISABLED":  # reflective memory is turned off
            raise
        return ()


def _alike(found: Sequence[pb.GoalReflection]) -> Iterable[list[pb.GoalReflection]]:
    """The reflections, those together that say the same: each run of a goal makes its own."""
    by_words = dict[tuple[str, str, int], list[pb.GoalReflection]]()
    for one in found:
        by_words.setdefault((one.objective, one.insight, one.goal_state), []).append(one)
    return by_words.values()


def _showings(
    stub: ReflectiveMemoryServiceStub, same: Sequence[pb.GoalReflection], options: argparse.Namespace
) -> Iterator[str]:
    """Where reflections that say the same were shown or held back, the newest first."""
    ids = {one.id for one in same if one.id}  # those without were written by another program
    receipts = dict[str, memory_pb.Receipt]()
    for lesson_id in ids:
        receipts |= {one.receipt_id: one for one in _receipts(stub, lesson_id, _MOST_SHOWINGS + 1, options)}
    newest = sorted(receipts.values(), key=lambda one: one.time.ToNanoseconds(), reverse=True)
    for receipt in newest[:_MOST_SHOWINGS]:
        is_held = all(item.is_held_back for item in receipt.items if item.id in ids)
        where = f"turn {plain(receipt.turn_id)}" if receipt.turn_id else words_of(memory_pb.ReceiptPlace, receipt.place)
        yield f"  {clock_time(receipt.time)}  {'held back' if is_held else 'shown'} in {where}"
    if len(newest) > _MOST_SHOWINGS:
        yield f"  There are more: the newest {_MOST_SHOWINGS} are shown."
    if ids and not newest:
        yield "  It was shown in no block that is on record."


def _retry(stub: pb_grpc.GoalReflectionServiceStub, options: argparse.Namespace) -> int:
    """Queues dead reports again: the named ones, or all. Returns 0 if every one was queued."""
    # All pages are read first, because a retry changes the pages.
    every = _reports(stub, options, pb.GOAL_REPORT_STATE_DEAD) if options.all else ()
    dead = [report.report_id for report in every]
    refused = 0
    for report_id in (*options.report_ids, *dead):
        request = pb.RetryGoalReportRequest(report_id=report_id, **scope_of(options))
        try:
            stub.RetryGoalReport(request, timeout=_TIMEOUT_S)
        except grpc.RpcError as error:
            if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                raise
            refused += 1
            print(
                f"sidemirror: {plain(report_id)}: {error.code().name}: {plain(error.details() or '')}", file=sys.stderr
            )
        else:
            print(f"{plain(report_id)} is queued again")
    if options.all and not dead:
        print("no report is dead")
    return exit_codes.FAILED if refused else 0


def _reports(
    stub: pb_grpc.GoalReflectionServiceStub,
    options: argparse.Namespace,
    state: pb.GoalReportState = pb.GOAL_REPORT_STATE_UNSPECIFIED,
    goal_id: str = "",
) -> Iterator[pb.GoalReport]:
    token = ""
    while True:
        request = pb.ListGoalReportsRequest(
            report_state=state, goal_id=goal_id, page_size=_PAGE, page_token=token, **scope_of(options)
        )
        page = stub.ListGoalReports(request, timeout=_TIMEOUT_S)
        yield from page.reports
        token = page.next_page_token
        if not token:
            return


def _show_reports(reports: list[pb.GoalReport], none: str) -> None:
    """Prints two lines for each report. Ids are never cut, because users copy them for `retry` and `show`."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if not reports:
        console.print(none)
    for report in reports:
        made = f"{report.create_time.ToDatetime():%Y-%m-%d %H:%M:%S}"
        stands = name_of(pb.GoalReportState, report.report_state)
        ended = name_of(pb.GoalState, report.state)
        console.print(Text(f"{made} {plain(report.report_id)} {stands}", "bold"), soft_wrap=True)
        tries = f"{report.attempts} {'try' if report.attempts == 1 else 'tries'}"
        last = f", last error: {plain(report.last_error)}" if report.last_error else ""
        turn = f", reported for turn {plain(report.turn_id)}" if report.turn_id else ""
        console.print(Text(f"  {plain(report.goal_id)} {ended}, {tries}{turn}{last}"), soft_wrap=True)


def _show_reflections(reflections: list[pb.GoalReflection]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if not reflections:
        console.print("Nothing is known that is younger than 7 days.")
    for reflection in reflections:
        made = f"{reflection.create_time.ToDatetime():%Y-%m-%d %H:%M:%S}"
        ended = name_of(pb.GoalState, reflection.goal_state)
        console.print(
            Text(f"{made} {plain(reflection.goal_id)} {ended}, importance {reflection.importance:.1f}", "bold")
        )
        console.print(Text(f"  {plain(reflection.objective)}\n  {plain(reflection.insight)}"))
