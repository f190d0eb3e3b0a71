"""Whether the sidecar is there: told once when it goes, and looked for again until it is back."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

import grpc

_log = logging.getLogger("sidemirror_client")

# How long is waited before the sidecar is looked for again: the first time, and at most.
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 1.0
# After so long the sidecar counts as back.
STEADY_S = 5.0
# Turns that are on a stream at once; others wait. The sidecar takes 100 streams on a connection, and of a client that
# comes back with more than that it refuses some.
_STREAMS = 80
# An answer that takes longer than this is none.
_PROBE_S = 2.0


class Link:
    """The state of the way to the sidecar, shared by all turns of a client."""

    def __init__(self, probe: Callable[[float], Awaitable[object]], on_away: Callable[[str], None] | None) -> None:
        """`probe`: a cheap call with a timeout in seconds. `on_away`: told why, once for each time it goes away."""
        self.streams = asyncio.Semaphore(_STREAMS)
        self._probe = probe
        self._on_away = on_away
        self._told = False
        self.closed = False
        # Bytes of events that wait, of all turns.
        self.waiting_bytes = 0
        # How often the sidecar went away.
        self.outages = 0
        self._back_s = float("-inf")
        # One stream is opened at a time, and the agent's loop has its turn in between: many together would hold it up.
        self.opening = asyncio.Lock()
        self._there = asyncio.Event()
        self._there.set()
        self._changed = asyncio.Event()
        self._search: asyncio.Task[None] | None = None

    @property
    def away(self) -> bool:
        """Nothing is known to answer there now."""
        return not self._there.is_set()

    def answered(self, outage: int) -> None:
        """The sidecar has spoken on a stream that was opened after so many outages: the next one is told again, unless
        it follows so soon that it is the same one to whoever is told."""
        if outage == self.outages and asyncio.get_running_loop().time() - self._back_s > STEADY_S:
            self._told = False

    def lost(self, why: str, outage: int) -> None:
        """A stream broke that was opened after so many outages: of many that break in one, the first counts. Never
        raises."""
        if outage != self.outages or self.closed:
            return
        self.outages += 1
        self._there.clear()
        self._changed.set()
        self._changed = asyncio.Event()
        if self._search is None:
            self._search = asyncio.create_task(self._look_for_it())
        if self._told:
            return
        self._told = True
        if self._on_away is None:
            _log.warning("the sidecar is away, the agent goes on without it: %s", why)
        else:
            # By the loop, which reports what it raises: the delivery goes on all the same.
            asyncio.get_running_loop().call_soon(self._on_away, why)

    def say(self, what: str, error: grpc.aio.AioRpcError) -> None:
        """Tells that a turn is not taken, though the sidecar is there. Never raises."""
        _log.warning("%s: %s %s", what, error.code().name, error.details())

    async def there(self) -> None:
        """Returns once the sidecar answers."""
        await self._there.wait()

    async def wait_away(self) -> None:
        """Returns once the sidecar is known to be away."""
        if not self.away:
            await self._changed.wait()

    async def close(self) -> None:
        """Stops looking for it, for good."""
        self.closed = True
        if self._search is not None:
            self._search.cancel()
            await asyncio.wait({self._search})

    async def _look_for_it(self) -> None:
        pause_s = FIRST_PAUSE_S
        # Cancelling it is not enough: see Turn.abandon.
        while not self.closed:
            await asyncio.sleep(pause_s * random.uniform(0.8, 1.2))
            try:
                await self._probe(_PROBE_S)
            except (grpc.RpcError, OSError, ValueError):
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
                continue
            self._search = None
            self._back_s = asyncio.get_running_loop().time()
            self._there.set()
            return
