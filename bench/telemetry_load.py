"""`uv run python -m bench.telemetry_load [--seconds 300]`: what spans cost a sidecar that has one core.

The spans are telemetrygen's, of OpenTelemetry's collector, which Go fetches and builds: traces of a tool's call with 20
below, over gRPC. The sidecar with the process that decodes has one core, senders and callers the other. First it gets
all that senders can send for a while, and what it has made turns of until it is idle again is what one core takes. Then
it gets nine tenths of that, beside a caller of gRPC that calls alone before and after. At the end more exports come at
once than may wait. Every span that was acknowledged has to be in a turn.
"""

import argparse
import asyncio
import contextlib
import os
import re
import subprocess
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import psutil

from bench.http_beside import Times, timed
from bench.processes import free_port
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.faults.process import Process
from tests.faults.waiting import until_found
from tests.telemetry_in.made import MadeCall, request_of, run_of

TELEMETRYGEN = "github.com/open-telemetry/opentelemetry-collector-contrib/cmd/telemetrygen@v0.161.0"
BELOW = 20
# With texts as long as those of an agent with a database.
ATTRIBUTES = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.call.arguments": "SELECT status, count(*) FROM orders WHERE customer = 17 GROUP BY status",
    "gen_ai.tool.call.result": "open 12, paid 3, sent 140, returned 2; " * 10,
}
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
# Many at once: more than may wait (SIDEMIRROR_LIMITS__TELEMETRY_EXPORTS).
AT_ONCE = 64
# The pause of the caller beside the spans. Chosen here: so few calls leave the core to the spans.
PACE_S = 0.05
# The sender breaks off its last trace, so that a top never comes.
SETTINGS = {
    "telemetry__receive": "true",
    "telemetry__content": "*",
    "telemetry__settle_s": "2",
    "abandon_after_s": "30",
}


def fetched(folder: Path) -> Path:
    """The program, built by Go."""
    environment = {**os.environ, "GOBIN": str(folder), "GOFLAGS": "-mod=mod"}
    subprocess.run(["go", "install", TELEMETRYGEN], env=environment, check=True)
    return folder / "telemetrygen"


