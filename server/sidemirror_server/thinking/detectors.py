"""Detects that an agent goes in circles, by four patterns in its tool calls and without a model.

A message names what was seen: a call that brings the same answer, or failures of one reason. A call that is repeated
and brings something new is no circle, and neither are failures of several reasons (decision 095).

`turn.py` keeps one `Window` for each agent and advances it at each tool outcome. `advance` costs a few microseconds,
whatever the length of the turn.

Calls marked as polling are ignored: they neither count nor break a streak. So waiting for a job never raises an alarm,
and does not hide a loop around the waiting (decision 016).
"""

from enum import Enum
from hashlib import blake2b
from itertools import chain

import msgspec

# Decision 016.
REPEATS = 3
FAILURES = 3
STEPS_WITHOUT_NEWS = 6
# In A-B-A-B two steps (the third and the fourth) equal the step two places earlier.
_SWAPS = 2

# The calls and results of the last steps, up to this number, count as known. Chosen here: twice STEPS_WITHOUT_NEWS, so
# that loops of up to twelve calls are found. The cost does not grow with the turn.
_MEMORY_STEPS = 2 * STEPS_WITHOUT_NEWS
# Longer arguments, such as a file's content, are compared as text. Chosen here: parsing longer ones costs too much.
_LONGEST_PARSED_ARGUMENTS = 16_384
_LONGEST_NAME = 64


class Pattern(Enum):
    """What a detector found, the most significant first."""

    REPEATED_CALL = "repeated_call"
    ALTERNATION = "alternation"
    ERROR_STREAK = "error_streak"
    NOTHING_NEW = "nothing_new"


class ToolStep(msgspec.Struct, frozen=True, gc=False):
    """A tool call with its outcome."""

    call_event_id: str
    result_event_id: str
    # The tool's name; empty when the outcome's call was not reported.
    name: str
    # From `call_key` and `result_key`.
    call_key: str
    result_key: str
    # The tool reported a failure, or the call itself failed.
    failed: bool = False
    polling: bool = False
    # Why it failed, from `reason_key`; empty for a success.
    reason: str = ""
    # What its error says does not exist, as the message names it; empty if nothing may be named.
    lacks: str = ""


class Detection(msgspec.Struct, frozen=True):
    """A pattern, the events that show it (of the last six steps, oldest first), and the message to the agent."""

    pattern: Pattern
    event_ids: tuple[str, ...]
    message: str


class Window(msgspec.Struct, frozen=True):
    """The detectors' memory of one agent's turn. Start with `Window()`."""

    # The last steps, oldest first.
    steps: tuple[ToolStep, ...] = ()
    # Keys of the last calls and results, oldest first. A step with a key that is not among these brings something new.
    known: tuple[str, ...] = ()
    # Lengths of the streaks up to the last step: equal calls, equal calls with equal results, alternating calls,
    # failures, failures of one reason, steps with nothing new.
    repeats: int = 0
    echoes: int = 0
    swaps: int = 0
    failures: int = 0
    alike: int = 0
    stale: int = 0
    # Patterns that still hold and that the agent was told about.
    told: tuple[Pattern, ...] = ()


def advance(window: Window, step: ToolStep) -> tuple[Window, Detection | None]:
    """The window after `step`, and the finding to report, if any.

    If several patterns hold, only the most significant one is reported, once for each streak. For example, three equal
    failing calls make one finding; if other failing calls follow, the error streak makes a second one.
    """
    if step.polling:
        return window, None
    steps, key = window.steps, step.call_key
    before = steps[-1] if steps else None
    last = before.call_key if before else None
    last_but_one = steps[-2].call_key if len(steps) > 1 else None
    is_new = key not in window.known or step.result_key not in window.known
    is_echo = before is not None and _outcome(step) == _outcome(before)
    is_alike = before is not None and before.failed and step.reason == before.reason
    moved = Window(
        steps=(*steps[-(STEPS_WITHOUT_NEWS - 1) :], step),
        known=(*window.known[-2 * (_MEMORY_STEPS - 1) :], key, step.result_key),
        repeats=window.repeats + 1 if key == last else 1,
        echoes=window.echoes + 1 if is_echo else 1,
        swaps=window.swaps + 1 if key == last_but_one and key != last else 0,
        failures=window.failures + 1 if step.failed else 0,
        alike=(window.alike + 1 if is_alike else 1) if step.failed else 0,
        stale=0 if is_new else window.stale + 1,
    )
    holding = _holding(moved)
    # Two calls that go on alternating are one streak, also while they bring something new.
    goes_on = [*holding, *([Pattern.ALTERNATION] if moved.swaps >= _SWAPS else [])]
    told = tuple(pattern for pattern in window.told if pattern in goes_on)
    if not holding or holding[0] in told:
        return msgspec.structs.replace(moved, told=told), None
    return msgspec.structs.replace(moved, told=(*told, holding[0])), _finding(holding[0], moved)


