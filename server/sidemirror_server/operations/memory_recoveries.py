"""`sidemirror memory recoveries`: shows what followed recognised failures, and which of it is told."""

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

import grpc
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import sidecar_pb2
from sidemirror.v1 import thinking_pb2 as thinking_pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.memory.recoveries.moves import MOST_A_DAY
from sidemirror_server.operations.advice_history import about, advice_changes
from sidemirror_server.operations.folder import project_here, scope_with_some
from sidemirror_server.operations.memory_tables import show_history
from sidemirror_server.operations.shown import plain, print_json, words_of
from sidemirror_server.vocabulary.clock import SystemClock

_TIMEOUT_S = 30.0
# As long a failure that nothing has followed waits for the session's next turn (`turns/recovery_learning.py`).
_WAITS_US = 3_600 * 1_000_000
_NOT_COUNTED = (
    "Nothing is counted of this failure. One that nothing has followed yet is counted with the session's next turn,\n"
    "or an hour after its own. `sidemirror turns list` says which turns had failed calls, `turns why ID` which ones."
)
_TRIES = (
    "A try is one time that this was done after such a failure. After some nothing was tried again, and of one\n"
    f"session or token the first {MOST_A_DAY} a day count: tries may be fewer than failures."
)
# Turns that are looked through for failures: a page.
_MOST_TURNS = 1_000
# How the sessions of turns begin that are made of spans (`telemetry_in/turn_events.py`).
_OF_SPANS = "otlp:"


def recoveries(
    stub: ReflectiveMemoryServiceStub, options: argparse.Namespace, scope: dict[str, Any], channel: grpc.Channel
) -> int:
    """Shows all signatures with what is told, or one signature with all its moves. Where no project was named and there
    is none, it says whether the hooks of this folder have told of some, and of which project these are."""
    found = _found(stub, options.signature, scope)
    if options.json:
        print_json(found)
    elif not found.signatures and (elsewhere := scope_with_some(scope, partial(_has_some, stub, options.signature))):
        print("No failure is counted in the project that was asked.")
        print(f"The hooks of this folder have told of some, in the project {project_here()}:")
        print(f"  sidemirror memory recoveries --scope {elsewhere}")
    elif options.signature:
        _show_moves(found.signatures)
        _show_changes(found.signatures, channel, scope)
    else:
        _show_signatures(found.signatures)
        if waiting := _waiting(channel, scope):
            print(waiting)
    return 0


def _found(stub: ReflectiveMemoryServiceStub, signature: str, scope: dict[str, Any]) -> pb.ListRecoveriesResponse:
    found = pb.ListRecoveriesResponse()
    token = ""
    while True:
        request = pb.ListRecoveriesRequest(signature=signature, page_token=token, **scope)
        page = stub.ListRecoveries(request, timeout=_TIMEOUT_S)
        found.signatures.extend(page.signatures)
        token = page.next_page_token
        if not token:
            return found


def _has_some(stub: ReflectiveMemoryServiceStub, signature: str, scope: dict[str, Any]) -> bool:
    """Whether failures were observed in this scope."""
    request = pb.ListRecoveriesRequest(signature=signature, page_size=1, **scope)
    return bool(stub.ListRecoveries(request, timeout=_TIMEOUT_S).signatures)


def _waiting(channel: grpc.Channel, scope: dict[str, Any]) -> str:
    """That calls failed of late, and when they are counted; empty if none did."""
    request = thinking_pb.ListTurnsRequest(page_size=_MOST_TURNS, **scope)
    request.from_time.FromMicroseconds(SystemClock().now_us() - _WAITS_US)
    turns = ThinkingServiceStub(channel).ListTurns(request, timeout=_TIMEOUT_S).turns
    failed = [turn for turn in turns if turn.tool_error_count]
    if not failed:
        return ""
    count = sum(turn.tool_error_count for turn in failed)
    calls = "1 call" if count == 1 else f"{count:,} calls"
    told = (
        f"{calls} failed in turns of the last hour. A failure is counted when its turn has ended;\n"
        "one that nothing has followed yet, when the session's next turn has, or after an hour."
    )
    if any(turn.session_id.startswith(_OF_SPANS) for turn in failed):
        told += "\nIn turns of spans, only where SIDEMIRROR_TELEMETRY__CONTENT lets the sidecar keep their texts."
    return told


