"""What the sidecar has on record of a turn, and what the endpoint saw, brought to the same words."""

import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import grpc

from scripted.endpoint import Endpoint, Exchange
from scripted.stories import REPAIRED, SESSIONS
from scripted.wire import OUTPUT_TOKENS, Fails, Hangs, input_tokens
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub

PATIENCE_S = 60.0
Step = list[tuple[Any, ...]]


class Sidecar:
    """What a test asks the sidecar itself, in one project."""

    def __init__(self, address: str, project: str) -> None:
        self.address = address
        self.project = project

    @contextmanager
    def _stub(self, kind: Any) -> Iterator[Any]:
        with grpc.insecure_channel(self.address) as channel:
            yield kind(channel)

    def turns(self, count: int = 1) -> list[pb.Turn]:
        """The turns, the oldest first, once there are so many and all have ended."""
        request = pb.ListTurnsRequest(project_id=self.project, page_size=1000)
        with self._stub(ThinkingServiceStub) as stub:
            for _ in _tries():
                turns = list(stub.ListTurns(request, timeout=PATIENCE_S).turns)
                if len(turns) >= count and all(one.state == pb.TURN_STATE_FINISHED for one in turns):
                    break
            else:
                raise AssertionError(f"{count} ended turns are not on record: {turns}")
        assert len(turns) == count
        return sorted(turns, key=lambda one: one.start_time.ToNanoseconds())

    def turn_of(self, task: str) -> pb.Turn:
        """The turn with this task, once it has ended, of all turns of the project."""
        request = pb.ListTurnsRequest(project_id=self.project, page_size=1000)
        with self._stub(ThinkingServiceStub) as stub:
            for _ in _tries():
                for turn in stub.ListTurns(request, timeout=PATIENCE_S).turns:
                    if turn.task == task and turn.state == pb.TURN_STATE_FINISHED:
                        return turn
        raise AssertionError(f"no turn for {task!r} is on record")

    def events(self, turn_id: str) -> list[pb.TurnEvent]:
        """The turn's events, as recorded."""
        return [entry.event for entry in self._entries(turn_id) if entry.HasField("event")]

    def directives(self, turn_id: str) -> list[pb.TurnDirective]:
        """What the sidecar said in the turn."""
        return [entry.directive for entry in self._entries(turn_id) if entry.HasField("directive")]

    def _entries(self, turn_id: str) -> list[pb.TurnEntry]:
        entries: list[pb.TurnEntry] = []
        with self._stub(ThinkingServiceStub) as stub:
            while True:
                after = entries[-1].sequence if entries else 0
                request = pb.GetTurnRequest(project_id=self.project, turn_id=turn_id, after_sequence=after)
                page = list(stub.GetTurn(request, timeout=PATIENCE_S).entries)
                if not page:
                    return entries
                entries += page

    def wait_for_observations(self, count: int) -> None:
        """Returns once so many tries after a failure are learned from."""
        request = memory_pb.ListRecoveriesRequest(project_id=self.project)
        with self._stub(ReflectiveMemoryServiceStub) as stub:
            for _ in _tries():
                found = stub.ListRecoveries(request, timeout=PATIENCE_S).signatures
                if sum(one.observation_count for one in found) >= count:
                    return
        raise AssertionError(f"not {count} observations: {found}")

    def wait_for_lessons(self, task: str) -> None:
        """Returns once there is a lesson for the task."""
        request = memory_pb.BuildMemoryContextRequest(project_id=self.project, task=task)
        with self._stub(ReflectiveMemoryServiceStub) as stub:
            for _ in _tries():
                if stub.BuildMemoryContext(request, timeout=PATIENCE_S).block.text:
                    return
        raise AssertionError("no lesson for the task")


def _tries() -> Iterator[None]:
    ends = time.monotonic() + PATIENCE_S
    while time.monotonic() < ends:
        yield
        time.sleep(0.02)


def seen_by(exchanges: Iterable[Exchange]) -> list[Step]:
    """What the endpoint saw of one agent, model call by model call. What the last calls returned only whoever takes
    over is told: they have no end here."""
    answered = [one for one in exchanges if not isinstance(one.answer, Fails | Hangs)]
    steps: list[Step] = []
    for place, one in enumerate(answered):
        text = one.answer if isinstance(one.answer, str) else ""
        step: Step = [("asked",), ("answered", text, input_tokens(one.request), OUTPUT_TOKENS)]
        if isinstance(one.answer, list):
            after = answered[place + 1].request.results if place + 1 < len(answered) else None
            for call_id, call in zip(one.call_ids, one.answer, strict=True):
                step.append(("called", call_id, call.name, _value(call.arguments)))
                if after is not None:
                    step.append(("ended", call_id, _value(after[call_id])))
        steps.append(step)
    return steps


