"""What every adapter of the port `LanguageModel` does, clause by clause.

Each test is given a `Provider`: a model that answers, one that is asked what it must fail at, and a count of the
requests that left the process.
"""

import asyncio
from typing import Protocol

import msgspec
import pytest

from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.evidence import Evidence
from sidemirror_server.models.language_model import Ask, Completion, LanguageModel, Purpose
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus
from tests.models.evidence import call, evidence, failure

CANARY = "canary-5f2c"
EVIDENCE = evidence(call("e1"), failure("e2", "e1", "Error: order not found", category="not_found"))


class Provider(Protocol):
    """An adapter and the service behind it."""

    def answering(self) -> LanguageModel: ...

    def failing(self) -> tuple[LanguageModel, Ask[MidTurnAnswer]]: ...

    def requests(self) -> int: ...


def ask(given: Evidence = EVIDENCE) -> Ask[MidTurnAnswer]:
    return Ask(
        purpose=Purpose.MID_TURN_REFLECTION,
        system="Be honest.",
        prompt=f"How is it going? {CANARY}",
        answer_type=MidTurnAnswer,
        evidence=given,
        max_tokens=500,
        temperature=0.1,
    )


async def lm1_the_answer_fits_the_schema(provider: Provider) -> None:
    completion = await provider.answering().complete(ask(), 10.0)
    assert type(completion.answer) is MidTurnAnswer
    assert msgspec.convert(msgspec.to_builtins(completion.answer), MidTurnAnswer) == completion.answer


async def lm2_without_time_there_is_no_answer(provider: Provider) -> None:
    async with asyncio.timeout(5.0):
        with pytest.raises(ModelFailed):
            await provider.answering().complete(ask(), 0.0)


async def lm3_a_failure_says_its_status_and_nothing_of_the_prompt(provider: Provider) -> None:
    model, hopeless = provider.failing()
    with pytest.raises(ModelFailed) as failed:
        await model.complete(hopeless, 10.0)
    assert failed.value.status is not ResultStatus.OK
    assert failed.value.detail
    assert CANARY not in str(failed.value)


async def lm4_the_usage_names_what_answered(provider: Provider) -> None:
    model = provider.answering()
    usage = (await model.complete(ask(), 10.0)).usage
    assert (usage.provider, usage.model) == (model.provider, model.name)
    assert usage.provider
    assert usage.model
    assert usage.latency_us >= 0


async def lm5_concurrent_calls_are_apart(provider: Provider) -> None:
    model = provider.answering()
    calls = [asyncio.create_task(model.complete(ask(), 10.0)) for _ in range(8)]
    await asyncio.sleep(0)  # they have all begun, and one that waits for nothing has ended
    cancelled = calls[3].cancel()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    ends = [asyncio.CancelledError if cancelled and i == 3 else Completion for i in range(8)]
    assert [type(outcome) for outcome in outcomes] == ends


async def lm6_a_failure_is_not_tried_again(provider: Provider) -> None:
    model, hopeless = provider.failing()
    before = provider.requests()
    with pytest.raises(ModelFailed):
        await model.complete(hopeless, 10.0)
    assert provider.requests() - before <= 1
