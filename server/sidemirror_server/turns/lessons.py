"""The lessons that a turn's plan brings along, when the turn asks for any."""

import asyncio

from sidemirror_server.goals.context import GoalContexts
from sidemirror_server.trace.event import TurnStarted
from sidemirror_server.trace.receipts import Receipt, ReceiptKind
from sidemirror_server.vocabulary.block import ContextBlock
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import StoreFull, StoreUnavailable
from sidemirror_server.vocabulary.ids import TurnId, derived_id
from sidemirror_server.vocabulary.scope import Scope

# How long the start of a turn waits for them. Chosen here: many times what a healthy store takes.
_MOMENT_S = 1.0


class Lessons:
    """Looks for what fits a turn."""

    def __init__(self, goals: GoalContexts, clock: Clock) -> None:
        self._goals = goals
        self._clock = clock

    async def for_turn(
        self, scope: Scope, turn_id: TurnId, started: TurnStarted
    ) -> tuple[ContextBlock | None, tuple[str, ...]]:
        """The block that the turn asked for, and warnings for its plan. None when it asked for none, or when they could
        not be read in a moment: a turn starts without them then. Raises nothing but cancellation."""
        wish = started.context
        if wish is None:
            return None, ()
        receipt = Receipt(
            derived_id(scope, "context of turn", turn_id),
            *(ReceiptKind.TURN, self._clock.now_us()),
            turn_id=turn_id,
            session_id=started.session_id,
        )
        try:
            async with asyncio.timeout(_MOMENT_S):
                task = wish.task or started.task
                return await self._goals.of_turn(scope, wish.goal_id, task, wish.max_items, receipt), ()
        except (StoreUnavailable, StoreFull, TimeoutError):
            return None, ("the store is away: no lessons from earlier work",)
