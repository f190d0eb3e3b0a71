"""A turn's state as the fold of its log. Pure: no clock, no store, no model.

`turns/live.py` applies each entry when it is recorded, and `turns/conductor.py` then asks whether a reflection is due.
A turn read back from the log passes through the same `apply` and reaches the same state. `apply` changes the state in
place, because it runs for every event of every agent.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.thinking.detectors import ToolStep, Window, advance, call_key, reason_key, result_key
from sidemirror_server.thinking.prompts import RESULT_CHARS, ToolOutcome
from sidemirror_server.thinking.record import (
    Advised,
    Carry,
    Critiqued,
    Directive,
    Nudge,
    Recorded,
    Reflection,
    SeenError,
    SlotClaim,
    TurnPlan,
    TurnSummary,
)
from sidemirror_server.thinking.schedule import Decision, Reason, ScheduleFacts, decide
from sidemirror_server.thinking.turn_state import OpenCall, ToldOf, TurnState
from sidemirror_server.thinking.withdrawal import call_failed, call_worked, give_slot_back, note_cause, supersede
from sidemirror_server.trace.event import (
    Event,
    ModelReturned,
    ModelStarted,
    ReflectionRecorded,
    ResponseDrafted,
    SessionNamed,
    ToolCalled,
    ToolFailed,
    ToolReturned,
    TurnFinished,
    TurnStarted,
    Uncertainty,
    UserMessage,
)
from sidemirror_server.trace.failed import reports_failure
from sidemirror_server.trace.failure import category_of
from sidemirror_server.trace.log import TurnStanding
from sidemirror_server.vocabulary.budget import BudgetLeft, budget_left
from sidemirror_server.vocabulary.ids import EventId, SessionId
from sidemirror_server.vocabulary.missing_names import missing_name
from sidemirror_server.vocabulary.slots import is_tool_name
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from sidemirror_server.vocabulary.text import clip

# An uncertainty of at least this score calls for a reflection (decision 014).
UNCERTAIN_FROM = 0.5

# A turn keeps its first steps as evidence, where failures begin, and its last steps, where the turn is now. Chosen
# here: a step has at most 600 code points, and up to 600 last steps are kept before they are cut back to 300. So a turn
# keeps at most about 420,000 code points.
_FIRST_STEPS = 100
_LAST_STEPS = 300
_STEP_CHARS = 600
_QUESTION_CHARS = 4_000
# Limit on the errors that wait for a reflection; the oldest are dropped. Chosen here: a prompt shows only the last.
_MOST_ERRORS = 20
# Limit on the open calls that a turn keeps. Chosen here: no agent runs as many at once.
_MOST_OPEN_CALLS = 1_000
# After so many rounds of calls without its result nobody waits for a call. Chosen here: calls that run side by side may
# be followed by one more as soon as the first has answered, and a result that was never reported costs two failures.
ROUNDS_WAITED = 2
# How many tool results a turn keeps for a critique of its response; a reflection shows the last three. Chosen here: at
# most 2,000 code points each, and 40,000 in total.
_KEPT_RESULTS = 20
_FRESH = Window()


def apply(state: TurnState, sequence: int, at_us: int, recorded: Recorded) -> None:
    """Applies entry `sequence`, recorded at `at_us` by the server's clock. Entries come in the log's order."""
    state.last_sequence = sequence
    state.updated_us = at_us
    if isinstance(recorded, Event):
        state.event_count += 1
        _EVENTS[type(recorded.what)](state, sequence, recorded, recorded.what)
    elif isinstance(recorded, SlotClaim):
        _apply_claim(state, sequence, recorded)
    else:
        _apply_directive(state, recorded)


def decision(state: TurnState) -> Decision:
    """The schedule's present decision, whether or not the turn is at a decision point."""
    return decide(
        state.config,
        ScheduleFacts(
            turn_count=state.turn_count,
            tool_errors=len(state.tool_errors),
            periodic_done=state.periodic_done,
            uncertain=state.uncertain_at > 0,
            stuck=state.stuck_at > 0,
        ),
    )


