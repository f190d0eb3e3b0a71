"""Rules for goals that a store has found. All stores use them, so that each gives the same answer."""

from collections.abc import Iterable, Sequence

from sidemirror_server.goals.record import GoalReflection
from sidemirror_server.goals.words import likeness, words_of

# Limit on the goals with shared words that are compared. Chosen here: far more than a block has room for.
CANDIDATES = 50

Goals = tuple[tuple[GoalReflection, ...], ...]


def most_alike(asked: frozenset[str], goals: Iterable[tuple[GoalReflection, ...]], limit: int) -> Goals:
    """The goals whose newest objective shares words with `asked`, the most alike first, then the newest."""
    measured = [(likeness(asked, words_of(goal[0].objective)), goal) for goal in goals]
    measured.sort(key=lambda pair: (pair[0], pair[1][0].created_us, pair[1][0].goal_id), reverse=True)
    return tuple(goal for much, goal in measured if much > 0)[:limit]


def by_goal(goal_ids: Sequence[str], reflections: Iterable[GoalReflection]) -> Goals:
    """The reflections of each goal, in the order of `goal_ids`; goals that have none are left out."""
    found: dict[str, list[GoalReflection]] = {goal_id: [] for goal_id in goal_ids}
    for reflection in reflections:
        found[reflection.goal_id].append(reflection)
    return tuple(tuple(of_goal) for of_goal in found.values() if of_goal)
