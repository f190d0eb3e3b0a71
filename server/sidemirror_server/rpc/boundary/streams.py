"""What all streams of this server share: heartbeats, idle streams, and the news that the server is going away."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

import msgspec

from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import Draining, LimitReached, SidemirrorError

# No stream looks at its times more often. Chosen here: far below any time that is worth setting.
_SOONEST_S = 0.05
# How often a stream looks whether its token is still good, where heartbeats do not come sooner. Chosen here: a token
# that is taken away is out within seconds, and thousands of streams cost little.
_LOOK_AT_TOKEN_S = 5.0
# How long a stream that is to end may take to say so itself. After that its call is cancelled: a reader that takes
# nothing would hold it for ever. Chosen here: the store may be away, and what the agent sent is made durable first.
_STAYS_S = 60.0


class StreamLimits(msgspec.Struct, frozen=True):
    """Times of streams. Defaults: design sections 5 and 11."""

    # A stream that says nothing else says that it lives.
    heartbeat_s: float = 20.0
    # A stream on which the agent sends nothing is ended. Watches are not: they have nothing to send.
    idle_s: float = 600.0
    # Any stream is ended after this long; 0: never.
    age_s: float = 86_400.0


class Streams:
    """Every open stream of the server, so that they can be told when it goes away."""

    def __init__(self, limits: StreamLimits) -> None:
        self.limits = limits
        self.grace_s: float | None = None
        self._open: set[Callable[[], None]] = set()
        self._left = asyncio.Event()

    def __len__(self) -> int:
        return len(self._open)

    def close_all(self, grace_s: float) -> None:
        """The server goes away in `grace_s` seconds: every stream says so, now."""
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
    """The times of one stream. One timer serves it, whatever passes over it."""

    def __init__(
        self,
        streams: Streams,
        clock: Clock,
        wake: Callable[[], None],
        *,
        ends_idle: bool = True,
        barred: Callable[[], SidemirrorError | None] | None = None,
    ) -> None:
        """`barred`: why the stream may not go on (Call)."""
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
        # Who serves the stream, and since when it is to end by itself.
        self._task = asyncio.current_task()
        self._over_s: float | None = None
        streams.enter(wake)
        self._timer = self._arm(self._said_s)

    def _arm(self, beat_s: float) -> asyncio.TimerHandle:
        """Looks again when the next of the two times can have come; `beat_s`: when a heartbeat was given last."""
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
        # A reader that takes nothing is not woken again before the next beat.
        self._timer = self._arm(now_s if beats else self._said_s)

    def ask(self, barred: Callable[[], SidemirrorError | None] | None) -> None:
        """From now on this says why the stream may not go on."""
        self._asks = barred
        self._timer.cancel()
        self._timer = self._arm(self._said_s)

    def heard(self) -> None:
        """The agent sent something."""
        self._heard_s = self._clock.monotonic_s()

    def said(self) -> None:
        """The stream said something."""
        self._said_s = self._clock.monotonic_s()

    def heartbeat_due(self) -> bool:
        return self._clock.monotonic_s() - self._said_s >= self._streams.limits.heartbeat_s

    @property
    def over(self) -> bool:
        """Whether the stream is to end, for a reason of its own."""
        return self.idle or self.old or self.barred is not None

    @property
    def ends(self) -> bool:
        """Whether the stream is about to end, for whatever reason of its own or the server's."""
        return self.over or self._streams.grace_s is not None

    def closing_due(self) -> bool:
        """True once, when the stream is to say that it ends."""
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
        """How a stream ends that has said `closing`, and unless it is barred may be gone on with elsewhere."""
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
    """A stream that has no way to say `closing`, or has not begun: what is under way within is ended when its time is
    over or its token is gone, and when the server goes away if it is a stream of the client's or `follows`. To be
    entered and left in the task that serves it."""

    def __init__(self, streams: Streams, clock: Clock, *, takes_stream: bool, follows: bool = False) -> None:
        """`takes_stream`: the client sends a stream, which may not be idle. `follows`: the stream tells of what goes on
        without it, so that there is no use in waiting for its end."""
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
        # A cancellation that comes from elsewhere as well (the client has left) stays one.
        if self._ended and self._task and not self._task.uncancel() and kind is asyncio.CancelledError and times:
            raise times.end() from error

    def begun(self, barred: Callable[[], SidemirrorError | None] | None) -> None:
        """It is known whose the stream is. `barred`: as `Call` has it."""
        if self._times is not None:
            self._times.ask(barred)

    def heard(self) -> None:
        """The client sent something."""
        if self._times is not None:
            self._times.heard()

    def hand_over(self) -> None:
        """From now on somebody else looks after the stream's times."""
        if self._times is not None:
            self._times.close()
            self._times = None

    def _look(self) -> None:
        times = self._times
        goes_away = self._streams.grace_s is not None and (self._takes_stream or self._follows)
        if times and self._task and not self._ended and (times.over or goes_away):
            self._ended = True
            self._task.cancel()
