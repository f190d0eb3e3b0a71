"""How long the client holds up the loop of an agent, for the runner of the scenario."""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

# The scheduler's accounts of this process's threads, opened when they are first asked for; by the thread's id.
_ACCOUNTS: dict[int, int] = {}


class Longest:
    """The longest that the loop was held up: as the clock has it, and by what this process did, without the machine's
    other work."""

    def __init__(self) -> None:
        self.plain_s = self._computed_s = 0.0
        self._here_s: list[float] = []

    @property
    def held_s(self) -> float:
        """What was computed meanwhile; and since one that waits computes nothing, what one use in a hundred exceeds."""
        return max(self._computed_s, sorted(self._here_s)[-1 - len(self._here_s) // 100])

    @contextlib.contextmanager
    def watch(self, own_s: float = 0.0) -> Iterator[None]:
        """Measures what is done in the context, of which `own_s` are the agent's. The client's thread holds up this one
        by the interpreter's lock. Where it has the lock and no core, that is the machine's doing, too; of both threads'
        waits the longer one counts, since they may be the same moment. What this thread computes counts in any case."""
        waited_s, computed_s, own_cpu_s = _waited_s(), time.process_time(), time.thread_time()
        began_s = time.perf_counter()
        yield
        plain_s, own_cpu_s = time.perf_counter() - began_s, time.thread_time() - own_cpu_s
        machine_s = max(after_s - before_s for before_s, after_s in zip(waited_s, _waited_s(), strict=True))
        here_s = max(own_cpu_s, plain_s - machine_s)
        if not own_s:
            self._here_s.append(here_s)
        self.plain_s = max(self.plain_s, plain_s - own_s)
        self._computed_s = max(self._computed_s, min(here_s, time.process_time() - computed_s) - own_s)


def _waited_s() -> tuple[float, float]:
    """How long this thread, and the client's own, could have run while others had their cores; 0 where the system does
    not say."""
    own = next((thread for thread in threading.enumerate() if thread.name == "sidemirror"), threading.current_thread())
    return _waited_of_s(threading.get_native_id()), _waited_of_s(own.native_id or 0)


def _waited_of_s(thread: int) -> float:
    schedule = Path(f"/proc/self/task/{thread}/schedstat")
    if thread not in _ACCOUNTS:
        if not schedule.exists():
            return 0.0
        _ACCOUNTS[thread] = os.open(schedule, os.O_RDONLY)
    return int(os.pread(_ACCOUNTS[thread], 128, 0).split()[1]) / 1e9
