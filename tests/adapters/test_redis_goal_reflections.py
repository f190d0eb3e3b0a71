"""The port `GoalReflections` on Redis and on Valkey, and the layout of seed goal-reflection (decision 028)."""

import contextlib
import json
import random
import subprocess
from collections.abc import AsyncIterator

import msgspec
import pytest

from sidemirror_server.goals.record import GoalReflection, GoalState
from sidemirror_server.storage.redis import keys
from sidemirror_server.storage.redis.database import RedisDatabase
from sidemirror_server.storage.redis.goal_reflections import SCRIPTS, RedisGoalReflections
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE, Scope
from tests.conformance import goal_reflections as suite
from tests.conformance.clauses import clauses_of
from tests.conformance.goal_reflections import DAY, ONE, SPELT, T0, S, ids, reflection
from tests.redis.server import RedisServer, redis_cli

CLAUSES = clauses_of(suite)


@contextlib.asynccontextmanager
async def opened(server: RedisServer) -> AsyncIterator[RedisDatabase]:
    database = await RedisDatabase.open(server.url, SCRIPTS)
    try:
        yield database
    finally:
        await database.close()


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, either_server: RedisServer) -> None:
    async with opened(either_server) as database:
        await CLAUSES[clause](lambda: RedisGoalReflections(database))


# --- keys and values of seed goal-reflection --------------------------------------------------------------------------

STALE = GoalReflection(
    "0198f3c2-5a10-7b3e-8f00-000000000001",
    "abc-123",
    "Research competitor pricing",
    "The web search returned stale data; in future, filter results by date.",
    0.8,
    GoalState.FAILED,
    T0,
    Origin.TOOL,
)


@pytest.mark.skipif(redis_cli() is None, reason="there is no wheel with redis-cli for this Python and this machine")
async def test_the_seeds_two_commands(redis_itself: RedisServer) -> None:
    """The commands of seed goal-reflection, "Storage" (decision 028), without its container."""
    redis_itself.ask("FLUSHALL")
    async with opened(redis_itself) as database:
        reflections = RedisGoalReflections(database)
        await reflections.put(DEFAULT_SCOPE, STALE, T0)
        await reflections.put(DEFAULT_SCOPE, reflection("r2", "weekly", T0 + S), T0 + S)

    def cli(*command: str) -> str:
        return subprocess.check_output([str(redis_cli()), "-s", str(redis_itself.socket), *command], text=True)

    assert json.loads(cli("GET", "reflection:abc-123")) == [
        {
            "goal_id": "abc-123",
            "insight": "The web search returned stale data; in future, filter results by date.",
            "importance": 0.8,
            "goal_state": "failed",
            "created_at": "2026-03-11T14:23:00+00:00",
            "id": "0198f3c2-5a10-7b3e-8f00-000000000001",
            "objective": "Research competitor pricing",
            "origin": "tool",
        }
    ]
    assert cli("LRANGE", "reflection:recent_goals", "0", "-1") == "weekly\nabc-123\n"
    assert int(cli("TTL", "reflection:abc-123")) == pytest.approx(7 * 24 * 3600, abs=30)


def keys_of_scopes(server: RedisServer) -> list[str]:
    """All keys but the marker, which is set beside them."""
    found = server.ask("KEYS", "*")
    assert isinstance(found, list)
    return sorted(set(found) - {"sidemirror:marker"})


async def test_keys(either_server: RedisServer) -> None:
    async with opened(either_server) as database:
        reflections = RedisGoalReflections(database)
        for scope in (DEFAULT_SCOPE, ONE, Scope("a:b", "c*")):
            await reflections.put(scope, msgspec.structs.replace(STALE, objective="Send it"), T0)
            await reflections.put(scope, reflection("r", "a:b*", objective="Send it"), T0)
        await reflections.delete(ONE, "abc-123", T0)
    found = keys_of_scopes(either_server)
    assert set(found) == {
        "reflection:abc-123",
        "reflection:a%3Ab%2A",
        "reflection:recent_goals",
        "sidemirror:default:default:goal_times",
        "sidemirror:default:default:goals_with:send",
        "sidemirror:acme:shop:reflection:a%3Ab%2A",
        "sidemirror:acme:shop:reflection:recent_goals",
        "sidemirror:acme:shop:goal_times",
        "sidemirror:acme:shop:goals_with:send",
        "sidemirror:acme:shop:deleted:abc-123",
        "sidemirror:a%3Ab:c%2A:reflection:abc-123",
        "sidemirror:a%3Ab:c%2A:reflection:a%3Ab%2A",
        "sidemirror:a%3Ab:c%2A:reflection:recent_goals",
        "sidemirror:a%3Ab:c%2A:goal_times",
        "sidemirror:a%3Ab:c%2A:goals_with:send",
    }
    # Every key ends by itself, but for the one that tells whether the server was emptied.
    assert all(either_server.ask("PTTL", key) > 0 for key in found)  # type: ignore[operator]


