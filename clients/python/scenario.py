"""Runs the scenario of clients/scenario with the Python client. How a runner behaves is said there, in README.md."""

import asyncio
import contextlib
import gc
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass

from longest import Longest
from matching import Unexpected, at, check, check_error, check_stream, figures, filled, matches
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.common_pb2 import TASK_OUTCOME_SUCCESS
from sidemirror.v1.goal_reflection_pb2 import ReportGoalRequest
from sidemirror_client import Sidemirror, Turn, advice_text, connect
from sidemirror_client.background import BACKGROUND
from sidemirror_client.client import SERVICES

_PATIENCE_S = 60.0
# How long tasks of streams that have ended may take to end themselves.
_SETTLE_S = 10.0
_ROOMS = {
    "ThinkingService": "thinking",
    "CritiqueService": "critique",
    "GoalReflectionService": "goals",
    "ReflectiveMemoryService": "memory",
    "SidecarService": "sidecar",
}


class Thrown(Exception):
    """What an agent's own callback raises."""


class Runner:
    """The state of a run: variables, the client in use, its turns."""

    def __init__(self, variables: dict[str, str]) -> None:
        self.variables = variables
        self.client: Sidemirror
        self.turns: dict[str, Turn] = {}
        self.directives: dict[str, list[Any]] = {}
        self.told = 0
        self.refusals: list[str] = []
        self.is_refused = asyncio.Event()
        # How many tasks the first `held` has counted.
        self.few_tasks: int | None = None
        self.timed_ms: dict[str, list[float]] = {}

    async def do(self, step: dict[str, Any]) -> None:
        """One step. Raises Unexpected."""
        if "connect" in step:
            await self.connect(step["connect"])
        elif "server" in step:
            await control(step["server"])
        elif "turn" in step:
            await self.turn(step)
        elif "away" in step:
            await self.away(**step["away"])
        elif "many" in step:
            await self.many(int(step["many"]["turns"]), step["many"]["prefix"], step["many"]["task"])
        elif "held" in step:
            await self.held()
        elif "close" in step:
            left = await self.client.close(0)
            found = {"events": left.events, "outcomes": left.outcomes, "goals": left.goals, "turns": len(left.turns)}
            check(step["close"], found)
        elif "advice_text" in step:
            check(step["text"], advice_text(ParseDict(each, pb.TurnDirective()) for each in step["advice_text"]))
        elif "refused" in step:
            await self.await_refusal(step["refused"], step.get("times"))
        else:
            await self.call(step)

    async def connect(self, given: dict[str, Any]) -> None:
        await self.close()
        wait, refused = given.pop("wait", True), given.pop("refused", None)
        if refused is not None:
            _check_refused(given, refused)
            return
        self.told = 0
        self.refusals.clear()
        self.is_refused.clear()
        self.client = connect(**given, on_away=self.count, on_refused=self.refuse)
        if wait:
            await self.client.wait_until_ready(_PATIENCE_S)

    async def close(self) -> None:
        if hasattr(self, "client"):
            await self.client.close()

    def count(self, why: str) -> None:
        self.told += 1
        print("told", why, flush=True)
        raise Thrown

    def refuse(self, why: str) -> None:
        self.refusals.append(why)
        self.is_refused.set()

    async def await_refusal(self, word: str, times: int | None) -> None:
        async with asyncio.timeout(_PATIENCE_S):
            await self.is_refused.wait()
        if word not in self.refusals[0] or self.told or times not in (None, len(self.refusals)):
            raise Unexpected(f"told {self.refusals}, and {self.told} times that the sidecar is away")

    async def held(self) -> None:
        await self.client.flush(_PATIENCE_S)
        ends_s = time.monotonic() + _SETTLE_S
        while True:
            await asyncio.sleep(0.1)
            tasks = len(asyncio.all_tasks()) + len(asyncio.all_tasks(BACKGROUND.loop))
            if self.few_tasks is None or tasks <= self.few_tasks or time.monotonic() > ends_s:
                break
        self.few_tasks = tasks if self.few_tasks is None else self.few_tasks
        gc.collect()
        # Of the allocator's blocks: bytes would need one that counts.
        print("held", json.dumps({"memory": sys.getallocatedblocks(), "tasks": tasks}), flush=True)

    @contextlib.contextmanager
    def timed(self, step: dict[str, Any]) -> Iterator[None]:
        """Times what is done in the context, where the step says so."""
        began_s = time.perf_counter()
        yield
        if "timed" in step:
            self.timed_ms.setdefault(step["timed"], []).append((time.perf_counter() - began_s) * 1000)

    # --- calls -------------------------------------------------------------------------------------------------------

    async def call(self, step: dict[str, Any]) -> None:
        service, method = step["call"].split("/")
        descriptor = next(each for each in SERVICES if each.name == service).methods_by_name[method]
        room = _ROOMS[service]
        stub = getattr(getattr(self.client, room), method)
        requests = [
            ParseDict(each, GetMessageClass(descriptor.input_type)())
            for each in step.get("requests", [step.get("request", {})])
        ]
        timeout = {"timeout": step["deadline_ms"] / 1000} if "deadline_ms" in step else {}
        try:
            with self.timed(step):
                call = stub(iter(requests) if descriptor.client_streaming else requests[0], **timeout)
                answers = await _answers(call, step.get("cancel_after"), streams=descriptor.server_streaming)
        except grpc.aio.AioRpcError as error:
            check_error(step, error)
            return
        if "error" in step:
            raise Unexpected(f"an answer instead of {step['error']}: {answers}")
        if "expect_stream" in step:
            check_stream(step["expect_stream"], answers)
        else:
            check(step.get("expect", {}), answers[0])
        for name, path in step.get("save", {}).items():
            self.variables[name] = at(answers if "expect_stream" in step else answers[0], path)

    async def flush(self, step: dict[str, Any]) -> None:
        if await self.client.flush(_timeout_s(step)) is not step.get("delivered", True):
            raise Unexpected("not everything was delivered" if step.get("delivered", True) else "all was delivered")

    async def ready(self) -> None:
        await self.client.wait_until_ready(_PATIENCE_S)
        if self.client.away:
            raise Unexpected("ready, and away")

    # --- the turn helper ---------------------------------------------------------------------------------------------

    async def turn(self, step: dict[str, Any]) -> None:
        name, what = step.get("as", "t"), step["turn"]
        if what == "begin":
            fields = ParseDict(step.get("started", {}), pb.TurnStarted())
            started: Any = {field.name: value for field, value in fields.ListFields()}
            at = step.get("turn_id", ""), step.get("agent", "")
            self.turns[name] = self.client.begin_turn(*at, goal=_goal(step), **started)
            self.directives[name] = []
            return
        turn = self.turns[name]
        if what == "report":
            for event in step.get("events", ()) * step.get("times", 1):
                parsed = ParseDict(event, pb.TurnEvent())
                with self.timed(step):
                    turn.report(parsed)
            if "text_bytes" in step:
                turn.report(tool_returned=pb.ToolReturned(content="é" * (step["text_bytes"] // 2)))
        elif what in ("worked", "finish"):
            (_worked if what == "worked" else _finish)(turn, step)
        elif what in ("flush", "ready"):
            await (self.flush(step) if what == "flush" else self.ready())
        elif what in ("fail", "leave", "cancel"):
            with contextlib.suppress(Thrown, asyncio.CancelledError):
                async with turn:
                    if what != "leave":
                        raise Thrown if what == "fail" else asyncio.CancelledError
        else:
            await self.hear(turn, step, self.directives[name])

    async def hear(self, turn: Turn, step: dict[str, Any], before: list[Any]) -> None:
        what = step["turn"]
        if what == "error":
            await self.await_error(turn, step)
        elif what == "await":
            await self.await_directive(turn, before, step["expect"])
        else:
            began_s = time.perf_counter()
            with self.timed(step):
                answer = await _asked(turn, step)
            took_ms = (time.perf_counter() - began_s) * 1000
            if isinstance(answer, str):
                check(step["expect"], answer)
            elif isinstance(answer, list):
                check(step["expect"], [MessageToDict(each) for each in answer])
                check(len(step["expect"]), len(answer))
            else:
                check(step["expect"], answer and MessageToDict(answer))
            if took_ms > step.get("within_ms", took_ms):
                raise Unexpected(f"it took {took_ms:.0f} ms")

    async def await_error(self, turn: Turn, step: dict[str, Any]) -> None:
        ends_s = time.monotonic() + _PATIENCE_S
        while turn.error is None:
            if time.monotonic() > ends_s:
                raise Unexpected("the turn goes on")
            await asyncio.sleep(0.01)
        assert isinstance(turn.error, grpc.aio.AioRpcError)
        check_error(step, turn.error)
        if turn.dropped != step["dropped"]:
            raise Unexpected(f"{turn.dropped} events were dropped")

    async def await_directive(self, turn: Turn, before: list[Any], expected: dict[str, Any]) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                async for directive in turn:
                    before.append(MessageToDict(directive))
                    if matches(expected, before[-1]):
                        before.clear()
                        return
        raise Unexpected(f"no directive {expected} among {before}")

    async def many(self, turns: int, prefix: str, task: str) -> None:
        counts = dict.fromkeys(("plans", "recalls", "directives", "critiques", "summaries"), 0)
        await asyncio.gather(*(self.one_of_many(f"{prefix}-{number}", task, counts) for number in range(turns)))
        print("many", json.dumps({**counts, "told": self.told}), flush=True)

    async def one_of_many(self, name: str, task: str, counts: dict[str, int]) -> None:
        config = pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM)
        turn = self.client.begin_turn(name, session_id=name, task=task, config=config)
        plan = await turn.plan(2 * _PATIENCE_S)
        lessons = await turn.recall(timeout_s=_PATIENCE_S)
        turn.report(tool_called=pb.ToolCalled(name="run_sql", arguments="SELECT 1"))
        turn.report(tool_returned=pb.ToolReturned(content="no such column: status", is_error=True))
        said = await turn.advice(2 * _PATIENCE_S)
        verdict = await turn.critique("There are 41.", timeout_s=_PATIENCE_S)
        turn.finish(TASK_OUTCOME_SUCCESS)
        summary = await turn.summary(2 * _PATIENCE_S)
        for counted, what in zip(counts, (plan, lessons, said, verdict, summary), strict=True):
            counts[counted] += bool(what)

    async def away(self, turns: int, events: int, kill_at: int, start_at: int, prefix: str) -> None:
        longest = Longest()
        self.told = 0

        def timed(use: Any, *arguments: Any, **named: Any) -> Any:
            with longest.watch():
                return use(*arguments, **named)

        begun = []
        for number in range(turns):
            turn = timed(self.client.begin_turn, f"{prefix}-{number}", session_id=prefix, task="away")
            begun.append(turn)
            for place in range(events):
                if place == events // 2 and number in (kill_at, start_at):
                    await control("kill" if number == kill_at else "start")
                called = pb.ToolCalled(name="step", arguments=json.dumps({"i": place}))
                timed(turn.report, pb.TurnEvent(event_id=f"e{place}", tool_called=called))
            timed(turn.take)
            timed(turn.finish)
            # What the helper does beside the agent is on the agent's own loop, and would show as lateness here.
            with longest.watch(own_s=0.001):
                await asyncio.sleep(0.001)
        if not await self.client.flush(3 * _PATIENCE_S):
            raise Unexpected("not everything was delivered")
        dropped = sum(turn.dropped for turn in begun)
        figures = {"longest_ms": longest.held_s * 1000, "plain_ms": longest.plain_s * 1000}
        print("away", json.dumps({**figures, "told": self.told, "dropped": dropped}), flush=True)


def _check_refused(given: dict[str, Any], words: list[str]) -> None:
    try:
        connect(**given)
    except ValueError as error:
        if all(word in str(error) for word in words):
            return
        raise Unexpected(f"refused, but not with {words}") from error
    raise Unexpected("not refused")


def _worked(turn: Turn, step: dict[str, Any]) -> None:
    turn.tool_worked(step["content"], call_id=step["call_id"])


def _finish(turn: Turn, step: dict[str, Any]) -> None:
    finished = ParseDict({key: step[key] for key in ("outcome", "score") if key in step}, pb.TurnFinished())
    turn.finish(finished.outcome, finished.score if finished.HasField("score") else None, goal=_goal(step))


def _goal(step: dict[str, Any]) -> Any:
    if "goal" not in step:
        return None
    return {field.name: value for field, value in ParseDict(step["goal"], ReportGoalRequest()).ListFields()}


def _timeout_s(step: dict[str, Any]) -> float:
    return float(step.get("timeout_ms", _PATIENCE_S * 1000)) / 1000


async def _asked(turn: Turn, step: dict[str, Any]) -> Any:
    """What the helper gives for a step."""
    given = {"timeout_s": step["timeout_ms"] / 1000} if "timeout_ms" in step else {}
    match step["turn"]:
        case "plan":
            return await turn.plan(_timeout_s(step))
        case "summary":
            return await turn.summary(_timeout_s(step))
        case "recall":
            return await turn.recall(**given)
        case "advice":
            return await turn.advice(**given)
        case "critique":
            return await turn.critique(step["text"], step.get("user_message", ""), **given)
        case "revised":
            return await turn.revised(step["text"], lambda _: step["again"], step.get("user_message", ""), **given)
        case what:
            raise Unexpected(f"no such step: {what}")


async def control(what: str) -> None:
    """Has something done to the sidecar."""
    print(f"@{what}", flush=True)
    answer = await asyncio.to_thread(sys.stdin.readline)
    if answer.strip() != "done":
        raise Unexpected(f"{what}: {answer}")


async def _answers(call: Any, cancel_after: int | None, *, streams: bool) -> list[Any]:
    if not streams:
        return [MessageToDict(await call)]
    answers: list[Any] = []
    async for response in call:
        answers.append(MessageToDict(response))
        if len(answers) == cancel_after:
            call.cancel()
            if await call.code() is not grpc.StatusCode.CANCELLED:
                raise Unexpected("the call was not cancelled")
            break
    return answers


async def main(steps: list[dict[str, Any]]) -> None:
    """Does the steps in their order."""
    has = set(os.environ["SCENARIO_HAS"].split(","))
    runner = Runner(json.loads(os.environ["SCENARIO_VARIABLES"]))
    passed = 0
    for step in steps:
        if set(step.get("needs", ())) <= has:
            print("step", step["name"], flush=True)
            await runner.do(filled(step, runner.variables))
            passed += 1
    await runner.close()
    if runner.timed_ms:
        print("timed", json.dumps({name: figures(took) for name, took in runner.timed_ms.items()}), flush=True)
    print("passed", passed, flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
