"""Critiques of drafts, where the wire cannot look: a crash before the verdict, and a store that is away."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sidemirror_server.critique.keeping import Critic
from sidemirror_server.critique.record import critique_in
from sidemirror_server.critique.store import CritiqueRecord
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.storage.sqlite.critiques import SqliteCritiques
from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.thinking.prompts import ReflectionPrompts
from sidemirror_server.thinking.record import Critiqued
from sidemirror_server.thinking.turn import apply
from sidemirror_server.thinking.turn_state import TurnState
from sidemirror_server.trace.event import (
    Event,
    ResponseDrafted,
    ToolCalled,
    ToolReturned,
    TurnFinished,
    TurnStarted,
    What,
    origin_of,
)
from sidemirror_server.trace.live import Bell
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.critiquing import TurnCritiques, material_of
from sidemirror_server.turns.limits import TurnLimits
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.reflecting import Reflections
from sidemirror_server.turns.retired import RetiredWords
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.ids import EventId, TurnId
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus
from tests.adapters.sqlite_store import sqlite_database
from tests.critique.cast import SCOPE, Cast, critical, gateway_of, issue, until
from tests.turns.house import lessons_on

DRAFT = Event(EventId("draft"), 1, ResponseDrafted("It is 4,208 metres high."), origin_of(ResponseDrafted("")))


class Away(SqliteCritiques):
    """Takes nothing."""

    async def keep(self, scope: Scope, critique: CritiqueRecord) -> CritiqueRecord:
        raise StoreUnavailable(store="critiques")


@asynccontextmanager
async def turn_of(
    folder: Path, cast: Cast, store: type[SqliteCritiques] = SqliteCritiques
) -> AsyncIterator[tuple[Conductor, LiveTurn]]:
    """An open turn whose drafts are all critiqued, over a log that may hold it already."""
    clock, gateway = SystemClock(), gateway_of(cast)
    async with sqlite_database(folder) as database:
        log = SqliteTurnLog(database)
        recorder = Recorder(log, Bell(), backlog_bytes=2**20)
        lessons = lessons_on(database, clock)
        reflections = Reflections(gateway, ReflectionPrompts(), recorder, lessons, RetiredWords(None), clock)
        critiques = TurnCritiques(Critic(gateway, store(database), clock), recorder, clock)
        limits = TurnLimits(finish_grace_s=0.01)
        conductor = Conductor(
            log, SqliteSessions(database), recorder, reflections, critiques, lessons_on(database, clock), clock, limits
        )
        if await log.head(SCOPE, TurnId("t")) is None:
            started = TurnStarted("s", critique_mode="always")
            event = Event(EventId("start"), 1, started, origin_of(started))
            turn = await conductor.start(SCOPE, TurnId("t"), event, started, is_new=True, wait_for_store=True)
        else:
            turn = await conductor.take_up(SCOPE, TurnId("t"))
        try:
            yield conductor, turn
        finally:
            while batch := turn.take_batch():
                await log.append(SCOPE, (batch,))
                turn.settle(batch)
            for task in turn.tasks.values():
                task.cancel()


def verdicts(turn: LiveTurn) -> list[Critiqued]:
    return [one.directive.what for one in turn.said if isinstance(one.directive.what, Critiqued)]


async def test_a_crash_before_the_verdict_counts_as_failed(tmp_path: Path) -> None:
    async with turn_of(tmp_path, Cast(held=(Purpose.CRITIQUE,), critique=critical())) as (conductor, turn):
        conductor.report(turn, [DRAFT])
        assert len(turn.state.claims) == 1
        assert verdicts(turn) == []
    async with turn_of(tmp_path, Cast()) as (_, again):
        (verdict,) = verdicts(again)
        assert verdict.status is ResultStatus.FAILED_MODEL
        assert "restarted" in critique_in(bytes(verdict.body)).verdict.detail
        assert again.state.claims == {}


async def test_a_turn_that_ends_first_gives_it_up(tmp_path: Path) -> None:
    cast = Cast(held=(Purpose.CRITIQUE,), critique=critical())
    async with turn_of(tmp_path, cast) as (conductor, turn):
        end = TurnFinished()
        conductor.report(turn, [DRAFT, Event(EventId("end"), 1, end, origin_of(end))])
        await until(lambda: turn.over)
        (verdict,) = verdicts(turn)
        assert verdict.status is ResultStatus.FAILED_MODEL
        assert turn.state.summary is not None
        assert turn.state.summary.critiques == {"failed_model": 1}
        await until(lambda: cast.cancelled.acquire(blocking=False))


@pytest.mark.parametrize("store", [SqliteCritiques, Away])
async def test_the_agent_gets_its_verdict_also_without_the_store(tmp_path: Path, store: type[SqliteCritiques]) -> None:
    async with turn_of(tmp_path, Cast(critique=critical(issue())), store) as (conductor, turn):
        conductor.report(turn, [DRAFT])
        await until(lambda: bool(verdicts(turn)))
        (verdict,) = verdicts(turn)
        critique = critique_in(bytes(verdict.body))
        assert (verdict.status, critique.verdict.should_revise) == (ResultStatus.OK, True)
        assert bool(critique.critique_id) is (store is SqliteCritiques)
        assert turn.state.spent.tokens == 120
        assert turn.state.spent.reflections == 0


def test_a_draft_is_judged_with_what_its_calls_asked_for() -> None:
    """Seen to fail with no arguments: nobody knows then that what failed was a run of the tests."""
    state = TurnState()
    called, returned = ToolCalled("a", "Bash", "pytest"), ToolReturned("a", "3 failed")
    happened: list[What] = [TurnStarted("s", task="Run the tests."), called, returned]
    for sequence, what in enumerate(happened, start=1):
        apply(state, sequence, sequence, Event(EventId(f"e{sequence}"), sequence, what, origin_of(what)))
    (result,) = material_of(state, "All 13 tests pass.").results
    assert (result.tool, result.arguments, result.text, result.event_id) == ("Bash", "pytest", "3 failed", "e3")
