"""A turn's plan: its configuration, prompt and budget, and warnings where these differ from the request. Pure."""

import msgspec

from sidemirror_server.thinking.config import PeriodicScope, ThinkingConfig
from sidemirror_server.thinking.levels import ThinkLevel, level_named
from sidemirror_server.thinking.provider_parameters import plan_thinking
from sidemirror_server.thinking.record import Carry, TurnPlan
from sidemirror_server.trace.event import ThinkingWish, TurnStarted
from sidemirror_server.vocabulary.block import ContextBlock
from sidemirror_server.vocabulary.budget import TurnBudget
from sidemirror_server.vocabulary.ids import SessionId, TurnId


def resolve(wish: ThinkingWish, base: ThinkingConfig) -> ThinkingConfig:
    """`base`, changed by the fields that `wish` sets."""
    changes: dict[str, object] = {}
    if wish.level is not None:
        changes["level"] = level_named(wish.level)
    if wish.periodic_scope is not None:
        changes["periodic_scope"] = PeriodicScope(wish.periodic_scope)
    for name in ("reflect_every", "reflect_on_tool_error", "reflect_on_uncertainty"):
        value = getattr(wish, name)
        if value is not None:
            changes[name] = value
    return msgspec.structs.replace(base, **changes)


def config_of(started: TurnStarted, base: ThinkingConfig) -> ThinkingConfig:
    """The configuration of a turn: `base`, changed by what the turn says. A session that begins with it keeps it."""
    return msgspec.structs.replace(
        resolve(started.wish, base),
        critique_mode=started.critique_mode or base.critique_mode,
        has_shell=started.has_shell or base.has_shell,
    )


def make_plan(
    turn_id: TurnId,
    session_id: SessionId,
    turn_count: int,
    started: TurnStarted,
    config: ThinkingConfig,
    carried: Carry,
    now_us: int,
    warnings: tuple[str, ...],
    context: ContextBlock | None = None,
    *,
    learns: bool = False,
    is_shadow: bool = False,
    silence: str = "",
) -> TurnPlan:
    """The plan of a turn that starts at `now_us`. `warnings` precede the plan's own warnings. `learns`: the turn is
    learned from when it has ended. `is_shadow`: what it would be told is kept and not sent. `silence`: why
    `context` has no lesson. A turn without advice reflects on request only, and no draft of it is judged."""
    resolved = config_of(started, config)
    thinking = plan_thinking(started.base_prompt, resolved.level, started.provider, started.model)
    told = [*warnings, *_unknown_level(started.wish.level), *thinking.clamps]
    mode = "on_request" if started.without_advice else started.reflection_mode
    if resolved.level is ThinkLevel.OFF and mode == "auto":
        told.append("level OFF: no reflections are scheduled; detectors and Reflect still work")
    budget, too_late = _with_deadline(started.budget, started.deadline_us, now_us)
    if too_late:
        told.append("the deadline has passed already: no reflections")
    return TurnPlan(
        turn_id=turn_id,
        session_id=session_id,
        turn_count=turn_count,
        system_prompt=thinking.prompt,
        token_budget=thinking.token_budget,
        provider_parameters=thinking.provider_parameters,
        warnings=tuple(told),
        config=resolved,
        reflection_mode=mode,
        budget=budget,
        carried=carried,
        critique_mode="off" if started.without_advice else resolved.critique_mode,
        context=context,
        learns=learns,
        is_shadow=is_shadow,
        silence=silence,
    )


def _unknown_level(asked: str | None) -> tuple[str, ...]:
    unknown = asked is not None and level_named(asked).value != asked
    return (f"level {asked} is not known: OFF applies",) if unknown else ()


def _with_deadline(budget: TurnBudget, deadline_us: int | None, now_us: int) -> tuple[TurnBudget, bool]:
    """The budget with its time limit cut to the deadline, and whether the deadline has passed."""
    if deadline_us is None:
        return budget, False
    until_s = max(0.0, (deadline_us - now_us) / 1e6)
    limit_s = until_s if budget.time_limit_s is None else min(until_s, budget.time_limit_s)
    return msgspec.structs.replace(budget, time_limit_s=limit_s), until_s == 0.0