def due(state: TurnState) -> Decision | None:
    """The decision to act on now, or None. It is None outside a decision point, while a reflection is being made, and
    in a step in which a reflection has failed (decision 014)."""
    if not state.at_decision or reflecting(state) or state.tried_at_step == state.steps_done:
        return None
    if state.reflection_mode != "auto" or state.standing is not TurnStanding.OPEN:
        return None
    decided = decision(state)
    return decided if decided.should_reflect else None


def reflecting(state: TurnState) -> bool:
    """Whether a reflection is being made."""
    return any(not claim.critique for _, claim in state.claims.values())


def left(state: TurnState, now_us: int) -> BudgetLeft:
    """The remaining budget of the turn at `now_us`."""
    elapsed = 0.0 if state.budget.time_limit_s is None else elapsed_s(state, now_us)
    return budget_left(state.budget, state.spent, elapsed)


def elapsed_s(state: TurnState, now_us: int) -> float:
    """How long the turn has run, by the server's clock; never negative."""
    return max(0.0, (now_us - state.started_us) / 1e6)


def carry(state: TurnState) -> Carry:
    """The state that the session's next turn inherits: the tool errors (decision 014), and the last reflection without
    its lessons."""
    last = state.last_reflection
    return Carry(
        tuple(msgspec.structs.replace(error, sequence=0) for error in state.tool_errors),
        None if last is None else msgspec.structs.replace(last, lessons=None),
    )


def evidence(state: TurnState) -> Evidence:
    """The evidence for a reflection: the failures left over from the session's last turn, then the turn's first and
    last steps, in order."""
    left_over = tuple(_left_over(error) for error in state.tool_errors if not error.sequence)
    return Evidence(
        task=state.task,
        question=state.question,
        steps=(*left_over, *state.first_steps, *state.last_steps),
        turn_count=state.turn_count,
    )


def _left_over(error: SeenError) -> EvidenceStep:
    category = category_of(error.text, error.tool).value
    return EvidenceStep(error.event_id, "tool_failure", "", error.tool, error.text, is_error=True, category=category)


def summarise(state: TurnState, now_us: int, abandoned: bool) -> TurnSummary:
    """The turn's summary at `now_us`."""
    return TurnSummary(
        outcome=state.outcome,
        score=state.score,
        duration_us=max(0, (state.ended_us or now_us) - state.started_us),
        event_count=state.event_count,
        tool_call_count=state.tool_call_count,
        tool_error_count=state.tool_error_count,
        nudge_count=state.nudge_count,
        reflections=dict(state.reflections),
        budget_left=left(state, now_us),
        abandoned=abandoned,
        critiques=dict(state.critiques),
    )


def _apply_claim(state: TurnState, sequence: int, claim: SlotClaim) -> None:
    state.claims[claim.directive_id] = (sequence, claim)
    if claim.critique:
        return
    state.spent = msgspec.structs.replace(state.spent, reflections=state.spent.reflections + 1)
    state.at_decision = False
    note_cause(state, claim.directive_id, claim.caused_by)


def _apply_directive(state: TurnState, directive: Directive) -> None:
    if not directive.is_shadow:
        _count_told(state, directive)
    match directive.what:
        case TurnPlan() as plan:
            state.turn_id, state.session_id, state.turn_count = plan.turn_id, plan.session_id, plan.turn_count
            state.config, state.reflection_mode, state.budget = plan.config, plan.reflection_mode, plan.budget
            state.critique_mode, state.learns = plan.critique_mode, plan.learns
            state.is_shadow = plan.is_shadow
            state.started_us = state.began_us or state.updated_us
            state.tool_errors, state.last_reflection = plan.carried.tool_errors, plan.carried.last_reflection
        case Nudge(pattern=pattern):
            state.nudge_count += 1
            note_cause(state, directive.directive_id, directive.caused_by)
            state.findings = tuple(finding for finding in state.findings if finding.pattern is not pattern)
        case Reflection() as reflection:
            _apply_reflection(state, directive, reflection)
        case Critiqued() as critiqued:
            state.claims.pop(directive.directive_id, None)
            state.critiques[critiqued.status.value] = state.critiques.get(critiqued.status.value, 0) + 1
            _spend(state, critiqued.usage)
            asked = critiqued.asks_revision and not directive.is_shadow
            state.revision_asked = state.revision_asked or asked
        case TurnSummary() as summary:
            state.summary = summary
            # Not before the last entry: until then a turn is looked after by when it was last recorded.
            state.updated_us = state.ended_us or state.updated_us
            state.standing = TurnStanding.ABANDONED if summary.abandoned else TurnStanding.FINISHED
            state.claims.clear()


