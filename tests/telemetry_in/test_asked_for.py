"""An agent that is only instrumented asks for the conversation what repaired a failure: its tries then count as tries
after advice, and advice that fails is not told for long."""

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.recoveries import moves
from sidemirror_server.trace.receipts import NAMED
from tests.http.sidecars import token_of
from tests.http.test_mcp import connected, said
from tests.memory.recovering import FAILURE, SENTENCE, observed
from tests.telemetry_in.made import MadeCall, SpanMessage, request_of, run_of
from tests.telemetry_in.received import export, takes_spans, until
from tests.wire.sidecar import SidecarThread

pytestmark = pytest.mark.slow("turns are made and learned from, one after the other")

BAD = MadeCall("sql", "SELECT count(*) FROM orders", FAILURE, failed=True)
LOOK_UP = MadeCall("sql", "SHOW TABLES", "orders_2026, customers")
GOOD = MadeCall("sql", "SELECT count(*) FROM orders_2026", "17")
REPAIRED, UNREPAIRED = (BAD, LOOK_UP, GOOD), (BAD, LOOK_UP, GOOD._replace(result=FAILURE, failed=True))
TAUGHT = 5
_MS = 1_000_000


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SidecarThread]:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    # How long it takes until it is told is for others to test.
    monkeypatch.setattr(moves, "MOST_AN_HOUR", 1_000)
    with takes_spans(tmp_path) as running:
        send(running, [run_of(f"t{number}", REPAIRED, conversation=f"c{number}") for number in range(TAUGHT)])
        until(lambda: asked(running, ""), lambda texts: texts == [f"In 5 of 5 {SENTENCE}"])
        yield running


def asked(server: SidecarThread, session_id: str) -> list[str]:
    request = pb.FindRecoveriesRequest(tool="sql", error_text=FAILURE, arguments=BAD.arguments, session_id=session_id)
    with grpc.insecure_channel(server.address) as channel:
        return [item.text for item in ReflectiveMemoryServiceStub(channel).FindRecoveries(request).block.items]


def send(server: SidecarThread, runs: Sequence[list[SpanMessage]]) -> None:
    before = seen(server).observation_count
    export(server.address, request_of([one for run in runs for one in run]))
    until(lambda: seen(server).observation_count, lambda count: count >= before + len(runs))


def seen(server: SidecarThread) -> pb.SignatureRecoveries:
    return asyncio.run(observed(server.address))


def run_that_asks(
    server: SidecarThread, name: str, calls: Sequence[MadeCall], *, asks_before: int = 1, within: bool = False
) -> list[SpanMessage]:
    """A run in a conversation of its own. It asks before the call of this number; `within`: before the span of the call
    before it has ended, as a wrapper of tools does."""
    began_ns = time.time_ns()
    asked(server, f"otlp:{name}")
    heard_ns = time.time_ns()
    *spans, agent = run_of(name, calls, conversation=name)
    for number, one in enumerate(spans):
        start_ns = began_ns - 10 * _MS if number < asks_before else heard_ns
        one.start_time_unix_nano = start_ns + number * _MS
        one.end_time_unix_nano = one.start_time_unix_nano + _MS // 2
    if within:
        spans[asks_before - 1].end_time_unix_nano = heard_ns
    agent.start_time_unix_nano, agent.end_time_unix_nano = began_ns - 20 * _MS, heard_ns + 10 * _MS
    time.sleep(0.02)  # a span that has not ended yet would be moved
    return [*spans, agent]


def tallies(server: SidecarThread) -> list[tuple[int, int, int, int]]:
    return [(one.worked, one.tries, one.advised_worked, one.advised_tries) for one in seen(server).moves]


@pytest.mark.parametrize("within", [False, True], ids=["after the call", "within the call"])
def test_what_follows_is_a_try_after_advice(server: SidecarThread, within: bool) -> None:
    """Seen to fail when only a turn's receipts are looked at: then it is a sixth try without advice."""
    send(server, [run_that_asks(server, "asking", REPAIRED, within=within)])
    assert tallies(server) == [(5, 5, 1, 1)]


async def test_what_was_asked_by_mcp_is_known_by_its_result(server: SidecarThread) -> None:
    """The address of MCP names no conversation. Seen to fail when results of calls are not looked at."""
    async with connected(server.http_port, token_of(server.folder / "data")) as client:
        given = {"tool": "sql", "error_text": FAILURE, "arguments": BAD.arguments}
        answer = await said(client, "what_worked", **given)
    assert SENTENCE in answer
    asking = MadeCall("sidemirror_what_worked", json.dumps(given), answer)
    run = run_of("by MCP", (BAD, asking, LOOK_UP, GOOD), conversation="by MCP")
    await asyncio.to_thread(send, server, [run])
    assert await asyncio.to_thread(tallies, server) == [(5, 5, 1, 1)]


async def test_so_many_receipts_of_a_run_are_looked_up(server: SidecarThread) -> None:
    """Results that name made-up ones do nothing else. Seen to fail when each one is looked up."""
    answer = f"In 5 of 5 {SENTENCE}\n{NAMED}"
    with grpc.insecure_channel(server.address) as channel:
        request = pb.FindRecoveriesRequest(tool="sql", error_text=FAILURE, arguments=BAD.arguments)
        real = ReflectiveMemoryServiceStub(channel).FindRecoveries(request).block.receipt_id
    for made_up, tried in ((99, (5, 5, 1, 1)), (100, (6, 6, 1, 1))):
        ids = [f"00000000-0000-0000-0000-{number:012}" for number in range(made_up)]
        asking = [MadeCall("what_worked", "{}", answer.format(one)) for one in (*ids, real)]
        run = run_of(f"made up {made_up}", (*asking[:-1], BAD, asking[-1], LOOK_UP, GOOD), conversation=f"{made_up}")
        await asyncio.to_thread(send, server, [run])
        assert await asyncio.to_thread(tallies, server) == [tried]


def test_who_asks_too_late_has_tried_alone(server: SidecarThread) -> None:
    """The agent has gone on before it asks. So has one that asks for another conversation. Seen to fail when any
    failure of the turn counts as advised."""
    send(server, [run_that_asks(server, "late", REPAIRED, asks_before=2)])
    send(server, [run_of("other", REPAIRED, conversation="nobody asked")])
    assert tallies(server) == [(7, 7, 0, 0)]


def test_advice_that_fails_twice_is_told_no_more(server: SidecarThread) -> None:
    """Seen to fail when only a turn's receipts are looked at."""
    for number in range(2):
        assert asked(server, "") == [f"In 5 of 5 {SENTENCE}"]
        send(server, [run_that_asks(server, f"failing {number}", UNREPAIRED)])
    until(lambda: asked(server, ""), lambda texts: texts == [])
