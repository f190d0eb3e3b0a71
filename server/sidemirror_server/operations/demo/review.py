"""The last part of the demonstration: two drafts of the answer, and the sidecar's critique of each.

The evidence is the real tool results of the second attempt. The careless draft has a wrong sum, as if the agent had
calculated without a tool. Nothing tells the sidecar which draft is which.
"""

from collections.abc import Sequence

import msgspec

from sidemirror.v1 import common_pb2, critique_pb2, critique_pb2_grpc, goal_reflection_pb2, reflective_memory_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.models.language_model import LanguageModel
from sidemirror_server.operations.demo.attempt import Onlooker
from sidemirror_server.operations.demo.books import CUSTOMER, QUESTION
from sidemirror_server.operations.demo.memory import Made, Told
from sidemirror_server.operations.demo.policy import DemoStep, Tactic
from sidemirror_server.operations.demo.tools import DemoOutcome
from sidemirror_server.operations.own_sidecar import own_sidecar
from sidemirror_server.operations.target import dial

_DEADLINE_S = 40.0
# Invoices less the discount, less payments, converted to euros; the figures are in books.py.
CAREFUL = (
    f"{CUSTOMER} owes 1131.09 EUR. After the discount the open invoices come to 1854.45 USD; "
    "1854.45 - 625.00 = 1229.45 USD are left to pay, and 1229.45 * 0.92 = 1131.09 EUR."
)
CARELESS = (
    f"{CUSTOMER} owes 1195.49 EUR. After the discount the open invoices come to 1854.45 USD; "
    "1854.45 - 625.00 = 1299.45 USD are left to pay, and 1299.45 * 0.92 = 1195.49 EUR."
)


class Review(msgspec.Struct, frozen=True):
    """A draft and the verdict on it."""

    draft: str
    critique: common_pb2.CritiqueResult


class Witness:
    """An onlooker that forwards to another, and records the steps, the tool results and the final statistics of
    lessons."""

    def __init__(self, onlooker: Onlooker) -> None:
        self._onlooker = onlooker
        self.results: list[common_pb2.ToolResult] = []
        self.made: list[Made] = []
        self.known: Told | None = None

    def learned(self, reflection: goal_reflection_pb2.GoalReflection | None) -> None:
        self._onlooker.learned(reflection)

    def kept(self, result: reflective_memory_pb2.ReflectionResult | None) -> None:
        self._onlooker.kept(result)

    def began(self, directives: Sequence[pb.TurnDirective], lessons: str) -> None:
        self._onlooker.began(directives, lessons)

    def did(self, number: int, step: DemoStep, outcome: DemoOutcome) -> None:
        result = common_pb2.ToolResult(name=step.call.name, is_error=outcome.failed, content=outcome.text)
        self.results.append(result)
        self.made.append(Made(step, outcome))
        self._onlooker.did(number, step, outcome)

    def heard(self, directives: Sequence[pb.TurnDirective], tactic: Tactic | None) -> None:
        self._onlooker.heard(directives, tactic)

    def told(self, told: Told | None) -> None:
        self.known = told


async def reviews(results: Sequence[common_pb2.ToolResult], model: LanguageModel | None = None) -> list[Review]:
    """The verdicts on the careless draft and on the careful one, from a sidecar that asks `model` (default: the
    built-in rules)."""
    made = []
    async with own_sidecar(model) as address, dial(address) as channel:
        stub = critique_pb2_grpc.CritiqueServiceStub(channel)
        for draft in (CARELESS, CAREFUL):
            request = critique_pb2.CritiqueRequest(user_message=QUESTION, response=draft, tool_results=results)
            answer = await stub.Critique(request, timeout=_DEADLINE_S)
            made.append(Review(draft, answer.critique))
    return made
