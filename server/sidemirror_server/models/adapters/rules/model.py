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
    Purpose.LEARNING: memory_reflection_answer,
    Purpose.DREAMING: dream_answer,
}
# Evidence up to this length is read on the event loop, in about 5 ms. For short evidence a thread would cost more than
# the reading. A critique compares an answer with all that is on record, and takes longer. Chosen here.
_AT_ONCE_CHARS = 8_000
_CRITIQUE_AT_ONCE_CHARS = 1_000
_COMPARES = frozenset({Purpose.CRITIQUE, Purpose.COMPARISON})


class RulesModel:
    """Answers from the evidence alone. Equal evidence gets equal answers; an answer costs nothing.

    Long evidence is read in a thread, so that other calls do not wait for it. There is only one thread, because two
    would compete for the interpreter with each other and with the event loop. A running rule cannot be cancelled. Its
    time is linear in the size of the evidence, which message limits bound.
    """

    provider = "rules"
    # The number rises whenever the answer to the same evidence changes, so that stored answers can be told apart.
    name = "rules-8"

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        """The answer of the rule for `ask.purpose`; prompt, temperature and token limits do not apply.

        Raises `ModelFailed`: SKIPPED_DEADLINE if no time is left, SKIPPED_DISABLED if the purpose has no rule,
        FAILED_MODEL if the deadline passes.
        """
        if deadline_s <= 0:
            raise ModelFailed(ResultStatus.SKIPPED_DEADLINE, "no time was left to answer")
        rule = _ANSWERS.get(ask.purpose)
        begun = time.perf_counter()
        at_once = _CRITIQUE_AT_ONCE_CHARS if ask.purpose in _COMPARES else _AT_ONCE_CHARS
        answer = await self._answer(rule, ask.evidence, deadline_s, at_once) if rule else None
        if not isinstance(answer, ask.answer_type):
            raise ModelFailed(ResultStatus.SKIPPED_DISABLED, f"there is no rule for {ask.purpose}")
        latency_us = int((time.perf_counter() - begun) * 1e6)
        return Completion(answer, Usage(self.provider, self.name, cost_usd=0.0, latency_us=latency_us))

    def answers(self, purpose: Purpose) -> bool:
        """Whether there is a rule for this purpose."""
        return purpose in _ANSWERS

    async def close(self) -> None:
        """Shuts the thread down without waiting for a running rule."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
            self._thread = None

    async def _answer(
        self, rule: Callable[[Evidence], msgspec.Struct], evidence: Evidence, deadline_s: float, at_once: int
    ) -> msgspec.Struct:
        if _chars(evidence) <= at_once:
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