def on_record(events: Iterable[pb.TurnEvent], agent: str) -> list[Step]:
    """What is on record of one agent, in the same words."""
    steps: list[Step] = []
    for event in events:
        if event.agent != agent:
            continue
        kind = event.WhichOneof("kind")
        if kind == "model_started":
            steps.append([("asked",)])
        elif kind == "model_returned":
            said = event.model_returned
            steps[-1].append(("answered", said.text, said.input_tokens, said.output_tokens))
        elif kind == "tool_called":
            call = event.tool_called
            steps[-1].append(("called", call.call_id, call.name, _value(call.arguments)))
        elif kind == "tool_returned":
            result = event.tool_returned
            steps[-1].append(("failed" if result.is_error else "ended", result.call_id, _value(result.content)))
        elif kind == "tool_failed":
            steps[-1].append(("failed", event.tool_failed.call_id, event.tool_failed.error))
    return steps


def without_handoff(recorded: Sequence[Step]) -> list[Step]:
    """The record of an agent that has handed over: its last call has ended, which the endpoint does not see."""
    *past, (*step, ended) = recorded
    assert ended[:2] == ("ended", step[-1][1])
    return [*past, list(step)]


def assert_same(recorded: Sequence[Step], seen: Sequence[Step], hidden: str = "\n") -> None:
    """The record equals what the endpoint saw: calls of one answer in any order, each before its end. Of an error the
    record has the tool's own words. The framework may have put others around them, or `hidden` in their place."""
    assert len(recorded) == len(seen), (recorded, seen)
    for ours, theirs in zip(recorded, seen, strict=True):
        assert ours[:2] == theirs[:2]
        shown = {one[1]: one[2] for one in theirs if one[0] == "ended"}
        for place, one in enumerate(ours):
            if one[0] in ("ended", "failed"):
                assert any(past[:2] == ("called", one[1]) for past in ours[:place])
        mended: Step = []
        for one in ours:
            if one[0] == "failed":
                assert one[2]
                assert _text(one[2]) in (text := _text(shown[one[1]])) or text == hidden, (one, text)
                mended.append(("ended", one[1], shown[one[1]]))
            else:
                mended.append(one)
        assert Counter(map(repr, mended)) == Counter(map(repr, theirs)), (ours, theirs)


async def assert_in_time(sidecar: Sidecar, endpoint: Endpoint, session: Callable[[str], Awaitable[object]]) -> None:
    """What the sidecar says to a failure, once it has learned, is in the next request. `session` runs an agent with a
    model of this name, in a session of its own, whose tool reports failures as texts."""
    # One in ten is held back from what is told.
    for number in range(SESSIONS + 10):
        name = endpoint.script(f"t{number}", *REPAIRED)
        await session(name)
        said = [one.advice.block.text for one in sidecar.directives(sidecar.turns(number + 1)[-1].turn_id)]
        told, second = [text for text in said if text], endpoint.seen[name][1].request.messages
        assert [text for text in told if text not in _texts(second[-1])] == []
        if told:
            return
        sidecar.wait_for_observations(number + 1)
    raise AssertionError("it was never told")


def _texts(value: Any) -> list[str]:
    """The texts in a message."""
    if isinstance(value, dict | list):
        return [text for one in (value.values() if isinstance(value, dict) else value) for text in _texts(one)]
    return [value] if isinstance(value, str) else []


def kinds(events: Iterable[pb.TurnEvent]) -> list[str]:
    """The kinds of the events, in order."""
    return [event.WhichOneof("kind") or "" for event in events]


def is_prefix(before: Exchange, after: Exchange) -> bool:
    """Whether a request goes on from another one: the same instructions, and the same messages with more behind."""
    past, now = before.request, after.request
    return past.system == now.system and now.messages[: len(past.messages)] == past.messages


def _value(value: Any) -> Any:
    """JSON as what it holds, a text as it is; Gemini's wrapping of a result is taken off."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    if isinstance(value, dict) and value.keys() == {"result"}:
        return value["result"]
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
