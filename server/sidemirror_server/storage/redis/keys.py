"""The names of keys. In the default scope they are the seed's (goal-reflection, "Storage"), so that its inspection
commands work; every other scope has a prefix of its own. What only we read has the prefix in each scope."""

import re

from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE, Scope

# The last of the keys `reflection:…` that is no goal's; the one goal id that is refused.
RECENT_GOALS = "recent_goals"
# A key of no scope (theirs have more parts), with a value that was drawn when it was set: when it is gone or another
# one, so is everything that was there before.
MARKER = "sidemirror:marker"
# What has a meaning in keys, in patterns of keys, or to a shell. The script escapes the same ones.
_SPECIAL = re.compile(r'[%:*?\[\]\\{}"\x00-\x20\x7f]')


def escaped(part: str) -> str:
    """`part` with special characters as %XX: it can hold no separator, and no two parts become one."""
    return _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", part)


def reflections(scope: Scope) -> str:
    """What the keys of the scope's goals begin with."""
    return "reflection:" if scope == DEFAULT_SCOPE else f"{own(scope)}reflection:"


def of_goal(scope: Scope, goal_id: str) -> str:
    """A JSON list of entries, newest first."""
    return reflections(scope) + escaped(goal_id)


def recent_goals(scope: Scope) -> str:
    """A list of goal ids, newest first."""
    return reflections(scope) + RECENT_GOALS


def goal_times(scope: Scope) -> str:
    """A sorted set of goal ids by the time of their newest entry, which the list of recent ones is made from."""
    return f"{own(scope)}goal_times"


def goals_with(scope: Scope, word: str) -> str:
    """A sorted set of the ids of goals whose objective has this word, by the time of their newest entry."""
    return f"{own(scope)}goals_with:{escaped(word)}"


def deleted(scope: Scope, goal_id: str) -> str:
    """Until when the entries of this goal were deleted."""
    return f"{own(scope)}deleted:{escaped(goal_id)}"


def own(scope: Scope) -> str:
    """The prefix of a scope."""
    return f"sidemirror:{escaped(scope.tenant_id)}:{escaped(scope.project_id)}:"
