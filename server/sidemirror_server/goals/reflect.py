"""One reflection on a finished goal: from the report to an insight of 1 to 3 sentences."""

import re

from opentelemetry import trace
from opentelemetry.trace import StatusCode

from sidemirror_server.goals.importance import importance
from sidemirror_server.goals.prompts import GOAL_SYSTEM, goal_prompt
from sidemirror_server.goals.record import GoalReflection
from sidemirror_server.goals.report import GoalReport
from sidemirror_server.goals.unaided import evidence_of
from sidemirror_server.models.answers import GoalAnswer
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.models.scoped_model import ScopedModel
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus
from sidemirror_server.vocabulary.telemetry import SPAN_GOAL_REFLECT
from sidemirror_server.vocabulary.text import enter

_tracer = trace.get_tracer("sidemirror.goals")

# Chosen here: enough for three sentences and the JSON around them.
MAX_TOKENS = 400
# Seed goal-reflection, "Flow": "1-3 sentence insight".
MOST_SENTENCES = 3
# The gap between two sentences: white space before the next sentence, or nothing after 。！？.
_NEXT_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'“(\[`]?[A-Z0-9À-ÖØ-Þ])|(?<=[。！？])\s*(?=\S)")


async def reflect(
    model: ScopedModel, scope: Scope, reflection_id: str, report: GoalReport, clock: Clock, deadline_s: float
) -> GoalReflection:
    """Asks the model for a reflection, dated when the model answers. Raises ModelFailed, also for an empty insight."""
    ask = Ask(
        purpose=Purpose.GOAL_REFLECTION,
        system=GOAL_SYSTEM,
        prompt=goal_prompt(report),
        answer_type=GoalAnswer,
        evidence=evidence_of(report),
        max_tokens=MAX_TOKENS,
    )
    with _tracer.start_as_current_span(SPAN_GOAL_REFLECT) as span:
        try:
            completion = await model.ask(scope, ask, deadline_s)
            insight = in_short(enter(completion.answer.insight))
            if not insight:
                raise ModelFailed(ResultStatus.FAILED_PARSE, "the insight says nothing", usage=completion.usage)
        except ModelFailed as failure:
            span.set_status(StatusCode.ERROR, failure.status.value)
            raise
    return GoalReflection(
        reflection_id=reflection_id,
        goal_id=report.goal_id,
        objective=report.short_objective,
        insight=insight,
        importance=importance(report.state, task_error=report.has_task_error),
        goal_state=report.state,
        created_us=clock.now_us(),
        origin=report.origin,
    )


def in_short(insight: str) -> str:
    """The first three sentences, on one line."""
    folded = " ".join(insight.split())
    ends = [found.start() for found in _NEXT_SENTENCE.finditer(folded)]
    return folded[: ends[MOST_SENTENCES - 1]] if len(ends) >= MOST_SENTENCES else folded
