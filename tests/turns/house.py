"""The room `turns` with a real store, and a model in the test's hand."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from sidemirror_server.critique.keeping import Critic
from sidemirror_server.goals.context import GoalContexts
from sidemirror_server.storage.sqlite.critiques import SqliteCritiques
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.goal_reflections import SqliteGoalReflections
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.thinking.prompts import ReflectionPrompts
from sidemirror_server.thinking.store import SessionRecord
from sidemirror_server.trace.event import Event, ThinkingWish, TurnStarted, What, origin_of
from sidemirror_server.trace.live import Bell
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.critiquing import TurnCritiques
from sidemirror_server.turns.lessons import Lessons
from sidemirror_server.turns.limits import TurnLimits
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.reflecting import Reflections
from sidemirror_server.turns.retired import RetiredWords
from sidemirror_server.vocabulary.clock import Clock, SystemClock
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.ids import EventId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.models.gateways import Desk, desk
from tests.policy.made import policies_on

SCOPE = Scope("acme", "shop")
SESSION = SessionId("s")
PATIENCE_S = 60.0


class HeldSessions(SqliteSessions):
    """Deletes when it is let go, and finds nothing while it is away."""

    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(database)
        self.deleting = asyncio.Event()
        self.let_go = asyncio.Event()
        self.is_away = False
        # Others have their turn before it answers.
        self.is_slow = False

    async def get(self, scope: Scope, session_id: SessionId) -> SessionRecord | None:
        if self.is_away:
            raise StoreUnavailable
        if self.is_slow:
            await asyncio.sleep(0.01)
        return await super().get(scope, session_id)

    async def delete(self, scope: Scope, session_id: SessionId) -> None:
        self.deleting.set()
        await self.let_go.wait()
        await super().delete(scope, session_id)


class House(msgspec.Struct, frozen=True):
    """A conductor with a real store, and a model in the test's hand."""

    conductor: Conductor
    recorder: Recorder
    log: SqliteTurnLog
    sessions: HeldSessions
    desk: Desk

    def beside(self, limits: TurnLimits) -> Conductor:
        """Another conductor on the same log, as of another server."""
        own = self.conductor
        parts = (own._reflections, own._critiques, own._lessons)
        return Conductor(self.log, self.sessions, self.recorder, *parts, own._clock, limits)

    async def start(self, turn_id: str, level: str | None = "medium") -> LiveTurn:
        """A turn that starts with or without the store."""
        started = TurnStarted(SESSION, wish=ThinkingWish(level=level))
        return await self.conductor.start(
            SCOPE, TurnId(turn_id), event("start", started), started, is_new=False, wait_for_store=False
        )

    def report(self, turn: LiveTurn, *whats: What) -> None:
        self.conductor.report(turn, [event(f"{turn.state.last_sequence}/{n}", what) for n, what in enumerate(whats)])


def lessons_on(database: SqliteDatabase, clock: Clock) -> Lessons:
    receipts, policies = SqliteReceipts(database), policies_on(database, clock)
    contexts = GoalContexts(SqliteGoalReflections(database), receipts, policies, RetiredWords(None).saying)
    return Lessons(contexts, None, receipts, policies, clock)


def event(event_id: str, what: What) -> Event:
    return Event(EventId(event_id), 1, what, origin_of(what))


@asynccontextmanager
async def house(folder: Path, limits: TurnLimits | None = None, *, appends: int = 1) -> AsyncIterator[House]:
    clock = SystemClock()
    async with sqlite_database(folder / "turns") as database, desk(folder / "spend") as asked:
        log, sessions = SqliteTurnLog(database), HeldSessions(database)
        recorder = Recorder(log, Bell(), backlog_bytes=2**20, appends=appends)
        lessons = lessons_on(database, clock)
        reflections = Reflections(asked.gateway, ReflectionPrompts(), recorder, lessons, RetiredWords(None), clock)
        critic = Critic(asked.gateway, SqliteCritiques(database), clock)
        critiques = TurnCritiques(critic, recorder, clock)
        limits = limits or TurnLimits(finish_grace_s=PATIENCE_S)
        recording = asyncio.create_task(recorder.run())
        try:
            conductor = Conductor(
                log, sessions, recorder, reflections, critiques, lessons_on(database, clock), clock, limits
            )
            yield House(conductor, recorder, log, sessions, asked)
        finally:
            recording.cancel()
