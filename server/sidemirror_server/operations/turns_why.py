"""`sidemirror turns why`: why an agent was shown a lesson, or nothing, from what is on record and from what is found
today."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import grpc
import msgspec

from sidemirror.v1 import common_pb2, thinking_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.kin.signature import error_signature
from sidemirror_server.memory.recoveries.moves import WINDOW
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.lesson_figures import in_one_line
from sidemirror_server.operations.lesson_sources import some_of, sources_of
from sidemirror_server.operations.not_shown import not_shown
from sidemirror_server.operations.parsers.arguments import Moment
from sidemirror_server.operations.shown import clock_time, in_short, print_json, print_lines, words_of
from sidemirror_server.operations.shown_texts import FirstWords, ShownTexts
from sidemirror_server.operations.silences import why_no_lesson
from sidemirror_server.operations.turn_entries import TIMEOUT_S, record_of
from sidemirror_server.operations.turn_ids import lesson_named, turn_named
from sidemirror_server.operations.turn_silences import about_turn
from sidemirror_server.operations.turned_off import TurnedOff
from sidemirror_server.operations.watch_lines import ANSWERS, fit_told
from sidemirror_server.rpc.wire.common import name_of
from sidemirror_server.trace.receipts import GOAL_ITEM, RECOVERY_ITEM
from sidemirror_server.vocabulary.clock import SystemClock

# The most characters of a text in the answer.
_TEXT_CHARS, _ID_CHARS = 1_000, 256
# Among how many memories a lesson is looked for that was found by the words of a task; in how many pages of failures a
# recovery that was held back.
_MOST_HITS, _MOST_PAGES = 100, 20
# How many of the newest receipts are read for one that shows something.
_MOST_NEWEST = 50
_KEPT, _DRAWN = "kept: shadow mode tells nothing", "held back by a draw, to see what happens without it"
_TOO_LATE = (
    "That its agent was told is not on record: the turn ended first, as one that is delivered after an outage does, or "
    "the sidecar was killed right after it."
)
_HELD_BACK = {pb.HELD_BACK_REASON_DRAW: _DRAWN, pb.HELD_BACK_REASON_SHADOW: _KEPT}
# Where a directive has a block: its kind, and the field.
_BLOCKS = ("turn_plan", "context"), ("advice", "block"), ("reflection", "lessons")


class ToldBlock(msgspec.Struct, frozen=True):
    """What a turn's record has of a block. `causes`: what happened before it, as text. `signatures`: of the failures
    that it is about. `is_shadow`: it was kept and not told."""

    block: common_pb2.ContextBlock
    task: str = ""
    causes: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    is_shadow: bool = False
    # It is the answer to a call of the agent's: the record has no texts of it.
    is_answer: bool = False


def why(channel: grpc.Channel, options: argparse.Namespace, scope: dict[str, Any]) -> int:
    """Prints why the receipts that `options` name were shown, and of a turn where nothing was told; returns the exit
    code. Raises grpc.RpcError."""
    stub = ReflectiveMemoryServiceStub(channel)
    record: thinking_pb2.GetTurnResponse | None = None
    if options.turn_id:
        turn_id = turn_named(channel, options.turn_id, scope)
        if turn_id is None:
            return exit_codes.FAILED
        record = record_of(channel, turn_id, scope)
    lesson_id = lesson_named(stub, options.lesson, record, scope) if options.lesson else ""
    if lesson_id is None:
        return exit_codes.FAILED
    found = _receipts(stub, record.turn.turn_id if record else "", lesson_id, options.at, scope)
    if options.json:
        _print_json(found, None if lesson_id else record)
        return 0 if found or (record is not None and not lesson_id) else exit_codes.FAILED
    _tell(channel, found, record, lesson_id, scope)
    if record is not None and not lesson_id:
        print_lines(about_turn(channel, record, scope), cut=False)
        return 0
    if record is not None and not found:
        print("sidemirror: the turn was not shown this lesson", file=sys.stderr)
        print_lines(not_shown(channel, record, lesson_id, scope), cut=False)
        return exit_codes.FAILED
    return 0 if found else _nothing(stub, options, scope)


def _print_json(receipts: Sequence[pb.Receipt], record: thinking_pb2.GetTurnResponse | None) -> None:
    """Prints the receipts; of a turn also its facts, its plan, and the entries that say why nothing was told."""
    whole = record or thinking_pb2.GetTurnResponse()
    plans = [one.directive.turn_plan for one in whole.entries if one.directive.HasField("turn_plan")]
    print_json(
        pb.ListReceiptsResponse(receipts=receipts),
        turn=whole.turn if record is not None else None,
        turn_plan=plans[0] if plans else None,
        silences=[one for one in whole.entries if one.directive.HasField("silence")] if record is not None else None,
    )


def _tell(
    channel: grpc.Channel,
    receipts: Sequence[pb.Receipt],
    record: thinking_pb2.GetTurnResponse | None,
    only: str,
    scope: dict[str, Any],
) -> None:
    """Prints why these were shown. `record`: of the turn that is asked about; `only`: of the lesson."""
    records = {} if record is None else {record.turn.turn_id: record}
    first_words, turned_off = FirstWords(channel, scope), TurnedOff(channel, scope)
    for receipt in receipts:
        if receipt.turn_state and receipt.turn_id not in records:
            records[receipt.turn_id] = record_of(channel, receipt.turn_id, scope)
        told = _told(records.get(receipt.turn_id), receipt)
        of = records.get(receipt.turn_id)
        held = _why_held(told, None if of is None else of.turn)
        stub = ReflectiveMemoryServiceStub(channel)
        print_lines(_explained(stub, receipt, told, held, only, scope, first_words, turned_off), cut=False)


def _told(record: thinking_pb2.GetTurnResponse | None, receipt: pb.Receipt) -> ToldBlock | None:
    if record is None:
        return None
    told = told_in(record.entries, receipt.receipt_id)
    if told is None and receipt.place in ANSWERS:
        return ToldBlock(common_pb2.ContextBlock(), record.turn.task, is_answer=True)
    return told


def _why_held(told: ToldBlock | None, turn: thinking_pb2.Turn | None) -> str:
    """Why an item of a block was held back, where a server does not say it of the item. `told`, `turn`: what is on
    record of its block and of its turn."""
    if (told is not None and told.is_shadow) or (turn is not None and turn.is_shadow):
        return _KEPT
    # What an agent asks for is held back by the mode of the sidecar that answers, which may not be the turn's.
    if turn is None or (told is not None and told.is_answer):
        return "held back by a draw, or kept in shadow mode"
    return _DRAWN


def _receipts(
    stub: ReflectiveMemoryServiceStub, turn_id: str, lesson_id: str, at: Moment | None, scope: dict[str, Any]
) -> list[pb.Receipt]:
    """The receipts that are asked about, oldest first: those of a turn, of a moment, or the newest one."""
    # A turn's receipts are asked for alone, and then looked through for the lesson.
    request = pb.ListReceiptsRequest(turn_id=turn_id, lesson_id="" if turn_id else lesson_id, **scope)
    if at is not None:
        request.from_time.FromMicroseconds(at.at_us)
        request.until_time.FromMicroseconds(at.at_us + at.width_us)
    request.page_size = 1_000 if turn_id or at is not None else _MOST_NEWEST
    receipts = stub.ListReceipts(request, timeout=TIMEOUT_S).receipts
    named = [one for one in receipts if not lesson_id or lesson_id in {item.id for item in one.items}]
    if not turn_id and at is None:
        named = [one for one in named if one.items][:1]
    return named[::-1]


def _nothing(stub: ReflectiveMemoryServiceStub, options: argparse.Namespace, scope: dict[str, Any]) -> int:
    print("sidemirror: no lesson and no recovery was shown there", file=sys.stderr)
    until_us = SystemClock().now_us() if options.at is None else options.at.at_us
    request = pb.ListReceiptsRequest(page_size=1, **scope)
    request.until_time.FromMicroseconds(until_us)
    for last in stub.ListReceipts(request, timeout=TIMEOUT_S).receipts:
        where = f" in turn {_named(last.turn_id)}" if last.turn_id else ""
        which = "last one before" if options.at is not None else "newest one"
        print(f"sidemirror: the {which} was at {clock_time(last.time)}{where}", file=sys.stderr)
    return exit_codes.FAILED


def _tool_of(call_id: str, agent: str, tools: dict[str, str], last: dict[str, str]) -> str:
    """The tool of the call that a result names, else of its agent's last one."""
    return (tools if call_id else last).get(call_id or agent, "")


