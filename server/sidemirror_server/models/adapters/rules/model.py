"""`RulesModel`: the `LanguageModel` that answers by rule."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from sidemirror_server.models.adapters.rules.comparison import comparison_answer
from sidemirror_server.models.adapters.rules.critique import critique_answer
from sidemirror_server.models.adapters.rules.dream import dream_answer
from sidemirror_server.models.adapters.rules.goal import goal_answer
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
    Purpose.GOAL_REFLECTION: goal_answer,
    Purpose.MEMORY_REFLECTION: memory_reflection_answer,
    Purpose.DREAMING: dream_answer,
}
# Evidence up to this long is read at once: 5 ms at most, also of texts that are made to be slow, where the way to a
# thread and back would cost a short one most of its time. The longest takes half a second. Chosen here.
_AT_ONCE_CHARS = 8_000


class RulesModel:
    """Says what the evidence alone shows. Equal evidence has equal answers; it costs nothing and waits for nothing.

    Long evidence is read on a thread of its own, so that whoever else is served does not wait for it. There is one: two
    would only take the interpreter from each other, and from the loop. What runs there cannot be ended: it goes on for
    as long as a rule takes, which is bounded by the limits of a message and linear in it.
    """

    provider = "rules"
    # Rises when the same evidence is answered otherwise, so that stored answers can be told apart.
    name = "rules-2"

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        """The answer of the rule for `ask.purpose`; prompt, temperature and token limits do not apply.

        Raises `ModelFailed`: SKIPPED_DEADLINE when no time is left, SKIPPED_DISABLED where the purpose has no rule,
        FAILED_MODEL when the time is up first.
        """
        if deadline_s <= 0:
            raise ModelFailed(ResultStatus.SKIPPED_DEADLINE, "no time was left to answer")
        rule = _ANSWERS.get(ask.purpose)
        begun = time.perf_counter()
        answer = await self._answer(rule, ask.evidence, deadline_s) if rule else None
        if not isinstance(answer, ask.answer_type):
            raise ModelFailed(ResultStatus.SKIPPED_DISABLED, f"there is no rule for {ask.purpose}")
        latency_us = int((time.perf_counter() - begun) * 1e6)
        return Completion(answer, Usage(self.provider, self.name, cost_usd=0.0, latency_us=latency_us))

    async def close(self) -> None:
        """Lets go of the thread; what runs there is not waited for."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
            self._thread = None

    async def _answer(
        self, rule: Callable[[Evidence], msgspec.Struct], evidence: Evidence, deadline_s: float
    ) -> msgspec.Struct:
        if _chars(evidence) <= _AT_ONCE_CHARS:
            return rule(evidence)
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="rules")
        try:
            async with asyncio.timeout(deadline_s):
                return await asyncio.get_running_loop().run_in_executor(self._thread, rule, evidence)
        except TimeoutError as error:
            why = f"the rules did not answer within {deadline_s:g} s"
            raise ModelFailed(ResultStatus.FAILED_MODEL, why) from error


def _chars(evidence: Evidence) -> int:
    return len(evidence.task) + len(evidence.question) + sum(len(step.text) for step in evidence.steps)
