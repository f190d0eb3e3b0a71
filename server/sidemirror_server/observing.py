"""Metrics that need the assembled server: gauges, and the duration of calls to the stores.

Called by `assembly/` while metrics are on; otherwise calls run without any of this.
"""

import asyncio
import contextlib
import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Observation

from sidemirror_server.rpc.boundary.admission import Admission
from sidemirror_server.rpc.sidecar.info import StoreFacts
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.store_clock import StoreClock
from sidemirror_server.vocabulary.telemetry import METER, STORE
from sidemirror_server.vocabulary.traffic import Traffic
from sidemirror_server.work.bounded_queue import Bounded
from sidemirror_server.work.worker import Worker

# Version 1 says so for no limit: about 8 EiB.
_NO_LIMIT = 2**60

P = ParamSpec("P")
T = TypeVar("T")
# Returns values with their attributes. Called on the metric reader's thread, so it must not block.
Read = Callable[[], Iterable[tuple[float, dict[str, str]]]]
# Name, unit, description, and the function that reads the values.
Gauge = tuple[str, str, str, Read]
# The gauges of which the values of several sidecars may not be added, and why. All others may.
NOT_SUMMED = {
    "sidemirror.jobs.waiting": "the sidecars of one store count the same jobs, so take the greatest of each kind",
    "sidemirror.loop.busy": "a part of each sidecar's own time",
    "sidemirror.durable.lag": "a time of each sidecar's own",
    "sidemirror.store.available": "yes or no of each sidecar",
    "sidemirror.clock": "a time of each sidecar's own",
    "sidemirror.store.clock.ahead": "a time of each sidecar's own",
    "sidemirror.retention.stopped": "yes or no of each sidecar",
}


def time_verbs(store: str, port: object) -> None:
    """Wraps every method of a port to record its duration under the store's name."""
    for verb, call in inspect.getmembers(port, inspect.iscoroutinefunction):
        if not verb.startswith("_"):
            setattr(port, verb, _timed(store, verb, call))


def _timed(store: str, verb: str, call: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    well = {"store": store, "verb": verb, "failed": "false"}
    ill = {**well, "failed": "true"}

    async def timed(*arguments: P.args, **named: P.kwargs) -> T:
        began_s = time.perf_counter()
        attributes = ill
        try:
            answer = await call(*arguments, **named)
            attributes = well
            return answer
        finally:
            STORE.record(time.perf_counter() - began_s, attributes)

    return timed


def observe(gauges: Iterable[Gauge]) -> None:
    """Registers these gauges with OpenTelemetry."""
    meter = metrics.get_meter(METER)
    for name, unit, description, read in gauges:
        told = f"{description} Not to be summed: {NOT_SUMMED[name]}." if name in NOT_SUMMED else description
        meter.create_observable_gauge(name, callbacks=[_callback(read)], unit=unit, description=told)


def _callback(read: Read) -> Callable[[CallbackOptions], Iterator[Observation]]:
    def callback(_: CallbackOptions) -> Iterator[Observation]:
        for value, attributes in read():
            yield Observation(value, attributes)

    return callback


def memory_limit_bytes(cgroups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int | None:
    """The least limit on memory of this process's cgroup and those above it, in version 2 and 1; None without one. In a
    container the topmost that is seen is the container's own."""
    limits = []
    with contextlib.suppress(OSError):
        for line in own.read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds and "memory" not in kinds.split(","):
                continue
            folder, name = (cgroups / "memory", "memory.limit_in_bytes") if kinds else (cgroups, "memory.max")
            place = Path(path.lstrip("/"))
            for above in (place, *place.parents):
                with contextlib.suppress(OSError, ValueError):
                    limits.append(int((folder / above / name).read_text()))
    return min((one for one in limits if one < _NO_LIMIT), default=None)


def gauges(
    admission: Admission,
    conductor: Conductor,
    recorder: Recorder,
    queue: Bounded,
    stores: Sequence[StoreFacts],
    clock: StoreClock,
    traffic: Traffic,
    own_clock: Clock,
    worker: Worker,
) -> Iterable[Gauge]:
    """The gauges, which are read when metrics are collected; counters are elsewhere."""
    loop = asyncio.get_running_loop()
    return (
        ("sidemirror.streams.open", "{stream}", "Streams that are open.", lambda: [(admission.streams, {})]),
        ("sidemirror.calls.running", "{call}", "Unary calls that are served.", lambda: [(admission.calls, {})]),
        ("sidemirror.turns.memory", "{turn}", "Turns in memory.", lambda: [(len(conductor), {})]),
        (
            "sidemirror.jobs.waiting",
            "{job}",
            "Jobs that wait or run, of the tenants and projects that put any here.",
            lambda: [(count, {"kind": kind}) for kind, count in queue.waiting.items()],
        ),
        (
            "sidemirror.jobs.running",
            "{job}",
            "Jobs that this sidecar has claimed and works at.",
            lambda: [(count, {"kind": kind}) for kind, count in worker.running.items()],
        ),
        (
            "sidemirror.agents.held.back",
            "{agent}",
            "Agents whose calls and messages waited for their share for half of the last minute or two.",
            lambda: [(traffic.held_back_count(), {})],
        ),
        (
            "sidemirror.memory.limit",
            "By",
            "What the process may have resident, by its cgroups; absent where nothing limits it.",
            lambda: [(limit, {}) for limit in (memory_limit_bytes(),) if limit is not None],
        ),
        (
            "sidemirror.loop.busy",
            "1",
            "For which part of the time the loop, on which calls take turns, computed or waited for a CPU.",
            lambda: [(traffic.busy_ratio(), {})],
        ),
        ("sidemirror.tasks", "{task}", "Tasks of the server's loop.", lambda: [(len(asyncio.all_tasks(loop)), {})]),
        ("sidemirror.backlog", "By", "What waits for the store.", lambda: [(recorder.waiting_bytes, {})]),
        (
            "sidemirror.durable.lag",
            "s",
            "For how long the turn that waited longest has had something that is not durable.",
            lambda: [(recorder.lag_s(clock.monotonic_s()), {})],
        ),
        (
            "sidemirror.store.available",
            "1",
            "1 when the store answered when it was asked last.",
            lambda: [(int(store.is_available()), {"store": store.kind}) for store in stores],
        ),
        (
            "sidemirror.clock",
            "s",
            "What time it is by this machine's clock, since 1970-01-01T00:00:00Z.",
            lambda: [(own_clock.now_us() / 1e6, {})],
        ),
        (
            "sidemirror.store.clock.ahead",
            "s",
            "How far this machine's clock is ahead of the store's; negative when it is behind.",
            lambda: [(clock.ahead_us / 1e6, {})] if clock.is_measured else [],
        ),
        (
            "sidemirror.retention.stopped",
            "1",
            "1 while nothing is forgotten, because the store's time is in doubt.",
            lambda: [(int(bool(clock.doubt)), {})] if clock.is_measured else [],
        ),
    )
