"""Sidecars are killed while spans come in, and while turns are recorded: what was acknowledged is there, and once.

As long as the tops are missing no turn is made, so that kills among the other spans meet the inbox. Those that meet the
recording come when a turn's first entries are durable and its end is not.
"""

import asyncio
import operator
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.faults.process import Process
from tests.telemetry_in.captures import EXPECTED, raw_messages
from tests.telemetry_in.made import MadeCall, SpanMessage, request_of, run_of
from tests.telemetry_in.received import TAKES_SPANS, RecordedTurn, export, recorded, until
from tests.telemetry_in.test_received import by_name
from tests.telemetry_in.test_received import check as check_capture

pytestmark = pytest.mark.slow("processes are killed at random")

# Runs, and kills while their spans are sent.
SIZES = [
    pytest.param(20, 2, id="2"),
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


# Of a run that is recorded for so long that it can be seen.
MANY_CALLS = tuple(
    MadeCall("sql", f"SELECT {number}", f"row {number} " * 200, failed=number % 2 == 0) for number in range(400)
)


# So long that a run is in as a whole before its turn is made, on a busy machine too.
WHOLE_RUNS = {**SETTINGS, "telemetry__settle_s": "8"}


def ids_of(run: Sequence[SpanMessage]) -> str:
    """The id of a run's turn."""
    return f"otlp-{run[-1].trace_id.hex()}-{run[-1].span_id.hex()}"


async def recorded_and_killed(processes: Sequence[Process], kills: int, seed: int) -> list[list[SpanMessage]]:
    """Sends runs, their batches in any order and some twice, and kills the sidecars each time a turn is being recorded;
    returns the runs."""
    order = random.Random(seed)
    runs: list[list[SpanMessage]] = []
    made = 0
    while made < kills:
        run = run_of(f"run {len(runs)}", MANY_CALLS, conversation=f"s{len(runs)}")
        runs.append(run)
        # The top comes first, last or in the middle.
        parts = [run[start : start + 50] for start in range(0, len(run), 50)]
        parts += order.sample(parts, 3)
        order.shuffle(parts)
        for part in parts:
            await acknowledged(processes, part, order)
        made += await killed_while_recorded(processes, ids_of(run))
    return runs


async def killed_while_recorded(processes: Sequence[Process], turn_id: str) -> bool:
    """Kills all of the sidecars while they record a turn, and starts them; whether the turn was met in time."""
    if await asyncio.to_thread(is_over_when_met, processes[0].address, turn_id):
        return False
    for process in processes:
        process.kill()
    for process in processes:
        await process.start()
    return True


def is_over_when_met(address: str, turn_id: str) -> bool:
    """Waits until a turn is there; whether it has ended by then."""
    with grpc.insecure_channel(address) as channel:
        stub = ThinkingServiceStub(channel)

        def state() -> int:
            try:
                return stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id, page_size=1), timeout=5).turn.state
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.NOT_FOUND:
                    raise
                return pb.TURN_STATE_UNSPECIFIED

        found: int = until(state, bool)
        return found == pb.TURN_STATE_FINISHED


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


def check_whole(turns: Sequence[RecordedTurn], runs: Sequence[Sequence[SpanMessage]]) -> None:
    """Each run is one turn with all of its calls, in their order, each once."""
    assert {turn.turn_id for turn in turns} == {ids_of(run) for run in runs}
    for turn in turns:
        assert [(call.name, call.arguments, call.content, call.is_error) for call in turn.calls] == [
            tuple(call) for call in MANY_CALLS
        ]


@pytest.mark.parametrize(
    "kills", [pytest.param(2, id="2"), pytest.param(20, id="20", marks=[pytest.mark.long, pytest.mark.timeout(1200)])]
)
async def test_a_turn_that_is_being_recorded_is_finished(kills: int, tmp_path: Path) -> None:
    """Each kill is while a turn is recorded: its first entries are durable, and its end is not. Seen to fail when a
    turn that is there counts as made."""
    async with Process(tmp_path, WHOLE_RUNS) as process:
        runs = await recorded_and_killed([process], kills, 25)
        turns = await asyncio.to_thread(lambda: recorded(process.address, ended=len(runs), patience_s=120))
    assert len(turns) == len(runs)
    check_whole(turns, runs)


async def test_the_recorded_set_ups_survive_kills(tmp_path: Path) -> None:
    """Seen to fail when the notes of an export are written 0.3 s after it is acknowledged."""
    async with Process(tmp_path, SETTINGS) as process:
        await sent_and_killed([process], captured(), 2, 21)
        await asyncio.to_thread(check_captures, process.address)


def until_more(address: str, before: int) -> int:
    """Waits until there are more turns, open ones too; how many."""
    with grpc.insecure_channel(address) as channel:
        stub, request = ThinkingServiceStub(channel), pb.ListTurnsRequest(page_size=100)
        return int(until(lambda: len(stub.ListTurns(request, timeout=5).turns), partial(operator.lt, before)))


async def mixed_and_killed(processes: Sequence[Process], kills: int, seed: int) -> None:
    """Sends the recorded set-ups in exports that hold spans of all of them, tops among them from the first one on, and
    kills the sidecars meanwhile; then whenever another turn is there, as long as not all of them are."""
    order = random.Random(seed)
    spans = captured()
    spans += order.sample(spans, len(spans) // 2)
    order.shuffle(spans)
    parts = [spans[start : start + 20] for start in range(0, len(spans), 20)]
    for number, part in enumerate(parts):
        await acknowledged(processes, part, order)
        if number in (1, len(parts) // 2):
            victim = order.choice(processes)
            victim.kill()
            await victim.start()
    there = 0
    for _ in range(kills):
        if there >= len(EXPECTED):
            break
        there = await asyncio.to_thread(until_more, processes[0].address, there)
        for process in processes:
            process.kill()
        for process in processes:
            await process.start()


# So long that all exports are in before the first turn is made, however long the kills take.
LONG_SETTLE = {**SETTINGS, "telemetry__settle_s": "30"}


# Kills while turns are made, beside two while their spans come in.
MEANWHILE = [pytest.param(1, id="1"), pytest.param(3, id="3", marks=pytest.mark.long)]


@pytest.mark.parametrize("kills", MEANWHILE)
async def test_the_recorded_set_ups_survive_kills_with_their_tops_first(kills: int, tmp_path: Path) -> None:
    """Seen to fail when a turn that is there counts as made."""
    async with Process(tmp_path, LONG_SETTLE) as process:
        await mixed_and_killed([process], kills, 26)
        await asyncio.to_thread(check_captures, process.address)


def check_captures(address: str) -> None:
    """Each set-up is the turn that was written by hand."""
    turns = by_name(recorded(address, ended=len(EXPECTED), patience_s=180))
    assert set(turns) == set(EXPECTED)
    for name, turn in turns.items():
        check_capture(name, turn)
