"""The time limits of streams: heartbeats, idleness, age, lost tokens, and the server's shutdown."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

import msgspec

from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import Draining, LimitReached, SidemirrorError

# The shortest interval, in seconds, between two checks of a stream. Chosen here: far below any useful setting.
_SOONEST_S = 0.05
# Seconds between two checks of a stream's token, unless heartbeats come sooner. Chosen here: a removed token stops
# working within seconds, and thousands of streams cost little.
_LOOK_AT_TOKEN_S = 5.0
# Seconds in which an ending stream must send `closing`. Then its call is cancelled, because a client that reads nothing
# would hold it for ever. Chosen here: the agent's events must be durable first, and the store may be down.
_STAYS_S = 60.0


class StreamLimits(msgspec.Struct, frozen=True):
    """Time limits of streams, in seconds. Defaults: decision 005."""

    # The interval of heartbeats on a stream that sends nothing else.
    heartbeat_s: float = 20.0
    # A stream ends when the agent sends nothing for this long. This does not apply to watches, which only receive.
    idle_s: float = 600.0
    # Any stream ends at this age; 0: never.
    age_s: float = 86_400.0


class Streams:
    """The server's open streams, which it wakes when it shuts down."""

    def __init__(self, limits: StreamLimits) -> None:
        self.limits = limits
        self.grace_s: float | None = None
        self._open: set[Callable[[], None]] = set()
        self._left = asyncio.Event()

    def __len__(self) -> int:
        return len(self._open)

    def close_all(self, grace_s: float) -> None:
        """Wakes every stream to send `closing`: the server shuts down in `grace_s` seconds."""
        self.grace_s = grace_s
        for wake in tuple(self._open):
            wake()

    def enter(self, wake: Callable[[], None]) -> None:
        self._open.add(wake)

    def leave(self, wake: Callable[[], None]) -> None:
        self._open.discard(wake)
        self._left.set()

    async def all_left(self) -> None:
        """Returns when no stream is open."""
        while self._open:
            self._left.clear()
            await self._left.wait()


