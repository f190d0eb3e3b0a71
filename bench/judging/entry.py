"""One thing that an agent was told at one moment of a recorded run, as people judge it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from bench.recovery_runs import Run
from sidemirror_server.trace.event import ToolCalled, ToolFailed, ToolReturned, UserMessage

_STEPS_BEFORE: Final = 6
_STEPS_AFTER: Final = 5
_TEXT_CHARS: Final = 700


class Entry(NamedTuple):
    """`id`: the episode, the event and what spoke, and for several a number. `signature`: of the failure that it is
    about; empty if it is about none. `repaired`: the next attempt after that failure worked in the recorded run."""

    id: str
    kind: str
    corpus: str
    group: str
    signature: str
    task: str
    before: tuple[str, ...]
    said: str
    after: tuple[str, ...]
    repaired: bool = False


def entry(
    run: Run, place: int, kind: str, said: str, signature: str = "", number: int = 0, *, repaired: bool = False
) -> Entry:
    """What was said after the event at this place of the run, counted from 0; -1: at the turn's start."""
    at = run.events[place].event_id if place >= 0 else "start"
    steps = _steps(run)
    before = tuple(text for where, text in steps if where <= place)[-_STEPS_BEFORE:]
    after = tuple(text for where, text in steps if where > place)[:_STEPS_AFTER]
    name = f"{run.episode_id}/{at}/{kind}{f'-{number}' if number else ''}"
    return Entry(name, kind, run.corpus, run.group, signature, run.task[:_TEXT_CHARS], before, said, after, repaired)


def _steps(run: Run) -> Sequence[tuple[int, str]]:
    """What happened, by the place of the event: what the user said, and each call with its result."""
    calls: dict[str, ToolCalled] = {}
    found = []
    for place, event in enumerate(run.events):
        match event.what:
            case ToolCalled(call_id=call_id) as call:
                calls[call_id] = call
            case ToolReturned(call_id=call_id, content=text) | ToolFailed(call_id=call_id, error=text):
                call = calls[call_id]
                ended = "failed" if isinstance(event.what, ToolFailed) else "returned"
                found.append((place, f"{call.name}({_cut(call.arguments)}) {ended}: {_cut(text)}"))
            case UserMessage(text=text):
                found.append((place, f"user: {_cut(text)}"))
            case _:
                pass
    return found


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]} […]"