async def test_words_of_a_trimmed_reflection_go_when_it_is_erased(either_server: RedisServer) -> None:
    async with opened(either_server) as database:
        reflections = RedisGoalReflections(database)
        for number, text in enumerate(("plums", "pears", "pears", "pears")):
            await reflections.put(ONE, reflection(f"r{number}", "g", T0 + number, objective=text), T0)
        await reflections.put(ONE, reflection("other", "h", T0, objective="apples"), T0)
        assert not await reflections.remove(ONE, "g", "r0", T0)
    found = {key.rpartition(":")[2] for key in keys_of_scopes(either_server) if "goals_with" in key}
    assert found == {"pear", "apple"}


def test_no_two_ids_share_a_key() -> None:
    assert len({keys.of_goal(DEFAULT_SCOPE, goal_id) for goal_id in SPELT}) == len(SPELT)
    assert keys.recent_goals(DEFAULT_SCOPE) not in {keys.of_goal(DEFAULT_SCOPE, goal_id) for goal_id in SPELT}
    assert keys.escaped("abc-123_Grüße.v2~(x)") == "abc-123_Grüße.v2~(x)", "only what has a meaning is escaped"


async def test_entries_that_another_program_wrote_by_the_seed(either_server: RedisServer) -> None:
    """They are read, kept as they were written, and count among the three."""
    theirs = (
        '{ "goal_id":"abc-123","insight":"Use sk-ant-api03-' + "a" * 93 + 'AA", "importance": 0.70, "tags": [],'
        ' "goal_state":"failed","created_at":"2026-03-11T14:22:59" }'
    )
    either_server.ask("SET", "reflection:abc-123", f'[{theirs}, 7, {{"no": 1}}]')
    async with opened(either_server) as database:
        reflections = RedisGoalReflections(database)
        await reflections.put(DEFAULT_SCOPE, STALE, T0)
        ours, found = await reflections.of_goal(DEFAULT_SCOPE, "abc-123", T0)
        assert ours == STALE
        assert (found.reflection_id, found.objective, found.origin) == ("", "", Origin.TOOL)
        assert (found.created_us, found.importance, found.goal_state) == (T0 - S, 0.7, GoalState.FAILED)
        assert found.insight == "Use sk-ant-[redacted:anthropic]"
        assert theirs in str(either_server.ask("GET", "reflection:abc-123"))
        for number in range(1, 4):
            await reflections.put(DEFAULT_SCOPE, reflection(f"r{number}", "abc-123", T0 + number), T0 + 9)
        kept = json.loads(str(either_server.ask("GET", "reflection:abc-123")))
        assert [entry["id"] for entry in kept] == ["r3", "r2", "r1"], "no more than three, the newest first"


@pytest.mark.parametrize(
    "value",
    ["", "no json", "{}", "null", "[1, {]", '["}"]', "[[[[", '["\\', "[{}]", "[" * 9_000, '[{"a":' + "[" * 9_000],
)
async def test_what_is_no_list_of_entries_is_left_out(value: str, either_server: RedisServer) -> None:
    either_server.ask("SET", "reflection:abc-123", value)
    async with opened(either_server) as database:
        reflections = RedisGoalReflections(database)
        assert await reflections.of_goal(DEFAULT_SCOPE, "abc-123", T0) == ()
        assert await reflections.put(DEFAULT_SCOPE, STALE, T0)
        assert await reflections.of_goal(DEFAULT_SCOPE, "abc-123", T0) == (STALE,)


