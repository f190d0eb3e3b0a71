"""One local client does its worst; the others notice nothing.

Raw HTTP/2 frames on loopback, from a process of their own, against a sidecar in another one. 8 seconds of each with
`-m long -s`, which prints the figures; a second of each otherwise.
"""

import asyncio
import json
import signal
import sys
import time
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from tests.architecture.repository import ROOT
from tests.faults.agents import failing_calls, record_of
from tests.faults.figures import show
from tests.faults.floods import KINDS
from tests.faults.machine import Machine
from tests.faults.process import Process
from tests.faults.sidecars import Stub, connected
from tests.faults.waiting import until
from tests.wire.access import ACME, bearer, write_access

pytestmark = pytest.mark.slow("floods, for seconds each")

MIB = 1024 * 1024
# What 99 of 100 honest calls take at most, beside what the machine takes.
MOST_MS = 300


class Honest:
    """An agent that reports an event, asks whether to reflect, and looks at its sessions, one call after the other.
    With a tenant it shows its token."""

    def __init__(self, stub: Stub, tenant_id: str = "") -> None:
        self._stub = stub
        self._tenant = tenant_id
        self.took_s: list[float] = []
        self.errors: list[str] = []

    async def run(self) -> None:
        """Until cancelled."""
        tenant, shows = self._tenant, bearer(ACME) if self._tenant else None
        turn_id = (await self._stub.StartTurn(pb.StartTurnRequest(tenant_id=tenant), metadata=shows)).plan.turn_id
        number = 0
        while True:
            event = pb.TurnEvent(tool_called=pb.ToolCalled(name="look", arguments=f"{number}"))
            for call, request in (
                (self._stub.ReportEvents, pb.ReportEventsRequest(turn_id=turn_id, events=[event], tenant_id=tenant)),
                (self._stub.ShouldReflect, pb.ShouldReflectRequest(turn_id=turn_id, tenant_id=tenant)),
                (self._stub.ListSessions, pb.ListSessionsRequest(tenant_id=tenant)),
            ):
                began_s = time.monotonic()
                try:
                    await call(request, timeout=60, metadata=shows)
                except grpc.aio.AioRpcError as error:
                    self.errors.append(f"{error.code().name}: {error.details()}")
                self.took_s.append(time.monotonic() - began_s)
            number += 1

    @property
    def p99_ms(self) -> float:
        return 1000 * sorted(self.took_s)[int(len(self.took_s) * 0.99)]


async def _beside(kind: str, process: Process, for_s: float, machine: Machine) -> tuple[Honest, str, float]:
    """A flood, and honest calls beside it; what they came to, and the p99 in ms that this machine allows them."""
    async with connected(process.address) as own:
        honest = Honest(own)
        machine.late_s()
        working = asyncio.create_task(honest.run())
        connections, sent = (await _flood(kind, process.port, for_s)).split()
        most_mb = process.memory_bytes() / MIB
        working.cancel()
        most_ms = MOST_MS + 1000 * machine.late_s()
    told = (
        f"{sent} in {for_s:g} s over {connections} connections; {len(honest.took_s)} honest calls, "
        f"{len(honest.errors)} errors, p99 {honest.p99_ms:.0f} ms; {most_mb:.0f} MB"
    )
    return honest, told, most_ms


@pytest.mark.parametrize(
    "for_s",
    [
        pytest.param(1.0, id="1-s", marks=pytest.mark.timeout(300)),
        pytest.param(8.0, id="8-s", marks=[pytest.mark.long, pytest.mark.timeout(600)]),
    ],
)
async def test_the_others_notice_nothing(for_s: float, machine: Machine, tmp_path: Path) -> None:
    """No honest call fails, its p99 stays within 300 ms in one of three floods, and memory comes back to within 50 MB.
    Seen to fail when `streams_per_connection` is 100,000 (honest calls fail during rapid-reset), and when the log does
    not leave out what grpc.aio says of each slow reader that is gone (tracebacks)."""
    async with Process(tmp_path) as process, connected(process.address) as stub:
        await _fill(stub)
        before_mb = process.memory_bytes() / MIB
        lines, failed = [f"before: {before_mb:.0f} MB"], []
        for kind in KINDS:
            honest, told, most_ms = await _beside(kind, process, for_s, machine)
            for _ in range(2):
                # In a short flood the p99 is the slowest of some 50 calls, which another process may have held up.
                if honest.p99_ms > most_ms and not honest.errors:
                    honest, told, most_ms = await _beside(kind, process, for_s, machine)
            lines.append(f"{kind}: {told}")
            if honest.errors or len(honest.took_s) < 3 or honest.p99_ms > most_ms:
                failed.append(f"{lines[-1]} {honest.errors[:3]}")
        await until(lambda: process.memory_bytes() / MIB <= before_mb + 50, within_s=60)
        show("\n".join([*lines, f"after: {process.memory_bytes() / MIB:.0f} MB"]))
        assert failed == []
        assert "Traceback" not in process.text()


