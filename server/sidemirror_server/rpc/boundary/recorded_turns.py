"""Reads recorded turns, after a short wait for the newest entries to become durable.

Streams do not wait for the disk. The wait lets an agent read entries that it received a moment ago.
"""

import asyncio
import contextlib
from collections.abc import Awaitable

from sidemirror_server.thinking.record import Advised, Directive, Recorded, Reflection, TurnPlan, recorded_in
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.trace.event import Event
from sidemirror_server.trace.log import TurnLog
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.errors import StoreFull, StoreUnavailable
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope

# Seconds that a read waits for the newest entries. Chosen here: many times what a healthy store takes.
_MOMENT_S = 1.0
# How many turns of a session count, as the contract says (GenerateReflectionRequest.session_id).
_SESSION_TURNS = 8
# Entries and bytes of one read of the log.
_PAGE = 500
_PAGE_BYTES = 4 * 1024 * 1024
# The entries up to a turn's plan: its first event, and the plan.
_BEGINNING = 2


async def given_a_moment(durable: Awaitable[None]) -> None:
    """Waits for `durable`, `_MOMENT_S` at most. A failing store is no error here: callers show what is durable
    already."""
    with contextlib.suppress(TimeoutError, StoreUnavailable, StoreFull):
        async with asyncio.timeout(_MOMENT_S):
            await durable


class RecordedTurns:
    """Reads the events of turns, for services that judge turns or learn from them."""

    def __init__(self, log: TurnLog, sessions: Sessions, conductor: Conductor, recorder: Recorder) -> None:
        self._log = log
        self._sessions = sessions
        self._conductor = conductor
        self._recorder = recorder

    async def subjects_of_session(self, scope: Scope, session_id: str) -> tuple[str, ...]:
        """Whom a session is about; nobody for an unknown or empty id. Raises StoreUnavailable."""
        session = await self._sessions.get(scope, SessionId(session_id)) if session_id else None
        return session.subject_ids if session else ()

    async def last_of_session(self, scope: Scope, session_id: str) -> tuple[str, ...]:
        """The ids of the session's last turns, oldest first. Raises StoreUnavailable."""
        heads = await self._log.heads(scope, SessionId(session_id), None, None, _SESSION_TURNS)
        return tuple(head.turn_id for head in reversed(heads))

    async def open_in(self, scope: Scope, session_id: str) -> str:
        """The id of the session's newest turn if that is open; else empty, as for an empty id. Raises
        StoreUnavailable."""
        return await self._conductor.open_in(scope, SessionId(session_id)) if session_id else ""

    async def has_shell(self, scope: Scope, turn_id: str) -> bool:
        """Whether the host of this turn's agent can run commands; false for an unknown or empty id. Raises
        StoreUnavailable."""
        if not turn_id:
            return False
        live = self._conductor.in_memory(scope, TurnId(turn_id))
        if live is not None:
            return live.state.config.has_shell
        first = await self._log.read(scope, TurnId(turn_id), 0, _BEGINNING, _PAGE_BYTES)
        plans = (one.what for one in map(recorded_in, first) if isinstance(one, Directive))
        return any(plan.config.has_shell for plan in plans if isinstance(plan, TurnPlan))

    async def events(self, scope: Scope, turn_id: str) -> tuple[Event, ...] | None:
        """The turn's events, oldest first; None when there is no such turn. Raises StoreUnavailable."""
        found = await self._entries(scope, turn_id)
        return None if found is None else tuple(one for one in found if isinstance(one, Event))

    async def events_since(
        self, scope: Scope, turn_id: str, receipt_id: str
    ) -> tuple[tuple[Event, ...], frozenset[str]] | None:
        """As `events`, and the ids of those that came before the block with this receipt; none came before a block that
        the turn's record does not have. Raises StoreUnavailable."""
        found = await self._entries(scope, turn_id)
        if found is None:
            return None
        told = next((at for at, one in enumerate(found) if isinstance(one, Directive) and _has(one, receipt_id)), 0)
        before = frozenset(one.event_id for one in found[:told] if isinstance(one, Event))
        return tuple(one for one in found if isinstance(one, Event)), before

    async def _entries(self, scope: Scope, turn_id: str) -> list[Recorded] | None:
        live = self._conductor.in_memory(scope, TurnId(turn_id))
        if live is not None:
            await given_a_moment(self._recorder.wait_durable(live, live.state.last_sequence))
        if await self._log.head(scope, TurnId(turn_id)) is None:
            return None
        found: list[Recorded] = []
        after = 0
        while entries := await self._log.read(scope, TurnId(turn_id), after, _PAGE, _PAGE_BYTES):
            found += map(recorded_in, entries)
            after = entries[-1].sequence
        return found


def _has(directive: Directive, receipt_id: str) -> bool:
    """Whether it told the block with this receipt."""
    what = directive.what
    block = what.block if isinstance(what, Advised) else what.lessons if isinstance(what, Reflection) else None
    return block is not None and block.receipt_id == receipt_id
