"""The names of Redis keys (decision 028). The default scope uses the names of seed goal-reflection, "Storage", so that
its inspection commands work. Every other scope has a prefix, and so has every key that only Sidemirror reads."""

import re

from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE, Scope

# `reflection:recent_goals` is the list of recent goals, so this goal id is refused.
RECENT_GOALS = "recent_goals"
# A key outside all scopes (keys of scopes have more parts), with a random value. If the key is missing or its value
# has changed, the server has lost all earlier data.
MARKER = "sidemirror:marker"
# Characters with a meaning in keys, in key patterns or in a shell. `goal_reflections.lua` escapes the same characters.
_SPECIAL = re.compile(r'[%:*?\[\]\\{}"\x00-\x20\x7f]')


def escaped(part: str) -> str:
    """`part` with special characters as %XX, so that it contains no separator. Different parts stay different."""
    return _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", part)


def reflections(scope: Scope) -> str:
    """The prefix of the keys of the scope's goals."""
    return "reflection:" if scope == DEFAULT_SCOPE else f"{own(scope)}reflection:"


def of_goal(scope: Scope, goal_id: str) -> str:
    """The key of a goal's entries: a JSON list, newest first."""
    return reflections(scope) + escaped(goal_id)


def recent_goals(scope: Scope) -> str:
    """The key of a list of goal ids, newest first."""
    return reflections(scope) + RECENT_GOALS


def goal_times(scope: Scope) -> str:
    """The key of a sorted set: goal ids by the time of their newest entry. `recent_goals` is derived from it."""
    return f"{own(scope)}goal_times"


def goals_with(scope: Scope, word: str) -> str:
    """The key of a sorted set: ids of goals whose objective has this word, by the time of their newest entry."""
    return f"{own(scope)}goals_with:{escaped(word)}"


def deleted(scope: Scope, goal_id: str) -> str:
    """The key of the time (µs) at which the goal was deleted: entries that are not newer are refused."""
    return f"{own(scope)}deleted:{escaped(goal_id)}"


def erased(scope: Scope, reflection_id: str) -> str:
    """The key that refuses one reflection for a while after it was erased."""
    return f"{own(scope)}erased:{escaped(reflection_id)}"


def own(scope: Scope) -> str:
    """The prefix of a scope's keys."""
    return f"sidemirror:{escaped(scope.tenant_id)}:{escaped(scope.project_id)}:"
