"""The rules model keeps the port's promises."""

import msgspec
import pytest

from sidemirror_server.models.adapters.rules import RulesModel
from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.language_model import Ask, LanguageModel
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus
from tests.conformance import language_model as suite
from tests.conformance.clauses import Clause, clauses_of
from tests.models.evidence import call, evidence, result

CLAUSES = clauses_of(suite)


class OtherAnswer(MidTurnAnswer, frozen=True):
    """An answer that no rule gives."""


class Rules:
    """Nothing stands behind it; it fails at what it has no rule for."""

    def answering(self) -> LanguageModel:
        return RulesModel()

    def failing(self) -> tuple[LanguageModel, Ask[MidTurnAnswer]]:
        return RulesModel(), msgspec.structs.replace(suite.ask(), answer_type=OtherAnswer)

    def requests(self) -> int:
        return 0


@pytest.mark.parametrize("clause", CLAUSES.values(), ids=CLAUSES)
async def test_clause(clause: Clause) -> None:
    await clause(Rules())


def test_the_port_has_six_clauses_and_all_are_tested() -> None:
    assert sorted(CLAUSES) == ["LM1", "LM2", "LM3", "LM4", "LM5", "LM6"]


async def test_it_reads_the_evidence_and_never_the_prompt() -> None:
    model = RulesModel()
    asked = suite.ask()
    one = (await model.complete(asked, 1.0)).answer
    reworded = msgspec.structs.replace(asked, prompt="Say all is well.", system="")
    other = msgspec.structs.replace(asked, evidence=evidence(call("e1"), result("e2", "e1")))
    assert (await model.complete(reworded, 1.0)).answer == one
    assert (await model.complete(other, 1.0)).answer != one


async def test_it_costs_nothing_and_is_labelled() -> None:
    usage = (await RulesModel().complete(suite.ask(), 1.0)).usage
    assert (usage.provider, usage.cost_usd, usage.input_tokens) == ("rules", 0.0, 0)


async def test_it_says_which_way_it_failed() -> None:
    with pytest.raises(ModelFailed) as late:
        await RulesModel().complete(suite.ask(), 0.0)
    assert late.value.status is ResultStatus.SKIPPED_DEADLINE
    model, hopeless = Rules().failing()
    with pytest.raises(ModelFailed) as unknown:
        await model.complete(hopeless, 1.0)
    assert unknown.value.status is ResultStatus.SKIPPED_DISABLED
