"""Readers that are slow, stop, go away and come back: they see everything, or are told what they miss."""

import asyncio
import random
from collections import defaultdict
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.agents import Agent, failing_calls, record_of, started
from tests.faults.figures import show
from tests.faults.journal import Journal
from tests.faults.process import Process
from tests.faults.sidecars import Stub, connected, running
from tests.faults.talk import Talk
from tests.faults.waiting import until

pytestmark = pytest.mark.slow("tens of thousands of events")

MIB = 1024 * 1024


class Reader:
    """Watches all turns and checks that each one's entries come from 1 on, without a hole and in order."""

    def __init__(self, address: str, seed: int, pause_s: float, stay: int) -> None:
        """Pauses for `pause_s` now and then, and goes away after about `stay` entries, to come back."""
        self._address = address
        self._chance = random.Random(seed)
        self._pause_s = pause_s
        self._stay = stay
        self._cursor = ""
        self.last: defaultdict[str, int] = defaultdict(int)
        self.seen = 0
        self.events = 0
        self.visits = 0
        self.wrong: list[str] = []

    async def read(self, until_events: int) -> None:
        """Until so many events have been seen."""
        while self.events < until_events:
            self.visits += 1
            async with connected(self._address) as stub:
                watch = stub.WatchTurns(pb.WatchTurnsRequest(cursor=self._cursor))
                leave_at = self.seen + self._chance.randint(1, 2 * self._stay)
                while self.seen < leave_at and self.events < until_events:
                    self._take((await watch.read()).entry)
                    if self._pause_s and self._chance.random() < 0.001:
                        await asyncio.sleep(self._pause_s)
                watch.cancel()

    def _take(self, entry: pb.TurnEntry) -> None:
        self._cursor = entry.cursor
        if not entry.sequence:
            return
        if entry.sequence != self.last[entry.turn_id] + 1:
            self.wrong.append(f"{entry.turn_id}: {entry.sequence} after {self.last[entry.turn_id]}")
        self.last[entry.turn_id] = entry.sequence
        self.seen += 1
        self.events += entry.HasField("event")


async def write_turns(stub: Stub, writer: int, turns: int, events: int) -> None:
    """Turns of so many events each, 500 a message."""
    for number in range(turns):
        turn_id = f"w{writer}-{number}"
        all_events = [started(turn_id, f"s{writer}"), *failing_calls(turn_id, events - 1)]
        await Agent(turn_id, all_events, Journal(), batch=500).run(stub)