def told_in(entries: Sequence[thinking_pb2.TurnEntry], receipt_id: str) -> ToldBlock | None:
    """The block with this receipt in a turn's record; None if it is not there."""
    task, tools, failures = "", dict[str, str](), dict[str, tuple[str, str]]()
    last: dict[str, str] = {}  # the tool that each agent has called last
    for entry in entries:
        event = entry.event
        match event.WhichOneof("kind"):
            case "turn_started":
                task = event.turn_started.task
            case "tool_called":
                tools[event.tool_called.call_id] = last[event.agent] = event.tool_called.name
            case "tool_failed":
                failed = event.tool_failed
                failures[event.event_id] = (_tool_of(failed.call_id, event.agent, tools, last), failed.error)
            case "tool_returned" if event.tool_returned.is_error:
                returned = event.tool_returned
                failures[event.event_id] = (_tool_of(returned.call_id, event.agent, tools, last), returned.content)
        for kind, field in _BLOCKS:
            if not entry.directive.HasField(kind):
                continue
            block = getattr(getattr(entry.directive, kind), field)
            if block.receipt_id == receipt_id:
                causes = [failures[one] for one in entry.directive.caused_by if one in failures]
                about = entry.directive.advice.signature if kind == "advice" else ""
                own = [error_signature(tool, text) for tool, text in causes or failures.values() if kind != "turn_plan"]
                return ToldBlock(
                    block,
                    task,
                    tuple(f"{tool}: {text}" for tool, text in causes),
                    tuple(dict.fromkeys(filter(None, (about, *own)))),
                    entry.directive.is_shadow,
                )
    return None


