"""How a turn ends: finished, abandoned, or given up with the server; its summary comes last."""

import asyncio

from sidemirror_server.thinking.record import Directive
from sidemirror_server.thinking.turn import summarise
from sidemirror_server.turns.critiquing import TurnCritiques
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.reflecting import Reflections
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.ids import DirectiveId, new_id


class Endings:
    """Ends turns, and what is being made for them."""

    def __init__(
        self,
        recorder: Recorder,
        reflections: Reflections,
        critiques: TurnCritiques,
        clock: Clock,
        finish_grace_s: float,
    ) -> None:
        """`finish_grace_s`: how long the end of a turn waits for what is being made."""
        self._recorder = recorder
        self._reflections = reflections
        self._critiques = critiques
        self._clock = clock
        self._finish_grace_s = finish_grace_s

    def finish(self, turn: LiveTurn) -> None:
        """The agent has finished the turn: its summary is recorded once nothing is being made any more, or the grace is
        over."""
        if turn.tasks:
            turn.finishing = asyncio.create_task(self._finish_later(turn))
        else:
            self._summarise(turn, abandoned=False)

    def abandon(self, turn: LiveTurn) -> None:
        """Ends an open turn that nothing is heard of any more."""
        self._give_up(turn, "given up: the turn was abandoned")
        self._summarise(turn, abandoned=True)

    def restarted(self, turn: LiveTurn) -> None:
        """The turn was read back without its end: what an earlier process was making for it is lost."""
        self._give_up(turn, "the sidecar was restarted before the model answered")
        if not turn.accepts:
            self._summarise(turn, abandoned=False)

    def shut_down(self, turn: LiveTurn) -> None:
        """The server is going away: reflections that are being made end as failed, and a turn that waits for one before
        it ends does not wait any more."""
        if turn.accepts:
            self._give_up(turn, "given up: the server was shut down")
        elif turn.finishing is not None:
            turn.finishing.cancel()
            self._finish_now(turn)

    async def _finish_later(self, turn: LiveTurn) -> None:
        # Those that were being made when the turn ended may all be done by now; asyncio refuses to wait for nothing.
        if turn.tasks:
            await asyncio.wait(tuple(turn.tasks.values()), timeout=self._finish_grace_s)
        self._finish_now(turn)

    def _finish_now(self, turn: LiveTurn) -> None:
        self._give_up(turn, "given up: the turn ended first")
        self._summarise(turn, abandoned=False)
        turn.finishing = None

    def _give_up(self, turn: LiveTurn, reason: str) -> None:
        """Ends what is being made for the turn; all of it counts as failed."""
        self._reflections.give_up(turn, reason)
        self._critiques.give_up(turn, reason)

    def _summarise(self, turn: LiveTurn, *, abandoned: bool) -> None:
        now_us = self._clock.now_us()
        summary = summarise(turn.state, now_us, abandoned)
        turn.record(Directive(DirectiveId(new_id(now_us)), now_us, summary), now_us)
        self._recorder.submit(turn)
        turn.wake()