@pytest.mark.parametrize(
    "total",
    [
        pytest.param(8_000, id="8-thousand"),
        pytest.param(1_000_000, id="1-million", marks=[pytest.mark.long, pytest.mark.timeout(1500)]),
    ],
)
async def test_watches_have_no_silent_gap(total: int, tmp_path: Path) -> None:
    """A quick reader, a slow one, and two that come and go, while two agents write. Seen to fail when `WatchTurns`
    takes the cursor of the page's last entry for each of them, when it begins with `after + 1`, and when the log gives
    positions before it commits."""
    async with Process(tmp_path) as process:
        readers = [
            Reader(process.address, seed, pause_s, stay)
            for seed, pause_s, stay in [(1, 0.0, 10**9), (2, 0.02, 10**9), (3, 0.0, 3_000), (4, 0.01, 700)]
        ]
        reading = [asyncio.create_task(reader.read(total)) for reader in readers]
        before = process.memory_bytes()
        async with connected(process.address) as stub:
            each = min(10_000, total // 8)
            await asyncio.gather(*[write_turns(stub, writer, total // 2 // each, each) for writer in range(2)])
        highest = process.memory_bytes()
        _, late = await asyncio.wait(reading, timeout=60 + total / 1_000)
        for task in late:
            task.cancel()
    show(
        f"{total} events, {readers[0].seen} entries to each of 4 readers in {sum(reader.visits for reader in readers)} "
        f"visits; memory {before // MIB} MiB, then {highest // MIB} MiB"
    )
    assert [reader.wrong for reader in readers] == [[]] * 4
    assert not late, "entries are missing at the end"
    assert {sum(reader.last.values()) for reader in readers} == {readers[0].seen}
    assert readers[3].visits > 8
    # Turns that are open stay in memory for five minutes: what 100 turns of 10,000 events hold is bounded by that.
    assert highest < before + 64 * MIB + 200 * total


async def test_a_run_that_is_not_read_is_told_of_a_gap(tmp_path: Path) -> None:
    """An agent that was away for more directives than a turn keeps at hand is told which places it missed, and
    GetTurn has them. Seen to fail when `Listener.take` does not look at `turn.forgotten`."""
    async with running(tmp_path, limits__events_per_turn="20000") as served:
        talk = Talk(served.stub)
        await talk.say(started("t", "s", level=pb.THINK_LEVEL_OFF))
        for first in range(0, 15_000, 1_000):
            await talk.say(*streaks(first, 1_000))
        await until(lambda: talk.durable() == 15_001, within_s=60)
        talk.stream.cancel()
        again = Talk(served.stub)
        await again.say(resume=pb.TurnResume(turn_id="t"))
        await until(lambda: bool(again.said("gap")) and bool(again.said("ack")))
        _, entries = await record_of(served.stub, "t")
        recorded = [entry.sequence for entry in entries if entry.HasField("directive")]
        assert len(recorded) > 1_000, "nothing was forgotten: the test shows nothing"
        gap = again.said("gap")[0].gap
        told = [directive.sequence for directive in again.heard if directive.sequence]
        missing = [sequence for sequence in recorded if gap.first_sequence <= sequence <= gap.last_sequence]
        assert [*missing, *told] == recorded
        again.stream.cancel()


def streaks(first: int, count: int, name: str = "e") -> list[pb.TurnEvent]:
    """Tool calls that make one nudge in every ten events: three equal ones, then two others. Ids begin with `name`."""
    events = []
    for number in range(first, first + count, 2):
        place = number // 2 % 5
        tool = f"tool-{number // 10 % 5}" if place < 3 else f"other-{number}"
        called, returned = pb.ToolCalled(name=tool, arguments="{}"), pb.ToolReturned(content=tool)
        events.append(pb.TurnEvent(event_id=f"{name}{number}", tool_called=called))
        events.append(pb.TurnEvent(event_id=f"{name}{number + 1}", tool_returned=returned))
    return events


async def test_a_stream_that_is_not_read_holds_back_nobody(tmp_path: Path) -> None:
    """An agent that sends and never reads, while more is said to it than gRPC holds for it (about 4.4 MB): all that it
    sends is recorded, another agent is served beside it, and memory stays bounded. Seen to fail when a stream takes
    the next request only after it has written its answer to the one before."""
    messages = [streaks(first, 500, name="x" * 110) for first in range(0, 60_000, 500)]
    async with (
        Process(tmp_path, {"limits__events_per_turn": "100000"}) as process,
        connected(process.address) as stub,
        connected(process.address) as other,
    ):
        deaf = stub.RunTurn()
        await deaf.write(pb.RunTurnRequest(events=[started("deaf", "s")]))
        before = process.memory_bytes()
        for events in messages:
            await asyncio.wait_for(deaf.write(pb.RunTurnRequest(events=events)), 60)
        talk = Talk(other)
        await talk.say(started("t", "s2"), *failing_calls("t", 100))
        await until(lambda: talk.durable() == 101)
        async with asyncio.timeout(60):
            while await _event_count(other, "deaf") < 60_001:  # noqa: ASYNC110 - asked over the wire
                await asyncio.sleep(0.05)
        after = process.memory_bytes()
        deaf.cancel()
        talk.stream.cancel()
    show(f"60,000 events that nobody reads about: {before // MIB} MiB, then {after // MIB} MiB")
    assert after < before + 80 * MIB


async def _event_count(stub: Stub, turn_id: str) -> int:
    return int((await stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id, page_size=1))).turn.event_count)
