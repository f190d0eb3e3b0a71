"""How a question to a model ended, and what its calls used (decision 017)."""

from enum import StrEnum

import msgspec


class ResultStatus(StrEnum):
    """How a question to a model ended. The values are stored and never change."""

    OK = "ok"
    SKIPPED_BUDGET = "skipped_budget"
    SKIPPED_DEADLINE = "skipped_deadline"
    SKIPPED_SPEND = "skipped_spend"
    SKIPPED_DISABLED = "skipped_disabled"
    FAILED_MODEL = "failed_model"
    FAILED_PARSE = "failed_parse"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    # There was nothing to say.
    NOTHING = "nothing"


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answering model, and the usage of its calls. `parameters`: those that took effect, not those sent.

    `input_tokens` counts the whole prompt: `cache_read_tokens` of them were read from the provider's cache (cheaper),
    `cache_write_tokens` were written to it (dearer). `output_tokens` counts the answer with its thinking.
    """

    provider: str
    model: str
    parameters: dict[str, str] = {}
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    # None if the price is unknown; 0.0 if the calls certainly cost nothing.
    cost_usd: float | None = None
    latency_us: int = 0


def added(one: Usage | None, other: Usage | None) -> Usage | None:
    """The sum of two usages, with the names of the first. If either cost is unknown, so is the sum."""
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
