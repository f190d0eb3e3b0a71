"""Who sends most to this sidecar: a bounded account of the last minutes, and a line in the log when others suffer.

The boundary counts calls and messages of streams, the conductor counts events. Everything is counted on the event loop.
"""

import logging
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import msgspec

from sidemirror_server.vocabulary.clock import Clock, thread_use_s
from sidemirror_server.vocabulary.outage import Outage
from sidemirror_server.vocabulary.scope import Scope

_log = logging.getLogger(__name__)
_Figure = TypeVar("_Figure", int, float)

# What is told is of this time at least, and of twice as much at most. Chosen here: a loud agent is loud for minutes,
# and one that has ended is soon left out.
PERIOD_S = 60.0
# An agent is held back from this part of the time on: what its calls and messages waited, summed. Chosen here: a minute
# of bursts is no flood. Before so much of the account has passed, a wait says nothing.
HELD_BACK = 0.5
_SHORTEST_S = 30.0
# How many senders a period has room for. Chosen here: all agents of a node, and some 100 KB.
_COUNTED = 256
# How many senders a caller is told of, and how many a line of the log names.
TOLD, _NAMED = 10, 3
# How often the account looks whether anybody suffers, and from where on somebody does: the loop computes or waits for a
# CPU for this part of the time, or its plain calls take this long in the mean, which is where SidemirrorCallsSlow
# begins.
_LOOK_S = 10.0
_BUSY = 0.8
_SLOW_S = 0.25
# What the line says where most of that is the wait for a CPU, or where the loop has time: whom it names is hardly the
# cause then.
_NO_CPU = "it waits for a CPU: see what else this machine runs"
_NOT_BUSY = "its calls wait, and not for the loop: see whether the store is slow"
# Who sends so many times what the next one does is told of, if it was somebody else before. Chosen here: agents that
# send alike take turns at the top.
_FAR_ABOVE = 2
# Fewer plain calls than these have no mean.
_CALLS = 10


class Sender(NamedTuple):
    """Who sends. `token`: its name, empty where none names the caller. `session_id`: empty for calls and messages."""

    token: str
    scope: Scope
    session_id: str = ""


class TrafficTold(msgspec.Struct, frozen=True):
    """What was sent in the last `period_s` seconds: all `messages`, and who sent, the most frequent sender first:
    `callers` of calls and messages of streams, `sessions` of events. `held_back`: the tokens whose calls and messages
    waited for their share, with the sum of these waits in seconds, the longest first. `refused`: the tokens whose calls
    were refused at a limit, with their number, the most first. `reads`: how many of the callers' calls only read."""

    period_s: float
    messages: int
    callers: tuple[tuple[Sender, int], ...]
    sessions: tuple[tuple[Sender, int], ...]
    held_back: tuple[tuple[str, float], ...] = ()
    refused: tuple[tuple[str, int], ...] = ()
    reads: tuple[tuple[Sender, int], ...] = ()


class Busiest:
    """Counts by sender, in bounded memory: once twice as many are counted as there is room for, the less frequent half
    is forgotten. So a count may be too low, by what a sender sent before it was among the more frequent half, and
    whoever sends more than a small part of all is never missing."""

    def __init__(self) -> None:
        self.counts: dict[Sender, int] = {}

    def add(self, sender: Sender, count: int) -> None:
        """Costs a look-up; forgetting costs little for each of those that are forgotten."""
        counts = self.counts
        if sender in counts:
            counts[sender] += count
            return
        if len(counts) >= 2 * _COUNTED:
            self.counts = counts = dict(sorted(counts.items(), key=lambda one: -one[1])[:_COUNTED])
        counts[sender] = count


class _Period:
    """What was counted since `began_s`."""

    def __init__(self, began_s: float) -> None:
        self.began_s = began_s
        self.messages = 0
        self.callers = Busiest()
        self.reads = Busiest()
        self.sessions = Busiest()
        # By token: as many as the access file has names.
        self.waited_s: dict[str, float] = {}
        self.refused: dict[str, int] = {}