def _show_signatures(found: Sequence[pb.SignatureRecoveries]) -> None:
    console = Console(highlight=False)
    table = Table(title="Failures, and what is told when one comes again", title_justify="left")
    kept = {one.signature: _shadow(_kept_most(one.moves)) for one in found}
    headings = ("failure", "times it\nfailed", "told", *(("in shadow mode",) if any(kept.values()) else ()))
    for heading in headings:
        table.add_column(heading, justify="right" if heading == headings[1] else "left", overflow="fold")
    for one in found:
        told = next((move.sentence for move in one.moves if move.is_told), "")
        why_not = next((f"no: {move.reason}" for move in one.moves if move.reason), "")
        row = (one.signature, str(one.observation_count), told or why_not, kept[one.signature])
        table.add_row(*(escape(plain(cell)) for cell in row[: len(headings)]))
    console.print(table if table.row_count else "No failure is counted.")


def _kept_most(moves: Sequence[pb.RecoveryMove]) -> pb.ShadowTally:
    """What became of the move that shadow mode kept most often."""
    return max((move.shadow for move in moves), key=lambda kept: kept.said_count, default=pb.ShadowTally())


def _show_moves(found: Sequence[pb.SignatureRecoveries]) -> None:
    console = Console(highlight=False)
    moves = [move for one in found for move in one.moves]
    for one in found:
        if one.observation_count:
            times = "once" if one.observation_count == 1 else f"{one.observation_count:,} times"
            console.print(f"It failed {times}. What was done after that:")
    console.print(_TRIES if moves else _NOT_COUNTED)
    for move in moves:
        steps = ", ".join(move.steps) + (f" as {move.form}" if move.form else "")
        done = ": ".join(filter(None, (words_of(pb.RecoveryMoveKind, move.kind), steps)))
        rows = {
            "move": escape(plain(done)),
            "worked, without advice": _rate(move.worked, move.tries),
            "worked, after advice": _rate(move.advised_worked, move.advised_tries),
            **_arms(move),
            "lift": _lift(move),
            "in shadow mode": _shadow(move.shadow),
            "told": escape(plain(f"{move.sentence} ({move.reason})" if move.sentence else f"no: {move.reason}")),
            "id for 'advice off'": move.recovery_id,
        }
        table = Table(show_header=False)
        table.add_column(style="bold")
        table.add_column(ratio=1, overflow="fold")
        for name, value in rows.items():
            if value:
                table.add_row(name, value)
        console.print(table)


def _show_changes(found: Sequence[pb.SignatureRecoveries], channel: grpc.Channel, scope: dict[str, Any]) -> None:
    """Prints when what is told of these moves was changed, and by whom, if it ever was."""
    changes = advice_changes(channel, scope)
    lines = [
        line
        for move_id in {move.recovery_id for one in found for move in one.moves}
        for line in about(changes, move_id, sidecar_pb2.ADVICE_KIND_RECOVERIES, name=move_id)
    ]
    show_history(sorted(set(lines)))


def _arms(move: pb.RecoveryMove) -> dict[str, str]:
    """How the next attempt went where the move was told after a draw, held back by one, and kept in shadow mode."""
    kept, held = move.kept_in_shadow, pb.LessonArm()
    for name in ("assigned_count", "success_count", "failure_count", "missing_count"):
        setattr(held, name, getattr(move.held_back, name) - getattr(kept, name))
    arms = {"told, after a draw": move.shown, "held back by a draw": held, "kept in shadow mode": kept}
    return {f"next try, {name}": _arm(arm) for name, arm in arms.items() if arm.assigned_count}


def _arm(arm: pb.LessonArm) -> str:
    missing = f", {arm.missing_count} not known" if arm.missing_count else ""
    return f"worked in {arm.success_count} of {arm.success_count + arm.failure_count}{missing}"


def _rate(worked: int, tries: int) -> str:
    return f"{worked} of {tries} {'try' if tries == 1 else 'tries'}" if tries else ""


def _lift(move: pb.RecoveryMove) -> str:
    """How much more often the next attempt works with the advice, with its interval."""
    if not move.HasField("lift"):
        return ""
    return f"{move.lift:+.2f} ({move.interval.low:+.2f} to {move.interval.high:+.2f})"


def _shadow(kept: pb.ShadowTally) -> str:
    """What would have been told, and what happened then."""
    if not kept.said_count:
        return ""
    others = kept.said_count - kept.followed_count
    held = f"held in {kept.followed_worked_count} of {kept.followed_count} that did so by themselves"
    return (
        f"{kept.said_count} times, {kept.token_count} tokens; {held}, "
        f"{kept.otherwise_worked_count} of {others} others worked"
    )
