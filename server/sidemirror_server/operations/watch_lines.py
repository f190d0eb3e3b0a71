"""Formats an entry of a turn's log as a line for people: time, session and turn, event or directive."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import Any

from google.protobuf.message import Message
from rich.text import Text

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.shown import in_short, plain, words_of
from sidemirror_server.operations.silences import recalled_later, why_no_advice, why_no_lesson
from sidemirror_server.operations.turn_said import has_failed, why_none

# The last characters of the server's turn ids are the distinctive ones.
_ID_CHARS = 8
# The most turns whose session is remembered. Chosen here: far more than are open at once.
_MOST_TURNS = 10_000

_BAD, _SAID, _DIM = "red", "cyan", "dim"
# Where a block is shown that an agent asks for: no entry of a turn has it.
ANSWERS = frozenset(
    (
        memory_pb.RECEIPT_PLACE_MEMORY_CONTEXT,
        memory_pb.RECEIPT_PLACE_GOAL_CONTEXT,
        memory_pb.RECEIPT_PLACE_RECOVERIES,
    )
)


class Timeline:
    """Makes lines. Remembers the session of each turn, because only a turn's first entries name it, and the tools of
    calls, because results do not name them."""

    def __init__(self, turn: pb.Turn | None = None) -> None:
        """`turn`: the only one whose lines are made, if that is so; its start tells what was recalled later."""
        self._turn = turn
        self._sessions: OrderedDict[str, str] = OrderedDict()
        self._tools: OrderedDict[tuple[str, str], str] = OrderedDict()

    def line(self, entry: pb.TurnEntry, judged: pb.TurnCritique | None = None) -> Text:
        """The line of one entry. `judged`: the stored critique that the entry is, if it is known."""
        line = _begun(what_of(entry), self._session_of(entry), entry.turn_id)
        if entry.HasField("event"):
            told, style = self._event(entry.turn_id, entry.event)
        elif entry.directive.HasField("silence"):
            silence = entry.directive.silence
            known = f"; recovery {in_short(silence.recovery_id)}" if silence.recovery_id else ""
            told = f"· no repair told: {why_no_advice(silence)}; {in_short(silence.signature)}{known}"
            style = _DIM
        elif entry.HasField("directive"):
            mark = "↳ (kept, not told)" if entry.directive.is_shadow else "↳"
            text = _directive(entry.directive, self._turn) if judged is None else f"critique: {critique_told(judged)}"
            told, style = f"{mark} {text}", _SAID
        else:
            begun = "critique" if entry.claim.critique else "reflection"
            why = f": {_reasons(entry.claim)}" if entry.claim.reasons else ""
            told, style = f"· a {begun} begins{why}", _DIM
        return line.append(told, style=style)

    def asked_critique(self, turn: pb.Turn, judged: pb.TurnCritique) -> Text:
        """The line of a critique that was asked for."""
        told = f"↳ asked for a {in_short(judged.made_by)}: {critique_told(judged)}"
        return _begun(judged, turn.session_id, turn.turn_id).append(told, style=_SAID)

    def recalled(self, receipt: memory_pb.Receipt, text_of: Callable[[memory_pb.ReceiptItem], str]) -> Iterator[Text]:
        """A line for each lesson that the agent asked for and got outside of the turn's entries."""
        if receipt.silence:
            line = _begun(receipt, receipt.session_id, receipt.turn_id)
            place = words_of(memory_pb.ReceiptPlace, receipt.place)
            yield line.append(f"↳ {place}: asked for, and nothing given: {why_no_lesson(receipt.silence)}", style=_DIM)
        for item in receipt.items if receipt.place in ANSWERS else ():
            if not item.is_held_back:
                line = _begun(receipt, receipt.session_id, receipt.turn_id)
                fit = f" ({fit_told(item)})" if item.HasField("score") else ""
                told = f"{words_of(memory_pb.ReceiptPlace, receipt.place)}: {in_short(item.kind)} {in_short(item.id)}"
                yield line.append(f"↳ {told}{fit}: {in_short(text_of(item))}", style=_SAID)

    def held_back(self, receipt: memory_pb.Receipt, but: Collection[str] = ()) -> Iterator[Text]:
        """A line for each lesson or recovery that was held back, as a receipt has it. `but`: those that have a line."""
        for item in receipt.items:
            if item.is_held_back and item.id not in but:
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

    def _event(self, turn_id: str, event: pb.TurnEvent) -> tuple[str, str]:
        """The text of an event, and its style. Of a result that is one of a failure it says so."""
        kind = event.WhichOneof("kind") or ""
        what: Any = getattr(event, kind) if kind else event
        agent = f"{in_short(event.agent)}: " if event.agent else ""
        told = _EVENTS.get(kind, lambda _: "")(what)
        name, failed = kind.replace("_", " "), has_failed(event)
        if kind == "tool_called":
            self._tools[turn_id, what.call_id] = in_short(what.name, 80)
            if len(self._tools) > _MOST_TURNS:
                self._tools.popitem(last=False)
        elif kind in ("tool_returned", "tool_failed"):
            tool = self._tools.get((turn_id, what.call_id), "tool")
            name = f"{tool} {'failed' if failed else 'returned'}"
        return f"{agent}{name}{': ' if told else ''}{told}", _BAD if failed else ""


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


