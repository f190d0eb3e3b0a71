"""Redis, Valkey, SQLite and Postgres give the same answers to the same questions, in whatever order they are asked."""

import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from sidemirror_server.goals.record import GoalReflection, GoalState
from sidemirror_server.goals.store import GoalReflections
from sidemirror_server.goals.words import words_of
from sidemirror_server.storage.postgres.goal_reflections import PostgresGoalReflections
from sidemirror_server.storage.redis.database import RedisDatabase
from sidemirror_server.storage.redis.goal_reflections import SCRIPTS, RedisGoalReflections
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.goal_reflections import SqliteGoalReflections
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE, Scope
from tests.conformance.goal_reflections import DAY, T0
from tests.postgres.databases import Databases
from tests.redis.server import RedisServer

scopes = st.sampled_from([DEFAULT_SCOPE, Scope("a:b", "c"), Scope("a", "b:c")])
goal_ids = st.sampled_from(["g", "G", "g:1", "*", "é", "e\u0301", "\U0001f642", "%", *map(str, range(12))])
_PIECES = ["Send", "sends", "weekly", "report", "é", '"', "\\", "}", "{", "[]", ",", "\u2028", "\U0001f642", "x" * 5000]
texts = st.lists(st.sampled_from(_PIECES), max_size=5).map(" ".join)
# Few, so that many are equal; within a week, so that nothing expires by Redis' own clock alone.
times = st.integers(0, 6).map(lambda number: T0 + number * DAY // 2 + number % 2)
# When everything is written and deleted. What a deletion refuses for an hour Redis counts by its own clock, so that the
# stores agree only where no time passes between a deletion and what comes after it.
NOW = T0 + 2 * DAY
reflections = st.builds(
    GoalReflection,
    st.sampled_from(list("abcdef")),
    goal_ids,
    texts,
    texts,
    st.sampled_from([0.5, 0.7, 0.8, 1.0]),
    st.sampled_from(list(GoalState)),
    times,
    st.sampled_from(list(Origin)),
)


class SameAnswers(RuleBasedStateMachine):
    """`databases`, `name` and `server` are set by the test."""

    databases: Databases
    name: str
    server: RedisServer

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.stack = contextlib.AsyncExitStack()
        self.folder = tempfile.TemporaryDirectory()
        self.stores: list[GoalReflections] = self.runner.run(self._open())

    async def _open(self) -> list[GoalReflections]:
        from sidemirror_server.storage.postgres.database import PostgresDatabase

        self.server.ask("FLUSHALL")
        await self.databases.empty(self.name)
        sqlite = await SqliteDatabase.open(Path(self.folder.name), now_us=0)
        self.stack.push_async_callback(sqlite.close)
        postgres = await PostgresDatabase.open(self.databases.cluster.url("sidecar", self.name))
        self.stack.push_async_callback(postgres.close)
        redis = await RedisDatabase.open(self.server.url, SCRIPTS)
        self.stack.push_async_callback(redis.close)
        return [SqliteGoalReflections(sqlite), PostgresGoalReflections(postgres), RedisGoalReflections(redis)]

    def teardown(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()
        self.folder.cleanup()

    def ask(self, verb: str, *given: Any) -> None:
        answers = [self.runner.run(getattr(store, verb)(*given)) for store in self.stores]
        assert answers[0] == answers[1] == answers[2], (verb, given, answers)

    @rule(scope=scopes, reflection=reflections)
    def put(self, scope: Scope, reflection: GoalReflection) -> None:
        self.ask("put", scope, reflection, NOW)
        self.ask("of_goal", scope, reflection.goal_id, NOW)

    @rule(scope=scopes, goal_id=goal_ids)
    def delete(self, scope: Scope, goal_id: str) -> None:
        self.ask("delete", scope, goal_id, NOW)

    @rule(scope=scopes, now_us=st.integers(-9, 18).map(lambda days: T0 + days * DAY))
    def recent(self, scope: Scope, now_us: int) -> None:
        self.ask("recent", scope, now_us)

    @rule(scope=scopes, task=texts, limit=st.integers(1, 5), now_us=st.integers(-9, 18).map(lambda n: T0 + n * DAY))
    def similar(self, scope: Scope, task: str, limit: int, now_us: int) -> None:
        self.ask("similar", scope, words_of(task), limit, now_us)


async def _name_of_a_database(databases: Databases) -> str:
    return await databases.create()


@pytest.mark.usefixtures("patiently")
@pytest.mark.timeout(300)
def test_same_answers(databases: Databases, either_server: RedisServer) -> None:
    name = asyncio.run(_name_of_a_database(databases))
    SameAnswers.databases, SameAnswers.name, SameAnswers.server = databases, name, either_server
    try:
        run_state_machine_as_test(
            SameAnswers, settings=settings(max_examples=15, stateful_step_count=25, deadline=None)
        )
    finally:
        asyncio.run(databases.drop(name))
