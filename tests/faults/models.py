"""Models that a test has in its hand."""

import asyncio

from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage


class NeverAnswers:
    """A model that is asked and never answers, whatever the deadline says."""

    provider = "test"
    name = "never"

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


class OnCommand:
    """A model whose calls wait until the test answers them or lets them fail, in any order."""

    provider = "test"
    name = "on-command"

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[None]] = []

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        answered = asyncio.get_running_loop().create_future()
        self.waiting.append(answered)
        try:
            await answered
        finally:
            self.waiting.remove(answered)
        answer = MidTurnAnswer(reflection="as told", suggested_action="go on", confidence=0.5)
        assert isinstance(answer, ask.answer_type)
        return Completion(answer, Usage(self.provider, self.name, input_tokens=10, output_tokens=5))

    def answer(self, place: int) -> None:
        """The call at this place among those that wait is answered."""
        self.waiting[place % len(self.waiting)].set_result(None)

    def fail(self, place: int) -> None:
        """It fails."""
        self.waiting[place % len(self.waiting)].set_exception(ModelFailed(ResultStatus.FAILED_MODEL, "as told"))