async def test_what_another_program_wrote_is_bounded(either_server: RedisServer) -> None:
    """Texts are cut, and of a list of recent goals that others made long 10 are shown, each once."""
    theirs = {"insight": "i" * 5_000_000, "objective": "o" * 5_000_000, "importance": 0.7, "goal_state": "failed"}
    value = json.dumps([{**theirs, "created_at": "2026-03-11T14:22:59"}])
    short = json.dumps([{**theirs, "insight": "i", "objective": "o", "created_at": "2026-03-11T14:22:59"}])
    either_server.ask("SET", "reflection:long", value)
    for number in range(20):
        either_server.ask("SET", f"reflection:g{number}", short)
    names = ["long", "g0", "gone", *(f"g{number}" for number in range(20)), *(f"no{number}" for number in range(1000))]
    either_server.ask("RPUSH", "reflection:recent_goals", *names)
    async with opened(either_server) as database:
        reflections = RedisGoalReflections(database)
        (found,) = await reflections.of_goal(DEFAULT_SCOPE, "long", T0)
        assert (len(found.insight), len(found.objective)) == (4_000, 1_000)
        recent = [goal[0].goal_id for goal in await reflections.recent(DEFAULT_SCOPE, T0)]
        assert recent == ["long", *(f"g{number}" for number in range(9))]


async def test_hostile_texts_stay_one_entry(either_server: RedisServer) -> None:
    """The script takes lists apart by itself: whatever stands in texts, entries stay what they are."""
    chance = random.Random(5)
    pieces = ['"', "\\", "{", "}", "[", "]", ",", ":", "\n", "\u2028", "é", "\U0001f642", '"}, {"id": "x"', "a", " "]
    async with opened(either_server) as database:
        reflections = RedisGoalReflections(database)
        for number in range(150):
            made = [
                reflection(
                    f"{number}-{place}",
                    f"g{number}",
                    T0 + place,
                    insight="".join(chance.choices(pieces, k=chance.randrange(12))),
                    objective="".join(chance.choices(pieces, k=chance.randrange(12))),
                )
                for place in range(4)
            ]
            for one in made:
                await reflections.put(ONE, one, T0)
            assert await reflections.of_goal(ONE, f"g{number}", T0) == tuple(made[:0:-1])


# --- lifetimes -------------------------------------------------------------------------------------------------------


async def test_a_key_lives_as_long_as_its_newest_entry(either_server: RedisServer) -> None:
    """Also for a sidecar whose clock is wrong: Redis is told how long, never until when."""

    def days_left(key: str) -> float:
        left_ms = either_server.ask("PTTL", key)
        assert isinstance(left_ms, int)
        return left_ms / 1000 / 86_400

    async with opened(either_server) as database:
        reflections = RedisGoalReflections(database)
        # Published again when they are three, and two, days old.
        await reflections.put(ONE, reflection("r1", "g", T0), T0 + 3 * DAY)
        assert days_left(keys.of_goal(ONE, "g")) == pytest.approx(4, abs=0.01)
        await reflections.put(ONE, reflection("r2", "g", T0 + DAY), T0 + 3 * DAY)
        assert days_left(keys.of_goal(ONE, "g")) == pytest.approx(5, abs=0.01)
        await reflections.put(ONE, reflection("r0", "g", T0 - DAY), T0 + 3 * DAY)
        assert days_left(keys.of_goal(ONE, "g")) == pytest.approx(5, abs=0.01)
        assert days_left(keys.recent_goals(ONE)) == pytest.approx(5, abs=0.01)
        # Eight days ahead and back.
        for days in (8, -8):
            await reflections.put(ONE, reflection(f"at {days}", f"h{days}", T0 + days * DAY), T0 + days * DAY)
            assert days_left(keys.of_goal(ONE, f"h{days}")) == pytest.approx(7, abs=0.01)
            assert days_left(keys.of_goal(ONE, "g")) == pytest.approx(5, abs=0.01)
        assert not await reflections.put(ONE, reflection("old", "i", T0), T0 + 7 * DAY)
        assert ids(await reflections.of_goal(ONE, "g", T0 + 3 * DAY)) == ["r2", "r1", "r0"]


async def test_what_was_lost_by_itself_comes_back_with_a_repeated_put(either_server: RedisServer) -> None:
    async with opened(either_server) as database:
        reflections = RedisGoalReflections(database)
        await reflections.put(ONE, STALE, T0)
        every = keys_of_scopes(either_server)
        assert len(every) == 6
        for key in every:
            either_server.ask("DEL", key)
            await reflections.put(ONE, STALE, T0)
            assert keys_of_scopes(either_server) == every


async def test_redis_forgets_its_scripts(either_server: RedisServer) -> None:
    async with opened(either_server) as database:
        reflections = RedisGoalReflections(database)
        await reflections.put(ONE, reflection("r1"), T0)
        either_server.ask("SCRIPT", "FLUSH")
        await reflections.put(ONE, reflection("r2", at_us=T0 + 1), T0)
        assert ids(await reflections.of_goal(ONE, "g", T0)) == ["r2", "r1"]