def _explained(
    stub: ReflectiveMemoryServiceStub,
    receipt: pb.Receipt,
    told: ToldBlock | None,
    held: str,
    only: str,
    scope: dict[str, Any],
    first_words: FirstWords,
    turned_off: TurnedOff,
) -> Iterator[str]:
    yield f"{clock_time(receipt.time)}  {_place(receipt)}"
    if receipt.silence:
        yield f"  the agent asked for it itself, and was given nothing: {why_no_lesson(receipt.silence)}"
        yield from _left_out(receipt.omitted, first_words)
        return
    is_too_late = receipt.place == pb.RECEIPT_PLACE_ADVICE and bool(receipt.turn_state)
    is_told = not all(item.is_held_back for item in receipt.items)
    yield from _circumstances(told, is_told=is_told, is_too_late=is_too_late)
    texts = {} if told is None else {item.id: item for item in told.block.items}
    kept = ShownTexts(stub, scope)
    for item in receipt.items:
        if not only or item.id == only:
            why_held = f", {_HELD_BACK.get(item.held_back_reason, held)}" if item.is_held_back else ""
            yield from _of_item(stub, receipt, item, texts.get(item.id), told, why_held, scope, turned_off)
            if told is not None and told.is_answer and item.kind not in (GOAL_ITEM, RECOVERY_ITEM):
                yield f"    said: {_cut(kept.of(item))}"
    if receipt.omitted or (told is not None and not told.is_answer):
        yield from _left_out(receipt.omitted or (told.block.omitted if told else ()), first_words)


def _left_out(omitted: Sequence[common_pb2.OmittedItem], first_words: FirstWords) -> Iterator[str]:
    yield "  left out:" if omitted else "  left out: nothing that is on record"
    yield from (f"    {first_words.omitted(one)}" for one in omitted)


def _circumstances(told: ToldBlock | None, *, is_told: bool, is_too_late: bool) -> Iterator[str]:
    """What a block was about, and whether it was told. `is_told`: an item of it was not held back. `is_too_late`: its
    turn is on record without it."""
    if told is None and not is_told:
        yield "  Nothing of it was told."
        return
    if told is None:
        missing = "The block's text is in no turn's record: it was outside a turn, or the trace is gone."
        yield f"  {_TOO_LATE if is_too_late else missing}"
        return
    if told.is_answer:
        yield "  The agent asked for it itself; no entry of the turn has it."
    if told.is_shadow:
        yield "  In shadow mode: it was kept, and the agent was not told."
    yield from (f"  the failing call: {_cut(cause)}" for cause in told.causes)
    if told.signatures:
        yield f"  recognised by: {', '.join(map(_named, told.signatures))}"


