"""`uv run python -m bench.http_beside [--seconds N]`: what gRPC's callers notice of load on the HTTP door.

One caller of gRPC asks GetServerInfo, one call after the other, alone and beside each kind of load of
`bench/http_load.py`; alone again between them. The load comes from a process of its own.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from tests.architecture.repository import ROOT
from tests.faults.process import Process

# A caller of the sidecar does something between two calls.
PACE_S = 0.002


class Times(NamedTuple):
    """How long calls took, in milliseconds."""

    calls: int
    p50_ms: float
    p99_ms: float


async def timed(stub: Any, seconds: float, pace_s: float = PACE_S) -> Times:
    """Calls for so long, with a pause of `pace_s` after each call."""
    took_s: list[float] = []
    ends_s = time.monotonic() + seconds
    while time.monotonic() < ends_s:
        began_s = time.monotonic()
        await stub.GetServerInfo(pb.GetServerInfoRequest(), timeout=60)
        took_s.append(time.monotonic() - began_s)
        await asyncio.sleep(pace_s)
    took_s.sort()
    return Times(len(took_s), 1000 * took_s[len(took_s) // 2], 1000 * took_s[int(len(took_s) * 0.99)])


async def beside(stub: Any, kind: str, port: int, token: str, seconds: float) -> tuple[Times, str]:
    """Calls beside a load that has begun, and what the load says of itself."""
    command = (sys.executable, "-m", "bench.http_load", kind, str(port), token, str(seconds + 1.0))
    load = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    await asyncio.sleep(0.5)
    times = await timed(stub, seconds)
    said, _ = await load.communicate()
    assert load.returncode == 0
    return times, said.decode().strip()


def door_of(process: Process) -> int:
    """The port of a process's HTTP door."""
    (line,) = [line for line in process.text().splitlines() if '"http_served"' in line]
    return int(json.loads(line)["port"])


async def measure(kinds: list[str], seconds: float, folder: Path) -> list[tuple[str, Times, Times, str]]:
    """Each kind with the times alone, the times beside it, and what it says."""
    found = []
    settings = {"http_address": "127.0.0.1:0"}
    async with Process(folder, settings) as process:
        token = (folder / "data" / "http-token").read_text().strip()
        async with grpc.aio.insecure_channel(process.address) as channel:
            stub = SidecarServiceStub(channel)
            await timed(stub, 0.5)
            for kind in kinds:
                alone = await timed(stub, seconds)
                during, said = await beside(stub, kind, door_of(process), token, seconds)
                found.append((kind, alone, during, said))
    return found


def main() -> None:
    from bench.http_load import KINDS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("kinds", nargs="*", default=[])
    options = parser.parse_args()
    print("| load | calls | p50 alone | p50 beside | p99 alone | p99 beside | ratio | answered |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for kind, alone, during, said in asyncio.run(
            measure(options.kinds or list(KINDS), options.seconds, Path(folder))
        ):
            print(
                f"| {kind} | {during.calls} | {alone.p50_ms:.2f} ms | {during.p50_ms:.2f} ms | {alone.p99_ms:.2f} ms "
                f"| {during.p99_ms:.2f} ms | {during.p99_ms / alone.p99_ms:.1f} | {said} |"
            )


if __name__ == "__main__":
    main()
