"""Converters for directives. They fill in the defaults of the seed reflection-engine where a model gave nothing
(decision 017)."""

import msgspec

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.critique.gate import GateReason
from sidemirror_server.critique.record import critique_in
from sidemirror_server.rpc.wire.blocks import block_to_wire
from sidemirror_server.rpc.wire.common import (
    ORIGINS,
    OUTCOMES,
    STATUSES,
    duration,
    numbers_of,
    struct,
    timestamp,
    usage_to_wire,
)
from sidemirror_server.rpc.wire.config import budget_to_wire, config_to_wire
from sidemirror_server.rpc.wire.critiques import CRITIQUE_REASONS, critique_to_wire
from sidemirror_server.rpc.wire.events import CRITIQUE_MODE_NUMBERS, MODE_NUMBERS, event_to_wire
from sidemirror_server.rpc.wire.silences import SILENCES, silence_to_wire
from sidemirror_server.thinking.detectors import Pattern
from sidemirror_server.thinking.record import (
    Advised,
    Critiqued,
    Directive,
    Nudge,
    Recorded,
    Reflection,
    SlotClaim,
    TurnPlan,
    TurnSummary,
)
from sidemirror_server.thinking.schedule import Reason
from sidemirror_server.thinking.seed_defaults import CONFIDENCE, SHOULD_CONTINUE, default_text
from sidemirror_server.thinking.turn import left
from sidemirror_server.trace.event import Event, TurnStarted
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.vocabulary.budget import BudgetLeft
from sidemirror_server.vocabulary.status import ResultStatus

REASONS = numbers_of(Reason, pb.ReflectionReason)
PATTERNS = numbers_of(Pattern, pb.Pattern)


def left_to_wire(budget: BudgetLeft) -> pb.BudgetLeft:
    """The remaining budget as a message."""
    wire = pb.BudgetLeft()
    write_left(wire, budget)
    return wire


def write_left(wire: pb.BudgetLeft, budget: BudgetLeft) -> None:
    """Writes what is left into an empty message, field by field: a constructor's keywords take three times as long."""
    wire.reflections = budget.reflections
    if budget.time_s is not None:
        wire.time.CopyFrom(duration(int(budget.time_s * 1e6)))
    if budget.tokens is not None:
        wire.tokens = budget.tokens
    if budget.usd is not None:
        wire.usd = budget.usd


def write_ack(wire: pb.TurnAck, turn: LiveTurn, received: int, durable: int, now_us: int, withdrawn: int = 0) -> None:
    """Writes an ack into an empty message: events received and durable, pending directives, those that were withdrawn
    after the first `withdrawn`, and the budget."""
    wire.received = received
    wire.durable = durable
    if turn.state.claims:
        wire.pending_ids.extend(turn.state.claims)
    if turn.telling:
        wire.pending_ids.extend(turn.telling)
    if len(turn.state.withdrawn) > withdrawn:
        wire.withdrawn_ids.extend(turn.state.withdrawn[withdrawn:])
    write_left(wire.budget_left, left(turn.state, now_us))


def is_sent(directive: Directive) -> bool:
    """Whether a directive goes to the agent's stream: not what shadow mode only keeps, and not a reflection that only
    the schedule asked for and that has nothing to say."""
    what = directive.what
    if directive.is_shadow:
        return False
    if not isinstance(what, Reflection) or what.status is not ResultStatus.NOTHING:
        return True
    return directive.reasons != (Reason.PERIODIC,)


def reflection_to_wire(reflection: Reflection) -> pb.MidTurnReflection:
    """A reflection, with the defaults of the seed reflection-engine where a model gave nothing."""
    done = reflection.status is ResultStatus.OK
    text = reflection.reflection if done and reflection.reflection is not None else default_text(reflection.status)
    return pb.MidTurnReflection(
        status=STATUSES[reflection.status],
        detail=reflection.detail,
        reflection=text,
        should_continue=SHOULD_CONTINUE,
        suggested_action=reflection.suggested_action,
        confidence=CONFIDENCE if reflection.confidence is None else reflection.confidence,
        usage=usage_to_wire(reflection.usage),
        cited_event_ids=reflection.cited_event_ids,
        origin=ORIGINS[reflection.origin],
        lessons=None if reflection.lessons is None else block_to_wire(reflection.lessons),
    )


