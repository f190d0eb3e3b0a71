"""The facts of a trace: its tool calls with their outcomes, its response, and what its user named. Pure."""

import re
from collections.abc import Iterable

import msgspec

from sidemirror_server.critique.quotes import normal
from sidemirror_server.trace.event import (
    Event,
    ModelReturned,
    ResponseDrafted,
    ToolCalled,
    ToolFailed,
    ToolReturned,
    TurnStarted,
    UserMessage,
)


class ToolCall(msgspec.Struct):
    """One tool call. `ended`: it has a result or an error. `made_good`: a later call of the same tool succeeded."""

    agent: str
    name: str
    arguments: str
    polling: bool
    result: str = ""
    ended: bool = False
    failed: bool = False
    made_good: bool = False


class TraceFacts(msgspec.Struct, frozen=True):
    """`named`: words of the user's messages with a digit or an underscore, and capitalised words within a sentence."""

    calls: tuple[ToolCall, ...]
    response: str
    named: frozenset[str]


_NAMED = re.compile(r"\b(\w*[0-9_]\w*)\b|(?<=[a-z,;] )([A-Z]\w{2,})")
_WORDS = re.compile(r"\w{2,}")
_COMMON_TEXT = (
    "an and are as at be been but by can could did do does for from get had has have he her his how if in into is it "
    "its me my no not of on or our out please she should so than that the their them then there these they this to "
    "up us was we were what when where which who why will with would you your"
)
_COMMON = frozenset(_COMMON_TEXT.split())


def content_words(text: str) -> frozenset[str]:
    """The words of a text, without stop words."""
    return frozenset(word for word in _WORDS.findall(normal(text)) if word not in _COMMON)


def facts_of(events: Iterable[Event]) -> TraceFacts:
    """The facts of a trace. `events`: oldest first; several user messages are one task."""
    calls: list[ToolCall] = []
    by_id: dict[str, ToolCall] = {}
    asked: list[str] = []
    drafted = said = ""
    for event in events:
        what = event.what
        match what:
            case TurnStarted():
                asked += [message.content for message in what.messages if message.role == "user"] or [what.task]
            case UserMessage():
                asked.append(what.text)
            case ToolCalled():
                call = ToolCall(event.agent, what.name, what.arguments, what.polling)
                calls.append(call)
                by_id[what.call_id or event.event_id] = call
            case ToolReturned() | ToolFailed():
                _end(what, event.agent, calls, by_id)
            case ModelReturned():
                said = what.text or said
            case ResponseDrafted():
                drafted = what.text
            case _:
                pass
    _mark_made_good(calls)
    named = {normal(word) for text in asked for groups in _NAMED.findall(text) for word in groups if word}
    return TraceFacts(tuple(calls), drafted or said, frozenset(named))


def _end(what: ToolReturned | ToolFailed, agent: str, calls: list[ToolCall], by_id: dict[str, ToolCall]) -> None:
    call = by_id.get(what.call_id) if what.call_id else None
    if call is None:
        call = next((one for one in reversed(calls) if not one.ended and one.agent == agent), None)
    if call is None:
        call = ToolCall(agent, "", what.call_id, polling=False)
        calls.append(call)
    call.ended = True
    call.failed = isinstance(what, ToolFailed) or what.is_error
    call.result = what.error if isinstance(what, ToolFailed) else what.content


def _mark_made_good(calls: list[ToolCall]) -> None:
    worked: set[tuple[str, str]] = set()
    for call in reversed(calls):
        if call.failed:
            call.made_good = (call.agent, call.name) in worked
        elif call.ended:
            worked.add((call.agent, call.name))
