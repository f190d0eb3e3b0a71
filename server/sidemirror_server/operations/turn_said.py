"""The nudges and reflections of a turn with what caused each and what followed it. Used by `turn_silences.py`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.shown import clock_time, in_short, words_of
from sidemirror_server.trace.failed import call_failed

# How `turns/ending.py` begins the detail of what was in progress when a turn ended.
GIVEN_UP = "given up:"

# The call that each event is about, by the event's id.
Calls: TypeAlias = Mapping[str, pb.TurnEvent]


def said_in(entries: Sequence[pb.TurnEntry]) -> Iterator[str]:
    """A line for each nudge and each reflection, in their order, and one for what followed those that were told."""
    at = {one.event.event_id: str(one.sequence) for one in entries if one.HasField("event")}
    calls = calls_of(entries)
    for entry in entries:
        one = entry.directive
        if one.HasField("nudge"):
            told = f"{words_of(pb.Pattern, one.nudge.pattern)}{_because(one, at)}: {in_short(one.nudge.message)}"
            name, is_told = "nudge", True
        elif one.HasField("reflection"):
            told, is_told = _reflection(one, at)
            name = "reflection" if is_told else "no reflection"
        else:
            continue
        yield f"{clock_time(one.time)}  {name}{' (kept, not told)' if one.is_shadow else ''}: {told}"
        if is_told:
            yield f"  what followed: {_next_call(entries, entry.sequence, one, calls)}"
            if not one.is_shadow and (why := _withdrawn(entries, entry.sequence, one, calls)):
                yield f"  withdrawn {why}: an agent that had not shown it by then does not"


def _reflection(one: pb.TurnDirective, at: dict[str, str]) -> tuple[str, bool]:
    """The words of a reflection, or why there are none; whether there are."""
    reflection = one.reflection
    reasons = ", ".join(words_of(pb.ReflectionReason, reason) for reason in one.reasons)
    if reflection.status != common_pb2.RESULT_STATUS_OK:
        return f"{reasons}{_because(one, at)}: {why_none(reflection)}", False
    suggested = f" → {in_short(reflection.suggested_action)}" if reflection.suggested_action else ""
    said = in_short(reflection.reflection) or f"{len(reflection.lessons.items)} lessons alone"
    return f"{reasons}{_because(one, at)}: {said}{suggested}", True


def why_none(reflection: pb.MidTurnReflection) -> str:
    """Why a reflection has no words: its status, and what came with it. One that was given up is nobody's failure: no
    model may have been asked."""
    if reflection.detail.startswith(GIVEN_UP):
        return in_short(reflection.detail)
    return f"{words_of(common_pb2.ResultStatus, reflection.status)}, {in_short(reflection.detail)}"


def _because(one: pb.TurnDirective, at: dict[str, str]) -> str:
    causes = ", ".join(at.get(cause, in_short(cause)) for cause in one.caused_by)
    return f", because of {causes}" if causes else ""


def calls_of(entries: Sequence[pb.TurnEntry]) -> dict[str, pb.TurnEvent]:
    """The call that each event is about, by the event's id: the named one, else its agent's last open one."""
    found, waiting = dict[str, pb.TurnEvent](), dict[str, pb.TurnEvent]()
    for event in (one.event for one in entries if one.HasField("event")):
        if event.HasField("tool_called"):
            waiting[event.tool_called.call_id or event.event_id] = found[event.event_id] = event
        elif _call_id(event) is not None and (call := taken(waiting, event)):
            found[event.event_id] = call
    return found


def taken(waiting: dict[str, pb.TurnEvent], event: pb.TurnEvent) -> pb.TurnEvent | None:
    """Removes and returns the call that ended: the named one, else its agent's last open one."""
    last = next((key for key, call in reversed(waiting.items()) if call.agent == event.agent), "")
    return waiting.pop(_call_id(event) or last, None)


def _about(one: pb.TurnDirective, calls: Calls) -> pb.TurnEvent | None:
    """The newest call among the causes; None if none is a call."""
    return next((calls[cause] for cause in reversed(one.caused_by) if cause in calls), None)


