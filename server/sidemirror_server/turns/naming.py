"""Names the session of a turn that was started without one.

Called by `conductor.py` for the event `SessionNamed`, whose record gets what the fold needs: the turn's number in that
session, and the state that the session's newest turn passed on.
"""

from collections.abc import Callable, Sequence

import msgspec

from sidemirror_server.thinking.sessions import config_body
from sidemirror_server.trace.event import Event, SessionNamed
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.session_past import SessionPast, SessionPasts
from sidemirror_server.turns.turn_cache import TurnCache
from sidemirror_server.vocabulary.errors import BadInput, StoreFull, StoreUnavailable
from sidemirror_server.vocabulary.ids import SessionId


class Naming:
    """Moves turns to the sessions that are named."""

    def __init__(self, held: TurnCache, pasts: SessionPasts) -> None:
        self._held = held
        self._pasts = pasts

    async def record(
        self,
        turn: LiveTurn,
        events: Sequence[Event],
        first: int,
        report: Callable[[LiveTurn, Sequence[Event]], list[int]],
    ) -> list[int]:
        """Has `report` record the events, and moves the turn if one of them names another session than it is in. What
        the session's earlier turns left is not known while the store is away. `first`: the index of `events[0]` in its
        request. Raises BadInput for a turn whose session was named before, and what `report` raises."""
        session_id = _named(turn, events, first)
        if session_id is None:
            return report(turn, events)
        async with self._held.session_lock(turn.scope, session_id):
            is_known = True
            try:
                past = await self._pasts.of(turn.scope, session_id)
                own = past if past.exists else await self._pasts.of(turn.scope, turn.state.session_id)
            except (StoreUnavailable, StoreFull):
                past, own, is_known = SessionPast(), SessionPast(), False
            # Another call may have named it meanwhile.
            if _named(turn, events, first) is None:
                return report(turn, events)
            left = turn.state.session_id
            facts = SessionNamed(session_id, past.turn_count + 1, msgspec.to_builtins(past.carried))
            places = report(turn, [_with(event, facts) for event in events])
            turn.moved(left, config_body(own.config), past.carried_from)
            self._held.moved(turn, left)
            self._held.warm(turn, own.config, past.turn_count + 1, is_known=is_known)
            return places


def _named(turn: LiveTurn, events: Sequence[Event], first: int) -> SessionId | None:
    """The session that the turn is to move to; None if there is none."""
    wanted = None
    for index, event in enumerate(events, start=first):
        if not isinstance(event.what, SessionNamed) or event.event_id in turn.seen:
            continue
        session_id = event.what.session_id
        if session_id in (wanted, turn.state.session_id):
            continue
        if wanted is not None or not turn.state.own_session:
            raise BadInput([(f"events[{index}].session_named.session_id", "the turn's session has a name already")])
        wanted = SessionId(session_id)
    return wanted


def _with(event: Event, facts: SessionNamed) -> Event:
    """The event with what the fold needs, if it is the one that moves the turn."""
    is_move = isinstance(event.what, SessionNamed) and event.what.session_id == facts.session_id
    return msgspec.structs.replace(event, what=facts) if is_move else event
