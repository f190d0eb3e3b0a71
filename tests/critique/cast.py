"""A model that plays a critic's parts as a test says, by what it is asked for."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from sidemirror_server.critique.material import CritiqueMaterial, ToolEvidence
from sidemirror_server.models.answers import (
    ComparisonAnswer,
    CritiqueAnswer,
    DebateAnswer,
    DimensionAnswer,
    EvaluationAnswer,
    IssueAnswer,
    RevisionAnswer,
)
from sidemirror_server.models.caps import Caps
from sidemirror_server.models.gateway import Gateway, Provider, Route
from sidemirror_server.models.language_model import AnswerT, Ask, Completion, Purpose
from sidemirror_server.models.spending import Spending
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus, Usage

SCOPE = Scope("acme", "shop")
QUESTION = "How high is Mont Blanc, and when was it first climbed?"
RESPONSE = "Mont Blanc is 4,208 metres high. It was first climbed in 1786 by Balmat and Paccard."
EVIDENCE = "Mont Blanc: elevation 4,808 m. First ascent: 8 August 1786, Jacques Balmat and Michel-Gabriel Paccard."
MATERIAL = CritiqueMaterial(QUESTION, RESPONSE, (ToolEvidence("search", EVIDENCE),))
USAGE = Usage("scripted", "scripted-1", input_tokens=100, output_tokens=20, cost_usd=0.25)

Part = Any  # an answer, a status to fail with, or a function from the ask to either


class Cast:
    """Answers each purpose with its part; `held` purposes wait until they are cancelled or `let_go`."""

    provider = "scripted"
    name = "scripted-1"

    def __init__(self, *, held: tuple[Purpose, ...] = (), **parts: Part) -> None:
        self._parts = parts
        self._held = set(held)
        self._open: Future[None] = Future()
        self.asked: list[Ask[Any]] = []
        self.began = threading.Semaphore(0)
        self.cancelled = threading.Semaphore(0)

    def purposes(self) -> list[str]:
        return [ask.purpose.value for ask in self.asked]

    def let_go(self) -> None:
        self._open.set_result(None)

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        self.asked.append(ask)
        self.began.release()
        try:
            if ask.purpose in self._held:
                await asyncio.shield(asyncio.wrap_future(self._open))
        except asyncio.CancelledError:
            self.cancelled.release()
            raise
        part = self._parts[ask.purpose.value]
        answer = part(ask) if callable(part) else part
        if isinstance(answer, ResultStatus):
            raise ModelFailed(answer, "as the script says", usage=USAGE)
        assert isinstance(answer, ask.answer_type)
        return Completion(answer, USAGE)


def gateway_of(model: Cast) -> Gateway:
    """The gateway in front of it. Such a model costs nothing, so no ledger is asked."""
    provider = Provider(model, None, 8, SystemClock())
    spending = Spending(_NoLedger(), Caps(), SystemClock())  # type: ignore[arg-type]
    return Gateway(dict.fromkeys(Purpose, Route(provider)), spending, SystemClock())


class _NoLedger:
    """Fails whoever asks it."""


def issue(
    kind: str = "wrong_fact",
    quote: str = "4,208 metres high",
    reason: str = "The evidence says 4,808 m.",
    severity: str = "major",
    fix: str | None = None,
) -> IssueAnswer:
    return IssueAnswer(kind=kind, severity=severity, quote=quote, reason=reason, fix=fix)  # type: ignore[arg-type]


def critical(*issues: IssueAnswer, confidence: float | None = 0.3) -> CritiqueAnswer:
    return CritiqueAnswer(
        dimensions=(DimensionAnswer(name="accuracy", score=0.2, reason="a number is wrong"),),
        issues=issues or (issue(),),
        suggestions=("Check the height.",),
        confidence=confidence,
    )


FINE = CritiqueAnswer(dimensions=(DimensionAnswer(name="clarity", score=1.0),), confidence=0.9)
REVISED = RevisionAnswer(response="Mont Blanc is 4,808 metres high. It was first climbed in 1786.")
EVALUATED = EvaluationAnswer(criteria=())


def prefers(wanted: str) -> Callable[[Ask[Any]], ComparisonAnswer]:
    """A judge of comparisons who always finds the response that holds `wanted`, in whichever place."""

    def judge(ask: Ask[Any]) -> ComparisonAnswer:
        first, second = (step.text for step in ask.evidence.steps if step.kind == "response")
        if wanted in first and wanted not in second:
            return ComparisonAnswer(better="first", reason=f"it has {wanted}")
        if wanted in second and wanted not in first:
            return ComparisonAnswer(better="second", reason=f"it has {wanted}")
        return ComparisonAnswer(better="tie")

    return judge


def argues(*issues: IssueAnswer, argument: str = "This is my view.") -> DebateAnswer:
    return DebateAnswer(argument=argument, issues=issues)


async def until(condition: Callable[[], bool], within_s: float = 60.0) -> None:
    """Returns when the condition holds; fails when it does not in time."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110  # what is waited for happens in the code under test, which rings no bell
            await asyncio.sleep(0)
