"""Goal reflections in Redis, in the layout of seed goal-reflection, "Storage" (decision 028). The seed's inspection
commands and agents written for it can read them. Scripts are in `goal_reflections.lua`, key names in `keys.py`.

Entries expire by Redis' own clock: they are stored with a time to live, never with a date from a sidecar's clock.
"""

import datetime
import logging
import math
from pathlib import Path
from typing import Any

import msgspec

from sidemirror_server.goals.record import GoalReflection, GoalState
from sidemirror_server.goals.report import OBJECTIVE_CHARS
from sidemirror_server.goals.similarity import CANDIDATES, Goals, most_alike
from sidemirror_server.goals.store import KEPT_FOR_US, MOST_PER_GOAL, MOST_RECENT_GOALS, REFUSED_FOR_US
from sidemirror_server.goals.words import words_of
from sidemirror_server.storage.redis import keys
from sidemirror_server.storage.redis.database import RedisDatabase, Scripts
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.text import clip, enter

_log = logging.getLogger(__name__)

SCRIPTS = Scripts(Path(__file__).with_name("goal_reflections.lua"))
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_US = datetime.timedelta(microseconds=1)
# The longest insight read from another program's entry. Chosen here: more than three long sentences; a whole answer
# stays far below the 4 MiB that callers accept.
_INSIGHT_CHARS = 4_000
# How many recent goals are read. Chosen here: `put` writes 10, but other programs may have added goals without entries.
_RECENT_LOOKED_AT = 100
# How many keys one SCAN looks at. Chosen here: a millisecond of the server's time.
_SCANNED_AT_ONCE = 1_000


