"""Recorded runs as the product would see them: turns of events, and the observations of their failures.

An episode is a session of one turn with the recorded outcome, and an identity of its own, as without tokens. Tools
that the simulated customer runs are not the agent's and are left out. Nothing of `labels` or of
`goal_hidden_from_agent` is read.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.split import Part, known_groups, rows_of
from sidemirror_server.memory.recoveries.asked import Asked, asked
from sidemirror_server.memory.recoveries.observation import Observation, Where
from sidemirror_server.memory.recoveries.trail import Trail, apply, begin, close, end
from sidemirror_server.trace.event import (
    Event,
    ToolCalled,
    ToolFailed,
    ToolReturned,
    TurnStarted,
    UserMessage,
    What,
    origin_of,
)
from sidemirror_server.vocabulary.ids import EventId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE

# Sets with tool calls, by the corpus that learns together.
CORPORA = {
    "intercode": ("intercode",),
    "tau": ("tau_bench", "tau2_bench"),
    "others": ("react_webshop", "swe_agent", "openhands", "who_and_when", "reflexion_hotpotqa"),
}
_SECOND_US = 1_000_000
# How the converter found a failure where the source does not mark it (`error_basis`).
_WORDED = ("pattern", "content_prefix")


class Step(NamedTuple):
    """A call of a run with its result."""

    event_id: str
    asked: Asked
    result: str
    failed: bool
    place: int


class Run(NamedTuple):
    """One episode."""

    episode_id: str
    corpus: str
    group: str
    agent: str
    task: str
    events: tuple[Event, ...]
    outcome: str
    steps: tuple[Step, ...]
    observations: tuple[Observation, ...]


def runs(data: Path, corpus: str, part: Part) -> list[Run]:
    """The runs of a corpus in a part of the data, in the order of the files."""
    known = known_groups(data)
    found: list[Run] = []
    for name in CORPORA[corpus]:
        for row in rows_of(data, f"episodes/{name}", part, known):
            found.append(run_of(row, corpus, start_us=(len(found) + 1) * 3_600 * _SECOND_US))
    return found


def run_of(row: dict[str, Any], corpus: str, start_us: int) -> Run:
    """An episode's row as a run that begins at `start_us`."""
    events = tuple(_events(row, start_us))
    session = SessionId(row["episode_id"])
    where = Where(DEFAULT_SCOPE, TurnId(row["episode_id"]), session, session)
    trail = Trail()
    begin(trail, where)
    for event in events:
        apply(trail, event)
    last = end(trail)
    observations = (*close(trail, row["outcome"]), *last)
    agent = f"{row['agent']['name']}"
    return Run(
        *(row["episode_id"], corpus, row["split_group"], agent, row["task"]["description"], events, row["outcome"]),
        tuple(_steps(events)),
        observations,
    )


def _events(row: dict[str, Any], start_us: int) -> Iterator[Event]:
    open_calls: list[tuple[str, dict[str, Any]]] = []
    yield _event("start", start_us, TurnStarted(row["episode_id"], row["task"]["description"]))
    for one in row["events"]:
        if one.get("actor") == "user":
            continue
        at_us = start_us + int(one.get("ts_offset_ms", one["i"] * 1000)) * 1000
        event_id = f"e{one['i']}"
        match one["type"]:
            case "user_message":
                yield _event(event_id, at_us, UserMessage(one["content"]))
            case "tool_call":
                open_calls.append((event_id, one))
                yield _event(event_id, at_us, ToolCalled(event_id, one["name"], one["content"]))
            case "tool_result" | "tool_error":
                call_id = _answered(one, open_calls)
                if call_id is None:
                    continue
                if one["type"] == "tool_error":
                    yield _event(event_id, at_us, ToolFailed(call_id, one["content"]))
                else:
                    yield _event(event_id, at_us, ToolReturned(call_id, one["content"]))
            case _:
                pass


def _answered(one: dict[str, Any], open_calls: list[tuple[str, dict[str, Any]]]) -> str | None:
    """The event id of the call that a result answers: by call id where recorded, else the oldest of that name."""
    key = "call_id" if one.get("call_id") else "name"
    found = next((pair for pair in open_calls if pair[1].get(key) == one.get(key)), None)
    if found is None:
        return None
    open_calls.remove(found)
    return found[0]


def _event(event_id: str, at_us: int, what: What) -> Event:
    return Event(EventId(event_id), at_us, what, origin_of(what))


def _steps(events: Sequence[Event]) -> Iterator[Step]:
    calls: dict[str, tuple[int, Asked]] = {}
    found = []
    for event in events:
        match event.what:
            case ToolCalled(call_id=call_id, name=name, arguments=arguments):
                calls[call_id] = (len(calls), asked(name, arguments))
            case ToolReturned(call_id=call_id, content=text) | ToolFailed(call_id=call_id, error=text):
                place, what = calls[call_id]
                found.append(Step(call_id, what, text, isinstance(event.what, ToolFailed), place))
            case _:
                pass
    return iter(sorted(found, key=lambda step: step.place))


def results(data: Path, part: Part) -> dict[str, tuple[list[tuple[bool, str]], list[tuple[bool, str]]]]:
    """Each set's tool results, as whether they failed and their text: those of which the source says so, then those
    that the converter marked as failed by their wording, which is no truth."""
    known = known_groups(data)
    found: dict[str, tuple[list[tuple[bool, str]], list[tuple[bool, str]]]] = {}
    for name in (name for names in CORPORA.values() for name in names):
        for row in rows_of(data, f"episodes/{name}", part, known):
            key = f"{name} {row['agent']['domain']}" if name == "intercode" else name
            recorded, worded = found.setdefault(key, ([], []))
            for one in row["events"]:
                if one["type"] in ("tool_result", "tool_error") and one.get("actor") != "user":
                    pair = (one["type"] == "tool_error", one["content"])
                    (worded if one.get("error_basis") in _WORDED else recorded).append(pair)
    return found
