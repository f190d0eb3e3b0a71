"""`RulesModel`: the `LanguageModel` that answers by rule."""

import time
from collections.abc import Callable

import msgspec

from sidemirror_server.models.adapters.rules.comparison import comparison_answer
from sidemirror_server.models.adapters.rules.critique import critique_answer
from sidemirror_server.models.adapters.rules.memory_reflection import memory_reflection_answer
from sidemirror_server.models.adapters.rules.mid_turn import mid_turn_answer
from sidemirror_server.models.evidence import Evidence
from sidemirror_server.models.language_model import AnswerT, Ask, Completion, Purpose
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage

_ANSWERS: dict[Purpose, Callable[[Evidence], msgspec.Struct]] = {
    Purpose.MID_TURN_REFLECTION: mid_turn_answer,
    Purpose.CRITIQUE: critique_answer,
    Purpose.COMPARISON: comparison_answer,
    Purpose.MEMORY_REFLECTION: memory_reflection_answer,
}


class RulesModel:
    """Says what the evidence alone shows. Equal evidence has equal answers; it costs nothing and waits for nothing."""

    provider = "rules"
    # Rises when the same evidence is answered otherwise, so that stored answers can be told apart.
    name = "rules-2"

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        """The answer of the rule for `ask.purpose`; prompt, temperature and token limits do not apply.

        Raises `ModelFailed`: SKIPPED_DEADLINE when no time is left, SKIPPED_DISABLED where the purpose has no rule.
        """
        if deadline_s <= 0:
            raise ModelFailed(ResultStatus.SKIPPED_DEADLINE, "no time was left to answer")
        rule = _ANSWERS.get(ask.purpose)
        begun = time.perf_counter()
        answer = rule(ask.evidence) if rule else None
        if not isinstance(answer, ask.answer_type):
            raise ModelFailed(ResultStatus.SKIPPED_DISABLED, f"there is no rule for {ask.purpose}")
        latency_us = int((time.perf_counter() - begun) * 1e6)
        return Completion(answer, Usage(self.provider, self.name, cost_usd=0.0, latency_us=latency_us))
