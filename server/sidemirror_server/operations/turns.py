"""`sidemirror turns`: lists turns, shows one, and says why a lesson was shown in it."""

import argparse
import sys
from functools import partial
from shlex import quote
from typing import Any

import grpc

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.elsewhere import elsewhere_told
from sidemirror_server.operations.folder import project_here, scope_with_some
from sidemirror_server.operations.shown import (
    clock_time,
    in_short,
    plain,
    print_json,
    print_lines,
    timestamp_of,
    words_of,
)
from sidemirror_server.operations.target import asked, scope_of
from sidemirror_server.operations.turn_entries import TIMEOUT_S, record_of
from sidemirror_server.operations.turn_ids import turn_named

# What counts as failed for `--failed`.
_FAILED = ("failure", "timeout", "error")
# The most turns of one page.
_PAGE = 1_000
# The most turns that one command looks through for a verdict. Chosen here: some seconds.
_MOST_LOOKED_AT = 100_000


def turns(options: argparse.Namespace) -> int:
    """Runs the subcommand `options.verb`; returns the exit code."""
    verbs = {"list": _list, "show": _show, "why": _why}
    return asked(options.address, lambda channel: verbs[options.verb](channel, options))


def _list(channel: grpc.Channel, options: argparse.Namespace) -> int:
    outcomes = [*options.outcome, *(_FAILED if options.failed else ())]
    request = pb.ListTurnsRequest(
        session_id=options.session,
        state=f"TURN_STATE_{options.state.upper()}" if options.state else None,
        outcomes=[f"TASK_OUTCOME_{name.upper()}" for name in dict.fromkeys(outcomes)],
        from_time=timestamp_of(options.since),
        until_time=timestamp_of(options.until),
        page_token=options.page_token,
        **scope_of(options),
    )
    found, looked_at = _found(ThinkingServiceStub(channel), request, options.limit, options.judged)
    if options.json:
        print_json(pb.ListTurnsResponse(turns=found, next_page_token=request.page_token))
        return 0
    is_cut_off = bool(request.page_token) and len(found) < options.limit
    if not found and not is_cut_off:
        print("No turn fits.")
        if elsewhere := scope_with_some(scope_of(options), partial(_has_some, channel)):
            print(f"The hooks of this folder have told of some, in the project {project_here()}:")
            print(f"  sidemirror turns list --scope {elsewhere}")
        else:
            print_lines(elsewhere_told(channel, scope_of(options)), cut=False)
        return 0
    print_lines(map(_line, found))
    if is_cut_off:
        print(f"{looked_at:,} turns were looked through, and there are older ones.", file=sys.stderr)
        print(f"The same command with {_looking_on(request)} looks on.", file=sys.stderr)
    elif request.page_token:
        are = "may be" if options.judged else "are"
        print(f"There {are} more: {options.limit:,} are shown, the newest first. -n shows more.", file=sys.stderr)
    return 0


def _looking_on(request: pb.ListTurnsRequest) -> str:
    """The options that go on where a list ended. A token is of one query: the times are those that were asked for."""
    times = (("since", "from_time"), ("until", "until_time"))
    given = [f"--{name} {getattr(request, field).ToJsonString()}" for name, field in times if request.HasField(field)]
    return " ".join((*given, f"--page-token {quote(plain(request.page_token))}"))


def _found(
    stub: ThinkingServiceStub, request: pb.ListTurnsRequest, limit: int, verdict: str | None
) -> tuple[list[pb.Turn], int]:
    """The newest turns that fit, at most `limit`, and how many were looked through. The list goes on at the
    `page_token` that `request` has then; it is empty if nothing is left. Raises grpc.RpcError."""
    found: list[pb.Turn] = []
    looked_at = 0
    while len(found) < limit and looked_at < _MOST_LOOKED_AT:
        page, fitting = _page(stub, request, limit - len(found), verdict)
        found += fitting
        looked_at += len(page.turns)
        request.page_token = page.next_page_token
        if not page.next_page_token:
            break
    return found, looked_at


def _page(
    stub: ThinkingServiceStub, request: pb.ListTurnsRequest, room: int, verdict: str | None
) -> tuple[pb.ListTurnsResponse, list[pb.Turn]]:
    """A page and those of its turns that fit, at most `room`. If more do, it is read again up to the last of these, so
    that its token goes on behind it; but not for ever from what heeds no `page_size`."""
    request.page_size = _PAGE if verdict else min(_PAGE, room)
    while True:
        page = stub.ListTurns(request, timeout=TIMEOUT_S)
        fitting = [place for place, turn in enumerate(page.turns) if not verdict or _is_judged(turn, verdict)]
        size = fitting[room - 1] + 1 if len(fitting) > room else _PAGE
        if size >= request.page_size:
            return page, [page.turns[place] for place in fitting[:room]]
        request.page_size = size


