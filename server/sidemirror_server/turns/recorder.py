"""Appends the entries of turns to the log, in order, while the agents continue.

One loop serves all turns of the process, in rounds of one append for each project: entries that are pending when a
round ends go into the next one. A hundred turns cost few commits, also those of many projects, where the store commits
what is appended side by side at once. A failed append is retried until the store answers. Meanwhile turns go on in
memory, and their `durable` does not rise (decision 012).
"""

import asyncio
import itertools
import logging
from collections import Counter, defaultdict
from collections.abc import Callable

from sidemirror_server.trace.erasure import ERASED, REWRITTEN
from sidemirror_server.trace.live import Bell
from sidemirror_server.trace.log import Batch, TurnLog
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import LimitReached, SidemirrorError, TurnLost, WrongState
from sidemirror_server.vocabulary.outage import Outage
from sidemirror_server.vocabulary.scope import Scope, whose

_log = logging.getLogger(__name__)

# Backoff after a failed append: doubled each time, and cut short by `try_again`. An append has to succeed within 5 s of
# the store's return (decision 010), so the longest wait stays well below that.
FIRST_RETRY_S = 0.05
LAST_RETRY_S = 2.0
# What nobody waits to see on the disk is gathered for this time into one append: events, and what is said to them. An
# append occupies the event loop longer than an event does, so without the delay an agent would often wait for the
# append of its previous event, and what is said to a failure for that of the failure. Chosen here: a fifth of the 50 ms
# in which an acknowledgement is promised (decision 012).
LINGER_S = 0.01


