"""`uv run python -m bench.week [--minutes 30]`: a week of work in half an hour, and whether the sidecar levels off.

Agents run turns of all kinds on RunTurn and by unary calls, resume broken streams, are critiqued, watch and stop
watching, cancel what they began, are refused, and delete their sessions when they are done: what is kept has a bound,
so the store has one too. Memory, open files, tasks and the store's size are looked at all the time; each levels off
when its second half hardly grows.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import sys
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import uvloop

from bench import calls
from bench.figures import median, now
from bench.processes import Server, Servers, free_port
from sidemirror.v1 import critique_pb2, critique_pb2_grpc, thinking_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.storage.sqlite.database import FILE_NAME, WAL_LIMIT_BYTES

_AGENTS = 6
_SAMPLES = 60
_MEDIUM = pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM)
_PAUSE_S = 0.02
# No turn takes a second.
_STUCK_S = 30.0


class Sample(NamedTuple):
    """What the server takes at one moment."""

    resident_mb: float
    files: float
    tasks: float
    # The database, without the critiques, which are kept for a year; and what waits in its WAL.
    store_mb: float
    wal_mb: float


# What a critique of this run takes in the database with its indexes: by `dbstat`, where nothing else was left.
_CRITIQUE_BYTES = 1_070

# What each may grow from the middle of the run to its end, absolutely and as a share: noise of the allocator and of the
# store's free pages, and less than a leak of 1 KB a turn.
BOUNDS = {
    "resident_mb": (12.0, 0.10),
    "files": (8.0, 0.0),
    "tasks": (20.0, 0.0),
    "store_mb": (8.0, 0.15),
    # It goes up and down between nothing and its bound (storage/sqlite/database.py).
    "wal_mb": (WAL_LIMIT_BYTES / 2**20, 0.0),
}


class Week:
    """The work, and what was counted of it."""

    def __init__(self, server: Server, metrics: str, folder: Path) -> None:
        self._server = server
        self._metrics = metrics
        self._folder = folder
        self.turns = self.events = self.watches = self.cancelled = self.critiques = 0
        self.unexpected: list[str] = []

    async def run(self, for_s: float) -> list[Sample]:
        """Works for so long; samples at equal distances."""
        samples: list[Sample] = []
        ends = now() + for_s
        agents = [asyncio.create_task(self._agent(number, ends)) for number in range(_AGENTS)]
        for _ in range(_SAMPLES):
            await asyncio.sleep(for_s / _SAMPLES)
            samples.append(await self._sample())
        await asyncio.gather(*agents)
        return samples

    async def _sample(self) -> Sample:
        files = len(os.listdir(f"/proc/{self._server.process.pid}/fd"))  # noqa: PTH208 - names alone
        sizes = {entry.name: entry.stat().st_size for entry in os.scandir(self._folder)}
        store = sizes[FILE_NAME] - self.critiques * _CRITIQUE_BYTES
        text = await asyncio.to_thread(_read, f"http://{self._metrics}/metrics")
        (tasks,) = [float(line.split()[-1]) for line in text.splitlines() if line.startswith("sidemirror_tasks{")]
        return Sample(self._server.resident_mb(), files, tasks, store / 2**20, sizes.get(f"{FILE_NAME}-wal", 0) / 2**20)

    async def _agent(self, number: int, ends: float) -> None:
        chance = random.Random(number)
        session = 0
        while now() < ends:
            session += 1
            async with grpc.aio.insecure_channel(
                self._server.address, options=[("grpc.use_local_subchannel_pool", 1)]
            ) as channel:
                agent = _Agent(self, channel, f"a{number}", f"a{number}-s{session}", chance)
                try:
                    await agent.session(ends)
                except grpc.aio.AioRpcError as error:
                    self.unexpected.append(f"{error.code().name}: {error.details()}")


class _Agent:
    """One session of one agent."""

    def __init__(self, week: Week, channel: grpc.aio.Channel, tenant: str, session: str, chance: random.Random) -> None:
        self._week = week
        self._stub: Any = thinking_pb2_grpc.ThinkingServiceStub(channel)
        self._critique: Any = critique_pb2_grpc.CritiqueServiceStub(channel)
        self._own: dict[str, Any] = {"tenant_id": tenant}
        self._session = session
        self._chance = chance

    async def session(self, ends: float) -> None:
        for turn in range(self._chance.randint(3, 12)):
            if now() >= ends:
                break
            turn_id = f"{self._session}-{turn}"
            kind = self._on_a_stream if self._chance.random() < 0.6 else self._by_calls
            try:
                async with asyncio.timeout(_STUCK_S):
                    await kind(turn_id)
            except TimeoutError:
                self._week.unexpected.append(f"{turn_id} ({kind.__name__}) did not end within {_STUCK_S:g} s")
            self._week.turns += 1
            if self._chance.random() < 0.3:
                await self._look()
            await asyncio.sleep(_PAUSE_S)
        with contextlib.suppress(grpc.aio.AioRpcError):
            # A turn whose stream was cancelled may be open: then the session stays until it is abandoned.
            await self._stub.DeleteSession(pb.DeleteSessionRequest(**self._own, session_id=self._session))

    def _events(self) -> list[pb.TurnEvent]:
        made = [calls.event(number) for number in range(self._chance.randint(4, 60))]
        if self._chance.random() < 0.4:
            made.append(pb.TurnEvent(tool_failed=pb.ToolFailed(error="no such table: orders")))
        self._week.events += len(made)
        return made

    async def _on_a_stream(self, turn_id: str) -> None:
        stream = self._stub.RunTurn()
        started = pb.TurnStarted(session_id=self._session, task="find it", config=_MEDIUM)
        begin = pb.TurnEvent(turn_id=turn_id, turn_started=started)
        await stream.write(pb.RunTurnRequest(**self._own, events=[begin]))
        await stream.write(pb.RunTurnRequest(events=self._events()))
        if self._chance.random() < 0.2:  # it breaks, and is taken up again
            await stream.read()
            stream.cancel()
            self._week.cancelled += 1
            stream = self._stub.RunTurn()
            with contextlib.suppress(grpc.aio.AioRpcError):
                await self._stub.GetTurn(pb.GetTurnRequest(**self._own, turn_id=turn_id))
            await stream.write(pb.RunTurnRequest(**self._own, resume=pb.TurnResume(turn_id=turn_id)))
        await stream.write(pb.RunTurnRequest(events=[pb.TurnEvent(turn_finished=pb.TurnFinished())]))
        await stream.done_writing()
        async for _ in stream:
            pass

    async def _by_calls(self, turn_id: str) -> None:
        own: dict[str, Any] = {**self._own, "turn_id": turn_id}
        start = pb.StartTurnRequest(**own, session_id=self._session, task="find it", config=_MEDIUM)
        await self._stub.StartTurn(start)
        events = self._events()
        for part in range(0, len(events), 10):
            await self._stub.ReportEvents(pb.ReportEventsRequest(**own, events=events[part : part + 10]))
            should = await self._stub.ShouldReflect(pb.ShouldReflectRequest(**own))
            if should.should_reflect:
                await self._stub.Reflect(pb.ReflectRequest(**own))
        request = critique_pb2.CritiqueRequest(**self._own, user_message="find it", response="It is there. " * 20)
        await self._critique.Critique(request)
        self._week.critiques += 1
        await self._stub.FinishTurn(pb.FinishTurnRequest(**own))

    async def _look(self) -> None:
        """Watches come and go; some questions are about what is not there."""
        watch = self._stub.WatchTurns(pb.WatchTurnsRequest(**self._own, session_id=self._session))
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.TimeoutError):
            async with asyncio.timeout(1):
                await watch.read()
        watch.cancel()
        self._week.watches += 1
        with contextlib.suppress(grpc.aio.AioRpcError):
            await self._stub.GetTurn(pb.GetTurnRequest(**self._own, turn_id="nowhere"))
        with contextlib.suppress(grpc.aio.AioRpcError):
            await self._stub.ListTurns(pb.ListTurnsRequest(**self._own), timeout=0.001)


def _read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())


def growth(samples: Sequence[Sample]) -> dict[str, tuple[float, float, float]]:
    """Of each thing: what it was in the third quarter's beginning and in the end (medians of an eighth), and the most
    that the end may be."""
    eighth = max(1, len(samples) // 8)
    middle, end = samples[len(samples) // 2 :][:eighth], samples[-eighth:]
    found = {}
    for name, (absolute, share) in BOUNDS.items():
        was, is_now = (median([getattr(sample, name) for sample in part]) for part in (middle, end))
        found[name] = (was, is_now, was + max(absolute, was * share))
    return found


async def measure(minutes: float, folder: Path) -> tuple[Week, list[Sample]]:
    with Servers(folder) as servers:
        metrics = f"127.0.0.1:{free_port()}"
        server = await servers.sidecar("--metrics-address", metrics)
        week = Week(server, metrics, folder / "data1")
        return week, await week.run(minutes * 60)


def table(week: Week, samples: Sequence[Sample]) -> str:
    lines = [
        f"{week.turns:,} turns with {week.events:,} events, {week.watches:,} watches,",
        f"{week.cancelled:,} broken streams, {week.critiques:,} critiques; {len(week.unexpected)} unexpected errors",
        "",
        "| what | at the start | in the middle | at the end | at most | |",
        "|---|---|---|---|---|---|",
    ]
    for name, (was, is_now, most) in growth(samples).items():
        verdict = "levels off" if is_now <= most else "**grows**"
        first = getattr(samples[0], name)
        lines.append(f"| {name} | {first:.1f} | {was:.1f} | {is_now:.1f} | {most:.1f} | {verdict} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.week", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--samples", action="store_true", help="print every sample as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        week, samples = uvloop.run(measure(options.minutes, Path(folder)))
    if options.samples:
        print(json.dumps([sample._asdict() for sample in samples]))
    print(table(week, samples))
    for error in week.unexpected[:10]:
        print(error, file=sys.stderr)
    return 0 if not week.unexpected and all(is_now <= most for _, is_now, most in growth(samples).values()) else 1


if __name__ == "__main__":
    sys.exit(main())