class Traffic:
    """The account of one process."""

    def __init__(self, clock: Clock, use_s: Callable[[], tuple[float, float]] = thread_use_s) -> None:
        """`use_s`: seconds for which the thread of the event loop has computed, and waited for a CPU."""
        self._clock = clock
        self._use_s = use_s
        self._period = _Period(clock.monotonic_s())
        self._last: _Period | None = None
        self._outage = Outage(_log, "sidecar_busy", "sidecar_not_busy", clock)
        self._looked_s, self._used_s = self._period.began_s, use_s()
        self._calls, self._took_s = 0, 0.0
        self._busy = 0.0
        # Who was far above the others in the last line; None if nobody was.
        self._loudest: Sender | None = None

    def message(self, sender: Sender, *, reads: bool = False) -> None:
        """Counts a call, or a message of a stream. `reads`: it is a call that changes nothing."""
        now_s = self._clock.monotonic_s()
        if now_s - self._looked_s >= _LOOK_S:
            self._look(now_s)
        self._period.callers.add(sender, 1)
        if reads:
            self._period.reads.add(sender, 1)
        self._period.messages += 1

    def events(self, sender: Sender, count: int) -> None:
        """Counts events of a session."""
        self._period.sessions.add(sender, count)

    def took(self, seconds: float) -> None:
        """Counts how long a call took that asks no model and waits for nobody."""
        self._calls += 1
        self._took_s += seconds

    def waited(self, token: str, seconds: float) -> None:
        """Counts how long a call or message of this token waited for its share."""
        waits_s = self._period.waited_s
        waits_s[token] = waits_s.get(token, 0.0) + seconds

    def refused(self, token: str) -> None:
        """Counts a call of this token that was refused at a limit."""
        refused = self._period.refused
        refused[token] = refused.get(token, 0) + 1

    def busy_ratio(self) -> float:
        """For which part of the time the loop computed or waited for a CPU when it was looked at last, 0 to 1; 0
        after a silence. Any thread may call it."""
        return self._busy if self._clock.monotonic_s() - self._looked_s < 2 * _LOOK_S else 0.0

    def held_back_count(self) -> int:
        """How many tokens' calls and messages have waited for half of the time of the account. Any thread may call
        it."""
        now_s, present, last = self._clock.monotonic_s(), self._period, self._last
        periods = [one for one in (last, present) if one is not None and now_s - one.began_s < 2 * PERIOD_S]
        if not periods:
            return 0
        least_s = HELD_BACK * max(_SHORTEST_S, now_s - periods[0].began_s)
        return sum(seconds >= least_s for _, seconds in _largest([dict(one.waited_s) for one in periods]))

    def told(self) -> TrafficTold:
        """The account of the present period and of the one before."""
        now_s = self._clock.monotonic_s()
        self._turn(now_s)
        periods = (self._period,) if self._last is None else (self._last, self._period)
        return TrafficTold(
            now_s - periods[0].began_s,
            sum(one.messages for one in periods),
            _most([one.callers for one in periods]),
            _most([one.sessions for one in periods]),
            _largest([one.waited_s for one in periods]),
            _largest([one.refused for one in periods]),
            _most([one.reads for one in periods]),
        )

    def _turn(self, now_s: float) -> None:
        """Begins a new period if the present one is over."""
        ran_s = now_s - self._period.began_s
        if ran_s >= PERIOD_S:
            # After a longer silence there is nothing to tell of the time before it.
            self._last = self._period if ran_s < 2 * PERIOD_S else None
            self._period = _Period(now_s)

    def _look(self, now_s: float) -> None:
        """Says who sends most while the sidecar can hardly keep up."""
        looked_s, used_s = now_s - self._looked_s, self._use_s()
        cpu_wait = (used_s[1] - self._used_s[1]) / looked_s
        busy = min(1.0, (used_s[0] - self._used_s[0]) / looked_s + cpu_wait)
        mean_s = self._took_s / self._calls if self._calls >= _CALLS else 0.0
        self._looked_s, self._used_s = now_s, used_s
        self._calls, self._took_s = 0, 0.0
        self._busy = busy
        told = self.told()
        loudest = _loudest(told.callers)
        reason = _NOT_BUSY if busy < _BUSY else _NO_CPU if cpu_wait >= busy / 2 else ""
        # A look after a silence, which nobody's messages fill, says nothing of now.
        if looked_s < 2 * _LOOK_S and (busy >= _BUSY or mean_s >= _SLOW_S):
            is_told = self._outage.failed(
                {
                    **({"reason": reason} if reason else {}),
                    "busy": round(busy, 2),
                    "cpu_wait": round(cpu_wait, 2),
                    "mean_call_s": round(mean_s, 3),
                    "seconds": round(told.period_s, 1),
                    "messages": told.messages,
                    "callers": [_named(one, count) for one, count in told.callers[:_NAMED]],
                    "sessions": [_named(one, count) for one, count in told.sessions[:_NAMED]],
                },
                is_news=loudest not in (None, self._loudest),
            )
            self._loudest = loudest if is_told else self._loudest
        else:
            self._outage.worked()


def _most(accounts: list[Busiest]) -> tuple[tuple[Sender, int], ...]:
    counts: dict[Sender, int] = {}
    for account in accounts:
        for sender, count in account.counts.items():
            counts[sender] = counts.get(sender, 0) + count
    return tuple(sorted(counts.items(), key=lambda one: -one[1]))


def _loudest(callers: tuple[tuple[Sender, int], ...]) -> Sender | None:
    """Who sends far more than everybody else; None if nobody does. `callers`: the most frequent first."""
    if not callers or (len(callers) > 1 and callers[0][1] < _FAR_ABOVE * callers[1][1]):
        return None
    return callers[0][0]


def _largest(accounts: list[dict[str, _Figure]]) -> tuple[tuple[str, _Figure], ...]:
    """The sums by token, the largest first."""
    sums: dict[str, _Figure] = {}
    for account in accounts:
        for token, figure in account.items():
            sums[token] = sums[token] + figure if token in sums else figure
    return tuple(sorted(sums.items(), key=lambda one: -one[1]))


def _named(sender: Sender, count: int) -> dict[str, str | int]:
    scope = sender.scope
    told = {"token": sender.token, "tenant_id": scope.tenant_id, "project_id": scope.project_id}
    return {
        **{name: value for name, value in (*told.items(), ("session_id", sender.session_id)) if value},
        "count": count,
    }
