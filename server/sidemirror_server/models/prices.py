"""The price of a call, from the price list of the package genai-prices, which is bundled and never fetched.

A model without a known price is charged the highest known price; a price of 0 would disable every cap (decision 024).
The package takes a quarter of a second to import, so it is loaded when a model that costs something is first used.
"""

import asyncio
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import msgspec

from sidemirror_server.models.ledger import NANO, Amount
from sidemirror_server.vocabulary.status import Usage

_MTOK = 1_000_000
# Our providers whose name in the price list is the same.
_LISTED = frozenset({"anthropic"})


class OwnPrice(msgspec.Struct, frozen=True):
    """The operator's price of a million tokens, in USD."""

    input_usd: float
    output_usd: float


class Cost(msgspec.Struct, frozen=True):
    """The price of a call. `assumed`: the model's price is unknown, so the highest known price was used."""

    nano_usd: int
    assumed: bool = False


# (input tokens, those read from the cache, those written to the cache, output tokens) → USD
_Price = Callable[[int, int, int, int], Decimal]


class Prices:
    """The price of one model at one provider."""

    def __init__(self, provider: str, model: str, base_url: str | None = None, own: OwnPrice | None = None) -> None:
        self._provider = provider
        self._model = model
        self._base_url = base_url
        self._price: _Price | None = None if own is None else _own(own)
        self._assumed = False

    @property
    def assumed(self) -> bool:
        """Whether the model's price is unknown, so that the highest known price is used. Call `load` first."""
        return self._assumed

    async def load(self) -> None:
        """Reads the price list in a thread; returns at once if it was read before."""
        if self._price is None:
            self._price, self._assumed = await asyncio.to_thread(_listed, self._provider, self._model, self._base_url)

    def cost(
        self, input_tokens: int, output_tokens: int, cache_read_tokens: int = 0, cache_write_tokens: int = 0
    ) -> Cost:
        """The price of these tokens, rounded up. Call `load` first."""
        if self._price is None:
            raise RuntimeError("prices are loaded before they are asked for")
        usd = self._price(input_tokens, cache_read_tokens, cache_write_tokens, output_tokens)
        return Cost(math.ceil(usd * NANO), self._assumed)

    def most(self, input_tokens: int, output_tokens: int) -> Amount:
        """The most that these tokens can cost, whether or not the input is written to the cache."""
        plain = self.cost(input_tokens, output_tokens)
        written = self.cost(input_tokens, output_tokens, cache_write_tokens=input_tokens)
        return Amount(input_tokens + output_tokens, max(plain.nano_usd, written.nano_usd))

    def of(self, usage: Usage) -> Amount:
        """The tokens and the price of a call."""
        cost = self.cost(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
        return Amount(usage.input_tokens + usage.output_tokens, cost.nano_usd)

    def guessed(self, usage: Usage) -> Amount:
        """The same of a call that nobody knows the usage of: without a known price, its tokens alone."""
        amount = self.of(usage)
        return Amount(amount.tokens) if self._assumed else amount


def _own(price: OwnPrice) -> _Price:
    per_input, per_output = (Decimal(str(usd)) / _MTOK for usd in (price.input_usd, price.output_usd))
    return lambda read, _from_cache, _to_cache, written: read * per_input + written * per_output


def _listed(provider: str, model: str, base_url: str | None) -> tuple[_Price, bool]:
    """The model's price, and False; or the highest known price, and True."""
    places: list[dict[str, Any]] = [{"provider_id": provider}] if provider in _LISTED else []
    if base_url:
        places.append({"provider_api_url": base_url})
    # Another provider's price for the same model is a better estimate than the highest price of all models.
    places.append({})
    for where in places:
        price = partial(_look_up, model, where)
        try:
            price(1, 0, 0, 1)
        except LookupError:
            continue
        return price, False
    per_input, per_output = dearest()
    return _own(OwnPrice(per_input, per_output)), True


def _look_up(model: str, where: dict[str, Any], tokens: int, from_cache: int, to_cache: int, written: int) -> Decimal:
    import genai_prices

    usage = genai_prices.Usage(
        input_tokens=tokens,
        cache_read_tokens=from_cache or None,
        cache_write_tokens=to_cache or None,
        output_tokens=written,
    )
    return genai_prices.calc_price(usage, model, **where).total_price


def dearest() -> tuple[float, float]:
    """USD for a million input and output tokens: the highest of each among all models in the list."""
    from genai_prices.data import providers

    listed = [prices for provider in providers for model in provider.models for prices in _all(model.prices)]
    kinds = ("input_mtok", "cache_write_mtok")
    per_input = max(price for prices in listed for kind in kinds for price in _tiers(getattr(prices, kind, None)))
    per_output = max(price for prices in listed for price in _tiers(prices.output_mtok))
    return per_input, per_output


def _all(prices: Any) -> Iterator[Any]:
    """The sets of prices of a model: one, or several that hold at different times."""
    if isinstance(prices, list):
        yield from (conditional.prices for conditional in prices)
    else:
        yield prices


def _tiers(price: Any) -> Iterator[float]:
    if price is not None:
        yield from map(
            float, [price.base, *(tier.price for tier in price.tiers)] if hasattr(price, "tiers") else [price]
        )
