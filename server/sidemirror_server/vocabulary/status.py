"""What a model was asked and what came of it (design, section 3)."""

from enum import StrEnum

import msgspec


class ResultStatus(StrEnum):
    """What came of a result that a model could make. The values are stored and never change."""

    OK = "ok"
    SKIPPED_BUDGET = "skipped_budget"
    SKIPPED_DEADLINE = "skipped_deadline"
    SKIPPED_SPEND = "skipped_spend"
    SKIPPED_DISABLED = "skipped_disabled"
    FAILED_MODEL = "failed_model"
    FAILED_PARSE = "failed_parse"
    TRUNCATED = "truncated"
    REFUSED = "refused"


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What answered a request and what it took. `parameters` are those that applied, not those that were asked for.

    `input_tokens` is all of the prompt; of these `cache_read_tokens` came from the provider's cache, which is cheaper,
    and `cache_write_tokens` went into it, which is dearer. `output_tokens` is all of the answer, with its thinking.
    """

    provider: str
    model: str
    parameters: dict[str, str] = {}
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    # None where the price is not known; 0.0 where it is known to be nothing.
    cost_usd: float | None = None
    latency_us: int = 0


def added(one: Usage | None, other: Usage | None) -> Usage | None:
    """What two calls took together, under the first one's names; a cost that is not known stays not known."""
    if one is None or other is None:
        return one or other
    cost = None if one.cost_usd is None or other.cost_usd is None else one.cost_usd + other.cost_usd
    return msgspec.structs.replace(
        one,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cache_read_tokens=one.cache_read_tokens + other.cache_read_tokens,
        cache_write_tokens=one.cache_write_tokens + other.cache_write_tokens,
        cost_usd=cost,
        latency_us=one.latency_us + other.latency_us,
    )
