"""What a call costs that no model answered: an estimate, told apart; nothing where nothing was sent."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from sidemirror_server.models.attempts import unanswered
from sidemirror_server.models.embedder import Embeddings
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.models.ledger import Amount, Spend
from sidemirror_server.models.prices import OwnPrice, Prices
from sidemirror_server.models.profiles import sent_bytes
from sidemirror_server.models.token_counts import estimate
from sidemirror_server.vocabulary.errors import ModelFailed
from tests.faults.waiting import until
from tests.models.gateways import NOTHING, PRICE, SCOPE, Desk, desk, failed, question

ASK = msgspec.structs.replace(question(), max_tokens=500)
PROMPT_TOKENS = estimate(sent_bytes(ASK))


async def spent(made: Desk) -> Spend:
    await made.spending.settled()
    (spend,) = await made.spending.spent(SCOPE, 1)
    return spend


async def priced(own: OwnPrice | None) -> Prices:
    prices = Prices("openai_compatible", "nobody-has-heard-of-it", None, own)
    await prices.load()
    return prices


async def test_it_is_the_prompt_and_what_a_model_writes_in_that_time() -> None:
    prices = await priced(PRICE)
    assert unanswered(ASK, 0.0, prices) == Amount(PROMPT_TOKENS, PROMPT_TOKENS * 1_000)
    assert unanswered(ASK, 1.0, prices) == Amount(PROMPT_TOKENS + 200, (PROMPT_TOKENS + 2_000) * 1_000)
    assert unanswered(ASK, 30.0, prices) == Amount(PROMPT_TOKENS + 500, (PROMPT_TOKENS + 5_000) * 1_000)


@pytest.mark.parametrize("own", [None, OwnPrice(0.0, 0.0)])
async def test_without_a_price_it_is_tokens_alone(own: OwnPrice | None) -> None:
    """Seen to fail when the dearest known price is taken: three questions to a dead model used up a cap of 5 USD."""
    assert unanswered(ASK, 30.0, await priced(own)) == Amount(PROMPT_TOKENS + 500, 0)


async def test_a_call_that_takes_too_long_is_an_estimate(tmp_path: Path) -> None:
    """Seen to fail when the whole reservation is charged, and when the estimate is not told apart."""
    async with desk(tmp_path) as made:
        made.model.gate.clear()
        with pytest.raises(ModelFailed):
            await made.gateway.ask(SCOPE, ASK, 0.3)
        spend = await spent(made)
        assert PROMPT_TOKENS < spend.settled.tokens < PROMPT_TOKENS + 500
        assert (spend.unanswered, spend.estimated, spend.in_flight) == (1, spend.settled, Amount())


async def test_a_call_whose_caller_leaves_is_an_estimate(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        made.model.gate.clear()
        asked = asyncio.create_task(made.gateway.ask(SCOPE, ASK, 30.0))
        await until(lambda: bool(made.model.asked))
        asked.cancel()
        await asyncio.wait([asked])
        await made.gateway.close()  # it waits until the call is settled
        spend = await spent(made)
        assert PROMPT_TOKENS <= spend.settled.tokens < PROMPT_TOKENS + 500
        assert (spend.unanswered, spend.estimated) == (1, spend.settled)


async def test_only_what_nobody_knows_is_an_estimate(tmp_path: Path) -> None:
    """A connection that was refused costs nothing, an error of the provider may have cost something, an answer has its
    usage."""
    async with desk(tmp_path) as made:
        made.model.failures = [failed(usage=NOTHING), failed(usage=None)]
        await made.gateway.ask(SCOPE, ASK, 10.0)
        spend = await spent(made)
        assert (spend.calls, spend.unanswered) == (3, 1)
        assert PROMPT_TOKENS <= spend.estimated.tokens < PROMPT_TOKENS + 100
        assert spend.settled.tokens == 1_100 + spend.estimated.tokens


class Hanging:
    """An embedding model that answers nobody."""

    provider, name = "test", "small"

    async def embed(self, texts: tuple[str, ...], deadline_s: float) -> Embeddings:
        await asyncio.Event().wait()
        raise AssertionError("nobody ends the wait")

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(("own", "nano_usd"), [(PRICE, 7_000), (None, 0)])
async def test_vectors_that_do_not_come_are_an_estimate(own: OwnPrice | None, nano_usd: int, tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        embedder = PaidEmbedder(Hanging(), await priced(own), 2, made.spending, made.clock)
        with pytest.raises(ModelFailed):
            await embedder.embed(SCOPE, ("x" * 20,), 0.2)
        spend = await spent(made)
        assert (spend.unanswered, spend.settled, spend.estimated) == (1, Amount(7, nano_usd), Amount(7, nano_usd))
