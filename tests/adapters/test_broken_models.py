"""The suite of `LanguageModel` can fail: each clause is seen to catch a model that breaks it."""

import asyncio
from typing import Any, cast

import msgspec
import pytest

from sidemirror_server.models.adapters.rules import RulesModel
from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.language_model import AnswerT, Ask, Completion, LanguageModel
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from tests.conformance import language_model as suite
from tests.conformance.clauses import clauses_of

pytestmark = pytest.mark.slow("the conformance suite is held against stores that are broken")

CLAUSES = clauses_of(suite)
HOPELESS = "no answer to this"


class Sound(RulesModel):
    """Keeps the clauses; what is broken below is broken in one place. `tries`: requests that left the process."""

    def __init__(self) -> None:
        self.tries = 0

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        self.tries += 1
        await asyncio.sleep(0)
        if ask.system == HOPELESS:
            raise ModelFailed(ResultStatus.FAILED_MODEL, "it failed")
        return await super().complete(ask, deadline_s)


class AnswersOutOfRange(Sound):
    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        completion = await super().complete(ask, deadline_s)
        return Completion(cast(AnswerT, MidTurnAnswer("sure", confidence=7.0)), completion.usage)


class AnswersWithADict(Sound):
    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        completion = await super().complete(ask, deadline_s)
        return Completion(cast(Any, msgspec.to_builtins(completion.answer)), completion.usage)


class KnowsNoDeadline(Sound):
    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        return await super().complete(ask, 10.0)


class LetsErrorsThrough(Sound):
    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        if ask.system == HOPELESS:
            raise OSError("connection reset")
        return await super().complete(ask, deadline_s)


class FailsWithOk(Sound):
    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        if ask.system == HOPELESS:
            raise ModelFailed(ResultStatus.OK, "it failed")
        return await super().complete(ask, deadline_s)


class QuotesThePrompt(Sound):
    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        if ask.system == HOPELESS:
            raise ModelFailed(ResultStatus.FAILED_MODEL, f"cannot answer {ask.prompt!r}")
        return await super().complete(ask, deadline_s)


class SignsAsAnother(Sound):
    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        completion = await super().complete(ask, deadline_s)
        return Completion(completion.answer, Usage("rules", "gpt-5"))


class CancelledTogether(Sound):
    """Shares one task among its callers, and each of them can end it."""

    def __init__(self) -> None:
        super().__init__()
        self._shared: asyncio.Task[Any] | None = None

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        if self._shared is None:
            self._shared = asyncio.create_task(super().complete(ask, deadline_s))
        result: Completion[AnswerT] = await self._shared
        return result


class TriesAgain(Sound):
    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        try:
            return await super().complete(ask, deadline_s)
        except ModelFailed:
            return await super().complete(ask, deadline_s)


class Behind:
    """A model and nothing behind it."""

    def __init__(self, model: Sound) -> None:
        self._model = model

    def answering(self) -> LanguageModel:
        return self._model

    def failing(self) -> tuple[LanguageModel, Ask[MidTurnAnswer]]:
        return self._model, msgspec.structs.replace(suite.ask(), system=HOPELESS)

    def requests(self) -> int:
        return self._model.tries


BROKEN = [
    ("LM1", AnswersOutOfRange),
    ("LM1", AnswersWithADict),
    ("LM2", KnowsNoDeadline),
    ("LM3", LetsErrorsThrough),
    ("LM3", FailsWithOk),
    ("LM3", QuotesThePrompt),
    ("LM4", SignsAsAnother),
    ("LM5", CancelledTogether),
    ("LM6", TriesAgain),
]


@pytest.mark.parametrize("clause", CLAUSES)
async def test_a_sound_model_passes(clause: str) -> None:
    await CLAUSES[clause](Behind(Sound()))


@pytest.mark.parametrize(("clause", "broken"), BROKEN)
async def test_a_broken_model_is_noticed(clause: str, broken: type[Sound]) -> None:
    with pytest.raises((AssertionError, OSError, msgspec.ValidationError, pytest.fail.Exception)):
        await CLAUSES[clause](Behind(broken()))


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, _ in BROKEN} == set(CLAUSES)
