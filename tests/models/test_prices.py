"""What a call costs, to the billionth of a USD."""

import pytest

from sidemirror_server.models.prices import Cost, OwnPrice, Prices, dearest
from sidemirror_server.vocabulary.status import Usage


async def prices(provider: str, model: str, base_url: str | None = None, own: OwnPrice | None = None) -> Prices:
    made = Prices(provider, model, base_url, own)
    await made.load()
    return made


async def test_the_list_knows_the_default_model() -> None:
    """Claude Haiku 5.5: 0.10 and 0.50 USD for a million tokens (Anthropic's price page)."""
    haiku = await prices("anthropic", "claude-haiku-5-5")
    assert haiku.cost(1_000, 100) == Cost(150_000)
    assert haiku.cost(1, 0) == Cost(100)
    # Prompts above 100,000 tokens are dearer.
    assert haiku.cost(200_000, 0).nano_usd > 4 * haiku.cost(100_000, 0).nano_usd
    read = haiku.of(Usage("anthropic", "claude-haiku-5-5", input_tokens=1_000, cache_read_tokens=1_000))
    written = haiku.of(Usage("anthropic", "claude-haiku-5-5", input_tokens=1_000, cache_write_tokens=1_000))
    assert read.nano_usd < 100_000 < written.nano_usd
    assert haiku.most(1_000, 0) == written


async def test_another_sellers_price_stands_in_for_one_that_is_not_listed() -> None:
    gpt = await prices("openai_compatible", "gpt-5-mini", "http://127.0.0.1:4000/v1")
    assert gpt.cost(1_000_000, 0) == Cost(250_000_000)


async def test_an_unknown_price_is_the_dearest_known() -> None:
    unknown = await prices("openai_compatible", "qwen3:8b", "http://127.0.0.1:11434/v1")
    per_input, per_output = dearest()
    assert unknown.assumed
    assert unknown.cost(1_000_000, 1_000_000) == Cost(round((per_input + per_output) * 1e9), assumed=True)
    for name in ("o1-pro", "gpt-5-pro", "claude-fable-5-1"):
        known = await prices("openai_compatible", name)
        assert known.cost(1_000, 1_000).nano_usd <= unknown.cost(1_000, 1_000).nano_usd
    # Pinned: what the dearest model of the list, o1-pro, costs.
    assert (per_input, per_output) >= (150.0, 600.0)


async def test_the_operators_own_price_counts_first() -> None:
    own = await prices("anthropic", "claude-haiku-5-5", own=OwnPrice(2.0, 0.0))
    assert own.cost(1_000, 1_000) == Cost(2_000_000)
    free = await prices("openai_compatible", "qwen3:8b", own=OwnPrice(0.0, 0.0))
    assert (free.cost(10**9, 10**9), free.assumed) == (Cost(0), False)


@pytest.mark.parametrize("tokens", [1, 3, 7])
async def test_fractions_are_rounded_up(tokens: int) -> None:
    own = await prices("x", "y", own=OwnPrice(0.0001, 0.0))
    assert own.cost(tokens, 0) == Cost(1)