def _place(receipt: pb.Receipt) -> str:
    place = words_of(pb.ReceiptPlace, receipt.place)
    turn = f" of turn {_named(receipt.turn_id)}" if receipt.turn_id else ""
    session = f" (session {_named(receipt.session_id)})" if receipt.session_id else ""
    state = f", {words_of(thinking_pb2.TurnState, receipt.turn_state)}" if receipt.turn_state else ""
    outcome = f", {words_of(common_pb2.TaskOutcome, receipt.turn_outcome)}" if receipt.turn_outcome else ""
    goal = f", goal {_named(receipt.goal_id)}" if receipt.goal_id else ""
    return f"{'shown' if place == 'unspecified' else place}{turn}{session}{state}{outcome}{goal}"


def _of_item(
    stub: ReflectiveMemoryServiceStub,
    receipt: pb.Receipt,
    item: pb.ReceiptItem,
    shown: common_pb2.ContextItem | None,
    told: ToldBlock | None,
    why_held: str,
    scope: dict[str, Any],
    turned_off: TurnedOff,
) -> Iterator[str]:
    version = f" version {item.version}" if item.version else ""
    score = f", score {shown.score:.2f}, origin {name_of(common_pb2.Origin, shown.origin)}" if shown else ""
    yield f"  {_named(item.kind) or 'lesson'} {_named(item.id)}{version}{why_held}{score}"
    if shown is not None:
        yield f"    said: {_cut(shown.text)}"
    if item.kind == RECOVERY_ITEM:
        yield from _of_recovery(stub, receipt, item.id, told.signatures if told else (), scope)
    elif item.kind != GOAL_ITEM:
        yield from _of_memory(stub, item, told, scope, turned_off)
    yield f"    what followed: {_followed(item, receipt.turn_outcome)}"


def _followed(item: pb.ReceiptItem, turn_outcome: int) -> str:
    """What is reported of the item itself, else how its turn ended: the console says the same."""
    told = "not reported"
    if turn_outcome:
        ended = words_of(common_pb2.TaskOutcome, turn_outcome)
        told = f"its turn ended with {ended}; nothing is reported of the {_named(item.kind) or 'lesson'} itself"
    if item.HasField("succeeded"):
        words = ("the next attempt worked", "the next attempt failed")
        if item.kind != RECOVERY_ITEM:
            words = ("the task succeeded", "the task did not succeed")
        told = words[0] if item.succeeded else words[1]
    if item.HasField("error_returned"):
        told += "; its error came up again" if item.error_returned else "; its error did not come up again"
    return told


def _of_memory(
    stub: ReflectiveMemoryServiceStub,
    item: pb.ReceiptItem,
    told: ToldBlock | None,
    scope: dict[str, Any],
    turned_off: TurnedOff,
) -> Iterator[str]:
    if item.HasField("score"):
        yield f"    what fitted then: {fit_told(item)}"
    try:
        one = pb.GetReflectionRequest(reflection_id=item.id, **scope)
        memory = stub.GetReflection(one, timeout=TIMEOUT_S).memory
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.NOT_FOUND:
            raise
        yield "    the lesson itself was removed since"
        return
    if not item.HasField("score"):
        yield f"    what fitted: {_fitted(stub, memory, told, scope)}"
    state = name_of(pb.MemoryState, memory.state)
    off = turned_off.lesson(memory)
    state += f", but {off}" if off else ""
    yield f"    the lesson today: {state}, version {memory.version}, importance {memory.importance:.2f}"
    yield f"    learned from: {sources_of(memory)}"
    request = pb.GetLessonStatisticsRequest(reflection_ids=[item.id], **scope)
    for lesson in stub.GetLessonStatistics(request, timeout=TIMEOUT_S).lessons:
        yield f"    its evidence today: {_evidence(lesson)}"