class StreamTimes:
    """The time limits of one stream. One timer serves it, however many messages pass."""

    def __init__(
        self,
        streams: Streams,
        clock: Clock,
        wake: Callable[[], None],
        *,
        ends_idle: bool = True,
        barred: Callable[[], SidemirrorError | None] | None = None,
    ) -> None:
        """`barred`: as in `Call`."""
        self._streams = streams
        self._asks = barred
        self._clock = clock
        self._wake = wake
        self._ends_idle = ends_idle
        self._began_s = self._said_s = self._heard_s = clock.monotonic_s()
        self.told_closing = False
        self.idle = False
        self.old = False
        self.barred: SidemirrorError | None = None
        # The task that serves the stream, and the time since which the stream should end by itself.
        self._task = asyncio.current_task()
        self._over_s: float | None = None
        streams.enter(wake)
        self._timer = self._arm(self._said_s)

    def _arm(self, beat_s: float) -> asyncio.TimerHandle:
        """Sets the timer to the next time limit that may pass. `beat_s`: the time of the last heartbeat."""
        limits = self._streams.limits
        next_s = beat_s + limits.heartbeat_s
        if self._ends_idle and not self.idle:
            next_s = min(next_s, self._heard_s + limits.idle_s)
        if limits.age_s and not self.old:
            next_s = min(next_s, self._began_s + limits.age_s)
        if self._over_s is not None:
            next_s = min(next_s, self._over_s + _STAYS_S)
        after_s = max(_SOONEST_S, next_s - self._clock.monotonic_s())
        if self._asks is not None and self.barred is None:
            after_s = min(after_s, _LOOK_AT_TOKEN_S)
        return asyncio.get_running_loop().call_later(after_s, self._tick)

    def _tick(self) -> None:
        limits, now_s = self._streams.limits, self._clock.monotonic_s()
        if self._ends_idle and now_s - self._heard_s >= limits.idle_s:
            self.idle = True
        if limits.age_s and now_s - self._began_s >= limits.age_s:
            self.old = True
        if self._asks is not None and self.barred is None:
            self.barred = self._asks()
        beats = self.heartbeat_due()
        if self.over or beats:
            self._wake()
        if self.over:
            self._over_s = now_s if self._over_s is None else self._over_s
            if now_s - self._over_s >= _STAYS_S and self._task is not None:
                self._task.cancel()
                return
        # If the client reads nothing, the stream is not woken again before the next heartbeat.
        self._timer = self._arm(now_s if beats else self._said_s)

    def ask(self, barred: Callable[[], SidemirrorError | None] | None) -> None:
        """Checks `barred` (as in `Call`) from now on."""
        self._asks = barred
        self._timer.cancel()
        self._timer = self._arm(self._said_s)

    def heard(self) -> None:
        """The agent sent something."""
        self._heard_s = self._clock.monotonic_s()

    def said(self) -> None:
        """The stream sent something."""
        self._said_s = self._clock.monotonic_s()

    def heartbeat_due(self) -> bool:
        return self._clock.monotonic_s() - self._said_s >= self._streams.limits.heartbeat_s

    @property
    def over(self) -> bool:
        """Whether the stream itself must end: it is idle, too old, or barred."""
        return self.idle or self.old or self.barred is not None

    @property
    def ends(self) -> bool:
        """Whether the stream must end, for its own reasons or because the server shuts down."""
        return self.over or self._streams.grace_s is not None

    def closing_due(self) -> bool:
        """Whether to send `closing` now; True once for each stream."""
        if self.told_closing or not self.ends:
            return False
        self.told_closing = True
        return True

    @property
    def grace_s(self) -> float:
        return self._streams.grace_s or 0.0

    @property
    def closing_reason(self) -> str:
        if self.barred is not None:
            return str(self.barred.facts["reason"])
        if self._streams.grace_s is not None:
            return "the server is shutting down"
        if self.old:
            return f"the stream has been open for {self._streams.limits.age_s:g} s; take it up on a new one"
        return f"nothing was sent for {self._streams.limits.idle_s:g} s"

    def end(self) -> SidemirrorError:
        """The error that ends the stream after `closing`. Unless the stream is barred, the client may resume it
        elsewhere."""
        if self.barred is not None:
            return self.barred
        if self._streams.grace_s is not None:
            return Draining(reason=self.closing_reason)
        if self.idle:
            return LimitReached("idle_stream_s", int(self._streams.limits.idle_s), "this stream", passes=True)
        return LimitReached("stream_age_s", int(self._streams.limits.age_s), "this stream", passes=True)

    def close(self) -> None:
        self._timer.cancel()
        self._streams.leave(self._wake)


class Lasting:
    """Cancels the task of a stream that cannot send `closing` itself or has not begun. This happens when the stream is
    over (`StreamTimes.over`), and on shutdown if the client streams or the stream only `follows`. Enter and leave it in
    the serving task."""

    def __init__(self, streams: Streams, clock: Clock, *, takes_stream: bool, follows: bool = False) -> None:
        """`takes_stream`: the client streams, and must not be idle. `follows`: the stream reports work that goes on
        without it, so that a shutdown need not wait for its end."""
        self._streams = streams
        self._clock = clock
        self._takes_stream = takes_stream
        self._follows = follows
        self._ended = False

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        self._times: StreamTimes | None = StreamTimes(
            self._streams, self._clock, self._look, ends_idle=self._takes_stream
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        times = self._times
        self.hand_over()
        # A cancellation from elsewhere, such as a client that has left, stays a cancellation.
        if self._ended and self._task and not self._task.uncancel() and kind is asyncio.CancelledError and times:
            raise times.end() from error

    def begun(self, barred: Callable[[], SidemirrorError | None] | None) -> None:
        """The caller of the stream is known. `barred`: as in `Call`."""
        if self._times is not None:
            self._times.ask(barred)

    def heard(self) -> None:
        """The client sent something."""
        if self._times is not None:
            self._times.heard()

    def hand_over(self) -> None:
        """Stops enforcing the time limits, because the handler now enforces them."""
        if self._times is not None:
            self._times.close()
            self._times = None

    def _look(self) -> None:
        times = self._times
        goes_away = self._streams.grace_s is not None and (self._takes_stream or self._follows)
        if times and self._task and not self._ended and (times.over or goes_away):
            self._ended = True
            self._task.cancel()