def _count_told(state: TurnState, directive: Directive) -> None:
    """Counts what the agent is told with a directive that is not kept. A reflection or a critique without a result
    tells it nothing about its task. Nothing that is recorded after the turn's end was told, as after an outage; a
    critique is the exception."""
    if state.standing is not TurnStanding.OPEN and not isinstance(directive.what, Critiqued):
        return
    state.told_lessons |= _lessons_in(directive)
    match directive.what:
        case Nudge():
            state.told_nudges += 1
        case Reflection(status=ResultStatus.OK):
            state.told_reflections += 1
        case Critiqued(status=ResultStatus.OK):
            state.told_critiques += 1
        case _:
            pass


def _lessons_in(directive: Directive) -> set[str]:
    """The lessons and recoveries that a directive tells."""
    match directive.what:
        case TurnPlan(context=block) | Advised(block=block) | Reflection(lessons=block) if block is not None:
            return {item.id for item in block.items}
        case _:
            return set()


def _apply_reflection(state: TurnState, directive: Directive, reflection: Reflection) -> None:
    status = reflection.status
    state.reflections[status.value] = state.reflections.get(status.value, 0) + 1
    claimed = state.claims.pop(directive.directive_id, None)
    if claimed is None:
        # The budget did not allow a model call. The agent is told once for each reason.
        state.skips_told = (*state.skips_told, status)
        return
    _spend(state, reflection.usage)
    is_unasked = Reason.REQUESTED not in directive.reasons
    told = state.told_of.pop(directive.directive_id, None)
    if status in (ResultStatus.OK, ResultStatus.NOTHING):
        if status is ResultStatus.OK:
            state.last_reflection = state.last_reflection if directive.is_shadow else reflection
            if told is not None:
                supersede(state, told)
                takes_slot = is_unasked and not _tokens(reflection.usage)
                state.told_of[directive.directive_id] = ToldOf(told.calls, is_reflection=True, takes_slot=takes_slot)
        elif is_unasked and not (reflection.usage and reflection.usage.cost_usd):
            # Nobody asked for it, it cost nothing and it says nothing: it takes no slot.
            give_slot_back(state)
        _clear_until(state, claimed[0], periodic=Reason.PERIODIC in directive.reasons)
    else:
        state.tried_at_step = state.steps_done


def _tokens(usage: Usage | None) -> int:
    return usage.input_tokens + usage.output_tokens if usage is not None else 0


def _spend(state: TurnState, usage: Usage | None) -> None:
    if usage is not None:
        state.spent = msgspec.structs.replace(
            state.spent,
            tokens=state.spent.tokens + usage.input_tokens + usage.output_tokens,
            usd=state.spent.usd + (usage.cost_usd or 0.0),
        )


def _clear_until(state: TurnState, sequence: int, *, periodic: bool) -> None:
    """Clears the errors and signals up to `sequence`, at which the reflection began, and nothing later."""
    state.tool_errors = tuple(error for error in state.tool_errors if error.sequence > sequence)
    if state.uncertain_at < sequence:
        state.uncertain_at = 0
    if state.stuck_at < sequence:
        state.stuck_at = 0
    if periodic:
        state.periodic_done = True


def _turn_started(state: TurnState, sequence: int, event: Event, what: TurnStarted) -> None:
    state.task = what.task
    asked = [message.content for message in what.messages if message.role == "user"]
    state.question = clip(asked[-1] if asked else what.task, _QUESTION_CHARS)
    state.task_event = state.question_event = event.event_id
    state.origin = min(state.origin, event.origin)
    state.begun_in, state.own_session = what.session_id, what.own_session
    state.from_spans, state.without_advice = what.from_spans, what.without_advice
    state.began_us, state.ended_us = what.began_us, what.ended_us


