"""How long the server waits before it goes on without something, in seconds."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.memory.finding import embeddings as meanings
from sidemirror_server.rpc.boundary import recorded_turns
from sidemirror_server.rpc.thinking import report_events
from sidemirror_server.trace.event import ContextWish, TurnStarted
from sidemirror_server.turns import critiquing, evictions, lessons, reflecting
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.silence import SilenceReason
from tests.adapters.sqlite_store import sqlite_database
from tests.turns.house import SCOPE, lessons_on

# As tests/conftest.py has it.
TIMES = 10


def test_what_an_agent_waits_for_at_most() -> None:
    """What comes of each of them is tested elsewhere, with waits that are so many times as long."""
    assert lessons._READ_S == TIMES * 1.0, "the lessons of a plan"
    assert lessons._MEANING_S == TIMES * 0.5, "what they are looked up by"
    assert lessons._KEEP_S == TIMES * 0.5, "their receipt"
    assert reflecting._LESSONS_S == TIMES * 1.0, "the lessons of a reflection"
    assert critiquing._STORE_PATIENCE_S == TIMES * 1.0, "the store, before a critique"
    assert evictions._MOMENT_S == recorded_turns._MOMENT_S == TIMES * 1.0, "what was just recorded"
    assert report_events._TELL_S == TIMES * 0.1, "advice about a failing call"
    assert meanings._QUESTION_S == TIMES * 2.0, "the vector of a question"


async def test_a_plan_waits_once_for_policy_and_lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail, after 1.6 s, when each of them has a second of its own."""
    monkeypatch.setattr(lessons, "_READ_S", 1.0)

    async def slow(*_: object) -> Any:
        await asyncio.sleep(0.6)

    async def never(*_: object) -> Any:
        await asyncio.sleep(60)

    async with sqlite_database(tmp_path) as database:
        own = lessons_on(database, SystemClock())
        monkeypatch.setattr(own._policies, "advice", slow)
        monkeypatch.setattr(own._goals, "lessons", never)
        began_s = asyncio.get_running_loop().time()
        started = TurnStarted(SessionId("s"), task="count")
        found = await own.for_turn(SCOPE, TurnId("t"), started, ContextWish(goal_id="g"))
        took_s = asyncio.get_running_loop().time() - began_s
    assert found.silence is SilenceReason.STORE_AWAY
    assert 0.9 < took_s < 1.5