def _next_call(entries: Sequence[pb.TurnEntry], after: int, said: pb.TurnDirective, calls: Calls) -> str:
    """How the next call of the tool went that was spoken of, or the next call of any where no tool is known. The
    console says the same: `console/src/next_call.ts`."""
    about = _about(said, calls)
    tool = about.tool_called.name if about is not None else ""
    name = f"call of {in_short(tool)}" if tool else "call"
    later = [one for one in entries if one.sequence > after and one.HasField("event")]
    for number, one in enumerate(later):
        if not one.event.HasField("tool_called") or (tool and one.event.tool_called.name != tool):
            continue
        ended = _end_of(one.event, (other.event for other in later[number + 1 :]), calls)
        if ended is None:
            return f"the next {name}, at {one.sequence}, has no result on record"
        if has_failed(ended):
            return f"the next {name}, at {one.sequence}, failed"
        if about is not None and _repeats(entries, about, one.event, ended, calls):
            return f"the same call again, at {one.sequence}, with the same answer: not followed"
        return f"the next {name}, at {one.sequence}, worked"
    return f"no {name}"


def _withdrawn(entries: Sequence[pb.TurnEntry], after: int, said: pb.TurnDirective, calls: Calls) -> str:
    """Why what was said need not be told any more: the calls that it is about worked, or a later reflection is about
    them too (`thinking/withdrawal.py`). Empty while it holds. The console says the same: `console/src/next_call.ts`."""
    failed = {one.event.event_id for one in entries if one.HasField("event") and has_failed(one.event)}

    def failing(one: pb.TurnDirective) -> set[tuple[str, str]]:
        return {_made(calls[cause]) for cause in one.caused_by if cause in failed and cause in calls}

    left = failing(said)
    for entry in entries if left else ():
        if entry.sequence <= after:
            continue
        event, later = entry.event, entry.directive
        if event.HasField("tool_returned") and event.event_id not in failed and event.event_id in calls:
            left.discard(_made(calls[event.event_id]))
            if not left:
                return f"at {entry.sequence}, when the same call worked"
        is_later = later.HasField("reflection") and later.reflection.status == common_pb2.RESULT_STATUS_OK
        if said.HasField("reflection") and is_later and left <= failing(later):
            return f"at {entry.sequence}, by a later reflection on it"
    return ""


def _made(call: pb.TurnEvent) -> tuple[str, str]:
    return call.tool_called.name, call.tool_called.arguments


def _end_of(call: pb.TurnEvent, events: Iterable[pb.TurnEvent], calls: Calls) -> pb.TurnEvent | None:
    """How a call ended, among these events; None if it did not."""
    is_its = (one for one in events if one is not call and calls.get(one.event_id) is call)
    return next(is_its, None)


def _repeats(
    entries: Sequence[pb.TurnEntry], before: pb.TurnEvent, call: pb.TurnEvent, ended: pb.TurnEvent, calls: Calls
) -> bool:
    """Whether a call has the arguments and the answer of the one before."""
    events = (one.event for one in entries if one.HasField("event") and one.event.HasField("tool_returned"))
    answered = _end_of(before, events, calls)
    is_same = before.tool_called.arguments == call.tool_called.arguments and answered is not None
    return is_same and answered is not None and answered.tool_returned.content == ended.tool_returned.content


def _call_id(event: pb.TurnEvent) -> str | None:
    """The id of the call that an event is about; None if it is about none."""
    kind = event.WhichOneof("kind")
    if kind == "tool_called":
        return event.tool_called.call_id
    if kind == "tool_returned":
        return event.tool_returned.call_id
    return event.tool_failed.call_id if kind == "tool_failed" else None


def has_failed(event: pb.TurnEvent) -> bool:
    """Whether an event is the failure of a call, also one that only its text reports."""
    what = event.tool_returned
    return event.HasField("tool_failed") or (
        event.HasField("tool_returned")
        and call_failed(what.content, is_error=what.is_error, has_worked=what.has_worked)
    )
