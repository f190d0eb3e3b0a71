"""Formats an entry of a turn's log as a line for people: time, session and turn, event or directive."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from google.protobuf.message import Message
from rich.text import Text

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.shown import in_short, plain, words_of

# The last characters of the server's turn ids are the distinctive ones.
_ID_CHARS = 8
# The most turns whose session is remembered. Chosen here: far more than are open at once.
_MOST_TURNS = 10_000

_BAD, _SAID, _DIM = "red", "cyan", "dim"


class Timeline:
    """Makes lines. Remembers the session of each turn, because only a turn's first entries name it."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, str] = OrderedDict()

    def line(self, entry: pb.TurnEntry) -> Text:
        """The line of one entry."""
        line = _begun(what_of(entry), self._session_of(entry), entry.turn_id)
        if entry.HasField("event"):
            told, style = _event(entry.event)
        elif entry.HasField("directive"):
            mark = "↳ (kept, not told)" if entry.directive.is_shadow else "↳"
            told, style = f"{mark} {_directive(entry.directive)}", _SAID
        else:
            told, style = f"· a reflection begins: {_reasons(entry.claim)}", _DIM
        return line.append(told, style=style)

    def held_back(self, receipt: memory_pb.Receipt) -> Iterator[Text]:
        """A line for each lesson or recovery that was held back, as a receipt has it."""
        for item in receipt.items:
            if item.is_held_back:
                line = _begun(receipt, receipt.session_id, receipt.turn_id)
                told = f"↳ held back, not told: {in_short(item.kind) or 'lesson'} {in_short(item.id)}"
                yield line.append(told, style=_SAID)

    def _session_of(self, entry: pb.TurnEntry) -> str:
        session = entry.event.turn_started.session_id or entry.directive.turn_plan.session_id
        if session:
            self._sessions[entry.turn_id] = session
            if len(self._sessions) > _MOST_TURNS:
                self._sessions.popitem(last=False)
        return self._sessions.get(entry.turn_id, "")


def what_of(entry: pb.TurnEntry) -> Any:
    """The event, directive or claim that an entry is."""
    return getattr(entry, entry.WhichOneof("entry") or "event")


def _begun(what: Message, session_id: str, turn_id: str) -> Text:
    line = Text(_clock(what), style=_DIM)
    return line.append(f"  {plain(session_id)[-_ID_CHARS:] or '?'}/{plain(turn_id)[-_ID_CHARS:]}  ", style=_DIM)


def _clock(what: Message) -> str:
    """The local time of day, to the millisecond."""
    time: Any = what.time  # type: ignore[attr-defined]  # all three kinds of entries have one, and receipts
    moment = datetime.fromtimestamp(time.seconds + time.nanos / 1e9).astimezone()
    return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}"


def _event(event: pb.TurnEvent) -> tuple[str, str]:
    """The text of an event, and its style."""
    kind = event.WhichOneof("kind") or ""
    what = getattr(event, kind) if kind else event
    failed = kind == "tool_failed" or (kind == "tool_returned" and event.tool_returned.is_error)
    agent = f"{in_short(event.agent)}: " if event.agent else ""
    told = _EVENTS.get(kind, lambda _: "")(what)
    return f"{agent}{kind.replace('_', ' ')}{': ' if told else ''}{told}", _BAD if failed else ""


_EVENTS: dict[str, Callable[[Any], str]] = {
    "turn_started": lambda what: in_short(what.task),
    "user_message": lambda what: in_short(what.text),
    "model_started": lambda what: in_short(f"{what.provider} {what.model}".strip()),
    "model_returned": lambda what: in_short(what.text),
    "tool_called": lambda what: in_short(f"{what.name} {what.arguments}"),
    "tool_returned": lambda what: in_short(what.content),
    "tool_failed": lambda what: in_short(what.error),
    "uncertainty": lambda what: in_short(f"{what.score:g} {what.detail}".strip()),
    "reflection_recorded": lambda what: in_short(what.reflection),
    "response_drafted": lambda what: in_short(what.text),
    "turn_finished": lambda what: words_of(common_pb2.TaskOutcome, what.outcome),
}


def _directive(directive: pb.TurnDirective) -> str:
    """The text of a directive."""
    match directive.WhichOneof("kind"):
        case "turn_plan":
            plan = directive.turn_plan
            level = words_of(pb.ThinkLevel, plan.config.level)
            warned = "".join(f"; {in_short(warning)}" for warning in plan.warnings)
            shown = _lessons(plan.context)
            return f"plan: turn {plan.turn_count}, level {level}, {plan.token_budget:,} tokens{warned}{shown}"
        case "nudge":
            pattern = words_of(pb.Pattern, directive.nudge.pattern)
            return f"nudge ({pattern}): {in_short(directive.nudge.message)}"
        case "advice":
            return f"advice: {in_short(' '.join(item.text for item in directive.advice.block.items))}"
        case "critique":
            return _critique(directive.critique)
        case "reflection":
            return _reflection(directive)
        case "turn_summary":
            summary = directive.turn_summary
            outcome = words_of(common_pb2.TaskOutcome, summary.outcome)
            return (
                f"summary: {outcome}, {summary.event_count} events, {summary.tool_error_count} of "
                f"{summary.tool_call_count} tool calls failed, {summary.nudge_count} nudges, "
                f"{sum(summary.reflections.values())} reflections"
            )
        case kind:
            return str(kind)


def _reflection(directive: pb.TurnDirective) -> str:
    reflection = directive.reflection
    status = words_of(common_pb2.ResultStatus, reflection.status)
    if reflection.status != common_pb2.RESULT_STATUS_OK:
        return f"no reflection ({_reasons(directive)}): {status}, {in_short(reflection.detail)}"
    suggested = f" → {in_short(reflection.suggested_action)}" if reflection.suggested_action else ""
    told = f"{in_short(reflection.reflection)}{suggested}{_lessons(reflection.lessons)}"
    return f"reflection ({_reasons(directive)}): {told}"


def _critique(critique: common_pb2.CritiqueResult) -> str:
    if critique.status != common_pb2.RESULT_STATUS_OK:
        return f"no critique: {words_of(common_pb2.ResultStatus, critique.status)}, {in_short(critique.detail)}"
    verdict = "revise" if critique.should_revise else "let it through"
    return f"critique: {verdict}{''.join(f'; {in_short(issue)}' for issue in critique.issues)}"


def _lessons(block: common_pb2.ContextBlock) -> str:
    """The lessons of a block: their ids, by which they can be asked for, and their texts."""
    return "".join(f"; lesson {in_short(item.id)}: {in_short(item.text)}" for item in block.items)


def _reasons(what: pb.TurnDirective | pb.SlotClaim) -> str:
    return ", ".join(words_of(pb.ReflectionReason, reason) for reason in what.reasons)
