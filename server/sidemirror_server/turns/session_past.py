"""A session's state before its next turn, from memory or from the store."""

import asyncio

import msgspec

from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.thinking.record import Carry
from sidemirror_server.thinking.sessions import config_in
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.thinking.turn import carry
from sidemirror_server.trace.log import TurnLog
from sidemirror_server.turns.head import head_in
from sidemirror_server.turns.live import NOTHING_CARRIED, CarriedFrom
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.turn_cache import TurnCache
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.ids import SessionId
from sidemirror_server.vocabulary.scope import Scope

# How long the start of a turn waits until its session's recent entries are durable. Chosen here: many times what a
# healthy store takes.
_MOMENT_S = 1.0


class SessionPast(msgspec.Struct, frozen=True):
    """The state that a turn inherits from its session. The defaults are for an unknown session."""

    config: ThinkingConfig = ThinkingConfig()
    turn_count: int = 0
    carried: Carry = Carry()
    exists: bool = False
    carried_from: CarriedFrom = NOTHING_CARRIED


class SessionPasts:
    """Finds out what sessions have come to."""

    def __init__(
        self, held: TurnCache, log: TurnLog, sessions: Sessions, recorder: Recorder, first: SessionPast
    ) -> None:
        """`first`: of a session that does not exist yet."""
        self._first = first
        self._held = held
        self._log = log
        self._sessions = sessions
        self._recorder = recorder

    async def of(self, scope: Scope, session_id: SessionId) -> SessionPast:
        """The state that the session's next turn inherits. Call it under the session's lock. Raises what the store
        raises."""
        hot = self._held.hot(scope, session_id)
        if hot is not None and hot.is_known:
            newest = hot.newest
            return SessionPast(
                hot.config, hot.turn_count, carry(newest.state), exists=True, carried_from=newest.passes_on()
            )
        # An earlier turn of the session may have entries that are not durable yet.
        for turn in self._held.of_session(scope, session_id):
            if turn.failure is not None and turn.lost is None:
                raise turn.failure
        try:
            async with asyncio.timeout(_MOMENT_S):
                await self.settle(scope, session_id)
        except TimeoutError as error:
            raise StoreUnavailable(reason="it does not answer") from error
        session = await self._sessions.get(scope, session_id)
        if session is None:
            return self._first
        past = SessionPast(config_in(session.body), session.turn_count, exists=True)
        newest_head = await self._log.newest(scope, session_id) if session.turn_count else None
        if newest_head is None:
            return past
        came_from = CarriedFrom(((newest_head.turn_id, newest_head.rewritten),))
        return msgspec.structs.replace(past, carried=head_in(newest_head.body).carried, carried_from=came_from)

    async def settle(self, scope: Scope, session_id: SessionId) -> None:
        """Returns when every entry of the session's turns in memory is durable. Raises what the store raises."""
        for turn in self._held.of_session(scope, session_id):
            if turn.lost is None:
                await self._recorder.wait_durable(turn, turn.state.last_sequence)
