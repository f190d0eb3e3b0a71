"""Recorded agent runs for tests: episodes, and a walk through one as a sidecar would live it.

The recordings are not part of the repository. They lie beside it, in `../shared/data` seen from the repository's root;
a test that needs them takes `recordings()`, which skips with a reason when they are absent.
"""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"

# These recordings keep only the actions: one tool_call stands for one model call (README, "Known flaws").
_CALL_IS_MODEL_CALL = frozenset({"intercode"})
_MODEL = frozenset({"llm_response", "final_response"})
_OUTPUT = frozenset({"tool_result", "tool_error"})


class ToolOutput(NamedTuple):
    """A tool's outcome and the call it answers."""

    event_index: int
    name: str
    content: str
    failed: bool
    # The arguments as recorded; None where the recording has no call for this output.
    arguments: str | None
    call_index: int | None


class TurnBegan(NamedTuple):
    """A user message opened the turn, numbered from 1. What comes before the first of these is turn 0."""

    turn: int
    user_message: str


class ToolsReturned(NamedTuple):
    """All tool outputs between two model calls of one turn, oldest first, at least one."""

    turn: int
    outputs: tuple[ToolOutput, ...]
    # Index of the model call that follows in the same turn: the decision point lies just before it. None: none follows.
    before_event: int | None


def recordings() -> Path:
    """The folder of the recordings; skips the test when it is not there."""
    if not DATA.is_dir():
        pytest.skip("no recorded episodes in ../shared/data", allow_module_level=True)
    return DATA


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a gzipped JSON-lines file, in its order."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


@cache
def episodes(name: str) -> dict[str, dict[str, Any]]:
    """The episodes of one file of `episodes/` (its name without `.jsonl.gz`), by episode id, in the file's order."""
    return {row["episode_id"]: row for row in read_rows(recordings() / "episodes" / f"{name}.jsonl.gz")}


def expected_decisions() -> Iterator[dict[str, Any]]:
    """The seed rule's decisions: rows of `episode_id`, `file`, `config`, `decisions` (README, "Scheduling")."""
    return read_rows(recordings() / "scheduling" / "expected_rule_decisions.jsonl.gz")


def walk(file: str, episode: dict[str, Any]) -> Iterator[TurnBegan | ToolsReturned]:
    """An episode of the file `file` as a sidecar would see it: turns, and tool outputs with their decision points.

    Tools that the simulated customer runs are not the agent's and are left out. Several outputs between two
    model calls come together, as parallel calls do: a sidecar reaches one decision point after the last of them.
    """
    call_is_model_call = file in _CALL_IS_MODEL_CALL
    turn = 0
    open_calls: list[dict[str, Any]] = []
    outputs: list[ToolOutput] = []
    for event in episode["events"]:
        kind = event["type"]
        if event.get("actor") == "user":
            continue
        begins_turn = event["turn"] != turn
        is_model_call = kind in _MODEL or (call_is_model_call and kind == "tool_call")
        if outputs and (begins_turn or is_model_call):
            yield ToolsReturned(turn, tuple(outputs), event["i"] if is_model_call else None)
            outputs.clear()
        if begins_turn:
            turn = event["turn"]
            yield TurnBegan(turn, event["content"] if kind == "user_message" else "")
        if kind == "tool_call":
            open_calls.append(event)
        elif kind in _OUTPUT:
            outputs.append(_answered(event, open_calls))
    if outputs:
        yield ToolsReturned(turn, tuple(outputs), None)


def _answered(event: dict[str, Any], open_calls: list[dict[str, Any]]) -> ToolOutput:
    """An output with its call: by call id where recorded, else the oldest open call of that name. Closes the call."""
    key = "call_id" if event.get("call_id") else "name"
    call = next((call for call in open_calls if call.get(key) == event.get(key)), None)
    if call is not None:
        open_calls.remove(call)
    return ToolOutput(
        event_index=event["i"],
        name=event["name"],
        content=event["content"],
        failed=event["type"] == "tool_error",
        arguments=None if call is None else call["content"],
        call_index=None if call is None else call["i"],
    )