def _session_named(state: TurnState, sequence: int, event: Event, what: SessionNamed) -> None:
    state.own_session = False
    if not what.turn_count:
        return
    state.session_id, state.turn_count = SessionId(what.session_id), what.turn_count
    carried = msgspec.convert(what.carried, Carry)
    state.tool_errors = (*carried.tool_errors, *state.tool_errors)[-_MOST_ERRORS:]
    state.last_reflection = state.last_reflection or carried.last_reflection


def _user_message(state: TurnState, sequence: int, event: Event, what: UserMessage) -> None:
    state.question, state.question_event = clip(what.text, _QUESTION_CHARS), event.event_id
    _remember(state, event, "user_message", what.text)


def _model_started(state: TurnState, sequence: int, event: Event, what: ModelStarted) -> None:
    _model_moved_on(state, event.agent)


def _model_returned(state: TurnState, sequence: int, event: Event, what: ModelReturned) -> None:
    _model_moved_on(state, event.agent)
    if what.text:
        _remember(state, event, "model_text", what.text)


def _model_moved_on(state: TurnState, agent: str) -> None:
    """The agent's model was called: the decision point has passed, and the agent's open calls become stale."""
    state.at_decision = False
    for call_id, call in state.open_calls.items():
        if call.agent == agent and not call.stale:
            state.open_calls[call_id] = msgspec.structs.replace(call, stale=True)


def _called_on(state: TurnState, agent: str) -> None:
    """The agent calls again after an answer, as an agent does whose model was called: its loop need not report that."""
    for call_id, call in state.open_calls.items():
        if call.agent == agent and not call.stale:
            rounds = call.rounds + 1
            state.open_calls[call_id] = msgspec.structs.replace(call, rounds=rounds, stale=rounds >= ROUNDS_WAITED)


def _tool_called(state: TurnState, sequence: int, event: Event, what: ToolCalled) -> None:
    state.tool_call_count += 1
    state.at_decision = False
    if event.agent in state.answered:
        state.answered.discard(event.agent)
        _called_on(state, event.agent)
    call_id = what.call_id or event.event_id
    if len(state.open_calls) >= _MOST_OPEN_CALLS:
        state.open_calls.pop(next(iter(state.open_calls)))
    key = call_key(what.name, what.arguments)
    state.open_calls.pop(call_id, None)
    state.open_calls[call_id] = OpenCall(call_id, event.event_id, what.name, key, what.polling, event.agent)
    _remember(state, event, "tool_call", what.arguments, what.name, call_id=call_id, polling=what.polling)


def _tool_returned(state: TurnState, sequence: int, event: Event, what: ToolReturned) -> None:
    _call_ended(state, sequence, event, "tool_result", what.call_id, what.content, failed=what.is_error)
    # Counted as `turns show` tells it; a reflection takes the agent's word for how a call ended.
    if not what.is_error and not what.has_worked and reports_failure(what.content):
        state.tool_error_count += 1


def _tool_failed(state: TurnState, sequence: int, event: Event, what: ToolFailed) -> None:
    _call_ended(state, sequence, event, "tool_failure", what.call_id, what.error, failed=True)


