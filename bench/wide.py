"""Sidecars that write to one project of one Postgres: `uv run python -m bench.wide`.

Each commit waits 5 ms (`--commit-ms`) before it is on disk, as where it waits for another machine; commits that wait at
the same moment share the wait (`commit_delay`). Each agent of a sidecar reports an event, waits until it is durable,
and reports the next. One, two and three sidecars are measured in alternating rounds; a factor is that of the medians.
Meanwhile an observer looks for transactions that wait for a lock, and how long the entries that it sees are held back
from watches, because an append with lower positions still runs. Another build is measured by putting its `server`
folder first into PYTHONPATH.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections import Counter, deque
from pathlib import Path
from typing import NamedTuple

import asyncpg

from bench import calls
from bench.processes import Server, Servers
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from tests.postgres.cluster import Cluster
from tests.postgres.databases import Databases

_SAMPLE_EVERY_S = 0.02
# Locks that some transaction waits for. A transaction's own number is what a row's lock waits for.
_WAITS = "SELECT DISTINCT locktype FROM pg_locks WHERE NOT granted"
_LAST = "SELECT coalesce(max(position), 0) FROM sidemirror.log_entries"
_SETTLED = "SELECT current_setting('sidemirror.settled')::bigint"
_HAS_SETTLED = "SELECT to_regprocedure('sidemirror.settle(integer)') IS NOT NULL"


class Round(NamedTuple):
    """Events that were acknowledged a second; how often it was looked, and how often some transaction waited for a
    lock, by kind; for how many milliseconds entries were held back, one figure for each look that found new ones."""

    rate: float
    looks: int
    waits: Counter[str]
    held_back_ms: list[float]


class Observer:
    """Looks at a server under load."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._looks, self._waits = 0, Counter[str]()
        self._held_back_ms: list[float] = []
        self._last = 0
        # Positions that were seen, and when; they are held back until the log is settled up to there.
        self._seen: deque[tuple[int, float]] = deque()

    async def run(self, over: asyncio.Event) -> tuple[int, Counter[str], list[float]]:
        """Looks until it is over."""
        has_settled = await self._connection.fetchval(_HAS_SETTLED)
        while not over.is_set():
            self._looks += 1
            self._waits.update([kind for (kind,) in await self._connection.fetch(_WAITS)])
            if has_settled:
                await self._look()
            await asyncio.sleep(_SAMPLE_EVERY_S)
        return self._looks, self._waits, self._held_back_ms

    async def _look(self) -> None:
        # Imported here: a build of before has none.
        from sidemirror_server.storage.postgres.transactions import key_of

        last, seen_s = await self._connection.fetchval(_LAST), time.monotonic()
        if last > self._last:
            self._last = last
            self._seen.append((last, seen_s))
        async with self._connection.transaction():
            await self._connection.execute(f"SELECT sidemirror.settle({key_of(DEFAULT_SCOPE)})")
            settled = await self._connection.fetchval(_SETTLED)
        while self._seen and self._seen[0][0] <= settled:
            self._held_back_ms.append(1e3 * (time.monotonic() - self._seen.popleft()[1]))


async def _agents(server: Server, agents: int, until_s: float) -> int:
    """Events that agents of one sidecar had acknowledged until then."""
    starting, reporting = [await server.connect() for _ in range(2)]

    async def one(number: int) -> int:
        turn_id = calls.turn_of(await starting.call(calls.START_TURN, calls.start_turn(f"s{number}")))
        done = 0
        while time.monotonic() < until_s:
            await reporting.call(calls.REPORT_EVENTS, calls.report_event(turn_id, done))
            done += 1
        return done

    counts = await asyncio.gather(*[one(number) for number in range(agents)])
    for connection in (starting, reporting):
        connection.close()
    return sum(counts)


async def _round(servers: list[Server], agents: int, seconds: float, connection: asyncpg.Connection) -> Round:
    over = asyncio.Event()
    observing = asyncio.create_task(Observer(connection).run(over))
    until_s = time.monotonic() + seconds
    counts = await asyncio.gather(*[_agents(server, agents, until_s) for server in servers])
    over.set()
    return Round(sum(counts) / seconds, *await observing)


async def measure(
    sidecars: int, agents: int, rounds: int, seconds: float, commit_ms: float, folder: Path
) -> dict[int, list[Round]]:
    """The rounds, by how many sidecars were written to."""
    delay = {"commit_delay": str(int(1000 * commit_ms)), "commit_siblings": "0"} if commit_ms else {}
    cluster = Cluster(fsync="on", **delay)
    try:
        cluster.start()
        databases = await asyncio.to_thread(Databases, cluster)
        name = await databases.create()
        observer = await asyncpg.connect(cluster.url("superuser", name))
        found: dict[int, list[Round]] = {count: [] for count in range(1, sidecars + 1)}
        with Servers(folder) as servers:
            started = [await servers.sidecar("--database-url", cluster.url("sidecar", name)) for _ in range(sidecars)]
            await _round(started, agents, 1.0, observer)  # warm
            for _ in range(rounds):
                for count, of_count in found.items():
                    of_count.append(await _round(started[:count], agents, seconds, observer))
        await observer.close()
        return found
    finally:
        cluster.remove()


def table(found: dict[int, list[Round]]) -> str:
    """As Markdown."""
    rates = {count: [one.rate for one in rounds] for count, rounds in found.items()}
    single = statistics.median(rates[1])
    columns = ["sidecars", "events/s, median", "lowest", "highest", "of one", "looks that saw waits for locks"]
    columns += ["held back, ms: p50 / p99 / p99.9"]
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for count, rounds in found.items():
        median, looks = statistics.median(rates[count]), sum(one.looks for one in rounds)
        waits = sum((one.waits for one in rounds), Counter[str]())
        told = ", ".join(f"{kind} {number}" for kind, number in sorted(waits.items())) or "none"
        held = sorted(ms for one in rounds for ms in one.held_back_ms)
        late = " / ".join(f"{held[len(held) * share // 1000]:.1f}" for share in (500, 990, 999)) if held else "-"
        lines.append(
            f"| {count} | {median:.0f} | {min(rates[count]):.0f} | {max(rates[count]):.0f} | {median / single:.2f} | "
            f"{told} of {looks} | {late} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sidecars", type=int, default=3)
    parser.add_argument("--agents", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--commit-ms", type=float, default=5.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(given.sidecars, given.agents, given.rounds, given.seconds, given.commit_ms, Path(folder))
        print(table(asyncio.run(found)))


if __name__ == "__main__":
    main()
