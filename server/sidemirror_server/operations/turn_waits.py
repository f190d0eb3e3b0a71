"""What `sidemirror turns why TURN` says of failures without a reflection: an earlier call's result had not come."""

from collections import Counter
from collections.abc import Iterator, Sequence

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.shown import clock_time, in_short
from sidemirror_server.operations.turn_said import taken
from sidemirror_server.thinking.turn import ROUNDS_WAITED

_MODEL = ("model_started", "model_returned")


def reflections_waited(entries: Sequence[pb.TurnEntry], plan: pb.TurnPlan | None) -> Iterator[str]:
    """A line for each failing call on which there is no reflection, and at whose end another call was open."""
    if plan is None or plan.config.level == pb.THINK_LEVEL_OFF or plan.reflection_mode != pb.REFLECTION_MODE_AUTO:
        return
    reflected = {cause for one in entries if one.directive.HasField("reflection") for cause in one.directive.caused_by}
    # The open calls, by id; one whose agent has gone on without its result is not waited for (`thinking/turn.py`).
    waiting: dict[str, pb.TurnEvent] = {}
    rounds, answered = Counter[str](), set[str]()
    for event in (one.event for one in entries if one.HasField("event")):
        kind = event.WhichOneof("kind")
        if kind == "tool_called":
            if event.agent in answered:
                answered.discard(event.agent)
                rounds.update(call.event_id for call in waiting.values() if call.agent == event.agent)
                waiting = {key: call for key, call in waiting.items() if rounds[call.event_id] < ROUNDS_WAITED}
            waiting[event.tool_called.call_id or event.event_id] = event
        elif kind in _MODEL:
            waiting = {key: call for key, call in waiting.items() if call.agent != event.agent}
        elif kind in ("tool_returned", "tool_failed"):
            call = taken(waiting, event)
            answered.add(event.agent)
            has_failed = kind == "tool_failed" or event.tool_returned.is_error
            if has_failed and waiting and event.event_id not in reflected:
                names = ", ".join(dict.fromkeys(in_short(one.tool_called.name) for one in waiting.values()))
                name = in_short(call.tool_called.name) if call is not None else "tool"
                why = f"because the result of {names} had not come"
                yield f"{clock_time(event.time)}  {name} failed: no reflection, {why}"
