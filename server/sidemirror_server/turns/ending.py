"""Ends turns that were finished, abandoned, or given up at shutdown. A turn's summary is its last entry."""

import asyncio
import logging

from sidemirror_server.thinking.record import Directive
from sidemirror_server.thinking.turn import summarise
from sidemirror_server.turns.counting import GIVEN_UP
from sidemirror_server.turns.critiquing import TurnCritiques
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.reflecting import Reflections
from sidemirror_server.turns.teaching import Teacher
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.ids import DirectiveId, new_id
from sidemirror_server.vocabulary.scope import whose

_log = logging.getLogger(__name__)


class Endings:
    """Ends turns, and the reflections and critiques in progress for them."""

    def __init__(
        self,
        recorder: Recorder,
        reflections: Reflections,
        critiques: TurnCritiques,
        clock: Clock,
        finish_grace_s: float,
        teacher: Teacher | None = None,
    ) -> None:
        """`finish_grace_s`: how long the end of a turn waits for reflections and critiques in progress. `teacher` None:
        nothing is learned from ended turns."""
        self._teacher = teacher
        self._recorder = recorder
        self._reflections = reflections
        self._critiques = critiques
        self._clock = clock
        self._finish_grace_s = finish_grace_s

    def finish(self, turn: LiveTurn) -> None:
        """Records the summary of a turn that the agent has finished, when nothing is in progress or the grace period is
        over."""
        if turn.tasks:
            turn.finishing = asyncio.create_task(self._finish_later(turn))
        else:
            self._summarise(turn, abandoned=False)

    def abandon(self, turn: LiveTurn) -> None:
        """Ends an open turn that has been silent for too long."""
        self._give_up(turn, f"{GIVEN_UP}: the turn was abandoned")
        self._summarise(turn, abandoned=True)

    def restarted(self, turn: LiveTurn) -> None:
        """Ends the tasks that the earlier process had in progress, and records the summary of a finished turn."""
        self._give_up(turn, "the sidecar was restarted before the model answered")
        if not turn.accepts:
            self._summarise(turn, abandoned=False)

    def shut_down(self, turn: LiveTurn) -> None:
        """Records an open turn's reflections and critiques in progress as failed, because the server shuts down. A
        finished turn that still waits for reflections or critiques ends now."""
        if turn.accepts:
            self._give_up(turn, f"{GIVEN_UP}: the server was shut down")
        elif turn.finishing is not None:
            turn.finishing.cancel()
            self._finish_now(turn)

    async def _finish_later(self, turn: LiveTurn) -> None:
        # All tasks may be done by now, and `asyncio.wait` refuses an empty set.
        if turn.tasks:
            await asyncio.wait(tuple(turn.tasks.values()), timeout=self._finish_grace_s)
        self._finish_now(turn)

    def _finish_now(self, turn: LiveTurn) -> None:
        self._give_up(turn, f"{GIVEN_UP}: the turn ended first")
        self._summarise(turn, abandoned=False)
        turn.finishing = None

    def _give_up(self, turn: LiveTurn, reason: str) -> None:
        """Records the turn's reflections and critiques in progress as failed."""
        self._reflections.give_up(turn, reason)
        self._critiques.give_up(turn, reason)

    def _summarise(self, turn: LiveTurn, *, abandoned: bool) -> None:
        now_us = self._clock.now_us()
        summary = summarise(turn.state, now_us, abandoned)
        turn.record(Directive(DirectiveId(new_id(now_us)), now_us, summary), now_us)
        if self._teacher is not None:
            taught = self._teacher.taught(turn.scope, turn.state, now_us)
            turn.ends_with(taught)
            if taught.is_first_left:
                told = {"turn_id": turn.state.turn_id, "turns_per_hour": self._teacher.limit}
                _log.info("learning_limit_reached", extra={**whose(turn.scope), **told})
        self._recorder.submit(turn)
        turn.wake()