def _directive(directive: pb.TurnDirective, turn: pb.Turn | None) -> str:
    """The text of a directive. `turn`: whose it is, if that is known."""
    match directive.WhichOneof("kind"):
        case "turn_plan":
            plan = directive.turn_plan
            level = words_of(pb.ThinkLevel, plan.config.level)
            warned = "".join(f"; {in_short(warning)}" for warning in plan.warnings)
            silent = why_no_lesson(plan.silence)
            later = recalled_later(turn, plan.silence) if turn is not None else ""
            shown = _lessons(plan.context) or (f"; no lesson with it: {silent}{later}" if silent else "")
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
            made = summary.reflections.get("RESULT_STATUS_OK", 0)
            none = sum(summary.reflections.values()) - made
            outcome = words_of(common_pb2.TaskOutcome, summary.outcome)
            return (
                f"summary: {outcome}, {summary.event_count} events, {summary.tool_error_count} of "
                f"{summary.tool_call_count} tool calls failed, {summary.nudge_count} nudges, "
                f"{made} reflections{f', {none} without an answer' if none else ''}"
            )
        case kind:
            return str(kind)


def _reflection(directive: pb.TurnDirective) -> str:
    reflection = directive.reflection
    if reflection.status != common_pb2.RESULT_STATUS_OK:
        return f"no reflection ({_reasons(directive)}): {why_none(reflection)}"
    suggested = f" → {in_short(reflection.suggested_action)}" if reflection.suggested_action else ""
    told = f"{in_short(reflection.reflection)}{suggested}{_lessons(reflection.lessons)}"
    return f"reflection ({_reasons(directive)}): {told}"


def _critique(critique: common_pb2.CritiqueResult) -> str:
    if critique.status != common_pb2.RESULT_STATUS_OK:
        return f"no critique: {words_of(common_pb2.ResultStatus, critique.status)}, {in_short(critique.detail)}"
    return f"critique: {_verdict(critique)}"


def critique_told(judged: pb.TurnCritique, *, is_over: bool = False) -> str:
    """A stored critique in words: its verdict, who made it, what it rests on, and what became of the answer. `is_over`:
    its turn has ended."""
    critique = judged.critique
    made = f"by {in_short(critique.usage.provider)}" if critique.usage.provider else ""
    if critique.usage.model and critique.usage.provider != "rules":
        made = f"{made} {in_short(critique.usage.model)}"
    is_unknown = is_over and critique.should_revise
    change = _CHANGES.get(judged.answer_change, _NOT_REPORTED if is_unknown else "")
    return f"{_verdict(critique)}{f' ({made})' if made else ''}{f'; {change}' if change else ''}"


# An agent that changes its answer and does not say so leaves the same record as one that does not change it.
_NOT_REPORTED = "what was sent is not on record: report it as response_drafted"
_CHANGES = {
    pb.ANSWER_CHANGE_NONE: "the answer was not changed after it",
    pb.ANSWER_CHANGE_CHANGED: "the answer was changed after it",
}


def _issue(issue: common_pb2.CritiqueIssue) -> str:
    """What is wrong: its kind, the words that it is about, why, and the events that it rests on."""
    where = words_of(common_pb2.QuoteSource, issue.quote_source)
    quote = f" “{in_short(issue.quote)}” of the {where}" if issue.quote else ""
    events = ", ".join(f"event {in_short(one, 80)}" for one in issue.event_ids)
    why = in_short(issue.reason).rstrip(".")
    return f"{words_of(common_pb2.IssueKind, issue.kind)}{quote}: {why}{f'; rests on {events}' if events else ''}"


def fit_told(item: memory_pb.ReceiptItem) -> str:
    """By what a lesson fitted when its block was made, with its score."""
    by = {
        memory_pb.LESSON_FIT_FAILURE: "about the same failure",
        memory_pb.LESSON_FIT_CALL: "for this kind of error of this tool",
        memory_pb.LESSON_FIT_NAME: "by the name of a tool or a kind of error",
        memory_pb.LESSON_FIT_WORDS: "by words",
        memory_pb.LESSON_FIT_MEANING: "by meaning",
    }.get(item.fit, "")
    # They are as the index has them.
    words = f"word stems {', '.join(map(in_short, item.matched_words))}" if item.matched_words else ""
    return "; ".join(filter(None, (by, words, f"score {item.score:.2f}")))


def _verdict(critique: common_pb2.CritiqueResult) -> str:
    verdict = "revise" if critique.should_revise else "let it through"
    # Some critics give the texts alone.
    issues = [*map(_issue, critique.issue_details)] or [*map(in_short, critique.issues)]
    return f"{verdict}{''.join(f'; {issue}' for issue in issues)}"


def _lessons(block: common_pb2.ContextBlock) -> str:
    """The lessons of a block: their ids, by which they can be asked for, and their texts."""
    return "".join(f"; lesson {in_short(item.id)}: {in_short(item.text)}" for item in block.items)


def _reasons(what: pb.TurnDirective | pb.SlotClaim) -> str:
    return ", ".join(words_of(pb.ReflectionReason, reason) for reason in what.reasons)