class Recorder:
    """Takes entries from memory to the log."""

    def __init__(
        self,
        log: TurnLog,
        bell: Bell,
        backlog_bytes: int,
        project_backlog_bytes: int = 0,
        expects: Callable[[Scope], None] | None = None,
        appends: int = 1,
    ) -> None:
        """`backlog_bytes`: the limit on the pending entries of all turns while the store is away;
        `project_backlog_bytes`: on those of one project, 0 is none. `expects`: is told whose turns have put a job.
        `appends`: how many, each of another project, are made side by side."""
        self._expects = expects
        self._appends = appends
        self._project_backlog_bytes = project_backlog_bytes
        self._of_projects: Counter[Scope] = Counter()  # bytes
        self._log = log
        self._bell = bell
        self._backlog_bytes = backlog_bytes
        self._dirty: dict[LiveTurn, None] = {}  # in the order in which they came
        self._waiting: dict[LiveTurn, int] = {}  # bytes
        self._waiting_bytes = 0
        self._waiting_since_s: dict[LiveTurn, float] = {}  # on the loop's clock
        self._lingering: asyncio.TimerHandle | None = None
        self._outage = Outage(_log, "turns_not_recorded", "turns_recorded_again", SystemClock())
        self._work = asyncio.Event()
        self._again = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def submit(self, turn: LiveTurn, *, gather: bool = False) -> None:
        """Schedules an append of the turn's pending entries: at once, or with `gather` after LINGER_S at the latest. A
        caller that waits makes the append start at once."""
        self._dirty[turn] = None
        self._count(turn)
        self._idle.clear()
        if not gather:
            self._work.set()
        elif self._lingering is None:
            self._lingering = asyncio.get_running_loop().call_later(LINGER_S, self._work.set)

    def _count(self, turn: LiveTurn) -> None:
        """Updates the totals for the turn's pending entries."""
        waiting = turn.pending_bytes
        more = waiting - self._waiting.pop(turn, 0)
        self._waiting_bytes += more
        self._of_projects[turn.scope] += more
        if not self._of_projects[turn.scope]:
            del self._of_projects[turn.scope]
        if waiting:
            self._waiting[turn] = waiting
            if turn not in self._waiting_since_s:
                self._waiting_since_s[turn] = asyncio.get_running_loop().time()
        else:
            self._waiting_since_s.pop(turn, None)

    @property
    def waiting_bytes(self) -> int:
        """Bytes of pending entries over all turns."""
        return self._waiting_bytes

    def lag_s(self, now_s: float) -> float:
        """The longest time for which any turn has had pending entries; 0 without any. `now_s`: the loop's clock."""
        # A copy, because the caller may be on another thread.
        return max((now_s - since_s for since_s in tuple(self._waiting_since_s.values())), default=0.0)

    def check_room(self, scope: Scope) -> None:
        """Raises LimitReached when the pending entries exceed `backlog_bytes`, or the project's what one may have."""
        most = self._project_backlog_bytes
        if most and self._of_projects[scope] > most:
            raise LimitReached("project_backlog_bytes", most, f"events of {scope.project_id}", passes=True)
        if self._waiting_bytes > self._backlog_bytes:
            raise LimitReached("backlog_bytes", self._backlog_bytes, "events waiting for the store", passes=True)

    async def wait_durable(self, turn: LiveTurn, sequence: int) -> None:
        """Returns when the turn's entries up to `sequence` are durable. If their append fails, raises what the store
        raised; the entries stay in memory and are retried."""
        if turn.durable >= sequence:
            return
        turn.failure = None
        self._work.set()
        listener = turn.listen(turn.state.last_sequence)
        try:
            while turn.durable < sequence:
                if turn.lost is not None:
                    raise turn.lost
                if turn.failure is not None:
                    raise turn.failure
                await listener.wait()
                listener.take()
        finally:
            listener.close()

    async def settle(self, scope: Scope) -> None:
        """Returns when what the scope's turns have recorded by now is durable. Raises as `wait_durable` does."""
        now = [(turn, turn.state.last_sequence) for turn in self._waiting if turn.scope == scope and turn.lost is None]
        for turn, sequence in now:
            await self.wait_durable(turn, sequence)

    def try_again(self) -> None:
        """Retries failed appends at once. Called when the store answers again."""
        self._again.set()

    async def run(self) -> None:
        """Serves until cancelled."""
        delay_s = FIRST_RETRY_S
        while True:
            await self._work.wait()
            self._work.clear()
            self._again.clear()
            if await self._flush():
                delay_s = FIRST_RETRY_S
                if not self._dirty:
                    self._idle.set()
            else:
                delay_s = FIRST_RETRY_S if await self._told_within(delay_s) else min(2 * delay_s, LAST_RETRY_S)
                self._work.set()

    async def _told_within(self, delay_s: float) -> bool:
        """Waits for `delay_s` at most. Returns whether `try_again` ended the wait."""
        try:
            async with asyncio.timeout(delay_s):
                await self._again.wait()
        except TimeoutError:
            return False
        return True

    async def drain(self) -> None:
        """Returns when no entry is pending."""
        self._work.set()
        await self._idle.wait()

    async def _flush(self) -> bool:
        """Makes one append for each scope with pending entries. Returns False when any of them failed."""
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None
        turns, self._dirty = self._dirty, {}
        by_scope: defaultdict[Scope, list[tuple[LiveTurn, Batch]]] = defaultdict(list)
        for turn in turns:
            batch = turn.take_batch()
            if batch is None:  # it was lost
                self._count(turn)
            else:
                by_scope[turn.scope].append((turn, batch))
        scopes = iter(by_scope.items())
        done = True
        while some := list(itertools.islice(scopes, self._appends)):
            done = all(await asyncio.gather(*(self._append(*one) for one in some))) and done
        return done

    async def _append(self, scope: Scope, items: list[tuple[LiveTurn, Batch]]) -> bool:
        try:
            await self._log.append(scope, tuple(batch for _, batch in items))
        except WrongState as refused:
            return await self._append_singly(scope, items, refused)
        except SidemirrorError as failure:
            self._outage.failed({**whose(scope), "turns": len(items), "reason": type(failure).__name__})
            for turn, _ in items:
                self._dirty[turn] = None
                turn.fail(failure)
            return False
        self._outage.worked()
        if self._expects is not None and any(batch.sequel is not None for _, batch in items):
            self._expects(scope)
        for turn, batch in items:
            if turn.lost is None:
                turn.settle(batch)
            self._waiting_since_s.pop(turn, None)  # entries that are still pending are newer
            self._count(turn)
        self._bell.ring(scope, {batch.head.session_id for _, batch in items})
        return True

    async def _append_singly(self, scope: Scope, items: list[tuple[LiveTurn, Batch]], refused: WrongState) -> bool:
        """Appends each turn by itself, so that only a turn that another server has taken over, or erased, is lost."""
        if len(items) > 1:
            return all([await self._append(scope, [item]) for item in items])
        turn = items[0][0]
        told = {**whose(turn.scope), "turn_id": turn.state.turn_id, "reason": str(refused)}
        if refused.facts["state"] == ERASED:
            _log.info("turn_refused", extra=told)  # its caller is told
            turn.lose(refused)
            self._count(turn)
            return True
        _log.error("turn_lost", extra=told)
        if refused.facts["state"] == REWRITTEN:
            why = "a part of it was erased: take it up again"
        elif turn.durable:
            why = "another server has gone on with this turn"
        else:
            # The turn was started while the store was away and could not say whether the id is taken.
            why = "the store has another turn under this id: take it up again"
        turn.lose(TurnLost(turn_id=turn.state.turn_id, reason=why))
        self._count(turn)
        return True
