"""A finished goal's lesson, as stored."""

import enum

import msgspec

from sidemirror_server.vocabulary.origin import Origin


class GoalState(enum.StrEnum):
    """How a goal ended. The values are those of seed goal-reflection, "Storage", and are stored."""

    COMPLETED = "completed"
    FAILED = "failed"


class GoalReflection(msgspec.Struct, frozen=True):
    """An insight. `importance`: 0 to 1; `objective` and `reflection_id`: empty if another program wrote the entry in
    the format of seed goal-reflection."""

    reflection_id: str
    goal_id: str
    objective: str
    insight: str
    importance: float
    goal_state: GoalState
    created_us: int
    origin: Origin


def reflection_of(
    goal_id: str, created_us: int, reflection_id: str, objective: str, insight: str, importance: float, state: str,
    origin: int,
) -> GoalReflection:  # fmt: skip
    """A reflection from the columns of its row, in their order."""
    return GoalReflection(
        reflection_id, goal_id, objective, insight, importance, GoalState(state), created_us, Origin(origin)
    )
