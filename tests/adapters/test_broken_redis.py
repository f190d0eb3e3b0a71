"""The suite of `GoalReflections` can fail on Redis: each clause is seen to catch scripts and keys that break it."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import redis.exceptions

from sidemirror_server.goals.record import GoalReflection
from sidemirror_server.goals.store import KEPT_FOR_US
from sidemirror_server.goals.words import words_of
from sidemirror_server.storage.redis import goal_reflections as adapter
from sidemirror_server.storage.redis import keys
from sidemirror_server.storage.redis.database import RedisDatabase, Scripts
from sidemirror_server.storage.redis.goal_reflections import RedisGoalReflections
from sidemirror_server.vocabulary.errors import SidemirrorError
from sidemirror_server.vocabulary.scope import Scope
from tests.conformance import goal_reflections as suite
from tests.conformance.clauses import clauses_of
from tests.redis.server import RedisServer

pytestmark = pytest.mark.slow("the conformance suite is held against stores that are broken, on a server")

CLAUSES = clauses_of(suite)
SCRIPTS = Path(adapter.__file__).with_name("goal_reflections.lua")

# (clause that must notice, a piece of the scripts, what stands there instead)
BROKEN = [
    ("GR1", "if entry.id == id then\n    if", "if false then\n    if"),
    ("GR1", "if entry.at ~= at then", "if false then"),
    ("GR1", "at = at + 1\n        end\n      until", "at = at\n        end\n      until"),
    ("GR1", "return is_new", "return 1"),
    ("GR2", "MAX_ENTRIES, MAX_RECENT = 3, 10", "MAX_ENTRIES, MAX_RECENT = 2, 10"),
    ("GR2", "return is_after(one.at, other.at)", "return is_after(other.at, one.at)"),
    ("GR2", "return is_after(one.id, other.id)", "return is_after(other.id, one.id)"),
    ("GR2", "if not is_kept then\n    return 0", "if false then\n    return 0"),
    ("GR3", "MAX_ENTRIES, MAX_RECENT = 3, 10", "MAX_ENTRIES, MAX_RECENT = 3, 9"),
    ("GR3", "tonumber(before) < tonumber(at_us)", "true"),
    ("GR3", "'ZREVRANGE', times_key", "'ZRANGE', times_key"),
    ("GR6", "redis.call('DEL', KEYS[1])\n", ""),
    ("GR6", "tonumber(at_us) <= tonumber", "tonumber(at_us) < tonumber"),
    ("GR6", "redis.call('SET', KEYS[4], now_us, 'PX', refused_ms)\n", ""),
    ("GR6", "redis.call('ZREM', KEYS[3], goal_id)\nfor", "redis.call('DEL', KEYS[3])\nfor"),
    ("GR7", "local limit = tonumber(ARGV[1])", "local limit = 1"),
    ("GR8", "redis.call('ZADD', key, at_us, goal_id)", "redis.call('ZADD', key, at_us, at_us .. goal_id)"),
    ("GR11", "redis.call('SET', KEYS[5], 1, 'PX', refused_ms)\n", ""),
    ("GR11", "if entry.id == id then\n    was_there", "if entry.id ~= id then\n    was_there"),
    ("GR10", """'[%%:%*%?%[%]\\\\{}"%c ]'""", """'[%%%*%?%[%]\\\\{}"%c ]'"""),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "piece", "instead"), BROKEN)
async def test_broken_script_is_noticed(
    clause: str, piece: str, instead: str, valkey_itself: RedisServer, tmp_path: Path
) -> None:
    text = SCRIPTS.read_text(encoding="utf-8")
    assert piece in text
    broken = tmp_path / "broken.lua"
    broken.write_text(text.replace(piece, instead), encoding="utf-8")
    await noticed(clause, RedisGoalReflections, valkey_itself, Scripts(broken))


class LeavesOneOut(RedisGoalReflections):
    async def every(self, scope: Scope) -> tuple[tuple[str, str], ...]:
        return (await super().every(scope))[1:]


class ShowsTheOld(RedisGoalReflections):
    async def of_goal(self, scope: Scope, goal_id: str, now_us: int) -> tuple[GoalReflection, ...]:
        return await super().of_goal(scope, goal_id, now_us - 1)


class HidesTheFuture(RedisGoalReflections):
    async def of_goal(self, scope: Scope, goal_id: str, now_us: int) -> tuple[GoalReflection, ...]:
        return tuple(one for one in await super().of_goal(scope, goal_id, now_us) if one.created_us <= now_us)


class ForgetsByItsOwnClock(RedisGoalReflections):
    async def put(self, scope: Scope, reflection: GoalReflection, now_us: int) -> bool:
        for one in await self.of_goal(scope, reflection.goal_id, 0):
            if one.created_us + KEPT_FOR_US <= now_us:
                await self._database.ask("DEL", keys.of_goal(scope, reflection.goal_id))
        return await super().put(scope, reflection, now_us)


class ReadsAndWritesInTwoSteps(RedisGoalReflections):
    async def put(self, scope: Scope, reflection: GoalReflection, now_us: int) -> bool:
        there = await self.of_goal(scope, reflection.goal_id, now_us)
        await super().put(scope, reflection, now_us)
        newest = sorted((*there, reflection), key=lambda one: (one.created_us, one.reflection_id), reverse=True)[:3]
        entries = b"[" + b",".join(adapter.encode(one) for one in newest) + b"]"
        await self._database.ask("SET", keys.of_goal(scope, reflection.goal_id), entries)
        return True


class OrdersByTime(RedisGoalReflections):
    async def similar(
        self, scope: Scope, words: frozenset[str], limit: int, now_us: int
    ) -> tuple[tuple[GoalReflection, ...], ...]:
        found = await super().similar(scope, words, limit, now_us)
        return tuple(sorted(found, key=lambda goal: -goal[0].created_us))


class KnowsOldObjectives(RedisGoalReflections):
    async def similar(
        self, scope: Scope, words: frozenset[str], limit: int, now_us: int
    ) -> tuple[tuple[GoalReflection, ...], ...]:
        found = await super().similar(scope, words, limit, now_us)
        rest = [goal for goal in await self.recent(scope, now_us) if goal not in found]
        return (*found, *(goal for goal in rest if any(words & words_of(one.objective) for one in goal)))


@pytest.mark.parametrize(
    ("clause", "broken"),
    [
        ("GR4", ShowsTheOld),
        ("GR4", HidesTheFuture),
        ("GR5", ForgetsByItsOwnClock),
        ("GR7", OrdersByTime),
        ("GR12", LeavesOneOut),
        ("GR7", KnowsOldObjectives),
        ("GR8", ReadsAndWritesInTwoSteps),
    ],
)
async def test_broken_verb_is_noticed(
    clause: str, broken: type[RedisGoalReflections], valkey_itself: RedisServer
) -> None:
    await noticed(clause, broken, valkey_itself, adapter.SCRIPTS)


def one_tenant(scope: Scope) -> str:
    return f"sidemirror:{keys.escaped(scope.tenant_id)}:"


def unescaped(scope: Scope) -> str:
    return f"sidemirror:{scope.tenant_id}:{scope.project_id}:"


@pytest.mark.parametrize("prefix", [one_tenant, unescaped])
async def test_broken_prefix_is_noticed(
    prefix: Callable[[Scope], str], valkey_itself: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "own", prefix)
    await noticed("GR9", RedisGoalReflections, valkey_itself, adapter.SCRIPTS)


async def test_broken_escaping_is_noticed(valkey_itself: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "escaped", lambda part: part.casefold())
    await noticed("GR10", RedisGoalReflections, valkey_itself, adapter.SCRIPTS)


def test_every_clause_is_seen_to_fail() -> None:
    assert {*(clause for clause, *_ in BROKEN), "GR4", "GR5", "GR7", "GR8", "GR9", "GR10", "GR12"} == set(CLAUSES)


async def noticed(clause: str, broken: type[RedisGoalReflections], server: RedisServer, scripts: Scripts) -> None:
    server.ask("FLUSHALL")
    database = await RedisDatabase.open(server.url, scripts)
    try:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: broken(database))
    finally:
        await database.close()
    mistakes = (
        TypeError,
        AttributeError,
        NameError,
        redis.exceptions.RedisError,
        SidemirrorError,
        msgspec.MsgspecError,
    )
    assert not isinstance(caught.value, mistakes), "the broken adapter does not even run"
