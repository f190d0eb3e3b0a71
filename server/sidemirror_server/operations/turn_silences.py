"""What `sidemirror turns why TURN` says beside the turn's receipts: how deep it was to think, where nothing was told
and why, nudges, reflections, goals, what was criticised, and the mode that it ran in."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import grpc

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.memory.recoveries.asked import asked
from sidemirror_server.memory.recoveries.signed import failure_signature
from sidemirror_server.operations.advice_history import advice_changes, shadow_around
from sidemirror_server.operations.shown import clock_time, in_short, words_of
from sidemirror_server.operations.shown_texts import FirstWords
from sidemirror_server.operations.silences import recalled_later, why_no_advice, why_no_lesson
from sidemirror_server.operations.turn_goals import goals_of
from sidemirror_server.operations.turn_lessons import NewestLessons, held_about, lessons_around, newest_lessons
from sidemirror_server.operations.turn_said import GIVEN_UP, has_failed, said_in
from sidemirror_server.operations.turn_waits import reflections_waited
from sidemirror_server.operations.watch_lines import critique_told

_SHADOW = (pb.SILENCE_REASON_SHADOW,)


def about_turn(channel: grpc.Channel, record: pb.GetTurnResponse, scope: dict[str, Any]) -> Iterator[str]:
    """The lines, in the order of time but for the mode, which comes last. Raises grpc.RpcError."""
    plan = next((one.directive.turn_plan for one in record.entries if one.directive.HasField("turn_plan")), None)
    if plan is not None:
        yield f"{clock_time(record.turn.start_time)}  its level was {_level(record.entries, plan)}"
    if plan is not None and plan.silence:
        yield f"{clock_time(record.turn.start_time)}  at its start: {_none_at_start(record.turn, plan)}"
        first_words = FirstWords(channel, scope)
        yield from (f"  left out: {first_words.omitted(one)}" for one in plan.context.omitted)
    newest = newest_lessons(channel, scope)
    yield from lessons_around(newest, record.turn)
    yield from at_failures(record, plan, newest)
    yield from reflections_waited(record.entries, plan)
    yield from _followed(record)
    yield from said_in(record.entries)
    yield from goals_of(channel, record.turn.turn_id, scope)
    is_over = record.turn.state != pb.TURN_STATE_OPEN
    for judged in record.critiques:
        told = critique_told(judged, is_over=is_over)
        yield f"{clock_time(judged.time)}  {in_short(judged.made_by)}: {told}"
    was_shadow = any(one.directive.is_shadow for one in record.entries)
    if was_shadow or (plan is not None and plan.silence in _SHADOW):
        mode = shadow_around(advice_changes(channel, scope), record.turn.start_time.ToMicroseconds())
        yield f"  {mode}" if mode else "  it ran in shadow mode; since when is not on record"


def _level(entries: Sequence[pb.TurnEntry], plan: pb.TurnPlan) -> str:
    """How deep the turn was to think, and who asked for it."""
    level = words_of(pb.ThinkLevel, plan.config.level)
    is_asked = any(one.event.turn_started.config.level for one in entries if one.event.HasField("turn_started"))
    whose = "as its start asked" if is_asked else "of its session or by default: its start asked for none"
    return f"{level}, {plan.token_budget:,} tokens, {whose}"


def _none_at_start(turn: pb.Turn, plan: pb.TurnPlan) -> str:
    return f"no lesson, because {why_no_lesson(plan.silence)}{recalled_later(turn, plan.silence)}"


def _followed(record: pb.GetTurnResponse) -> Iterator[str]:
    """What followed each kind of failure at which something was told, or nothing."""
    events = {one.event.event_id: one.sequence for one in record.entries if one.HasField("event")}
    spoken: dict[str, tuple[int, str]] = {}
    for one in record.entries:
        directive = one.directive
        if directive.HasField("advice") and directive.advice.signature:
            verb = "kept, in shadow mode" if directive.is_shadow else "told"
            spoken[directive.advice.signature] = (one.sequence, verb)
        elif directive.HasField("silence"):
            spoken[directive.silence.signature] = (one.sequence, "no repair told")
    for after in record.follow_ups:
        if after.signature in spoken:
            at, verb = spoken[after.signature]
            yield f"  {verb} at {at} ({in_short(after.signature)}): {_next_call(after, events)}"


def _next_call(after: pb.FailureFollowUp, events: Mapping[str, int]) -> str:
    if not after.has_attempt:
        return "the call was not tried again"
    where = f" at {events[after.attempt_event_id]}" if after.attempt_event_id in events else ""
    later = f" of turn {in_short(after.attempt_turn_id)}" if after.attempt_turn_id else ""
    # Of what was observed by an earlier version it is not known which.
    otherwise = "worked, and its turn failed" if after.turn_failed else "failed, or its turn did"
    worked = "worked" if after.worked else otherwise
    done = ", done as told" if after.followed else ", done otherwise than told"
    return f"the next such call{where}{later} {worked}{done if after.advised_recovery_id else ''}"


def at_failures(
    record: pb.GetTurnResponse, plan: pb.TurnPlan | None, newest: NewestLessons | None = None
) -> Iterator[str]:
    """A line for each failing call at which nothing was told. `newest`: names those in quarantine."""
    entries = record.entries
    told = {cause: one.directive for one in entries if one.directive.HasField("advice")
            for cause in one.directive.caused_by}  # fmt: skip
    silences = {cause: one.directive.silence for one in entries if one.directive.HasField("silence")
                for cause in one.directive.caused_by}  # fmt: skip
    calls: dict[str, pb.ToolCalled] = {}
    first: dict[str, pb.TurnEvent] = {}
    for event in (one.event for one in entries if one.HasField("event")):
        if event.HasField("tool_called"):
            calls[event.tool_called.call_id] = event.tool_called
        error = _error_in(event)
        if error is None:
            continue
        call_id = event.tool_failed.call_id or event.tool_returned.call_id
        call = calls.get(call_id, pb.ToolCalled())
        signature = failure_signature(asked(call.name, call.arguments), error)
        before = first.setdefault(signature, event) if signature else event
        if event.event_id in told:
            continue
        why = _why(event, before, signature, told, silences, plan) or _not_looked_up(record, event)
        yield f"{clock_time(event.time)}  {in_short(call.name or 'tool')} failed: no repair told, because {why}"
        yield f"  recognised by: {in_short(signature) or 'nothing'}"
        if newest is not None:
            yield from held_about(newest, call.name, signature, event.time.ToMicroseconds())


def _why(
    event: pb.TurnEvent,
    before: pb.TurnEvent,
    signature: str,
    told: dict[str, pb.TurnDirective],
    silences: dict[str, pb.Silence],
    plan: pb.TurnPlan | None,
) -> str:
    """Why nothing was told at a failing call, by what is on record. `before`: the turn's first failure of its kind.
    Empty where nothing is on record."""
    if event.event_id in silences:
        return why_no_advice(silences[event.event_id])
    if not signature:
        return "its error names nothing by which it could be recognised"
    if before.event_id in told:
        when = clock_time(before.time)
        if told[before.event_id].is_shadow:
            return f"what was found was kept for such a failure already, at {when}; in shadow mode nothing was told"
        return f"the turn was told of such a failure already, at {when}"
    if before.event_id in silences:
        return f"{why_no_advice(silences[before.event_id])}, at the first such failure of the turn"
    if plan is not None and plan.silence == pb.SILENCE_REASON_OFF_BY_SETTING:
        return why_no_lesson(plan.silence)
    return ""


def _not_looked_up(record: pb.GetTurnResponse, event: pb.TurnEvent) -> str:
    """Why a failing call has neither advice nor a silence on record."""
    for one in (entry.directive for entry in record.entries if entry.directive.HasField("reflection")):
        detail = one.reflection.detail
        if event.event_id in one.caused_by and detail.startswith(GIVEN_UP):
            return f"no answer of the look-up is on record; the reflection on it says “{in_short(detail)}”"
    starts = [entry.event.turn_started for entry in record.entries if entry.event.HasField("turn_started")]
    if any(start.without_advice for start in starts):
        return "the turn's start said that its agent shows no advice"
    if record.turn.state == pb.TURN_STATE_OPEN:
        return "no answer of the look-up is on record; the turn is open"
    return "no look-up is on record: the turn ended first, was made of telemetry, or is older"


def _error_in(event: pb.TurnEvent) -> str | None:
    """The error that an event reports; None if it reports none."""
    if event.HasField("tool_failed"):
        return event.tool_failed.error
    return event.tool_returned.content if has_failed(event) else None
