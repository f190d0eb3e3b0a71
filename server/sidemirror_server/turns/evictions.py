"""Takes turns out of memory: those that are idle, silent, deleted or erased, and all of them at the end.

Part of the conductor, which makes it. What is taken out is read back from the log when somebody speaks of it, unless it
was erased.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from sidemirror_server.trace.erasure import ERASED
from sidemirror_server.trace.log import TurnLog
from sidemirror_server.turns.ending import Endings
from sidemirror_server.turns.limits import TurnLimits
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.session_past import SessionPasts
from sidemirror_server.turns.turn_cache import TurnCache
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import SidemirrorError, TurnLost, WrongState
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Serves, whose

_log = logging.getLogger(__name__)

# The most turns that one sweep reads back to abandon them.
_PAGE = 500
# How long an erasure waits for what its turns have just recorded. Chosen here: many times what a healthy store takes.
_MOMENT_S = 1.0
# How many turns `make_room` checks for eviction at a time. Chosen here: more than one, so that idle turns are found
# faster than new ones come.
_LOOKS = 4


class Evictions:
    """Takes turns out of a process's memory. `take_up`: reads one back (`Conductor.take_up`)."""

    def __init__(
        self,
        held: TurnCache,
        log: TurnLog,
        recorder: Recorder,
        pasts: SessionPasts,
        endings: Endings,
        clock: Clock,
        limits: TurnLimits,
        take_up: Callable[[Scope, TurnId], Awaitable[LiveTurn]],
    ) -> None:
        self._held = held
        self._log = log
        self._recorder = recorder
        self._pasts = pasts
        self._endings = endings
        self._clock = clock
        self._limits = limits
        self._take_up = take_up

    async def sweep(self, serves: Serves = SERVES_ALL) -> bool:
        """Tidies memory, and abandons open turns of the scopes served that are not in memory and have been silent for
        too long; whether there were any. Raises the store's errors."""
        self.tidy()
        before_us = self._clock.now_us() - int(self._limits.abandon_after_s * 1e6)
        unheard = [
            (scope, head.turn_id)
            for scope, head in await self._log.idle(serves, before_us, _PAGE)
            if (scope, head.turn_id) not in self._held
        ]
        for scope, turn_id in unheard:
            await self._abandon_unheard(scope, turn_id)
        return bool(unheard)

    def tidy(self) -> None:
        """Evicts turns that need not be in memory, and abandons those in memory that have been silent for too long."""
        now_s = self._clock.monotonic_s()
        for turn in self._held:
            silent_s = now_s - turn.heard_s
            if turn.accepts and not turn.tasks and silent_s >= self._limits.abandon_after_s:
                self._endings.abandon(turn)
            if turn.lost is not None or (turn.idle and (turn.over or silent_s >= self._limits.evict_after_s)):
                self._held.forget(turn)
            else:
                self._held.weigh(turn)  # reflections add bytes too

    def make_room(self) -> None:
        """Evicts a few turns without listeners if memory is crowded. Their entries are in the log."""
        held, limits = self._held, self._limits
        if len(held) <= limits.turns_at_hand and held.recorded_bytes <= limits.bytes_at_hand:
            return
        before_s = self._clock.monotonic_s() - limits.crowded_evict_after_s
        for turn in held.eldest(_LOOKS):
            if turn.idle and (turn.over or turn.heard_s < before_s):
                held.forget(turn)

    def let_go(self, scope: Scope, turn_id: TurnId, *, is_erased: bool = False) -> None:
        """Takes a turn out of memory, whatever is in progress for it. `is_erased`: it takes no more events; else the
        next call about it reads it back."""
        turn = self._held.get(scope, turn_id)
        if turn is None:
            return
        if is_erased:
            turn.lose(WrongState("turn", turn_id, ERASED))
        else:
            turn.lose(TurnLost(turn_id=turn_id, reason="a part of it was erased: take it up again"))
        self._held.get(scope, turn_id)  # drops a turn that is lost

    def let_go_session(self, scope: Scope, session_id: SessionId) -> None:
        """Takes the turns of an erased session out of memory."""
        for turn in self._held.of_session(scope, session_id):
            self.let_go(scope, turn.state.turn_id, is_erased=True)

    async def settle(self, scope: Scope) -> None:
        """Waits a moment until what the scope's turns in memory have recorded is in the store, where it is found by
        its subjects."""
        with contextlib.suppress(TimeoutError, SidemirrorError):
            async with asyncio.timeout(_MOMENT_S):
                await self._recorder.settle(scope)

    async def put_down(self, scope: Scope, turn_id: TurnId) -> None:
        """Takes a turn, a part of which is erased, and the later ones of its session out of memory, once their entries
        are durable or a moment has passed."""
        turn = self._held.get(scope, turn_id)
        if turn is None:
            return
        session_id = turn.state.session_id
        with contextlib.suppress(TimeoutError, SidemirrorError):
            async with asyncio.timeout(_MOMENT_S):
                await self._pasts.settle(scope, session_id)
        for one in self._held.of_session(scope, session_id):
            if one.state.turn_count >= turn.state.turn_count:
                self.let_go(scope, one.state.turn_id)

    def give_up_all(self) -> None:
        """Ends the work in progress for all turns, because the server shuts down."""
        for turn in self._held:
            self._endings.shut_down(turn)

    async def _abandon_unheard(self, scope: Scope, turn_id: TurnId) -> None:
        """Abandons an open turn that is not in memory. If it cannot be read, the other turns are still handled."""
        try:
            turn = await self._take_up(scope, turn_id)
        except SidemirrorError as error:
            _log.info("turn_not_abandoned", extra={**whose(scope), "turn_id": turn_id, "reason": str(error)})
            return
        if turn.accepts:
            self._endings.abandon(turn)