class RedisGoalReflections:
    """The port `GoalReflections` on Redis."""

    def __init__(self, database: RedisDatabase) -> None:
        self._database = database

    async def put(self, scope: Scope, reflection: GoalReflection, now_us: int) -> bool:
        kept_ms = math.ceil(min(reflection.created_us + KEPT_FOR_US - now_us, KEPT_FOR_US) / 1000)
        if kept_ms <= 0:
            return False
        places = _places(scope, reflection.goal_id, reflection.reflection_id, words_of(reflection.objective))
        arguments = (
            encode(reflection),
            reflection.reflection_id,
            time_of(reflection.created_us),
            reflection.created_us,
            reflection.goal_id,
            keys.reflections(scope),
            kept_ms,
        )
        return bool(await self._database.run("put", places, arguments))

    async def of_goal(self, scope: Scope, goal_id: str, now_us: int) -> tuple[GoalReflection, ...]:
        return _shown(await self._database.ask("GET", keys.of_goal(scope, goal_id)), goal_id, now_us)

    async def recent(self, scope: Scope, now_us: int) -> Goals:
        goal_ids = await self._database.ask("LRANGE", keys.recent_goals(scope), 0, _RECENT_LOOKED_AT - 1)
        found = await self._of_goals(scope, list(dict.fromkeys(_texts(goal_ids))), now_us)
        return found[:MOST_RECENT_GOALS]

    async def similar(self, scope: Scope, words: frozenset[str], limit: int, now_us: int) -> Goals:
        places = [keys.goals_with(scope, word) for word in sorted(words)]
        if not places:
            return ()
        goal_ids = await self._database.run("with_words", places, (CANDIDATES,))
        return most_alike(words, await self._of_goals(scope, _texts(goal_ids), now_us), limit)

    async def delete(self, scope: Scope, goal_id: str, now_us: int) -> int:
        there = decode(await self._database.ask("GET", keys.of_goal(scope, goal_id)), goal_id)
        words = frozenset(word for reflection in there for word in words_of(reflection.objective))
        arguments = (now_us, goal_id, keys.reflections(scope), REFUSED_FOR_US // 1000)
        return int(await self._database.run("delete", _places(scope, goal_id, "", words), arguments))

    async def remove(
        self,
        scope: Scope,
        goal_id: str,
        reflection_id: str,
        now_us: int,  # noqa: ARG002 - Redis itself knows how long it refuses
    ) -> bool:
        there = decode(await self._database.ask("GET", keys.of_goal(scope, goal_id)), goal_id)
        left = [one for one in there if one.reflection_id != reflection_id]
        kept = {keys.goals_with(scope, word) for one in left for word in words_of(one.objective)}
        places = _places(scope, goal_id, reflection_id, frozenset())
        places += sorted(await self._keys_with(keys.goals_with(scope, "")) - kept)
        arguments = (reflection_id, goal_id, keys.reflections(scope), REFUSED_FOR_US // 1000)
        return bool(await self._database.run("remove", places, arguments))

    async def every(self, scope: Scope) -> tuple[tuple[str, str], ...]:
        found: list[tuple[str, str]] = []
        for name in sorted(await self._keys_with(keys.reflections(scope)) - {keys.recent_goals(scope)}):
            entries = _entries(await self._database.ask("GET", name))
            found += [(entry.goal_id, entry.id) for entry in entries if entry.id]
        return tuple(found)

    async def _keys_with(self, prefix: str) -> set[str]:
        """The keys that begin with `prefix`. Reads the names of all keys of the server, a part at a time."""
        found: set[str] = set()
        cursor = "0"
        while True:
            place, names = await self._database.ask("SCAN", cursor, "MATCH", f"{prefix}*", "COUNT", _SCANNED_AT_ONCE)
            found.update(_texts(names))
            (cursor,) = _texts([place])
            if cursor == "0":
                return found

    async def _of_goals(self, scope: Scope, goal_ids: list[str], now_us: int) -> Goals:
        """The reflections of these goals in the given order, without goals that have none."""
        if not goal_ids:
            return ()
        values = await self._database.ask("MGET", *(keys.of_goal(scope, goal_id) for goal_id in goal_ids))
        found = (_shown(value, goal_id, now_us) for goal_id, value in zip(goal_ids, values, strict=True))
        return tuple(goal for goal in found if goal)


def _places(scope: Scope, goal_id: str, reflection_id: str, words: frozenset[str]) -> list[str]:
    """The keys for the scripts `put`, `delete` and `remove`."""
    return [
        keys.of_goal(scope, goal_id),
        keys.recent_goals(scope),
        keys.goal_times(scope),
        keys.deleted(scope, goal_id),
        keys.erased(scope, reflection_id),
        *(keys.goals_with(scope, word) for word in sorted(words)),
    ]


# --- entries ---------------------------------------------------------------------------------------------------------


class _Entry(msgspec.Struct):
    """An entry's JSON: first the five fields of seed goal-reflection, then three that Sidemirror adds."""

    goal_id: str = ""
    insight: str = ""
    importance: float = 0.0
    goal_state: str = ""
    created_at: str = ""
    id: str = ""
    objective: str = ""
    origin: str = ""


def encode(reflection: GoalReflection) -> bytes:
    """The entry's JSON."""
    entry = _Entry(
        reflection.goal_id,
        reflection.insight,
        reflection.importance,
        reflection.goal_state.value,
        time_of(reflection.created_us),
        reflection.reflection_id,
        reflection.objective,
        reflection.origin.name.lower(),
    )
    return msgspec.json.encode(entry)


def decode(value: bytes | None, goal_id: str) -> list[GoalReflection]:
    """The entries of a goal's list, from this or other programs. Invalid entries are skipped and logged."""
    found = []
    for entry in _entries(value):
        try:
            found.append(_reflection(entry, goal_id))
        except ValueError:
            _log.warning("goal_reflection_unreadable", extra={"store": "redis"})
    return found


def _entries(value: bytes | None) -> list[_Entry]:
    """The readable entries of a goal's list. Others are skipped and logged."""
    try:
        raws = msgspec.json.decode(value or b"[]", type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raws = [msgspec.Raw(b"")]
    found = []
    for raw in raws:
        try:
            found.append(msgspec.json.decode(raw, type=_Entry))
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError):
            _log.warning("goal_reflection_unreadable", extra={"store": "redis"})
    return found


def _reflection(entry: _Entry, goal_id: str) -> GoalReflection:
    """Raises ValueError for a state or a time that seed goal-reflection does not have."""
    created_us = us_of(entry.created_at)
    is_ours = bool(entry.id)
    return GoalReflection(
        entry.id,
        goal_id,
        entry.objective if is_ours else clip(enter(entry.objective), OBJECTIVE_CHARS),
        entry.insight if is_ours else clip(enter(entry.insight), _INSIGHT_CHARS),
        min(1.0, max(0.0, entry.importance)),
        GoalState(entry.goal_state),
        created_us,
        # Entries of other programs are trusted no more than a tool result.
        Origin[entry.origin.upper()] if is_ours and entry.origin.upper() in Origin.__members__ else Origin.TOOL,
    )


def _shown(value: bytes | None, goal_id: str, now_us: int) -> tuple[GoalReflection, ...]:
    """The entries that have not expired, newest first, at most MOST_PER_GOAL."""
    young = [one for one in decode(value, goal_id) if one.created_us + KEPT_FOR_US > now_us]
    young.sort(key=lambda one: (one.created_us, one.reflection_id), reverse=True)
    return tuple(young[:MOST_PER_GOAL])


def time_of(created_us: int) -> str:
    """A time as 2026-03-11T14:23:00+00:00, with microseconds unless they are 0. These texts sort by time."""
    return (_EPOCH + created_us * _US).isoformat()


def us_of(created_at: str) -> int:
    """The time in µs; UTC if the text has no zone, as in the example of seed goal-reflection. Raises ValueError."""
    time = datetime.datetime.fromisoformat(created_at)
    if time.tzinfo is None:
        time = time.replace(tzinfo=datetime.UTC)
    return (time - _EPOCH) // _US


def _texts(answer: Any) -> list[str]:
    return [one.decode(errors="replace") for one in answer]
