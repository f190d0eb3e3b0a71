"""A language model that does what a test says: answers, fails, or waits until it is let go."""

import asyncio
import threading
from collections import deque
from concurrent.futures import Future

from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage

ANSWER = MidTurnAnswer("The table is missing.", "List the tables.", 0.9, ("e1",))
BARE = MidTurnAnswer("Fine so far.")
USAGE = Usage(
    "scripted",
    "scripted-1",
    {"effort": "low"},
    input_tokens=100,
    output_tokens=20,
    cost_usd=0.25,
    latency_us=1_500_000,
)


class ScriptedModel:
    """Gives its outcomes in their order, and the last one for ever."""

    provider = "scripted"
    name = "scripted-1"

    def __init__(self, *outcomes: MidTurnAnswer | ResultStatus, held: bool = False) -> None:
        """A status is a failure. `held`: every call waits for `let_go`."""
        self._outcomes = deque(outcomes or (ANSWER,))
        self._gate: Future[None] = Future()
        self._asked = threading.Semaphore(0)
        self.prompts: list[str] = []
        if not held:
            self.let_go()

    def let_go(self) -> None:
        self._gate.set_result(None)

    def wait_asked(self) -> None:
        """Returns once it has been asked one more time."""
        assert self._asked.acquire(timeout=60)

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        self.prompts.append(ask.prompt)
        outcome = self._outcomes[0] if len(self._outcomes) == 1 else self._outcomes.popleft()
        self._asked.release()
        await asyncio.shield(asyncio.wrap_future(self._gate))
        if isinstance(outcome, ResultStatus):
            raise ModelFailed(outcome, "as the script says")
        assert isinstance(outcome, ask.answer_type)
        return Completion(outcome, USAGE)
