"""Combines the attempts at one question into one verdict for the breaker and one usage for the caller, and estimates
what an attempt without an answer may have cost. Pure."""

from typing import Any

import msgspec

from sidemirror_server.models.language_model import Ask
from sidemirror_server.models.ledger import Amount
from sidemirror_server.models.prices import Prices
from sidemirror_server.models.profiles import most_output_tokens, sent_bytes
from sidemirror_server.models.token_counts import estimate
from sidemirror_server.vocabulary.budget import SHORTEST_MODEL_CALL_S
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage

# How fast a model may write of which nothing is heard. Chosen here: more than most hosted models write, so that what a
# provider bills for calls that nobody waited for hardly passes a cap.
_TOKENS_A_SECOND = 200


def did_its_part(failure: ModelFailed, ran_out: bool, given_s: float) -> bool | None:
    """The failure's meaning for the breaker: True is good for the provider, False is bad, None says nothing about it.

    A caller with too little time must not be able to make the breaker block all others.
    """
    if failure.status.name.startswith("SKIPPED"):
        return None
    if failure.status is not ResultStatus.FAILED_MODEL:
        return True
    if ran_out:
        return False if given_s >= SHORTEST_MODEL_CALL_S else None
    # A failure that a retry would repeat is caused by the question or the key.
    return False if failure.retryable else None


def unanswered(ask: Ask[Any], waited_s: float, prices: Prices) -> Amount:
    """What a call may have cost that was sent, and of which nothing was heard for `waited_s` seconds: its prompt, and
    what a model can write in that time. A model without a known price costs no USD here: the dearest known price of an
    answer that perhaps nobody gave would use up a cap (decision 099)."""
    written = min(most_output_tokens(ask), round(waited_s * _TOKENS_A_SECOND))
    return prices.guessed(Usage("", "", input_tokens=estimate(sent_bytes(ask)), output_tokens=written))


def after_all(failure: ModelFailed, attempts: int, took: list[Usage], prices: Prices) -> ModelFailed:
    """The failure of all attempts, with the sum of their usage."""
    detail = failure.detail if attempts == 1 else f"{failure.detail} (after {attempts} attempts)"
    usage = total(took, prices) if took else None
    return ModelFailed(
        failure.status,
        detail,
        retryable=failure.retryable,
        retry_after_s=failure.retry_after_s,
        usage=usage,
        not_asked=failure.not_asked and attempts == 1,
    )


def total(took: list[Usage], prices: Prices) -> Usage:
    """The last usage, with the tokens, time and cost of all attempts."""
    amounts = [prices.of(usage) for usage in took]
    parameters = {**took[-1].parameters}
    if prices.assumed:
        parameters["price"] = "not known: the dearest known is counted"
    if len(took) > 1:
        parameters["attempts"] = str(len(took))
    return msgspec.structs.replace(
        took[-1],
        parameters=parameters,
        input_tokens=sum(usage.input_tokens for usage in took),
        output_tokens=sum(usage.output_tokens for usage in took),
        cache_read_tokens=sum(usage.cache_read_tokens for usage in took),
        cache_write_tokens=sum(usage.cache_write_tokens for usage in took),
        cost_usd=Amount(0, sum(amount.nano_usd for amount in amounts)).usd,
        latency_us=sum(usage.latency_us for usage in took),
    )
