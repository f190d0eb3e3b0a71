"""What streams and calls cannot show from outside: what the conductor does in moments that pass at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from sidemirror_server.storage.sqlite.database import Database
from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.thinking.prompts import ReflectionPrompts
from sidemirror_server.thinking.record import Reflection, TurnSummary
from sidemirror_server.trace.event import Event, ThinkingWish, ToolFailed, TurnFinished, TurnStarted, What, origin_of
from sidemirror_server.trace.live import Bell
from sidemirror_server.trace.log import TurnStanding
from sidemirror_server.turns.conductor import Conductor, TurnLimits
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.reflecting import Reflections
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import NotFound, WrongState
from sidemirror_server.vocabulary.ids import EventId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus
from tests.adapters.sqlite_store import sqlite_database
from tests.models.gateways import Desk, desk

SCOPE = Scope("acme", "shop")
SESSION = SessionId("s")
PATIENCE_S = 20.0


class HeldSessions(SqliteSessions):
    """Deletes when it is let go."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.deleting = asyncio.Event()
        self.let_go = asyncio.Event()

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

    async def start(self, turn_id: str) -> LiveTurn:
        started = TurnStarted(SESSION, wish=ThinkingWish(level="medium"))
        return await self.conductor.start(
            SCOPE, TurnId(turn_id), event("start", started), started, is_new=False, wait_for_store=True
        )

    def report(self, turn: LiveTurn, *whats: What) -> None:
        self.conductor.report(turn, [event(f"{turn.state.last_sequence}/{n}", what) for n, what in enumerate(whats)])


def event(event_id: str, what: What) -> Event:
    return Event(EventId(event_id), 1, what, origin_of(what))


@asynccontextmanager
async def house(folder: Path) -> AsyncIterator[House]:
    clock = SystemClock()
    async with sqlite_database(folder / "turns") as database, desk(folder / "spend") as asked:
        log, sessions = SqliteTurnLog(database), HeldSessions(database)
        recorder = Recorder(log, Bell(), backlog_bytes=2**20)
        reflections = Reflections(asked.gateway, ReflectionPrompts(), recorder, clock)
        limits = TurnLimits(finish_grace_s=PATIENCE_S)
        recording = asyncio.create_task(recorder.run())
        try:
            yield House(Conductor(log, sessions, recorder, reflections, clock, limits), recorder, log, sessions, asked)
        finally:
            recording.cancel()


async def test_no_turn_starts_in_a_session_that_is_being_deleted(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        old = await own.start("old")
        own.report(old, TurnFinished())
        deletion = asyncio.create_task(own.conductor.delete_session(SCOPE, SESSION))
        await own.sessions.deleting.wait()
        start = asyncio.create_task(own.start("new"))
        own.sessions.let_go.set()
        await deletion
        new = await start

        # The session begins anew, and its turn is the one that is kept.
        assert new.state.turn_count == 1
        assert own.conductor.in_memory(SCOPE, TurnId("old")) is None
        own.report(new, TurnFinished())
        await own.recorder.wait_durable(new, new.state.last_sequence)
        assert (await own.log.read(SCOPE, TurnId("new"), 0, 10, 2**20))[-1].sequence == 4
        assert new.lost is None


async def test_a_session_is_not_deleted_under_a_turn_that_is_about_to_end(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        own.desk.model.gate.clear()
        own.sessions.let_go.set()
        turn = await own.start("turn")
        own.report(turn, ToolFailed("", "gone"), TurnFinished())
        assert turn.finishing is not None
        deletion = asyncio.create_task(own.conductor.delete_session(SCOPE, SESSION))
        await own.recorder.wait_durable(turn, turn.state.last_sequence)
        assert not deletion.done()
        own.desk.model.gate.set()
        await deletion

        assert (turn.lost, turn.over, turn.durable) == (None, True, turn.state.last_sequence)
        assert await own.log.head(SCOPE, TurnId("turn")) is None


async def test_a_session_with_an_open_turn_is_not_deleted(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        own.sessions.let_go.set()
        turn = await own.start("turn")
        with pytest.raises(WrongState):
            await own.conductor.delete_session(SCOPE, SESSION)
        with pytest.raises(NotFound):
            await own.conductor.delete_session(SCOPE, SessionId("other"))
        assert own.conductor.in_memory(SCOPE, TurnId("turn")) is turn


async def test_a_turn_that_waits_for_a_reflection_ends_when_the_server_goes_away(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        own.desk.model.gate.clear()
        turn = await own.start("turn")
        own.report(turn, ToolFailed("", "gone"), TurnFinished("success"))
        own.conductor.give_up_all()
        await own.recorder.drain()

        head = await own.log.head(SCOPE, TurnId("turn"))
        assert head is not None
        assert (head.standing, head.last_sequence) == (TurnStanding.FINISHED, turn.durable)
        reflection, summary = (item.directive.what for item in list(turn.said)[-2:])
        assert isinstance(reflection, Reflection)
        assert reflection.status is ResultStatus.FAILED_MODEL
        assert isinstance(summary, TurnSummary)
        assert summary.outcome == "success"
        assert turn.finishing is None
