"""A cache of turns and their sessions, so that most calls need no look-up in the store."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from weakref import WeakValueDictionary

import msgspec

from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope


class Hot(msgspec.Struct):
    """A session with a turn in memory. It has all that the next turn needs, which saves a look-up in the store.

    `is_known`: false if the newest turn started while the store was away, so that the session's earlier state is
    unknown.
    """

    config: ThinkingConfig
    turn_count: int
    newest: LiveTurn
    is_known: bool


class TurnCache:
    """The turns that this process has in memory, and its locks on turns and sessions."""

    def __init__(self) -> None:
        # Ordered as `eldest` yields the turns.
        self._turns: OrderedDict[tuple[Scope, TurnId], LiveTurn] = OrderedDict()
        self.recorded_bytes = 0
        self._by_session: dict[tuple[Scope, SessionId], dict[TurnId, LiveTurn]] = {}
        self._hot: dict[tuple[Scope, SessionId], Hot] = {}
        self._locks: WeakValueDictionary[tuple[Scope, str], asyncio.Lock] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._turns)

    def __iter__(self) -> Iterator[LiveTurn]:
        """Iterates over a copy, because turns are added and removed meanwhile."""
        return iter(tuple(self._turns.values()))

    def __contains__(self, key: tuple[Scope, TurnId]) -> bool:
        return key in self._turns

    def get(self, scope: Scope, turn_id: TurnId) -> LiveTurn | None:
        """The turn, or None. Drops a turn that another server has taken over, because the log is ahead of this one."""
        turn = self._turns.get((scope, turn_id))
        if turn is None or turn.lost is None:
            return turn
        self.forget(turn)
        return None

    def hold(self, turn: LiveTurn) -> None:
        state = turn.state
        self._turns[turn.scope, state.turn_id] = turn
        turn.held_bytes = 0
        self.weigh(turn)
        self._by_session.setdefault((turn.scope, state.session_id), {})[state.turn_id] = turn

    def weigh(self, turn: LiveTurn) -> None:
        """Updates `recorded_bytes` for a turn that may have grown."""
        self.recorded_bytes += turn.recorded_bytes - turn.held_bytes
        turn.held_bytes = turn.recorded_bytes

    def eldest(self, count: int) -> Iterator[LiveTurn]:
        """The next `count` turns in round-robin order. The caller may `forget` them meanwhile."""
        for _ in range(min(count, len(self._turns))):
            key, turn = next(iter(self._turns.items()))
            self._turns.move_to_end(key)
            yield turn

    def forget(self, turn: LiveTurn) -> None:
        del self._turns[turn.scope, turn.state.turn_id]
        self.recorded_bytes -= turn.held_bytes
        self._leave(turn, turn.state.session_id)

    def moved(self, turn: LiveTurn, session_was: SessionId) -> None:
        """Notes that the turn has left a session for another one."""
        self._leave(turn, session_was)
        self._by_session.setdefault((turn.scope, turn.state.session_id), {})[turn.state.turn_id] = turn

    def _leave(self, turn: LiveTurn, session_id: SessionId) -> None:
        session = (turn.scope, session_id)
        others = self._by_session[session]
        del others[turn.state.turn_id]
        if not others:
            del self._by_session[session]
        if (hot := self._hot.get(session)) is not None and hot.newest is turn:
            del self._hot[session]

    def of_session(self, scope: Scope, session_id: SessionId) -> tuple[LiveTurn, ...]:
        return tuple(self._by_session.get((scope, session_id), {}).values())

    def hot(self, scope: Scope, session_id: SessionId) -> Hot | None:
        """What is known of a session with a turn in memory; None if its newest turn is lost."""
        hot = self._hot.get((scope, session_id))
        return None if hot is None or self.get(scope, hot.newest.state.turn_id) is None else hot

    def warm(self, turn: LiveTurn, config: ThinkingConfig, turn_count: int, *, is_known: bool) -> None:
        """Notes that `turn`, which is in memory, is its session's newest."""
        self._hot[turn.scope, turn.state.session_id] = Hot(config, turn_count, turn, is_known)

    def turn_lock(self, scope: Scope, turn_id: TurnId) -> asyncio.Lock:
        return self._lock(scope, f"turn/{turn_id}")

    def session_lock(self, scope: Scope, session_id: SessionId) -> asyncio.Lock:
        """The lock of a session. Take it after a turn's lock, never before."""
        return self._lock(scope, f"session/{session_id}")

    def _lock(self, scope: Scope, name: str) -> asyncio.Lock:
        return self._locks.setdefault((scope, name), asyncio.Lock())
