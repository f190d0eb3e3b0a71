"""What each of many agents may take of one sidecar, so that none of them holds up the others (decision 086).

An agent is a token of the access file that names its caller. Without such tokens nothing is shared out. How long each
waits for its share is counted, and the log says which one is held back.
"""

import asyncio
import logging
from collections.abc import Callable

import msgspec

from sidemirror_server.rpc.boundary.access import Token
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import LimitReached
from sidemirror_server.vocabulary.giving_way import OneATurn
from sidemirror_server.vocabulary.outage import Outage
from sidemirror_server.vocabulary.telemetry import SHARE_WAIT
from sidemirror_server.vocabulary.traffic import HELD_BACK, Traffic

_log = logging.getLogger(__name__)

# A message counts as this many bytes at least, and each of its events as so many more. Chosen here: where a MiB is
# allowed, 64 messages a second of an event each, or 250 events in the batches in which clients catch up. With 256 such
# messages `bench.node` has shown others to wait 3.7 times as long.
_LEAST_BYTES = 12 * 1024
_EVENT_BYTES = 4 * 1024
# A call that may ask a model counts as so many more. Chosen here: where a MiB is allowed, 16 such calls a second. With
# 85 of them `bench.node` has shown others to wait 2.1 times as long.
_QUESTION_BYTES = 52 * 1024
# A unary call waits for its turn this long at most, then it is refused: it holds its request meanwhile. Chosen here: a
# burst passes, a flood does not.
_LONGEST_WAIT_S = 1.0
# A stream is read from alone this long at most. Chosen here: a first message comes with the stream that it opens, and a
# stream on which nothing comes must not hold up the agent's others.
_LONGEST_ALONE_S = 0.02
# What an agent may send at once after a pause, as seconds of its share. Chosen here: twenty turns that begin together
# are hardly held up, and others wait for no more than that. A message larger than all of it passes at once as well.
_BURST_S = 0.25
# How often it is looked whether an agent is held back. Chosen here: as the account of `traffic.py`.
_LOOK_S = 60.0
# From here on it is told as soon as it has waited enough for all of a look: an agent whose load ends before has no
# later wait at which it could be. Chosen here: as `traffic.py` does not call a burst held back.
_SOONEST_S = 30.0


class AgentLimits(msgspec.Struct, frozen=True):
    """The limits of one agent, each named like its setting. 0: no limit."""

    agent_calls: int = 0
    agent_streams: int = 0
    agent_bytes_per_second: int = 0
    # Without effect while nothing waits: without `agent_bytes_per_second`.
    agent_waiting_bytes: int = 0

    def __bool__(self) -> bool:
        return any((self.agent_calls, self.agent_streams, self.agent_bytes_per_second))