def call_key(name: str, arguments: str) -> str:
    """A short hash of a call: equal for the same tool with the same arguments. JSON is compared by value, ignoring the
    order of keys and spaces; other text is compared without leading and trailing space."""
    return _key(name, _canonical(arguments))


def result_key(text: str) -> str:
    """A short hash of an outcome's text."""
    return _key("", text)


def reason_key(error_text: str, lacks: str) -> str:
    """Why a call failed, as a short hash: what its error says does not exist, else the whole error."""
    return _key(lacks) if lacks else result_key(error_text)


def _outcome(step: ToolStep) -> tuple[str, str, bool]:
    return step.call_key, step.result_key, step.failed


def _holding(window: Window) -> list[Pattern]:
    holding = []
    if max(window.echoes, min(window.repeats, window.failures)) >= REPEATS:
        holding.append(Pattern.REPEATED_CALL)
    if window.swaps >= _SWAPS and (window.stale >= _SWAPS or window.failures >= _SWAPS + 2):
        holding.append(Pattern.ALTERNATION)
    if window.alike >= FAILURES:
        holding.append(Pattern.ERROR_STREAK)
    if window.stale >= STEPS_WITHOUT_NEWS:
        holding.append(Pattern.NOTHING_NEW)
    return holding


def _finding(pattern: Pattern, window: Window) -> Detection:
    length, message = _told(pattern, window)
    shown = window.steps[-length:]
    return Detection(
        pattern, tuple(chain.from_iterable((step.call_event_id, step.result_event_id) for step in shown)), message
    )


def _told(pattern: Pattern, window: Window) -> tuple[int, str]:
    """The pattern's length in steps, and its message. Tool names, and a name that does not exist, are the only recorded
    text in the message."""
    name = _shown(window.steps[-1].name)
    match pattern:
        case Pattern.REPEATED_CALL:
            times = min(window.repeats, window.failures)
            if times >= REPEATS:
                outcome, then = "it failed each time", "Change the arguments or the approach."
            else:
                times = window.echoes
                outcome, then = "got the same answer each time", "Use what you have, or change the arguments."
            told = f"You have called {name} with the same arguments {times} times in a row, and {outcome}. {then}"
            return times, told
        case Pattern.ALTERNATION:
            other = _shown(window.steps[-2].name)
            pair = f"two calls of {name}" if other == name else f"{other} and {name}"
            return window.swaps + 2, (
                f"You are going back and forth between {pair}: the last {window.swaps + 2} calls are the same two "
                "with the same arguments. Decide what is missing before you call again."
            )
        case Pattern.ERROR_STREAK:
            lacks = window.steps[-1].lacks
            failed = f"The last {window.alike} tool calls, the latest to {name}, failed"
            if lacks:
                return window.alike, (
                    f"{failed} because there is no {lacks}. Look up what there is in its place, or do without it."
                )
            return window.alike, f"{failed} for the same reason: what you changed between them is not the cause."
        case Pattern.NOTHING_NEW:
            return window.stale, (
                f"The last {window.stale} tool calls, the latest to {name}, repeated earlier calls and brought "
                "nothing new. Try something else or answer with what you know."
            )


def _shown(name: str) -> str:
    return " ".join(name.split())[:_LONGEST_NAME] or "a tool"


def _canonical(arguments: str) -> str:
    text = arguments.strip()
    if not text.startswith(("{", "[")) or len(text) > _LONGEST_PARSED_ARGUMENTS:
        return text
    try:
        return msgspec.json.encode(msgspec.json.decode(text), order="sorted").decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return text


def _key(*parts: str) -> str:
    text = "\x00".join(parts)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
