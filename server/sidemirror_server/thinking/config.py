"""How a session thinks and when it reflects."""

from enum import Enum

import msgspec

from sidemirror_server.thinking.levels import ThinkLevel


class PeriodicScope(Enum):
    """How often the periodic rule applies within a turn that it matches."""

    # The rule applies until a periodic reflection has run in the turn. The default: STEP would spend the whole budget.
    TURN = "turn"
    # The rule applies at every step of the turn, as in seed thinking-manager.
    STEP = "step"


class ThinkingConfig(msgspec.Struct, frozen=True):
    """The fields of seed thinking-manager, "ThinkingConfig"; `periodic_scope` is added here (decision 014)."""

    level: ThinkLevel = ThinkLevel.OFF
    # In turns: N means a reflection in every Nth turn of the session, 0 none.
    reflect_every: int = 0
    reflect_on_tool_error: bool = True
    reflect_on_uncertainty: bool = True
    periodic_scope: PeriodicScope = PeriodicScope.TURN
