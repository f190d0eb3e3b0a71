"""The nudges and reflections of a turn with what caused each and what followed it. Used by `turn_silences.py`."""

from collections.abc import Iterator, Sequence

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.shown import clock_time, in_short, words_of
from sidemirror_server.trace.failed import call_failed

# How `turns/ending.py` begins the detail of what was in progress when a turn ended.
GIVEN_UP = "given up:"


def said_in(entries: Sequence[pb.TurnEntry]) -> Iterator[str]:
    """A line for each nudge and each reflection, in their order, and one for what followed those that were told."""
    at = {one.event.event_id: str(one.sequence) for one in entries if one.HasField("event")}
    tools = _tools(entries)
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
            yield f"  what followed: {_next_call(entries, entry.sequence, one, tools)}"
            if not one.is_shadow and (why := _withdrawn(entries, entry.sequence, one)):
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


def _tools(entries: Sequence[pb.TurnEntry]) -> dict[str, str]:
    """The tool of each event that is about a call, by the event's id."""
    found, of_call = dict[str, str](), dict[str, str]()
    for event in (one.event for one in entries if one.HasField("event")):
        if event.HasField("tool_called"):
            of_call[event.tool_called.call_id] = event.tool_called.name
        call_id = _call_id(event)
        if call_id is not None:
            found[event.event_id] = of_call.get(call_id, "")
    return found


def _about(one: pb.TurnDirective, tools: dict[str, str]) -> str:
    """The tool of the newest call among the causes; empty if none is a call."""
    return next((tools[cause] for cause in reversed(one.caused_by) if tools.get(cause)), "")


def _next_call(entries: Sequence[pb.TurnEntry], after: int, said: pb.TurnDirective, tools: dict[str, str]) -> str:
    """How the next call of the tool went that was spoken of, or the next call of any where no tool is known. The
    console says the same: `console/src/next_call.ts`."""
    tool = _about(said, tools)
    name = f"call of {in_short(tool)}" if tool else "call"
    later = [one for one in entries if one.sequence > after and one.HasField("event")]
    for number, one in enumerate(later):
        if not one.event.HasField("tool_called") or (tool and tools.get(one.event.event_id) != tool):
            continue
        call_id = one.event.tool_called.call_id
        ends = (other.event for other in later[number + 1 :] if not other.event.HasField("tool_called"))
        ended = next((event for event in ends if _call_id(event) == call_id), None)
        if ended is None:
            return f"the next {name}, at {one.sequence}, has no result on record"
        if has_failed(ended):
            return f"the next {name}, at {one.sequence}, failed"
        if _repeats(entries, said, one.event.tool_called.arguments, ended.tool_returned.content):
            return f"the same call again, at {one.sequence}, with the same answer: not followed"
        return f"the next {name}, at {one.sequence}, worked"
    return f"no {name}"


def _withdrawn(entries: Sequence[pb.TurnEntry], after: int, said: pb.TurnDirective) -> str:
    """Why what was said need not be told any more: the calls that it is about worked, or a later reflection is about
    them too (`thinking/withdrawal.py`). Empty while it holds. The console says the same: `console/src/next_call.ts`."""
    calls = _failing_calls(entries, said)
    left = set(calls)
    for entry in entries if calls else ():
        if entry.sequence <= after:
            continue
        if entry.HasField("event") and entry.event.HasField("tool_returned") and not has_failed(entry.event):
            left.discard(_made(entries, entry.event.tool_returned.call_id))
            if not left:
                return f"at {entry.sequence}, when the same call worked"
        later = entry.directive
        is_later = later.HasField("reflection") and later.reflection.status == common_pb2.RESULT_STATUS_OK
        if said.HasField("reflection") and is_later and left <= _failing_calls(entries, later):
            return f"at {entry.sequence}, by a later reflection on it"
    return ""


def _failing_calls(entries: Sequence[pb.TurnEntry], said: pb.TurnDirective) -> set[tuple[str, str]]:
    """The calls whose failures caused it: tool and arguments."""
    causes = [one.event for one in entries if one.event.event_id in said.caused_by and has_failed(one.event)]
    return {_made(entries, _call_id(event) or "") for event in causes}


def _made(entries: Sequence[pb.TurnEntry], call_id: str) -> tuple[str, str]:
    made = (one.event.tool_called for one in entries if one.event.HasField("tool_called"))
    return next(((one.name, one.arguments) for one in made if one.call_id == call_id), ("", ""))


def _repeats(entries: Sequence[pb.TurnEntry], said: pb.TurnDirective, arguments: str, answer: str) -> bool:
    """Whether a call has the arguments and the answer of the newest call among the causes."""
    events = [one.event for one in entries if one.HasField("event")]
    by_id = {event.event_id: event for event in events}
    about = [call_id for cause in said.caused_by if cause in by_id for call_id in (_call_id(by_id[cause]),)]
    ids = [call_id for call_id in about if call_id is not None]
    if not ids:
        return False
    of_call = [event for event in events if _call_id(event) == ids[-1]]
    made = [event.tool_called.arguments for event in of_call if event.HasField("tool_called")]
    answers = [event.tool_returned.content for event in of_call if event.HasField("tool_returned")]
    return made[:1] == [arguments] and answers[:1] == [answer]


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
