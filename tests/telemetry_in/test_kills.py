"""Sidecars are killed while spans come in and turns are made of them: what was acknowledged is there, and once."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import grpc
import pytest

from tests.faults.process import Process
from tests.telemetry_in.captures import EXPECTED, raw_messages
from tests.telemetry_in.made import MadeCall, SpanMessage, request_of, run_of
from tests.telemetry_in.received import TAKES_SPANS, RecordedTurn, export, recorded
from tests.telemetry_in.test_received import by_name
from tests.telemetry_in.test_received import check as check_capture

pytestmark = pytest.mark.slow("processes are killed at random")

# Runs, and kills while their spans are sent.
SIZES = [
    pytest.param(20, 3, id="3"),
    pytest.param(60, 20, id="20", marks=[pytest.mark.long, pytest.mark.timeout(600)]),
]
# Batches between two kills.
BETWEEN = 3
SETTINGS = {name: value for name, value in TAKES_SPANS.items() if name != "http_address"}
CALLS = tuple(MadeCall("sql", f"SELECT {number}", str(number), failed=number % 2 == 0) for number in range(6))


_AWAY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def made_of(runs: int) -> list[SpanMessage]:
    return [one for run in range(runs) for one in run_of(f"run {run}", CALLS, conversation=f"s{run}")]


def captured() -> list[SpanMessage]:
    return [one for name in EXPECTED for one in raw_messages(name)]


def batches(spans: Sequence[SpanMessage], order: random.Random) -> list[list[SpanMessage]]:
    """The spans in an order of chance, in batches, some of them twice. Those without a parent come last, as they do:
    before them no turn is made, however long the kills take."""
    calls, agents = [one for one in spans if one.parent_span_id], [one for one in spans if not one.parent_span_id]
    calls += order.sample(calls, len(calls) // 4)
    order.shuffle(calls)
    agents += order.sample(spans, len(spans) // 4)
    return [part[start : start + 7] for part in (calls, agents) for start in range(0, len(part), 7)]


async def acknowledged(processes: Sequence[Process], batch: Sequence[SpanMessage], order: random.Random) -> None:
    """Sends a batch to any of the sidecars, again and again until one acknowledges it."""
    while True:
        try:
            await asyncio.to_thread(export, order.choice(processes).address, request_of(batch))
            return
        except grpc.RpcError as error:
            if error.code() not in _AWAY:
                raise
            await asyncio.sleep(0.05)


async def sent_and_killed(processes: Sequence[Process], spans: Sequence[SpanMessage], kills: int, seed: int) -> None:
    """Sends all spans, while the sidecars are killed one at a time: each time some batches are sent, and the first of
    them that is acknowledged brings the kill. A sidecar acknowledges nothing in its first seconds."""
    order = random.Random(seed)
    everything = batches(spans, order)
    assert len(everything) > kills * BETWEEN
    waiting, may_send, acked = iter(everything), asyncio.Semaphore(0), asyncio.Event()

    async def send() -> None:
        for batch in waiting:
            await may_send.acquire()
            await acknowledged(processes, batch, order)
            acked.set()

    def allow(count: int) -> None:
        for _ in range(count):
            may_send.release()

    async def kill() -> None:
        for _ in range(kills):
            acked.clear()
            allow(BETWEEN)
            await acked.wait()
            victim = order.choice(processes)
            victim.kill()
            await victim.start()
        allow(len(everything))

    await asyncio.gather(kill(), *(send() for _ in range(4)))


def check(turns: list[RecordedTurn], runs: int) -> None:
    """Every run is one turn with all of its calls, in their order, each once."""
    assert sorted(turn.session for turn in turns) == sorted(f"otlp:s{run}" for run in range(runs))
    for turn in turns:
        found = [(call.name, call.arguments, call.content, call.is_error) for call in turn.calls]
        assert found == [tuple(call) for call in CALLS]


@pytest.mark.parametrize(("runs", "kills"), SIZES)
async def test_nothing_that_was_acknowledged_is_lost(runs: int, kills: int, tmp_path: Path) -> None:
    """Seen to fail when the notes of an export are written 0.3 s after it is acknowledged."""
    async with Process(tmp_path, SETTINGS) as process:
        await sent_and_killed([process], made_of(runs), kills, 19)
        check(await asyncio.to_thread(recorded, process.address, ended=runs), runs)


async def test_the_recorded_set_ups_survive_kills(tmp_path: Path) -> None:
    """Seen to fail when the notes of an export are written 0.3 s after it is acknowledged."""
    async with Process(tmp_path, SETTINGS) as process:
        await sent_and_killed([process], captured(), 2, 21)
        await asyncio.to_thread(check_captures, process.address)


def check_captures(address: str) -> None:
    """Each set-up is the turn that was written by hand."""
    turns = by_name(recorded(address, ended=len(EXPECTED)))
    assert set(turns) == set(EXPECTED)
    for name, turn in turns.items():
        check_capture(name, turn)
