"""`sidemirror watch`: the timeline, and that it misses nothing when the connection breaks."""

import asyncio
import contextlib
import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.watch import follow
from sidemirror_server.operations.watch_lines import Timeline
from tests.acceptance import product
from tests.faults.agents import Agent, a_turn, failing_calls
from tests.faults.journal import Journal
from tests.faults.process import Process
from tests.faults.proxy import FaultProxy
from tests.faults.sidecars import connected, running
from tests.faults.test_readers import streaks


class Shown:
    """The command at work, and the lines that it has printed."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.lines: list[str] = []
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._more:
                self.lines.append(line.rstrip("\n"))
                self._more.notify_all()

    def wait_for(self, count: int) -> list[str]:
        """The lines, once there are so many."""
        with self._more:
            assert self._more.wait_for(lambda: len(self.lines) >= count, product.PATIENCE_S), self.lines
            return list(self.lines)

    def interrupt(self) -> int:
        """Ctrl-C, and the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(product.PATIENCE_S)
        self._reader.join(product.PATIENCE_S)
        return code


@contextlib.contextmanager
def watching(address: str, *flags: str, stderr: int | None = None) -> Iterator[Shown]:
    arguments = [str(product.COMMAND), "watch", "--address", address, *flags]
    env = product.environment()
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=stderr, text=True, env=env) as process:
        try:
            yield Shown(process)
        finally:
            process.kill()


async def test_the_timeline(tmp_path: Path) -> None:
    async with Process(tmp_path) as process, connected(process.address) as stub:
        await stub.StartTurn(pb.StartTurnRequest(turn_id="turn-1", session_id="s1", task="find\x1b[31m it"))
        await stub.ReportEvents(pb.ReportEventsRequest(turn_id="turn-1", events=streaks(0, 6)))
        with watching(process.address, "--all-from-start") as shown:
            lines = await asyncio.to_thread(shown.wait_for, 9)
            assert await asyncio.to_thread(shown.interrupt) == 130
    said = [line.split("  ", 2) for line in lines]
    assert {who for _, who, _ in said} == {"s1/turn-1"}
    whats = [what for _, _, what in said]
    assert whats[0] == "turn started: find�[31m it"
    assert whats[1] == "↳ plan: turn 1, level off, 0 tokens; no lesson with it: its start did not ask for any"
    assert whats[2:4] == ["tool called: tool-0 {}", "tool-0 returned: tool-0"]
    assert whats[8].startswith(
        "↳ nudge (repeated call): You have called tool-0 with the same arguments 3 times in a row, and "
    )
    assert all(len(when) == len("12:34:56.789") for when, _, _ in said)


async def test_one_session_as_json(tmp_path: Path) -> None:
    async with Process(tmp_path) as process, connected(process.address) as stub:
        for number in (1, 2):
            await stub.StartTurn(pb.StartTurnRequest(turn_id=f"t{number}", session_id=f"s{number}"))
        with watching(process.address, "--all-from-start", "--json", "--session", "s2") as shown:
            entries = [json.loads(line) for line in await asyncio.to_thread(shown.wait_for, 2)]
            assert await asyncio.to_thread(shown.interrupt) == 130
    assert [(entry["turn_id"], entry["sequence"]) for entry in entries] == [("t2", 1), ("t2", 2)]
    assert entries[0]["event"]["turn_started"]["session_id"] == "s2"
    assert entries[1]["directive"]["turn_plan"]["turn_count"] == 1


async def test_a_restart_of_the_sidecar_leaves_no_hole(tmp_path: Path) -> None:
    """The command itself, over a kill on the same address. Seen to fail when `follow` does not keep the cursor."""
    process = Process(tmp_path)
    async with process:
        with watching(process.address, "--json", "--all-from-start") as shown:
            async with connected(process.address) as stub:
                await stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"))
                await stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=failing_calls("t", 4)))
            await asyncio.to_thread(shown.wait_for, 6)
            process.kill()
            again = Process(tmp_path, {"address": process.address})
            async with again:
                async with connected(again.address) as stub:
                    more = failing_calls("t", 4, first=5)
                    await stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=more))
                lines = await asyncio.to_thread(shown.wait_for, 10)
    # With why nothing was told, which is looked up beside the calls.
    assert [json.loads(line)["sequence"] for line in lines] == list(range(1, len(lines) + 1))


