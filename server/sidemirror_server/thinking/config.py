"""How a session thinks, when it reflects, and what an operator lets it start with."""

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
    """The fields of seed thinking-manager, "ThinkingConfig"; `periodic_scope` and `critique_mode` are added here
    (decisions 014 and 052), and `has_shell` (decision 064). `critique_mode`: off, gated or always. `has_shell`: the
    agent's host can run commands."""

    level: ThinkLevel = ThinkLevel.OFF
    # In turns: N means a reflection in every Nth turn of the session, 0 none.
    reflect_every: int = 0
    reflect_on_tool_error: bool = True
    reflect_on_uncertainty: bool = True
    periodic_scope: PeriodicScope = PeriodicScope.TURN
    critique_mode: str = "off"
    has_shell: bool = False


class SessionDefaults(msgspec.Struct, frozen=True):
    """What an operator lets sessions start with. `config`: of a session whose first turn, or whose creator, does not
    say otherwise. `has_context`: a turn that asks for no lessons gets them too. `learns`: ended turns are learned
    from."""

    config: ThinkingConfig = ThinkingConfig()
    has_context: bool = False
    learns: bool = False


NO_DEFAULTS = SessionDefaults()
