"""Odd spans through a whole sidecar: each export is answered by a code that the protocol has, memory stays where it is,
what became of each span is counted, and the next good run is a turn."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import grpc
import psutil
import pytest

from tests.faults.process import Process
from tests.operations.scrape import labelled, metrics_address
from tests.telemetry_in.made import MadeCall, SpanMessage, request_of, run_of, span
from tests.telemetry_in.received import TAKES_SPANS, export, recorded, until
from tests.telemetry_in.test_abuse import GROUP, delimited, nested, with_attributes

pytestmark = pytest.mark.slow("a sidecar gets what takes it seconds")

SETTINGS = {name: value for name, value in TAKES_SPANS.items() if name != "http_address"}
# Resident, of the sidecar and of the process that decodes. Chosen here: what both have when they idle, and as much
# again as the largest message takes.
MOST_MB = 600
GOOD = run_of("good", (MadeCall("sql", "SELECT 1", "1"),), conversation="good")
BECAME = ("kept", "other", "rejected", "late", "dropped", "refused")


def resident_mb(process: Process) -> float:
    root = psutil.Process(process.pid)
    return sum(one.memory_info().rss for one in (root, *root.children(recursive=True))) / 2**20


def code_of(process: Process, body: bytes) -> grpc.StatusCode:
    with grpc.insecure_channel(process.address) as channel:
        method: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
        )
        try:
            method(body, timeout=60)
        except grpc.RpcError as error:
            return error.code()
        return grpc.StatusCode.OK


def counted(process: Process) -> dict[str, float]:
    """The metric of spans, as a scrape gets it."""
    address = metrics_address(process.text())
    found = {became: labelled(address, "sidemirror_spans_total", became=became) for became in BECAME}
    return {became: count for became, count in found.items() if count}


def body_of(spans: Iterable[SpanMessage]) -> bytes:
    return request_of(spans).SerializeToString()


def circle() -> list[SpanMessage]:
    """Agents below each other in a circle, and one that is below itself."""
    spans = [
        span("circle", str(number), str((number + 1) % 50), gen_ai__operation__name="invoke_agent")
        for number in range(50)
    ]
    return [*spans, span("circle", "own", "own", gen_ai__operation__name="invoke_agent")]


def deep(depth: int) -> bytes:
    """An export whose only attribute is nested so deep."""
    value = b""
    for _ in range(depth):
        value = delimited(5, delimited(1, value))
    return delimited(1, delimited(2, delimited(2, delimited(9, delimited(1, b"k") + delimited(2, value)))))


class Odd(NamedTuple):
    """An export, and the codes that it may end with: a busy machine may give up what takes it too long."""

    make: Callable[[], bytes]
    codes: tuple[grpc.StatusCode, ...]


MANY = 1_999_900
OK, BAD = grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT
ODD = {
    "nested 45 deep": Odd(lambda: body_of([nested(45)]), (OK,)),
    "nested 5,000 deep": Odd(lambda: deep(5_000), (BAD,)),
    "in a circle": Odd(lambda: body_of(circle()), (OK,)),
    "400,000 attributes": Odd(lambda: body_of([with_attributes(400_000)]), (OK, BAD)),
    "two million empty attributes": Odd(
        lambda: delimited(1, delimited(2, delimited(2, delimited(9, b"") * MANY))), (OK, BAD)
    ),
    "two million empty events": Odd(
        lambda: delimited(1, delimited(2, delimited(2, delimited(11, b"") * MANY))), (OK, BAD)
    ),
    "two million empty spans": Odd(lambda: delimited(1, delimited(2, delimited(2, b"") * MANY)), (BAD,)),
    "two million empty scopes": Odd(lambda: delimited(1, delimited(2, b"") * MANY), (BAD,)),
    "two million empty resources": Odd(lambda: delimited(1, b"") * MANY, (BAD,)),
    "two million empty spans behind a group": Odd(
        lambda: GROUP + delimited(1, delimited(2, delimited(2, b"") * MANY)), (BAD,)
    ),
    "two million empty spans behind a group of their resource's": Odd(
        lambda: delimited(1, GROUP + delimited(2, delimited(2, b"") * MANY)), (BAD,)
    ),
}


@pytest.mark.parametrize("odd", ODD)
async def test_odd_spans_are_bounded_and_counted(odd: str, tmp_path: Path) -> None:
    """Seen to fail, by memory, when the spans of an export are made before they are counted."""
    body = ODD[odd].make()
    assert len(body) <= 4 * 1024 * 1024
    async with Process(tmp_path, {**SETTINGS, "metrics_address": "127.0.0.1:0"}) as process:
        export(process.address, request_of(GOOD))
        most_mb, began_s = resident_mb(process), time.monotonic()
        code = code_of(process, body)
        took_s = time.monotonic() - began_s
        most_mb = max(most_mb, resident_mb(process))
        assert code in ODD[odd].codes
        # A process that decodes is ended after 30 s.
        assert took_s < 40
        assert most_mb < MOST_MB
        turns = recorded(process.address, ended=1)
        assert "otlp:good" in {turn.session for turn in turns}
        assert '"call_failed"' not in process.text()


async def test_every_span_is_counted_by_what_became_of_it(tmp_path: Path) -> None:
    """All that is sent is kept, of no agent's work, malformed or dropped; what is late or refused was kept."""
    async with Process(tmp_path, {**SETTINGS, "metrics_address": "127.0.0.1:0"}) as process:
        others = [span("web", f"GET {number}", http__method="GET") for number in range(5)]
        broken = [SpanMessage(trace_id=b"short", span_id=b"12345678"), SpanMessage()]
        export(process.address, request_of([*GOOD, *others, *broken]))
        recorded(process.address, ended=1)
        assert counted(process) == {"kept": len(GOOD), "other": 5, "rejected": 2}
        late = span("good", "late", "agent", gen_ai__operation__name="execute_tool", gen_ai__tool__name="look")
        export(process.address, request_of([late]))
        until(lambda: counted(process), lambda found: found.get("late") == 1)
        assert counted(process) == {"kept": len(GOOD) + 1, "other": 5, "rejected": 2, "late": 1}
        flood = run_of("flood", [MadeCall("sql", str(number), "") for number in range(10_050)], conversation="f")
        rejected = 0
        for start in range(0, len(flood), 2_000):
            answer = export(process.address, request_of(flood[start : start + 2_000]))
            rejected += answer.partial_success.rejected_spans
        found = counted(process)
        assert found["dropped"] == rejected == len(flood) - 10_000
        sent = len(GOOD) + len(others) + len(broken) + 1 + len(flood)
        assert sum(found[became] for became in ("kept", "other", "rejected", "dropped")) == sent
