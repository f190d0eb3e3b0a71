"""Converters for turn events and the records of `trace.event`. Each incoming text passes `enter` here, once; those
of a tool's call by `trace/given_secrets.py`."""

from collections.abc import Callable
from typing import Any

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.wire.common import (
    OUTCOME_NAMES,
    OUTCOMES,
    ROLE_NAMES,
    ROLES,
    microseconds,
    numbers_of,
    subjects_of,
    timestamp,
)
from sidemirror_server.rpc.wire.config import budget_of, budget_to_wire, wish_of, wish_to_wire
from sidemirror_server.trace import event as records
from sidemirror_server.trace.event import ContextWish, Event, Message, What, origin_of
from sidemirror_server.trace.given_secrets import GivenSecrets
from sidemirror_server.vocabulary.ids import EventId
from sidemirror_server.vocabulary.text import enter

MODE_NUMBERS = numbers_of(("auto", "on_request"), pb.ReflectionMode)
MODES = {number: name for name, number in MODE_NUMBERS.items()}
CRITIQUE_MODE_NUMBERS = numbers_of(("off", "gated", "always"), common_pb2.CritiqueMode)
CRITIQUE_MODES = {number: name for name, number in CRITIQUE_MODE_NUMBERS.items()}


def messages_of(messages: Any) -> tuple[Message, ...]:
    """The messages of a conversation."""
    return tuple(Message(ROLE_NAMES[message.role], enter(message.content)) for message in messages)


def event_of(event: pb.TurnEvent, event_id: str, now_us: int, given: GivenSecrets) -> Event:
    """The record of an event; `event_id` and `now_us` are used if the client gave no id or time. `given`: of its turn's
    calls."""
    arm = event.WhichOneof("kind")
    reader = _READERS.get(arm)
    what = reader(getattr(event, arm)) if reader is not None else _OF_CALLS[arm](getattr(event, arm), given)
    return Event(
        event_id=EventId(event.event_id or event_id),
        at_us=microseconds(event.time) if event.HasField("time") else now_us,
        what=what,
        origin=origin_of(what),
        agent=enter(event.agent) if event.agent else "",
        subject_ids=subjects_of(event.subject_ids) if event.subject_ids else (),
    )


def _turn_started(what: pb.TurnStarted) -> records.TurnStarted:
    return records.TurnStarted(
        session_id=what.session_id,
        task=enter(what.task),
        messages=messages_of(what.messages),
        base_prompt=enter(what.base_prompt),
        provider=enter(what.provider),
        model=enter(what.model),
        wish=wish_of(what.config),
        budget=budget_of(what.budget),
        deadline_us=microseconds(what.deadline) if what.HasField("deadline") else None,
        reflection_mode=MODES.get(what.reflection_mode, "auto"),
        critique_mode=CRITIQUE_MODES.get(what.critique_mode, ""),
        context=_context(what.context) if what.HasField("context") else None,
        has_shell=what.has_shell,
        without_advice=what.without_advice,
    )


def _context(wish: pb.ContextWish) -> ContextWish:
    tools = tuple(dict.fromkeys(enter(tool) for tool in wish.tools))
    return ContextWish(wish.goal_id, enter(wish.task), wish.max_items, tools)


def _user_message(what: pb.UserMessage) -> records.UserMessage:
    return records.UserMessage(enter(what.text))


def _model_started(what: pb.ModelStarted) -> records.ModelStarted:
    return records.ModelStarted(enter(what.provider), enter(what.model))


def _model_returned(what: pb.ModelReturned) -> records.ModelReturned:
    return records.ModelReturned(enter(what.text), what.input_tokens, what.output_tokens)


def _tool_called(what: pb.ToolCalled, given: GivenSecrets) -> records.ToolCalled:
    arguments = given.call(what.call_id, what.arguments)
    return records.ToolCalled(what.call_id, enter(what.name), arguments, what.polling)


def _tool_returned(what: pb.ToolReturned, given: GivenSecrets) -> records.ToolReturned:
    content = given.end(what.call_id, what.content)
    return records.ToolReturned(what.call_id, content, what.is_error, what.has_worked)


def _tool_failed(what: pb.ToolFailed, given: GivenSecrets) -> records.ToolFailed:
    return records.ToolFailed(what.call_id, given.end(what.call_id, what.error))


def _uncertainty(what: pb.Uncertainty) -> records.Uncertainty:
    return records.Uncertainty(what.score, enter(what.detail))


