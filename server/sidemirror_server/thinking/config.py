"""How a session thinks and when it reflects."""

from enum import Enum

import msgspec

from sidemirror_server.thinking.levels import ThinkLevel


class PeriodicScope(Enum):
    """How often the periodic rule holds within a turn that it matches."""

    # Until a periodic reflection has run in the turn. The default: at every step would spend the whole turn budget.
    TURN = "turn"
    # At every step of the turn: the seed to the letter.
    STEP = "step"


class ThinkingConfig(msgspec.Struct, frozen=True):
    """Seed thinking-manager, "ThinkingConfig"; `periodic_scope` is ours (design, section 12)."""

    level: ThinkLevel = ThinkLevel.OFF
    # In turns: N reflects in every Nth turn of the session, 0 never.
    reflect_every: int = 0
    reflect_on_tool_error: bool = True
    reflect_on_uncertainty: bool = True
    periodic_scope: PeriodicScope = PeriodicScope.TURN