def _is_judged(turn: pb.Turn, verdict: str) -> bool:
    """Whether a critique of the turn came to this verdict."""
    return turn.revise_count > 0 if verdict == "revise" else turn.judged_count > turn.revise_count


def _has_some(channel: grpc.Channel, scope: dict[str, Any]) -> bool:
    """Whether there are turns in this scope."""
    request = pb.ListTurnsRequest(page_size=1, **scope)
    return bool(ThinkingServiceStub(channel).ListTurns(request, timeout=TIMEOUT_S).turns)


def _line(turn: pb.Turn) -> str:
    """A turn on one line: its id comes early, so that a narrow terminal does not cut it."""
    calls = f"{turn.tool_error_count} of {turn.tool_call_count} calls failed" if turn.tool_call_count else "no calls"
    return "  ".join(
        (
            *(clock_time(turn.start_time), in_short(turn.turn_id), ended(turn), calls),
            f"shadow mode: {_given(turn)}" if turn.is_shadow else _given(turn),
            *(f"session {in_short(turn.session_id)}", in_short(turn.task)),
        )
    )


def _given(turn: pb.Turn) -> str:
    """What a turn was given: lessons and recoveries, told by the sidecar and recalled by its agent, then what else it
    was told."""
    told, recalled = turn.lesson_count, turn.recalled_count
    count = _some(told + recalled, "lesson")
    if recalled:
        count += ", recalled" if not told else f", {recalled} of them recalled"
    judged = max(turn.judged_count, turn.critique_count)
    others = (("nudge", turn.nudge_count), ("reflection", turn.reflection_count), ("critique", judged))
    revise = (f"{turn.revise_count} revise",) if turn.revise_count else ()
    return ", ".join((count, *(_some(number, noun) for noun, number in others if number), *revise))


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def ended(turn: pb.Turn) -> str:
    """A turn's state and its outcome, if it has one."""
    state = words_of(pb.TurnState, turn.state)
    return f"{state}, {words_of(common_pb2.TaskOutcome, turn.outcome)}" if turn.outcome else state


def _show(channel: grpc.Channel, options: argparse.Namespace) -> int:
    scope = scope_of(options)
    turn_id = turn_named(channel, options.turn_id, scope)
    if turn_id is None:
        return exit_codes.FAILED
    record = record_of(channel, turn_id, scope)
    turn, entries = record.turn, record.entries
    if options.json:
        print_json(record)
        return 0
    from sidemirror.v1 import reflective_memory_pb2 as memory_pb
    from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
    from sidemirror_server.operations.shown_texts import ShownTexts
    from sidemirror_server.operations.turns_why import told_in
    from sidemirror_server.operations.watch_lines import Timeline, what_of

    request = memory_pb.ListReceiptsRequest(turn_id=turn.turn_id, page_size=_PAGE, **scope)
    stub = ReflectiveMemoryServiceStub(channel)
    texts = ShownTexts(stub, scope)
    receipts = stub.ListReceipts(request, timeout=TIMEOUT_S).receipts
    timeline = Timeline(turn)
    silent = {one.directive.silence.recovery_id for one in entries}
    judged = {one.critique.critique_id: one for one in record.critiques}
    timed = [(what_of(entry).time, timeline.line(entry, _taken(judged, entry))) for entry in entries]
    timed += [(one.time, timeline.asked_critique(turn, one)) for one in judged.values()]
    for receipt in receipts:
        told = told_in(entries, receipt.receipt_id)
        # What was kept in shadow mode has a line of its own.
        if told is None or not told.is_shadow:
            timed += [(receipt.time, line) for line in timeline.held_back(receipt, silent)]
        if told is None:
            timed += [(receipt.time, line) for line in timeline.recalled(receipt, texts.of)]
    timed.sort(key=lambda one: (one[0].seconds, one[0].nanos))
    print_lines((_line(turn),))
    print_lines(line for _, line in timed)
    return 0


def _taken(judged: dict[str, pb.TurnCritique], entry: pb.TurnEntry) -> pb.TurnCritique | None:
    """Takes the stored critique that an entry is; None if it is none, or if it is not stored."""
    return judged.pop(entry.directive.critique.critique_id, None)


def _why(channel: grpc.Channel, options: argparse.Namespace) -> int:
    from sidemirror_server.operations.turns_why import why

    return why(channel, options, scope_of(options))
