"""Asks a model what an episode taught. Called by `rpc/memory/generate_reflection.py`.

Unlike other rooms, this module raises if no model answers (seed reflection-engine-v2, "Error Handling": "Errors during
reflection generation are logged and raised").
"""

import asyncio
import logging
import time

import msgspec
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from sidemirror_server.memory.lessons.episode import ReflectionContext, evidence_of, failure_of, signature_of
from sidemirror_server.memory.lessons.keys import episode_key
from sidemirror_server.memory.lessons.prompts import MemoryPrompts
from sidemirror_server.memory.lessons.scoring import Scored, Scorer, models_own, scores_of
from sidemirror_server.memory.record import AppliesWhen
from sidemirror_server.models.answers import MemoryReflectionAnswer
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.models.scoped_model import ScopedModel
from sidemirror_server.vocabulary.errors import (
    Disabled,
    ModelFailed,
    ModelTooLate,
    ModelUnavailable,
    SidemirrorError,
    SpendCapReached,
)
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope, whose
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from sidemirror_server.vocabulary.telemetry import SPAN_GENERATE_REFLECTION

_log = logging.getLogger(__name__)
_tracer = trace.get_tracer("sidemirror.memory")

# Limits the visible answer. Chosen here: three times the length that the prompts ask for, as JSON.
_MAX_TOKENS = 800
# Sent only to models that take a temperature (decision 021).
_TEMPERATURE = 0.1
_MOST_TAGS = 16
# Of the importance, after the point. More than that no model and no rule knows.
IMPORTANCE_DIGITS = 2


class Result(msgspec.Struct, frozen=True):
    """What an episode taught (seed reflection-engine-v2, "ReflectionResult"). `episode`: its digest. `steering`: how
    the text tries to steer its reader, for people, or empty (`trust.steering`). `repeats`: the lesson repeats a shown
    one. `error_signature`: of the failure that it is about, or empty. `sources`: what it came from
    (`trace/sources.py`), as far as it is known."""

    reflection: str
    strategy: str
    importance: float
    confidence: float | None
    tags: tuple[str, ...]
    error_category: str
    source_event_ids: tuple[str, ...]
    related_ids: tuple[str, ...]
    applies_when: AppliesWhen
    origin: Origin
    outcome: str
    task: str
    event_count: int
    session_id: str
    episode: str
    generated_us: int
    usage: Usage | None = None
    error_signature: str = ""
    steering: str = ""
    repeats: bool = False
    sources: tuple[str, ...] = ()


class Reflector:
    """Asks a model what an episode taught."""

    def __init__(self, model: ScopedModel, prompts: MemoryPrompts, scorer: Scorer = models_own) -> None:
        self._model = model
        self._prompts = prompts
        self._scorer = scorer

    async def reflect(
        self,
        scope: Scope,
        context: ReflectionContext,
        deadline_s: float,
        now_us: int,
        purpose: Purpose = Purpose.MEMORY_REFLECTION,
    ) -> Result:
        """Asks the model what the episode taught, within `deadline_s`. The text is empty if it taught nothing. Raises
        ModelUnavailable, ModelTooLate, SpendCapReached, Disabled, and WrongState if an operator's template fails."""
        told = whose(scope)
        more = {"outcome": context.outcome, "event_count": len(context.steps)}
        _log.info("reflection_generation_started", extra={**told, **more})
        with _tracer.start_as_current_span(SPAN_GENERATE_REFLECTION) as span:
            try:
                result = await self._result(scope, context, deadline_s, now_us, purpose)
            except SidemirrorError as error:
                span.set_status(StatusCode.ERROR, type(error).__name__)
                _log.error("reflection_generation_failed", extra={**told, "error": str(error)})
                raise
        scores = {"importance": result.importance, "confidence": result.confidence}
        _log.info("reflection_generated", extra={**told, **scores, "has_strategy": bool(result.strategy)})
        return result

    async def _result(
        self, scope: Scope, context: ReflectionContext, deadline_s: float, now_us: int, purpose: Purpose
    ) -> Result:
        began_s = time.monotonic()
        # For the largest episodes this takes half a second, and so does the step below: threads let other calls go on.
        ask = await asyncio.to_thread(self._question, context, purpose)
        try:
            completion = await self._model.ask(scope, ask, deadline_s - (time.monotonic() - began_s))
        except ModelFailed as failure:
            raise _raised(failure) from failure
        return await asyncio.to_thread(self._made, context, completion.answer, completion.usage, now_us)

    def _question(self, context: ReflectionContext, purpose: Purpose) -> Ask[MemoryReflectionAnswer]:
        return Ask(
            purpose=purpose,
            system=self._prompts.system(),
            prompt=self._prompts.prompt(context),
            answer_type=MemoryReflectionAnswer,
            evidence=evidence_of(context),
            max_tokens=_MAX_TOKENS,
            temperature=_TEMPERATURE,
        )

    def _made(self, context: ReflectionContext, answer: MemoryReflectionAnswer, usage: Usage, now_us: int) -> Result:
        known = {step.event_id for step in context.steps}
        cited = tuple(dict.fromkeys(cited for cited in answer.cited_event_ids if cited in known))
        failure = failure_of(context, cited)
        category = failure.category if failure else ""
        tags = tuple(dict.fromkeys(tag for tag in (" ".join(tag.split()) for tag in answer.tags) if tag))[:_MOST_TAGS]
        strategy = (answer.strategy or "").strip()
        scored = Scored(
            reflection=answer.reflection,
            strategy=strategy,
            outcome=context.outcome,
            error_category=category,
            tags=tags,
            event_count=len(context.steps),
            importance=answer.importance,
            confidence=answer.confidence,
        )
        scores = scores_of(self._scorer, scored)
        return Result(
            reflection=answer.reflection.strip(),
            strategy=strategy,
            importance=round(scores.importance, IMPORTANCE_DIGITS),
            confidence=scores.confidence,
            tags=tags,
            error_category=category,
            source_event_ids=cited or tuple(step.event_id for step in context.steps)[:100],
            related_ids=context.related_ids,
            applies_when=_applies(answer, context),
            origin=context.origin,
            outcome=context.outcome,
            task=context.task_description,
            event_count=len(context.steps),
            session_id=context.session_id,
            episode=episode_key(context.task_description, context.outcome, context.steps),
            generated_us=now_us,
            usage=usage,
            error_signature=signature_of(context, cited),
            sources=context.sources,
        )


def _applies(answer: MemoryReflectionAnswer, context: ReflectionContext) -> AppliesWhen:
    """When the lesson applies. Tools that the episode did not use are dropped."""
    if answer.applies_when is None:
        return AppliesWhen()
    used = {step.tool_name.casefold(): step.tool_name for step in context.steps if step.tool_name}
    named = (used.get(tool.strip().casefold(), "") for tool in answer.applies_when.tools)
    return AppliesWhen(
        tools=tuple(dict.fromkeys(tool for tool in named if tool)),
        error_categories=tuple(dict.fromkeys(answer.applies_when.error_categories)),
        not_when=" ".join((answer.applies_when.not_when or "").split()),
    )


def _raised(failure: ModelFailed) -> SidemirrorError:
    """The error for the caller."""
    facts = {"status": failure.status.value, "detail": failure.detail}
    match failure.status:
        case ResultStatus.SKIPPED_DEADLINE:
            return ModelTooLate(**facts)
        case ResultStatus.SKIPPED_SPEND | ResultStatus.SKIPPED_BUDGET:
            return SpendCapReached(**facts)
        case ResultStatus.SKIPPED_DISABLED:
            return Disabled(**facts)
        case _:
            return ModelUnavailable(**facts)
