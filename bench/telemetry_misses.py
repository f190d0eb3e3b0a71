"""`uv run python -m bench.telemetry_misses [SET-UP …]`: what telemetry misses of a run that an adapter reports as well.

An agent with the adapter of its framework and with OpenTelemetry makes the same scripted run in five conversations: a
call fails, tables are looked up, the next call works. The sidecar gets each run twice, as a turn that the adapter
reports and as one of spans, and each row says what is on record of both.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.architecture.repository import ROOT
from tests.faults.process import Process
from tests.telemetry_in.agents.shop import ANSWER, CONVERSATIONS, QUESTION
from tests.telemetry_in.scripted import scripted
from tests.telemetry_in.setups import SETUPS, Destination, in_order, run

ADAPTERS = {"langchain-openinference": "langchain", "pydantic-ai": "pydantic-ai"}
_OURS = ("generated/python", "clients/python")


class Recorded(NamedTuple):
    """What is on record of one run. `known_s`: how long after its first event the turn was found in a list."""

    head: pb.Turn
    events: Sequence[pb.TurnEvent]
    directives: Sequence[pb.TurnDirective]
    known_s: float

    def of(self, kind: str) -> list[Any]:
        """The events of a kind."""
        return [getattr(event, kind) for event in self.events if event.WhichOneof("kind") == kind]


def _each(*values: object) -> str:
    return ", ".join(str(value) for value in values)


def _failed(run: Recorded) -> int:
    return sum(result.is_error for result in run.of("tool_returned")) + len(run.of("tool_failed"))


def _tokens(run: Recorded) -> str:
    said = run.of("model_returned")
    return f"{sum(one.input_tokens for one in said)} in, {sum(one.output_tokens for one in said)} out"


def _answers(run: Recorded) -> bool:
    return ANSWER in [one.text for one in (*run.of("model_returned"), *run.of("response_drafted"))]


_SAID = ("nudge", "reflection", "critique", "advice")
ROWS: dict[str, Callable[[Recorded], object]] = {
    "the session": lambda run: run.head.session_id,
    "the task": lambda run: run.head.task == QUESTION,
    "the answer": _answers,
    "the outcome": lambda run: common_pb2.TaskOutcome.Name(run.head.outcome).removeprefix("TASK_OUTCOME_"),
    "calls of the model: begun, answered": lambda run: _each(
        len(run.of("model_started")), len(run.of("model_returned"))
    ),
    "their tokens": _tokens,
    "calls of tools: begun, failed": lambda run: _each(len(run.of("tool_called")), _failed(run)),
    "their ids": lambda run: _each(*(call.call_id for call in run.of("tool_called"))),
    "their arguments": lambda run: _each(*(call.arguments for call in run.of("tool_called"))),
    "their results": lambda run: _each(
        *(repr(one.content) for one in run.of("tool_returned")), *(repr(one.error) for one in run.of("tool_failed"))
    ),
    "names of agents": lambda run: _each(*sorted({event.agent for event in run.events} - {""})) or "none",
    "the final answer before it is given": lambda run: bool(run.of("response_drafted")),
    "said by the sidecar in the run": lambda run: sum(one.WhichOneof("kind") in _SAID for one in run.directives),
    "lessons and recoveries told": lambda run: run.head.lesson_count,
}


def watched(address: str, seen: dict[str, float], wanted: int) -> None:
    """Notes when each turn is first in a list, until so many have ended."""
    ends_s = time.monotonic() + 600
    with grpc.insecure_channel(address) as channel:
        stub: Any = ThinkingServiceStub(channel)
        while time.monotonic() < ends_s:
            turns = stub.ListTurns(pb.ListTurnsRequest(page_size=100)).turns
            for turn in turns:
                seen.setdefault(turn.turn_id, time.time())
            if sum(turn.state == pb.TURN_STATE_FINISHED for turn in turns) >= wanted:
                return
            time.sleep(0.05)
    raise AssertionError(f"{wanted} turns are not on record")


def on_record(address: str, seen: dict[str, float]) -> Iterator[Recorded]:
    with grpc.insecure_channel(address) as channel:
        stub: Any = ThinkingServiceStub(channel)
        for turn_id, at_s in seen.items():
            found = stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id, page_size=1000))
            events = [entry.event for entry in found.entries if entry.HasField("event")]
            directives = [entry.directive for entry in found.entries if entry.HasField("directive")]
            began_s = min(event.time.ToNanoseconds() for event in events) / 1e9
            yield Recorded(found.turn, events, directives, at_s - began_s)


async def measure(name: str, folder: Path) -> tuple[list[Recorded], list[Recorded]]:
    """The runs as the adapter reports them, and as telemetry tells of them."""
    settings = {"telemetry__receive": "true", "telemetry__content": "*"}
    ours = [str(ROOT / part) for part in (*_OURS, f"clients/adapters/{ADAPTERS[name]}")]
    seen: dict[str, float] = {}
    async with Process(folder, settings) as process:
        watching = asyncio.create_task(asyncio.to_thread(watched, process.address, seen, 2 * len(CONVERSATIONS)))
        with scripted(in_order) as model:
            to = Destination(f"http://{process.address}")
            await asyncio.to_thread(run, SETUPS[name], to, model, folder, *ours, SIDEMIRROR_ADDRESS=process.address)
        await watching
        runs = await asyncio.to_thread(lambda: list(on_record(process.address, seen)))
    of_spans = [one for one in runs if one.head.turn_id.startswith("otlp-")]
    return [one for one in runs if one not in of_spans], of_spans


def table(name: str, reported: Sequence[Recorded], of_spans: Sequence[Recorded]) -> str:
    """As Markdown: the last run, and the median over all of how long it took."""
    lines = [f"| {name} | adapter | telemetry |", "|---|---|---|"]
    lines.append(_row("runs", len(reported), len(of_spans)))
    medians = (f"{statistics.median(one.known_s for one in runs):.1f}" for runs in (reported, of_spans))
    lines.append(_row("a run is known after its beginning, s", *medians))
    last = [max(runs, key=lambda run: run.events[0].time.ToNanoseconds()) for runs in (reported, of_spans)]
    lines += [_row(what, *map(say, last)) for what, say in ROWS.items()]
    return "\n".join(lines)


def _row(what: str, *said: object) -> str:
    words = {True: "yes", False: "no"}
    shown = [words[one] if isinstance(one, bool) else _cell(str(one)) for one in said]
    return f"| {what} | {' | '.join(shown)} |"


def _cell(text: str) -> str:
    """As code where it holds what Markdown would read."""
    text = text.replace("|", "\\|")
    return f"`{text}`" if set(text) & set("*\"'{<") else text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("setup", nargs="*", choices=[*ADAPTERS, []], help="all unless named")
    options = parser.parse_args()
    for name in options.setup or ADAPTERS:
        with tempfile.TemporaryDirectory() as folder:
            print(table(name, *asyncio.run(measure(name, Path(folder)))), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