@pytest.mark.parametrize(
    "for_s",
    [
        pytest.param(1.0, id="1-s"),
        pytest.param(8.0, id="8-s", marks=[pytest.mark.long, pytest.mark.timeout(300)]),
    ],
)
async def test_strangers_are_refused_and_do_not_fill_the_log(for_s: float, machine: Machine, tmp_path: Path) -> None:
    """As many as come, each with another token: 20 lines and their number. Seen to fail without `_has_room`."""
    access = write_access(tmp_path / "access.json")
    async with Process(tmp_path, {"access_file": str(access)}) as process, connected(process.address) as own:
        honest = Honest(own, tenant_id="acme")
        machine.late_s()
        working = asyncio.create_task(honest.run())
        _, refused = (await _flood("strangers", process.port, for_s)).split()
        working.cancel()
        most_ms = MOST_MS + 1000 * machine.late_s()
        process.signal(signal.SIGTERM)
        assert (await process.ended(within_s=60))[0] == 0
        told = [json.loads(line) for line in process.text().splitlines() if "calls_refused" in line]
        lines = process.text().count('"call_refused"')
        show(
            f"{refused} strangers in {for_s:g} s: {lines} lines, {len(process.text())} bytes of log; "
            f"{len(honest.took_s)} honest calls, {len(honest.errors)} errors, p99 {honest.p99_ms:.0f} ms"
        )
        assert honest.errors == []
        assert honest.p99_ms <= most_ms
        assert lines == 20
        assert sum(line["count"] for line in told) == int(refused) - 20


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_turns_without_end_do_not_fill_memory(tmp_path: Path) -> None:
    """40,000 that are begun and never ended: the second half takes no more than 20 MB (it took 80 when all stayed in
    memory), and the first one goes on. Seen to fail when `turns_at_hand` is 100,000."""
    begun = 0
    async with Process(tmp_path, {"limits__requests_per_second": "0"}) as process, connected(process.address) as stub:

        async def begin(until: int) -> None:
            nonlocal begun
            while begun < until:
                begun += 1
                await stub.StartTurn(pb.StartTurnRequest(turn_id=f"t{begun}", session_id=f"s{begun}"), timeout=60)

        halves_mb = []
        for half in (20_000, 40_000):
            await asyncio.gather(*(begin(half) for _ in range(16)))
            halves_mb.append(process.memory_bytes() / MIB)
        show(f"20,000 and 40,000 turns begun and not ended: {halves_mb[0]:.0f} MB and {halves_mb[1]:.0f} MB")
        await stub.ReportEvents(pb.ReportEventsRequest(turn_id="t1", events=failing_calls("t1", 2)), timeout=60)
        assert (await record_of(stub, "t1"))[0].event_count == 3
        assert halves_mb[1] - halves_mb[0] < 20


async def _fill(stub: Stub) -> None:
    """A record that slow readers could be told: some megabytes."""
    for _ in range(4):
        turn_id = (await stub.StartTurn(pb.StartTurnRequest())).plan.turn_id
        for part in range(5):
            events = failing_calls(turn_id, 200, first=1 + 200 * part)
            for event in events:
                if event.HasField("tool_returned"):
                    event.tool_returned.content = "x" * 4_000
            await stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events))


async def _flood(kind: str, port: int, for_s: float) -> str:
    """What the flood says of itself."""
    command = [sys.executable, "-m", "tests.faults.floods", kind, str(port), str(for_s)]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    try:
        told, _ = await asyncio.wait_for(process.communicate(), for_s + 60)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0
    return told.decode()
