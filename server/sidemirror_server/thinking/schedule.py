"""Decides whether the agent should reflect at a decision point. `vocabulary/budget.py:claim` checks the turn's budget.

A decision point is the time after the last open tool call of a turn has ended, and before the next model call. A call
whose agent has gone on without its result is not waited for (`turn.py`).
"""

from enum import Enum

import msgspec

from sidemirror_server.thinking.config import PeriodicScope, ThinkingConfig
from sidemirror_server.thinking.levels import ThinkLevel


class Reason(Enum):
    """Why a decision is yes or no."""

    LEVEL_OFF = "level_off"
    TOOL_ERROR = "tool_error"
    PERIODIC = "periodic"
    UNCERTAINTY = "uncertainty"
    STUCK = "stuck"
    NONE = "none"
    # The agent asked for a reflection, whatever the schedule says.
    REQUESTED = "requested"


class ScheduleFacts(msgspec.Struct, frozen=True):
    """The facts that the rules read, from the turn's state."""

    # Turns started in this session, including the present turn; 0 before the first.
    turn_count: int
    # Tool errors that no successful reflection has dealt with; the next turn inherits them.
    tool_errors: int = 0
    # A periodic reflection has run in this turn.
    periodic_done: bool = False
    # The agent has reported an uncertainty of at least 0.5 since the last reflection.
    uncertain: bool = False
    # A detector has found the turn stuck since the last reflection.
    stuck: bool = False


class Decision(msgspec.Struct, frozen=True):
    """Yes or no, the reason that decided, and every rule that matched, in the order of the rules (empty if none did).

    At level OFF the first match is LEVEL_OFF; the other rules that matched follow it.
    """

    should_reflect: bool
    reason: Reason
    matches: tuple[Reason, ...]


_NOTHING_MATCHED = Decision(False, Reason.NONE, ())


def decide(config: ThinkingConfig, facts: ScheduleFacts) -> Decision:
    """The five rules of decision 014 (seeds thinking-manager and reflection-engine, "Scheduling")."""
    matches: list[Reason] = []
    if config.level is ThinkLevel.OFF:
        matches.append(Reason.LEVEL_OFF)
    if facts.tool_errors and config.reflect_on_tool_error:
        matches.append(Reason.TOOL_ERROR)
    if _periodic(config, facts):
        matches.append(Reason.PERIODIC)
    if config.reflect_on_uncertainty:
        if facts.uncertain:
            matches.append(Reason.UNCERTAINTY)
        if facts.stuck:
            matches.append(Reason.STUCK)
    if not matches:
        return _NOTHING_MATCHED
    return Decision(matches[0] is not Reason.LEVEL_OFF, matches[0], tuple(matches))


def _periodic(config: ThinkingConfig, facts: ScheduleFacts) -> bool:
    if config.reflect_every <= 0 or facts.turn_count % config.reflect_every:
        return False
    return config.periodic_scope is PeriodicScope.STEP or not facts.periodic_done
