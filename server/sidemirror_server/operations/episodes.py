"""Reads recorded episodes from JSON lines and converts their events to TurnEvents.

`server/EPISODES.md` describes the format and the mapping. Data for judges (`labels`, the simulated customer's script)
is not read: the records below have no field for it.
"""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.wire.common import OUTCOMES

_GZIP_MAGIC = b"\x1f\x8b"
# An event's id is the episode's id and a number. Ids have at most 128 characters (thinking.proto, `TurnEvent`).
_LONGEST_ID = 100

Kind = Literal["user_message", "llm_response", "tool_call", "tool_result", "tool_error", "final_response", "reflection"]
# The recorded reason of an error when the call itself failed: a simulated 503.
_CALL_FAILED = "injected_fault"


class RecordedEvent(msgspec.Struct, frozen=True):
    """One event, with the fields that an agent would have reported."""

    i: int
    type: Kind
    content: str
    name: str = ""
    call_id: str | None = None
    # `user`: the simulated customer ran the tool.
    actor: str | None = None
    error_basis: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class RecordedTask(msgspec.Struct, frozen=True):
    """The task that the agent was given; may be empty."""

    description: str | None = None


class RecordedAgent(msgspec.Struct, frozen=True):
    """The agent's task."""

    domain: str | None = None


class Episode(msgspec.Struct, frozen=True):
    """One line of a file."""

    episode_id: str
    events: tuple[RecordedEvent, ...]
    agent: RecordedAgent = RecordedAgent()
    task: RecordedTask = RecordedTask()
    outcome: str = "unknown"
    reward: float | None = None


class BadEpisode(msgspec.Struct, frozen=True):
    """A line that is not an episode: its number from 1, and the error."""

    number: int
    reason: str


class RecordedTurn(msgspec.Struct, frozen=True):
    """A turn as the events to report. Each of its `parts` ends at a decision point, where the agent reads directives.

    `left_out`: the number of events that are not reported, because the agent did not see them.
    """

    parts: tuple[tuple[pb.TurnEvent, ...], ...]
    left_out: int


def read_episodes(path: Path) -> Iterator[Episode | BadEpisode]:
    """The episodes of a JSON lines file, gzip or not, in order. A bad line is returned in its place. Empty lines are
    skipped. Raises OSError if the file cannot be read."""
    decoder = msgspec.json.Decoder(Episode)
    number = 0
    # The file is opened once, and the magic number is peeked at rather than read, because it may be a pipe.
    with path.open("rb") as raw, gzip.open(raw) if raw.peek(2)[:2] == _GZIP_MAGIC else raw as lines:
        try:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _episode(decoder, number, line)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield BadEpisode(number + 1, f"the file is damaged from here on: {error}")


def _episode(decoder: "msgspec.json.Decoder[Episode]", number: int, line: bytes) -> Episode | BadEpisode:
    try:
        episode = decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return BadEpisode(number, str(error))
    if not 0 < len(episode.episode_id) <= _LONGEST_ID or not episode.episode_id.isprintable():
        return BadEpisode(number, f"episode_id: 1 to {_LONGEST_ID} printable characters are expected")
    numbers = [event.i for event in episode.events]
    if len(set(numbers)) < len(numbers):
        twice = next(i for place, i in enumerate(numbers) if i in numbers[:place])
        return BadEpisode(number, f"events: i = {twice} is there twice")
    return episode


def turns_of(episode: Episode, session_id: str, config: pb.ThinkingConfig) -> Iterator[RecordedTurn]:
    """The episode's turns, each from one user message to the next. Events before the first message are a turn too."""
    turns = _split(episode.events)
    for number, events in enumerate(turns, start=1):
        started = pb.TurnEvent(
            event_id=f"{episode.episode_id}/turn-{number}",
            turn_started=pb.TurnStarted(
                session_id=session_id,
                task=episode.task.description or next((e.content for e in events if e.type == "user_message"), ""),
                config=config,
            ),
        )
        finished = pb.TurnFinished()
        if number == len(turns):
            finished.outcome = OUTCOMES.get(episode.outcome, common_pb2.TASK_OUTCOME_UNSPECIFIED)
            if episode.reward is not None and 0 <= episode.reward <= 1:
                finished.score = episode.reward
        seen = [event for event in events if event.actor != "user"]
        parts = _parts(_said(episode.episode_id, seen))
        ended = pb.TurnEvent(event_id=f"{episode.episode_id}/end-{number}", turn_finished=finished)
        yield RecordedTurn(((started,), *parts, (ended,)), len(events) - len(seen))


def _split(events: Sequence[RecordedEvent]) -> list[list[RecordedEvent]]:
    turns: list[list[RecordedEvent]] = []
    for event in events:
        if event.type == "user_message" or not turns:
            turns.append([])
        turns[-1].append(event)
    return turns


def _said(episode_id: str, events: Sequence[RecordedEvent]) -> list[pb.TurnEvent]:
    """A turn's events in order. Calls without a recorded id get one, so that each outcome finds its call."""
    said = []
    agent = ""
    open_calls: list[tuple[str, str]] = []
    for event in events:
        wire = pb.TurnEvent(event_id=f"{episode_id}/{event.i}")
        match event.type:
            case "user_message":
                wire.user_message.text = event.content
            case "llm_response":
                agent = _speaker(event)
                wire.model_returned.text = event.content
                wire.model_returned.input_tokens = event.prompt_tokens or 0
                wire.model_returned.output_tokens = event.completion_tokens or 0
            case "final_response":
                agent = _speaker(event)
                wire.response_drafted.text = event.content
            case "reflection":
                wire.reflection_recorded.reflection = event.content
            case "tool_call":
                call_id = event.call_id or f"call-{event.i}"
                open_calls.append((event.name, call_id))
                wire.tool_called.CopyFrom(pb.ToolCalled(call_id=call_id, name=event.name, arguments=event.content))
            case "tool_result" | "tool_error":
                _ended(wire, event, _take(open_calls, event))
        wire.agent = agent
        said.append(wire)
    return said


def _speaker(event: RecordedEvent) -> str:
    """The agent that spoke, where there are several; `assistant` is the role of a single agent."""
    return "" if event.name == "assistant" else event.name


def _take(open_calls: list[tuple[str, str]], event: RecordedEvent) -> str:
    """The id of the call that ended: the recorded one, else that of the oldest open call of the tool. Without an open
    call, the id is new, so that the outcome matches no other call."""
    for call in open_calls:
        if call[1] == event.call_id or (not event.call_id and call[0] == event.name):
            open_calls.remove(call)
            return call[1]
    return event.call_id or f"unreported-{event.i}"


def _ended(wire: pb.TurnEvent, event: RecordedEvent, call_id: str) -> None:
    if event.error_basis == _CALL_FAILED:
        wire.tool_failed.CopyFrom(pb.ToolFailed(call_id=call_id, error=event.content))
    else:
        is_error = event.type == "tool_error"
        wire.tool_returned.CopyFrom(pb.ToolReturned(call_id=call_id, content=event.content, is_error=is_error))


def _parts(events: Sequence[pb.TurnEvent]) -> Iterator[tuple[pb.TurnEvent, ...]]:
    """The events, split after each run of tool outcomes, where an agent would next ask its model."""
    part: list[pb.TurnEvent] = []
    ended = False
    for event in events:
        is_outcome = event.HasField("tool_returned") or event.HasField("tool_failed")
        if ended and not is_outcome:
            yield tuple(part)
            part = []
        part.append(event)
        ended = is_outcome
    if part:
        yield tuple(part)