async def test_connections_that_break_leave_no_hole(tmp_path: Path) -> None:
    """Resets and cuts all the time while an agent works. Seen to fail when `follow` does not keep the cursor."""
    told: list[str] = []
    sequences: list[int] = []
    async with running(tmp_path) as served, FaultProxy(served.address) as proxy:
        address = proxy.address
        agent = Agent("t", a_turn("t", "s", 1_000), Journal(), batch=5)
        working = asyncio.create_task(agent.run(served.stub))
        breaks = 0
        async with asyncio.timeout(60):
            async for entry in follow(proxy.address, pb.WatchTurnsRequest(), told.append):
                sequences.append(entry.sequence)
                if len(sequences) % 200 == 0 and breaks < 4:
                    breaks += 1
                    proxy.reset() if breaks % 2 else proxy.cut_after(500)
                if entry.directive.HasField("turn_summary"):
                    break
        await working
    assert sequences == list(range(1, len(sequences) + 1))
    assert len(sequences) > 1_000
    lines = [f"the connection to {address} is lost; trying again", f"{address} answers again"]
    assert told == lines * (len(told) // 2)
    assert len(told) >= 6


async def test_a_watch_of_what_is_new_knows_at_once_where_it_is(tmp_path: Path) -> None:
    """What is recorded while the connection is broken is shown, even when nothing was shown before. Seen to fail when
    `WatchTurns` does not begin with a heartbeat."""
    async with running(tmp_path) as served, FaultProxy(served.address) as proxy:
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="old", session_id="s"))
        request = pb.WatchTurnsRequest(new_only=True)
        following = follow(proxy.address, request, lambda _: None)
        first = asyncio.ensure_future(anext(following))
        async with asyncio.timeout(60):
            while not request.cursor:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.01)
        proxy.swallow()
        proxy.reset()
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="new", session_id="s"))
        proxy.pass_on()
        entry = await asyncio.wait_for(first, 15)
        assert (entry.turn_id, entry.sequence) == ("new", 1)
        await following.aclose()  # type: ignore[attr-defined]  # it is a generator


def test_nobody_there() -> None:
    ran = product.run("watch", "--address", "127.0.0.1:1")
    assert ran.returncode == 69
    assert ran.stderr == ("sidemirror: nothing can be reached at 127.0.0.1:1. Is `sidemirror serve` running there?\n")


async def test_a_session_of_another_tenant_that_nothing_is_recorded_of_yet(tmp_path: Path) -> None:
    """It is said once that there is nothing to show so far, and what comes then is shown."""
    async with Process(tmp_path) as process, connected(process.address) as stub:
        await stub.StartTurn(pb.StartTurnRequest(turn_id="other", session_id="s"))
        flags = ("--tenant-id", "acme", "--project-id", "shop", "--session", "s", "--json", "--all-from-start")
        with watching(process.address, *flags, stderr=subprocess.PIPE) as shown:
            assert shown.process.stderr is not None
            told = await asyncio.to_thread(shown.process.stderr.readline)
            assert told == "sidemirror: nothing is recorded of session 's' so far; waiting for it\n"
            mine = pb.StartTurnRequest(tenant_id="acme", project_id="shop", turn_id="mine", session_id="s")
            await stub.StartTurn(mine)
            entries = [json.loads(line) for line in await asyncio.to_thread(shown.wait_for, 2)]
            assert await asyncio.to_thread(shown.interrupt) == 130
            assert shown.process.stderr.read() == ""
        with watching(process.address, *flags, stderr=subprocess.PIPE) as shown:
            await asyncio.to_thread(shown.wait_for, 2)
            assert await asyncio.to_thread(shown.interrupt) == 130
            assert shown.process.stderr is not None
            assert shown.process.stderr.read() == ""
    assert [entry["turn_id"] for entry in entries] == ["mine", "mine"]


async def test_a_refusal_ends_it(tmp_path: Path) -> None:
    async with Process(tmp_path) as process:
        ran = await asyncio.to_thread(product.run, "watch", "--address", process.address, "--session", "x" * 129)
    assert ran.returncode == 1
    assert "refuses: INVALID_ARGUMENT" in ran.stderr


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (pb.TurnEvent(tool_failed=pb.ToolFailed(error="no\nsuch   table")), "tool failed: no such table"),
        (pb.TurnEvent(agent="b", uncertainty=pb.Uncertainty(score=0.75)), "b: uncertainty: 0.75"),
        (pb.TurnEvent(turn_finished=pb.TurnFinished(outcome="TASK_OUTCOME_SUCCESS")), "turn finished: success"),
        (pb.TurnEvent(turn_finished=pb.TurnFinished(outcome=cast("Any", 77))), "turn finished: 77"),
        (pb.TurnEvent(user_message=pb.UserMessage(text="x" * 1_000)), f"user message: {'x' * 200}…"),
        (pb.TurnEvent(user_message=pb.UserMessage(text="[red]\u202e\x07")), "user message: [red]��"),
    ],
)
def test_lines(event: pb.TurnEvent, told: str) -> None:
    line = Timeline().line(pb.TurnEntry(turn_id="0123456789", sequence=3, event=event)).plain
    assert line.split("  ", 2)[1:] == ["?/23456789", told]
