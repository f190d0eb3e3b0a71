"""Converters for thinking configurations and turn budgets."""

from typing import Any

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.wire.common import numbers_of, seconds
from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.trace.event import ThinkingWish
from sidemirror_server.vocabulary.budget import TurnBudget

LEVEL_NUMBERS = numbers_of(("off", "low", "medium", "high"), pb.ThinkLevel)
LEVELS = {number: name for name, number in LEVEL_NUMBERS.items()}
PERIODIC_NUMBERS = numbers_of(("turn", "step"), pb.PeriodicScope)
PERIODIC_SCOPES = {number: name for name, number in PERIODIC_NUMBERS.items()}


def wish_of(config: pb.ThinkingConfig) -> ThinkingWish:
    """The fields that a configuration sets; None for the others. An unknown level is kept as its number: it counts as
    OFF, and the plan warns of it (decision 002)."""
    level = None if config.level == pb.THINK_LEVEL_UNSPECIFIED else LEVELS.get(config.level, str(config.level))
    return ThinkingWish(
        level=level,
        reflect_every=config.reflect_every or None,
        reflect_on_tool_error=config.reflect_on_tool_error if config.HasField("reflect_on_tool_error") else None,
        reflect_on_uncertainty=config.reflect_on_uncertainty if config.HasField("reflect_on_uncertainty") else None,
        periodic_scope=PERIODIC_SCOPES.get(config.periodic_scope),
    )


def budget_of(budget: pb.TurnBudget) -> TurnBudget:
    """A turn's budget with its defaults filled in."""
    return TurnBudget(
        max_reflections=budget.max_reflections if budget.HasField("max_reflections") else TurnBudget().max_reflections,
        time_limit_s=seconds(budget.time_limit) if budget.HasField("time_limit") else None,
        max_tokens=budget.max_tokens if budget.HasField("max_tokens") else None,
        max_usd=budget.max_usd if budget.HasField("max_usd") else None,
    )


def config_to_wire(config: ThinkingConfig) -> pb.ThinkingConfig:
    """A configuration with every field set."""
    return pb.ThinkingConfig(
        level=LEVEL_NUMBERS[config.level.value],
        reflect_every=config.reflect_every,
        reflect_on_tool_error=config.reflect_on_tool_error,
        reflect_on_uncertainty=config.reflect_on_uncertainty,
        periodic_scope=PERIODIC_NUMBERS[config.periodic_scope.value],
    )


def wish_to_wire(wish: ThinkingWish) -> pb.ThinkingConfig:
    """A configuration as the agent requested it."""
    # An unknown level was kept as its number.
    level: Any = LEVEL_NUMBERS[wish.level] if wish.level in LEVEL_NUMBERS else int(wish.level or 0)
    wire = pb.ThinkingConfig(
        level=level,
        reflect_every=wish.reflect_every or 0,
        periodic_scope=PERIODIC_NUMBERS.get(wish.periodic_scope or "", pb.PERIODIC_SCOPE_UNSPECIFIED),
    )
    if wish.reflect_on_tool_error is not None:
        wire.reflect_on_tool_error = wish.reflect_on_tool_error
    if wish.reflect_on_uncertainty is not None:
        wire.reflect_on_uncertainty = wish.reflect_on_uncertainty
    return wire


def budget_to_wire(budget: TurnBudget) -> pb.TurnBudget:
    """A turn's budget as a message; `time_limit` is absent without one."""
    wire = pb.TurnBudget(max_reflections=budget.max_reflections, max_tokens=budget.max_tokens, max_usd=budget.max_usd)
    if budget.time_limit_s is not None:
        wire.time_limit.FromMicroseconds(int(budget.time_limit_s * 1e6))
    return wire