class Share:
    """What one agent takes: its `calls` and `streams` in progress, and the bytes that it may send by now."""

    def __init__(self, name: str, limits: AgentLimits, clock: Clock, traffic: Traffic) -> None:
        self._name = name
        self._limits = limits
        self._clock = clock
        self._traffic = traffic
        self.calls = 0
        self.streams = 0
        # Bytes, those of a burst at most; negative after a message that was larger than what was left.
        self._left = limits.agent_bytes_per_second * _BURST_S
        self._as_of_s = clock.monotonic_s()
        # What is in memory and waits for its turn.
        self._waiting_bytes = 0
        self._has_room = asyncio.Event()
        self._has_room.set()
        # Of its streams whose next message may be large one is read from; the others wait in the order of their coming.
        self._reading = asyncio.Lock()
        # One of its messages passes in a turn of the loop, however many streams it has.
        self._pass = OneATurn()
        self._outage = Outage(_log, "agent_held_back", "agent_not_held_back", clock)
        self._looked_s, self._waited_s = self._as_of_s, 0.0

    def enter_call(self) -> None:
        """Counts a unary call in, until `leave_call`. Raises LimitReached."""
        most = self._limits.agent_calls
        if most and self.calls >= most:
            raise LimitReached("agent_calls", most, f"calls of {self._name}", passes=True)
        self.calls += 1

    def leave_call(self) -> None:
        self.calls -= 1

    def enter_stream(self) -> None:
        """Counts a stream in, until `leave_stream`. Raises LimitReached."""
        most = self._limits.agent_streams
        if most and self.streams >= most:
            raise LimitReached("agent_streams", most, f"streams of {self._name}", passes=True)
        self.streams += 1

    def leave_stream(self) -> None:
        self.streams -= 1

    def check_turn(self) -> None:
        """Raises LimitReached if the turn of a unary call is too far away to wait for it."""
        rate = self._limits.agent_bytes_per_second
        if rate and self._wait_s() > _LONGEST_WAIT_S:
            raise LimitReached("agent_bytes_per_second", rate, f"what {self._name} sends", passes=True)

    async def room(self) -> None:
        """Waits until a stream may be read from: until at most half of what may wait in memory waits. gRPC's flow
        control holds the agent back meanwhile."""
        await self._has_room.wait()

    async def read_alone(self, method: str) -> Callable[[], None]:
        """Waits before a stream is read from whose next message may be large: while another such stream of the agent is
        read from, then for the share, then for room. Call what it returns once the message has had its turn, or is
        none. An agent's streams would else bring a large message each at the same moment, and others wait for all of
        them."""
        if not self._limits.agent_bytes_per_second:
            return lambda: None
        await self._reading.acquire()
        timer: asyncio.TimerHandle | None = None
        is_held = True

        def release() -> None:
            nonlocal is_held
            if timer is not None:
                timer.cancel()
            if is_held:
                is_held = False
                self._reading.release()

        try:
            if (wait_s := self._wait_s()) > 0:
                began_s = self._clock.monotonic_s()
                await asyncio.sleep(wait_s)
                self._waited(self._clock.monotonic_s() - began_s, method)
            await self.room()
            timer = asyncio.get_running_loop().call_later(_LONGEST_ALONE_S, release)
        except BaseException:
            release()
            raise
        return release

    async def pace(self, size: int, method: str, *, events: int = 0, asks: bool = False) -> None:
        """Waits for the turn of a message of so many bytes and events; `asks`: of a call that may ask a model. Raises
        LimitReached where too much waits already: all of an agent's streams are read from side by side until the first
        of their messages is here."""
        if self._limits.agent_bytes_per_second:
            beside = events * _EVENT_BYTES + (_QUESTION_BYTES if asks else 0)
            await self._wait(size, method, beside)
        await self._pass()

    async def _wait(self, size: int, method: str, beside: int) -> None:
        """`beside`: what the message counts as, beside its bytes."""
        wait_s = self._wait_s()
        if wait_s > 0:
            self._check_room(size)
        # Taken before the wait, so that messages that wait side by side do not pass all at once.
        self._left -= max(size, _LEAST_BYTES) + beside
        if wait_s <= 0:
            self._waited(0.0, method)
            return
        began_s = self._clock.monotonic_s()
        self._hold(size)
        try:
            await asyncio.sleep(wait_s)
        finally:
            self._hold(-size)
            self._waited(self._clock.monotonic_s() - began_s, method)

    def _check_room(self, size: int) -> None:
        most = self._limits.agent_waiting_bytes
        # One message may always wait, however large.
        if most and self._waiting_bytes and self._waiting_bytes + size > most:
            raise LimitReached("agent_waiting_bytes", most, f"what {self._name} sends", passes=True)

    def _hold(self, size: int) -> None:
        """Counts in what waits; below 0: counts it out."""
        self._waiting_bytes += size
        most = self._limits.agent_waiting_bytes
        if not most or self._waiting_bytes <= most // 2:
            self._has_room.set()
        else:
            self._has_room.clear()

    def _waited(self, seconds: float, method: str) -> None:
        """Counts a wait, and says once when the agent is held back for much of the time."""
        SHARE_WAIT.record(seconds, {"rpc.service": method.rpartition("/")[0]})
        if seconds:
            self._traffic.waited(self._name, seconds)
        self._waited_s += seconds
        now_s = self._clock.monotonic_s()
        looked_s = now_s - self._looked_s
        is_sure = looked_s >= _SOONEST_S and self._waited_s >= HELD_BACK * _LOOK_S
        if looked_s < _LOOK_S and not is_sure:
            return
        told = {"token": self._name, "waited_s": round(self._waited_s, 1), "seconds": round(looked_s, 1)}
        if self._waited_s >= HELD_BACK * looked_s:
            self._outage.failed({**told, "agent_bytes_per_second": self._limits.agent_bytes_per_second})
        else:
            self._outage.worked({"token": self._name})
        self._looked_s, self._waited_s = now_s, 0.0

    def _wait_s(self) -> float:
        """Seconds until something is left. Brings what is left up to date."""
        rate, now_s = self._limits.agent_bytes_per_second, self._clock.monotonic_s()
        self._left = min(rate * _BURST_S, self._left + (now_s - self._as_of_s) * rate)
        self._as_of_s = now_s
        return 0.0 if self._left > 0 else -self._left / rate


class Shares:
    """The shares of all agents, by the names of their tokens."""

    def __init__(self, limits: AgentLimits, clock: Clock, traffic: Traffic) -> None:
        """`traffic`: is told how long each agent waits."""
        self._limits = limits
        self._clock = clock
        self._traffic = traffic
        # As many as the access file has had names.
        self._of: dict[str, Share] = {}

    def of(self, caller: Token | None) -> Share | None:
        """The caller's share; None if it has no limit, or no token that names it."""
        if not self._limits or caller is None or caller.is_shared:
            return None
        share = self._of.get(caller.name)
        if share is None:
            share = self._of[caller.name] = Share(caller.name, self._limits, self._clock, self._traffic)
        return share