def _fitted(stub: ReflectiveMemoryServiceStub, memory: pb.Memory, told: ToldBlock | None, scope: dict[str, Any]) -> str:
    signatures = () if told is None else told.signatures
    if memory.error_signature and memory.error_signature in signatures:
        return f"it is about the same failure, {_named(memory.error_signature)}"
    kin = [one for one in signatures if one.split("|")[:2] == memory.error_signature.split("|")[:2]]
    if kin:
        return f"it is about a failure of the same tool and category, {_named(memory.error_signature)}"
    if told is None or not told.task.strip():
        return "the task is not on record"
    request = pb.QueryReflectionsRequest(
        query_text=told.task,
        k=_MOST_HITS,
        min_importance=0,
        explain=True,
        include_quarantined=True,
        explain_ids=[memory.id],
        **scope,
    )
    found = stub.QueryReflections(request, timeout=TIMEOUT_S)
    for place, hit in enumerate(found.hits, start=1):
        if hit.memory.id == memory.id:
            words = ", ".join(map(_named, hit.explanation.matched_terms[:20])) or "none"
            parts = ", ".join(f"{_named(part.name)} {part.value:.2f}" for part in hit.explanation.parts)
            return f"by the task, as it is found today: place {place}, word stems {words} ({parts})"
    reasons = [_cut(miss.reason) for miss in found.misses if miss.id == memory.id]
    return f"today the task does not find it: {' '.join(reasons) or 'others fit better'}"


def _evidence(lesson: pb.LessonStatistics) -> str:
    return f"{words_of(pb.LessonVerdict, lesson.verdict)}; {in_one_line(lesson)}"


def _of_recovery(
    stub: ReflectiveMemoryServiceStub,
    receipt: pb.Receipt,
    recovery_id: str,
    signatures: Sequence[str],
    scope: dict[str, Any],
) -> Iterator[str]:
    for signature in signatures or _signatures_with(stub, recovery_id, scope):
        request = pb.ListRecoveriesRequest(signature=signature, include_observations=True, **scope)
        for known in stub.ListRecoveries(request, timeout=TIMEOUT_S).signatures:
            for move in (one for one in known.moves if one.recovery_id == recovery_id):
                yield f"    what fitted: the call failed in the same way, {_named(signature)}"
                yield f"    the gate, today: {_gate(move)}"
                # Those that came later were no reason for what was told.
                until_us = receipt.time.ToMicroseconds()
                tries = [
                    one
                    for one in known.observations
                    if one.recovery_id == recovery_id and one.time.ToMicroseconds() < until_us
                ]
                worked = [one.turn_id for one in reversed(tries) if one.worked]
                where = f"; it worked in turns {some_of(dict.fromkeys(worked))}" if worked else ""
                yield f"    learned from: {_tries(len(tries)) if tries else 'no try before it'}{where}"
                return
    yield "    no failure is on record after which it was done"


def _signatures_with(stub: ReflectiveMemoryServiceStub, recovery_id: str, scope: dict[str, Any]) -> Iterator[str]:
    """The failures after which this was done: what was held back is in no turn's record."""
    request = pb.ListRecoveriesRequest(**scope)
    for _ in range(_MOST_PAGES):
        page = stub.ListRecoveries(request, timeout=TIMEOUT_S)
        for known in page.signatures:
            if any(move.recovery_id == recovery_id for move in known.moves):
                yield known.signature
        request.page_token = page.next_page_token
        if not page.next_page_token:
            return


def _gate(move: pb.RecoveryMove) -> str:
    """The tries of a move, each number with what it is of, and what the gates say."""
    rate = f"by the last {WINDOW} at least {100 * move.lowest_rate:.0f} % of the time"
    tries = f"without advice it worked in {move.worked} of {_tries(move.tries)}, {rate}"
    if not move.tries:
        tries = "no try of it without advice is on record"
    worked = f"; after it was told it worked in {move.advised_worked} of {_tries(move.advised_tries)}"
    advised = f"{worked} that agents made in this project, up to today" if move.advised_tries else ""
    return f"{tries}{advised}; {_cut(move.reason)}"


def _tries(count: int) -> str:
    return f"{count} {'try' if count == 1 else 'tries'}"


def _cut(text: str) -> str:
    return in_short(text, _TEXT_CHARS)


def _named(text: str) -> str:
    """An id or a name."""
    return in_short(text, _ID_CHARS)