class Sidecar:
    """The sidecar with its processes: what they took, and what they count."""

    def __init__(self, process: Process, metrics: str) -> None:
        self.address = process.address
        self._metrics = metrics
        self._root = psutil.Process(process.pid)

    def _all(self) -> list[psutil.Process]:
        return [self._root, *self._root.children(recursive=True)]

    def cpu_s(self) -> float:
        """User and system time so far."""
        return sum(sum(one.cpu_times()[:2]) for one in self._all())

    def resident_mb(self) -> float:
        return sum(one.memory_info().rss for one in self._all()) / 2**20

    def spans(self) -> Counter[str]:
        """Spans by what became of them."""
        with urllib.request.urlopen(f"http://{self._metrics}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        found: Counter[str] = Counter()
        for line in lines:
            if counted := re.match(r'sidemirror_spans\w*_total{.*became="(\w+)".*} (\S+)', line):
                found[counted[1]] += int(float(counted[2]))
        return found

    async def idle(self) -> None:
        """Returns once nothing was done for four seconds, which is twice as long as a trace has to be quiet."""
        quiet = 0
        while quiet < 4:
            before = self.cpu_s()
            await asyncio.sleep(1.0)
            quiet = quiet + 1 if self.cpu_s() - before < 0.05 else 0


class Sent(NamedTuple):
    """`kept`: spans that were acknowledged. `took_s`: until the sidecar was idle again. `cpu_s`: of the sidecar.
    `resident_mb`: during the sending, in order."""

    kept: int
    took_s: float
    cpu_s: float
    resident_mb: list[float]
    beside: Times | None


async def sent(sidecar: Sidecar, program: Path, seconds: float, rate: float, stub: Any = None) -> Sent:
    """Sends for a while. `rate`: spans a second; 0: all that can be sent. `stub`: is called meanwhile."""
    before, began_s, cpu_s = sidecar.spans()["kept"], time.monotonic(), sidecar.cpu_s()
    attributes = [part for name, said in ATTRIBUTES.items() for part in ("--telemetry-attributes", f'{name}="{said}"')]
    command = [
        # What it costs to send is not what is measured.
        *("nice", "-n", "5", str(program), "traces"),
        *("--otlp-insecure", "--otlp-endpoint", sidecar.address, "--child-spans", str(BELOW)),
        *("--duration", f"{seconds:.0f}s", "--rate", f"{rate:g}", "--workers", "1", "--batch-size", "512", *attributes),
    ]
    sender = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    calls = asyncio.create_task(timed(stub, seconds - 1, PACE_S)) if stub is not None else None
    resident_mb: list[float] = []
    while sender.returncode is None:
        resident_mb.append(sidecar.resident_mb())
        await asyncio.sleep(seconds / 20)
    beside = await calls if calls is not None else None
    await sidecar.idle()
    took_s = time.monotonic() - began_s - 4
    return Sent(sidecar.spans()["kept"] - before, took_s, sidecar.cpu_s() - cpu_s, resident_mb, beside)


async def answers(sidecar: Sidecar) -> Counter[str]:
    """How many exports at once are answered."""
    calls = [MadeCall("sql", ATTRIBUTES["gen_ai.tool.call.arguments"], "17")] * 500
    body = request_of(run_of("at once", calls)).SerializeToString()
    found: Counter[str] = Counter()
    async with grpc.aio.insecure_channel(sidecar.address) as channel:
        export = channel.unary_unary(EXPORT)

        async def one() -> None:
            try:
                await export(body, timeout=60)
                found["taken"] += 1
            except grpc.aio.AioRpcError as error:
                details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
                when = "with" if b"google.rpc.RetryInfo" in details else "without"
                found[f"{error.code().name} {when} a time to come back"] += 1

        await asyncio.gather(*(one() for _ in range(AT_ONCE)))
    return found


async def recorded_calls(sidecar: Sidecar) -> int:
    """How many calls are in turns."""
    found, token = 0, ""
    async with grpc.aio.insecure_channel(sidecar.address) as channel:
        stub: Any = ThinkingServiceStub(channel)
        while True:
            page = await stub.ListTurns(pb.ListTurnsRequest(page_size=1000, page_token=token), timeout=60)
            found += sum(turn.tool_call_count for turn in page.turns)
            token = page.next_page_token
            if not token:
                return found


class Told(NamedTuple):
    """What is printed. `refused`: answers to exports at once. `lost`: acknowledged spans that are in no turn."""

    unbounded: Sent
    paced: Sent
    rate: float
    alone: Sequence[Times]
    refused: Counter[str]
    became: Counter[str]
    lost: int


async def measure(seconds: float, folder: Path) -> Told:
    program = await asyncio.to_thread(fetched, folder)
    cores = sorted(os.sched_getaffinity(0))
    metrics = f"127.0.0.1:{free_port()}"
    process = Process(folder, {**SETTINGS, "metrics_address": metrics})
    # What it starts with is for all of its processes and threads.
    os.sched_setaffinity(0, cores[:1])
    await process.start()
    os.sched_setaffinity(0, cores[1:] or cores)
    try:
        sidecar = Sidecar(process, metrics)
        async with grpc.aio.insecure_channel(process.address) as channel:
            stub = SidecarServiceStub(channel)
            await timed(stub, 1.0, PACE_S)
            unbounded = await sent(sidecar, program, max(10.0, seconds / 10), 0)
            rate = 0.9 * unbounded.kept / unbounded.took_s
            before = await timed(stub, min(30.0, seconds), PACE_S)
            paced = await sent(sidecar, program, seconds, rate, stub)
            after = await timed(stub, min(30.0, seconds), PACE_S)
        became = sidecar.spans()

        async def lost() -> int:
            return became["kept"] - await recorded_calls(sidecar)

        with contextlib.suppress(TimeoutError):
            await until_found(lost, lambda count: count == 0)
        # Before the exports at once, whose spans are in no turn yet.
        never = await lost()
        return Told(unbounded, paced, rate, (before, after), await answers(sidecar), became, never)
    finally:
        process.kill()


def table(told: Told, seconds: float) -> str:
    """As Markdown."""
    alone_ms = sum(one.p99_ms for one in told.alone) / len(told.alone)
    beside = told.paced.beside
    assert beside is not None
    resident = told.paced.resident_mb
    quarters = [resident[min(len(resident) - 1, len(resident) * part // 4)] for part in range(5)]
    rows = {
        "one core takes, spans a second": f"{told.unbounded.kept / told.unbounded.took_s:.0f}",
        f"sent for {seconds:.0f} s, spans a second": f"{told.paced.kept / seconds:.0f} of {told.rate:.0f}",
        "turns of all of them were made after, s": f"{told.paced.took_s:.0f}",
        "CPU of a span, from its bytes to its turn, µs": f"{told.paced.cpu_s / told.paced.kept * 1e6:.0f}",
        "core in use": f"{told.paced.cpu_s / told.paced.took_s:.0%}",
        "resident, MiB, at the beginning, each quarter and the end": ", ".join(f"{one:.0f}" for one in quarters),
        "calls of gRPC alone before and after, p99, ms": ", ".join(f"{one.p99_ms:.2f}" for one in told.alone),
        "beside the spans, p99, ms": f"{beside.p99_ms:.2f}",
        "ratio": f"{beside.p99_ms / alone_ms:.2f}",
        f"{AT_ONCE} exports at once": ", ".join(f"{count} {what}" for what, count in sorted(told.refused.items())),
        "spans by what became of them": ", ".join(f"{count} {what}" for what, count in sorted(told.became.items())),
        "acknowledged and in no turn": str(told.lost),
    }
    return "\n".join(["| what | |", "|---|---|", *(f"| {what} | {said} |" for what, said in rows.items())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(table(asyncio.run(measure(options.seconds, Path(folder))), options.seconds))


if __name__ == "__main__":
    main()