def plan_to_wire(plan: TurnPlan) -> pb.TurnPlan:
    """A turn's plan as a message."""
    return pb.TurnPlan(
        turn_id=plan.turn_id,
        session_id=plan.session_id,
        turn_count=plan.turn_count,
        system_prompt=plan.system_prompt,
        token_budget=plan.token_budget,
        provider_parameters=struct(plan.provider_parameters),
        warnings=plan.warnings,
        config=config_to_wire(plan.config),
        reflection_mode=MODE_NUMBERS[plan.reflection_mode],
        critique_mode=CRITIQUE_MODE_NUMBERS[plan.critique_mode],
        budget=budget_to_wire(plan.budget),
        context=None if plan.context is None else block_to_wire(plan.context),
        silence=SILENCES.get(plan.silence),
    )


def summary_to_wire(summary: TurnSummary) -> pb.TurnSummary:
    """A turn's summary as a message."""
    return pb.TurnSummary(
        outcome=OUTCOMES[summary.outcome],
        score=summary.score,
        duration=duration(summary.duration_us),
        event_count=summary.event_count,
        tool_call_count=summary.tool_call_count,
        tool_error_count=summary.tool_error_count,
        nudge_count=summary.nudge_count,
        reflections={f"RESULT_STATUS_{status.upper()}": count for status, count in summary.reflections.items()},
        budget_left=left_to_wire(summary.budget_left),
        critiques={f"RESULT_STATUS_{status.upper()}": count for status, count in summary.critiques.items()},
    )


def directive_to_wire(directive: Directive, turn_id: str, sequence: int) -> pb.TurnDirective:
    """A directive with its sequence number in the turn's record."""
    wire = pb.TurnDirective(
        directive_id=directive.directive_id,
        turn_id=turn_id,
        sequence=sequence,
        time=timestamp(directive.at_us),
        caused_by=directive.caused_by,
        reasons=[REASONS[reason] for reason in directive.reasons],
        is_shadow=directive.is_shadow,
    )
    match directive.what:
        case TurnPlan() as plan:
            wire.turn_plan.CopyFrom(plan_to_wire(plan))
        case Nudge() as nudge:
            wire.nudge.CopyFrom(pb.Nudge(pattern=PATTERNS[nudge.pattern], message=nudge.message))
        case Reflection() as reflection:
            wire.reflection.CopyFrom(reflection_to_wire(reflection))
        case Critiqued() as critiqued:
            wire.critique.CopyFrom(critique_to_wire(critique_in(bytes(critiqued.body))))
            wire.critique_reasons.extend(CRITIQUE_REASONS[GateReason(reason)] for reason in critiqued.reasons)
        case Advised(signature=signature, silence=silence) if silence is not None:
            wire.is_shadow = False  # that is its mark for earlier servers
            wire.silence.CopyFrom(silence_to_wire(silence, signature))
        case Advised(block=block, signature=signature):
            wire.advice.CopyFrom(pb.Advice(block=block_to_wire(block), signature=signature))
        case TurnSummary() as summary:
            wire.turn_summary.CopyFrom(summary_to_wire(summary))
    return wire


def entry_to_wire(recorded: Recorded, turn_id: str, sequence: int, cursor: str) -> pb.TurnEntry:
    """An entry of a turn's record as a message."""
    wire = pb.TurnEntry(cursor=cursor, sequence=sequence, turn_id=turn_id)
    match recorded:
        case Event() as event:
            wire.event.CopyFrom(event_to_wire(event, turn_id))
        case Directive() as directive:
            wire.directive.CopyFrom(directive_to_wire(directive, turn_id, sequence))
        case SlotClaim() as claim:
            wire.claim.CopyFrom(
                pb.SlotClaim(
                    directive_id=claim.directive_id,
                    reasons=[REASONS[reason] for reason in claim.reasons],
                    caused_by=claim.caused_by,
                    time=timestamp(claim.at_us),
                    critique=claim.critique,
                )
            )
    return wire


def own_prompt(system_prompt: str, entered: str, own: str) -> str:
    """A plan's system prompt with the agent's original base prompt (`own`). The stored one (`entered`) has its secrets
    redacted, but the agent's model needs the original."""
    return own + system_prompt.removeprefix(entered)


def with_own_prompt(plan: TurnPlan, started: TurnStarted, own: str) -> TurnPlan:
    """The plan with the agent's original base prompt."""
    if started.base_prompt == own:
        return plan
    return msgspec.structs.replace(plan, system_prompt=own_prompt(plan.system_prompt, started.base_prompt, own))
