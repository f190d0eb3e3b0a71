"""From an assembled turn to the events of a turn. Pure.

An event's id is that of its span with a suffix, so that what is recorded twice is there once. Origin is TOOL for all of
them: anybody may have sent the spans (decision 075).
"""

from collections.abc import Container

from sidemirror_server.telemetry_in.assembly import AssembledTurn
from sidemirror_server.telemetry_in.spans import Span, SpanKind
from sidemirror_server.trace.event import (
    Event,
    ModelReturned,
    ToolCalled,
    ToolReturned,
    TurnFinished,
    TurnStarted,
    What,
)
from sidemirror_server.vocabulary.ids import EventId, SessionId, TurnId
from sidemirror_server.vocabulary.origin import Origin

# What begins the id of every session and turn that is made of spans, so that none of them is one that an agent reports.
PREFIX = "otlp"


def turn_id_of(trace_id: str, top: str) -> TurnId:
    """The turn's id, by which it is found from a tracing console."""
    return TurnId(f"{PREFIX}-{trace_id}-{top}")


def session_id_of(conversation: str) -> SessionId:
    """The session of a conversation."""
    return SessionId(f"{PREFIX}:{conversation}")


def started_of(turn: AssembledTurn, session_id: str, caller: str) -> tuple[Event, TurnStarted]:
    """The turn's first event. `caller`: the name of the token that sent the spans."""
    started = TurnStarted(
        session_id=session_id,
        task=turn.question,
        reflection_mode="on_request",
        critique_mode="off",
        own_session=not turn.session,
        caller=caller,
        from_spans=True,
        began_us=turn.start_us,
        ended_us=max(turn.end_us, *(span.end_us for span in (*turn.calls, *turn.answers)), 0),
    )
    return _event(turn.top, "s", turn.start_us, started), started


def events_of(turn: AssembledTurn, most: int) -> list[Event]:
    """The other events, in the order of their times; at most `most`, with the end."""
    placed: list[tuple[int, int, str, Event]] = []
    for call in turn.calls:
        call_id = call.call_id or call.span_id
        agent = turn.agents.get(call.span_id, "")
        called = ToolCalled(call_id, call.name, call.arguments)
        returned = ToolReturned(call_id, call.text, call.is_error)
        placed += (
            _placed(call, "c", call.start_us, 1, called, agent),
            _placed(call, "r", call.end_us, 0, returned, agent),
        )
    for span in turn.answers:
        agent = turn.agents.get(span.span_id, "")
        said = ModelReturned(span.text, span.input_tokens, span.output_tokens)
        placed.append(_placed(span, "m", span.end_us, 0, said, agent))
    # Content may be captured of the agent alone: then its models' spans have no texts.
    if turn.answer and not any(span.text for span in turn.answers):
        placed.append((turn.end_us, 2, "", _event(turn.top, "m", turn.end_us, ModelReturned(turn.answer))))
    events = [event for *_, event in sorted(placed, key=lambda one: one[:3])][: most - 1]
    finished = TurnFinished("error" if turn.is_error else "")
    return [*events, _event(turn.top, "f", max(turn.end_us, events[-1].at_us if events else 0), finished)]


def is_missing(seen: Container[EventId], span: Span) -> bool:
    """Whether a turn with these events has none of this span."""
    return EventId(f"{span.span_id}-{'c' if span.kind is SpanKind.TOOL else 'm'}") not in seen


def _placed(span: Span, suffix: str, at_us: int, rank: int, what: What, agent: str) -> tuple[int, int, str, Event]:
    # A span that took no time: its call goes before its result.
    is_instant = span.start_us == span.end_us and suffix == "r"
    return at_us, rank + 2 if is_instant else rank, span.span_id, _event(span.span_id, suffix, at_us, what, agent)


def _event(span_id: str, suffix: str, at_us: int, what: What, agent: str = "") -> Event:
    return Event(EventId(f"{span_id}-{suffix}"), at_us, what, Origin.TOOL, agent)