def _reflection_recorded(what: pb.ReflectionRecorded) -> records.ReflectionRecorded:
    return records.ReflectionRecorded(
        enter(what.reflection),
        enter(what.suggested_action) if what.HasField("suggested_action") else None,
        what.confidence if what.HasField("confidence") else None,
    )


def _response_drafted(what: pb.ResponseDrafted) -> records.ResponseDrafted:
    return records.ResponseDrafted(enter(what.text))


def _turn_finished(what: pb.TurnFinished) -> records.TurnFinished:
    return records.TurnFinished(OUTCOME_NAMES[what.outcome], what.score if what.HasField("score") else None)


def _session_named(what: pb.SessionNamed) -> records.SessionNamed:
    return records.SessionNamed(what.session_id)


_READERS: dict[str | None, Callable[[Any], What]] = {
    "turn_started": _turn_started,
    "user_message": _user_message,
    "model_started": _model_started,
    "model_returned": _model_returned,
    "uncertainty": _uncertainty,
    "reflection_recorded": _reflection_recorded,
    "response_drafted": _response_drafted,
    "turn_finished": _turn_finished,
    "session_named": _session_named,
}
_OF_CALLS: dict[str | None, Callable[[Any, GivenSecrets], What]] = {
    "tool_called": _tool_called,
    "tool_returned": _tool_returned,
    "tool_failed": _tool_failed,
}


def event_to_wire(event: Event, turn_id: str) -> pb.TurnEvent:
    """A recorded event as a message."""
    wire = pb.TurnEvent(event_id=event.event_id, turn_id=turn_id, time=timestamp(event.at_us), agent=event.agent)
    if event.subject_ids:
        wire.subject_ids.extend(event.subject_ids)
    _WRITERS[type(event.what)](wire, event.what)
    return wire


def _write_started(wire: pb.TurnEvent, what: records.TurnStarted) -> None:
    wire.turn_started.CopyFrom(
        pb.TurnStarted(
            session_id=what.session_id,
            task=what.task,
            messages=[common_pb2.Message(role=ROLES[said.role], content=said.content) for said in what.messages],
            base_prompt=what.base_prompt,
            provider=what.provider,
            model=what.model,
            config=wish_to_wire(what.wish),
            budget=budget_to_wire(what.budget),
            deadline=None if what.deadline_us is None else timestamp(what.deadline_us),
            reflection_mode=MODE_NUMBERS[what.reflection_mode],
            critique_mode=CRITIQUE_MODE_NUMBERS.get(what.critique_mode, common_pb2.CRITIQUE_MODE_UNSPECIFIED),
            context=None if what.context is None else _context_to_wire(what.context),
            has_shell=what.has_shell,
            without_advice=what.without_advice,
        )
    )


def _context_to_wire(wish: ContextWish) -> pb.ContextWish:
    return pb.ContextWish(goal_id=wish.goal_id, task=wish.task, max_items=wish.max_items, tools=wish.tools)


def _write_finished(wire: pb.TurnEvent, what: records.TurnFinished) -> None:
    wire.turn_finished.CopyFrom(pb.TurnFinished(outcome=OUTCOMES[what.outcome], score=what.score))


def _write_named(wire: pb.TurnEvent, what: records.SessionNamed) -> None:
    wire.session_named.session_id = what.session_id


def _same_fields(arm: str, wire_type: Callable[..., Any]) -> Callable[[pb.TurnEvent, Any], None]:
    """A writer for an event whose record has the same fields as its message."""

    def write(wire: pb.TurnEvent, what: Any) -> None:
        fields = {name: getattr(what, name) for name in what.__struct_fields__}
        getattr(wire, arm).CopyFrom(wire_type(**fields))

    return write


_WRITERS: dict[type, Callable[[pb.TurnEvent, Any], None]] = {
    records.TurnStarted: _write_started,
    records.UserMessage: _same_fields("user_message", pb.UserMessage),
    records.ModelStarted: _same_fields("model_started", pb.ModelStarted),
    records.ModelReturned: _same_fields("model_returned", pb.ModelReturned),
    records.ToolCalled: _same_fields("tool_called", pb.ToolCalled),
    records.ToolReturned: _same_fields("tool_returned", pb.ToolReturned),
    records.ToolFailed: _same_fields("tool_failed", pb.ToolFailed),
    records.Uncertainty: _same_fields("uncertainty", pb.Uncertainty),
    records.ReflectionRecorded: _same_fields("reflection_recorded", pb.ReflectionRecorded),
    records.ResponseDrafted: _same_fields("response_drafted", pb.ResponseDrafted),
    records.TurnFinished: _write_finished,
    records.SessionNamed: _write_named,
}
