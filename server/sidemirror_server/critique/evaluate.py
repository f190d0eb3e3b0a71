"""EvaluateTrace: five criteria, 0 to 1, of an agent's work (seed reflection-engine-v2, "Evaluator").

Efficiency and completeness are computed from the trace. A model scores the other three; if it does not answer, they
have no score (decision 019).
"""

from collections.abc import Iterable, Sequence

import msgspec
from opentelemetry import trace

from sidemirror_server.critique.material import evidence_of, material_of
from sidemirror_server.critique.prompts import EVALUATION_SYSTEM, evaluation_prompt
from sidemirror_server.critique.trace_facts import ToolCall, content_words, facts_of
from sidemirror_server.models.answers import EvaluationAnswer
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.models.scoped_model import ScopedModel
from sidemirror_server.trace.event import Event
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from sidemirror_server.vocabulary.telemetry import EVENT_EVALUATION_RESULT, SPAN_EVALUATE
from sidemirror_server.vocabulary.text import clip

_tracer = trace.get_tracer("sidemirror.critique")
_MAX_TOKENS = 1_024
_TEMPERATURE = 0.1
_STEP_CHARS = 500
# An item counts as done if the trace contains at least this share of the item's words. Chosen here: a paraphrase keeps
# names and numbers, and loses some verbs.
_MET_FROM = 0.6
_ADMITS = ("error", "fail", "could not", "couldn't", "unable", "cannot", "can't", "not found", "unavailable", "sorry")


class Criterion(msgspec.Struct, frozen=True):
    """One criterion. `score`: None if no model answered. `computed`: whether it comes from the trace alone."""

    name: str
    score: float | None
    reason: str
    computed: bool


class Evaluation(msgspec.Struct, frozen=True):
    """The five criteria in the order of seed reflection-engine-v2. `status`: how the call to the model ended."""

    status: ResultStatus
    criteria: tuple[Criterion, ...]
    detail: str = ""
    usage: Usage | None = None


def efficiency(calls: Sequence[ToolCall]) -> Criterion:
    """The share of tool calls that were not wasted. A call is wasted if it failed, or if it repeats an earlier call
    with the same result. Calls marked as polling may repeat. 1 if there are no calls."""
    seen: set[tuple[str, str, str, str]] = set()
    failed = repeated = 0
    for call in calls:
        key = (call.agent, call.name, call.arguments, call.result)
        if call.failed:
            failed += 1
        elif key in seen and not call.polling:
            repeated += 1
        seen.add(key)
    if not calls:
        return Criterion("efficiency", 1.0, "no tool was called", computed=True)
    score = 1 - (failed + repeated) / len(calls)
    said = f"of {len(calls)} tool calls {failed} failed and {repeated} brought what an earlier one had"
    return Criterion("efficiency", score, said, computed=True)


def completeness(events: Iterable[Event], checklist: Sequence[str]) -> Criterion:
    """The mean of these checks, each 0 to 1: there is a response; calls have outcomes; failures were recovered from or
    admitted; the names in the user's messages and the items of `checklist` are covered."""
    facts = facts_of(events)
    items: list[tuple[str, float]] = [("a response", float(bool(facts.response.strip())))]
    if facts.calls:
        answered = sum(call.ended for call in facts.calls) / len(facts.calls)
        items.append(("an outcome for every tool call", answered))
    failures = [call for call in facts.calls if call.failed]
    if failures:
        admitted = any(word in facts.response.casefold() for word in _ADMITS)
        good = sum(call.made_good or admitted for call in failures) / len(failures)
        items.append(("every failure made good or admitted", good))
    done = content_words(
        " ".join((facts.response, *(f"{call.name} {call.arguments} {call.result}" for call in facts.calls)))
    )
    if facts.named:
        items.append(("what the user named", len(facts.named & done) / len(facts.named)))
    for item in checklist:
        wanted = content_words(item)
        met = not wanted or len(wanted & done) / len(wanted) >= _MET_FROM
        items.append((f"“{clip(' '.join(item.split()), 80)}”", float(met)))
    short = [name for name, score in items if score < 1]
    said = f"{len(items) - len(short)} of {len(items)} checks met" + (
        f"; short of: {', '.join(short)}" if short else ""
    )
    return Criterion("completeness", sum(score for _, score in items) / len(items), said, computed=True)


async def evaluate(
    model: ScopedModel, scope: Scope, events: Sequence[Event], checklist: Sequence[str], deadline_s: float
) -> Evaluation:
    """Evaluates all five criteria. Raises nothing but cancellation."""
    facts = facts_of(events)
    computed = (completeness(events, checklist), efficiency(facts.calls))
    material = material_of(events)
    steps = [
        f"{call.name}({clip(call.arguments, _STEP_CHARS)}) -> {'error: ' if call.failed else ''}"
        f"{clip(call.result, _STEP_CHARS)}"
        for call in facts.calls
    ]
    ask = Ask(
        purpose=Purpose.TRACE_EVALUATION,
        system=EVALUATION_SYSTEM,
        prompt=evaluation_prompt(material.task_text, steps, material.response),
        answer_type=EvaluationAnswer,
        evidence=evidence_of(material),
        max_tokens=_MAX_TOKENS,
        temperature=_TEMPERATURE,
    )
    with _tracer.start_as_current_span(SPAN_EVALUATE) as span:
        try:
            completion = await model.ask(scope, ask, deadline_s)
        except ModelFailed as failure:
            evaluation = Evaluation(failure.status, (*_answered(None), *computed), failure.detail, failure.usage)
        else:
            criteria = (*_answered(completion.answer), *computed)
            evaluation = Evaluation(ResultStatus.OK, criteria, usage=completion.usage)
        for criterion in evaluation.criteria:
            if criterion.score is not None:
                name, score = "gen_ai.evaluation.name", "gen_ai.evaluation.score.value"
                span.add_event(EVENT_EVALUATION_RESULT, {name: criterion.name, score: criterion.score})
        return evaluation


_ASKED = ("correctness", "helpfulness", "safety")


def _answered(answer: EvaluationAnswer | None) -> tuple[Criterion, ...]:
    said = {criterion.name: criterion for criterion in reversed(answer.criteria)} if answer else {}
    missing = "the model left it out" if answer else "no model answered"
    return tuple(
        Criterion(name, said[name].score, said[name].reason, computed=False)
        if name in said
        else Criterion(name, None, missing, computed=False)
        for name in _ASKED
    )