def _call_ended(
    state: TurnState, sequence: int, event: Event, kind: str, call_id: str, text: str, *, failed: bool
) -> None:
    call = _take_call(state, call_id, event.agent)
    state.answered.add(event.agent)
    tool = call.name if call else ""
    if failed:
        state.tool_error_count += 1
        state.marked_error_count += 1
        seen = SeenError(event.event_id, tool, clip(text, _STEP_CHARS), sequence)
        state.tool_errors = (*state.tool_errors[-_MOST_ERRORS + 1 :], seen)
    if call is not None:
        one = (call.agent, call.key)
        call_failed(state, one, event.event_id) if failed else call_worked(state, one)
    state.steps_done += 1
    outcome = ToolOutcome(tool, clip(text, RESULT_CHARS), failed, event.event_id)
    state.results = (*state.results[-_KEPT_RESULTS + 1 :], outcome)
    missing = missing_name(text) if failed else None
    lacks = f"{missing.what} `{missing.name}`" if missing else ""
    step = ToolStep(
        call_event_id=call.event_id if call else event.event_id,
        result_event_id=event.event_id,
        # A nudge names the tool; with a shell only a name that a fixed sentence may hold.
        name=tool if not state.config.has_shell or is_tool_name(tool) else "",
        call_key=call.key if call else call_key("", call_id or event.event_id),
        result_key=result_key(text),
        failed=failed,
        polling=call.polling if call else False,
        reason=reason_key(text, lacks) if failed else "",
        # A name of the error's is no slot of a fixed sentence.
        lacks="" if state.config.has_shell else lacks,
    )
    state.windows[event.agent], finding = advance(state.windows.get(event.agent, _FRESH), step)
    if finding is not None:
        state.findings = (*state.findings, finding)
        state.stuck_at = sequence
    _remember(
        *(state, event, kind, text, tool),
        is_error=failed,
        category=category_of(text, tool).value if failed else None,
        call_id=call.call_id if call else call_id,
        polling=step.polling,
        answers=call.event_id if call else None,
    )
    state.at_decision = all(call.stale for call in state.open_calls.values())


def _take_call(state: TurnState, call_id: str, agent: str) -> OpenCall | None:
    """Removes and returns the call that ended: the named one, or if none is named the agent's last open call."""
    if call_id:
        return state.open_calls.pop(call_id, None)
    for candidate in reversed(state.open_calls.values()):
        if candidate.agent == agent:
            return state.open_calls.pop(candidate.call_id)
    return None


def _uncertainty(state: TurnState, sequence: int, event: Event, what: Uncertainty) -> None:
    if what.score < UNCERTAIN_FROM:
        return
    state.uncertain_at = sequence
    # An agent may report uncertainty between two model calls and wait for advice, so this is a decision point too.
    state.at_decision = all(call.stale for call in state.open_calls.values())
    _remember(state, event, "uncertainty", what.detail)


def _reflection_recorded(state: TurnState, sequence: int, event: Event, what: ReflectionRecorded) -> None:
    state.last_reflection = Reflection(
        ResultStatus.OK,
        reflection=what.reflection,
        suggested_action=what.suggested_action,
        confidence=what.confidence,
        origin=event.origin,
    )
    _clear_until(state, sequence, periodic=Reason.PERIODIC in decision(state).matches)


def _response_drafted(state: TurnState, sequence: int, event: Event, what: ResponseDrafted) -> None:
    _remember(state, event, "response", what.text)
    state.revised = state.revised or state.revision_asked


def _turn_finished(state: TurnState, sequence: int, event: Event, what: TurnFinished) -> None:
    state.standing = TurnStanding.FINISHED
    state.outcome, state.score = what.outcome, what.score


def _remember(
    state: TurnState,
    event: Event,
    kind: str,
    text: str,
    tool: str = "",
    *,
    is_error: bool = False,
    category: str | None = None,
    call_id: str = "",
    polling: bool = False,
    answers: EventId | None = None,
) -> None:
    """Keeps an event as a step of the evidence; the arguments are the step's fields."""
    text = clip(text, _STEP_CHARS)
    step = EvidenceStep(event.event_id, kind, event.agent, tool, text, is_error, category, call_id, polling, answers)
    state.origin = min(state.origin, event.origin)
    if len(state.first_steps) < _FIRST_STEPS:
        state.first_steps = (*state.first_steps, step)
    else:
        state.last_steps.append(step)
        if len(state.last_steps) > 2 * _LAST_STEPS:
            del state.last_steps[:-_LAST_STEPS]


_EVENTS: dict[type, Callable[[TurnState, int, Event, Any], None]] = {
    TurnStarted: _turn_started,
    UserMessage: _user_message,
    ModelStarted: _model_started,
    ModelReturned: _model_returned,
    ToolCalled: _tool_called,
    ToolReturned: _tool_returned,
    ToolFailed: _tool_failed,
    Uncertainty: _uncertainty,
    ReflectionRecorded: _reflection_recorded,
    ResponseDrafted: _response_drafted,
    TurnFinished: _turn_finished,
    SessionNamed: _session_named,
}
