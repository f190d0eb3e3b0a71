"""What providers say of their usage that cannot be true, or hides a part of it: functions of the right usage."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.models.endpoint import LEFT_OUT

HIDDEN_TOKENS = 1_000


def _each(change: Callable[[int], Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The usage with each of its counts changed."""
    return lambda usage: {name: change(value) if type(value) is int else value for name, value in usage.items()}


def _beside(usage: dict[str, Any]) -> dict[str, Any]:
    """Reasoning is counted beside the answer, as some servers do."""
    if "output_tokens" in usage:
        return {**usage, "output_tokens_details": {"thinking_tokens": HIDDEN_TOKENS}}
    return {**usage, "completion_tokens_details": {"reasoning_tokens": HIDDEN_TOKENS}}


def _in_the_total(usage: dict[str, Any]) -> dict[str, Any]:
    """Reasoning is in the total only; the Messages API has none."""
    return {**usage, "total_tokens": usage["total_tokens"] + HIDDEN_TOKENS} if "total_tokens" in usage else usage


UNTRUE: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "zero": _each(lambda _: 0),
    "missing": lambda _: LEFT_OUT,
    "null": lambda _: None,
    "no counts": lambda _: {},
    "negative": _each(lambda value: -value),
    "words": _each(str),
    "one": _each(lambda _: 1),
    "threefold": _each(lambda value: 3 * value),
    "a thousandfold": _each(lambda value: 1_000 * value),
    "details in words": lambda usage: {**usage, "prompt_tokens_details": "none", "output_tokens_details": "none"},
}
HIDDEN: Mapping[str, Callable[[dict[str, Any]], Any]] = {"beside the answer": _beside, "in the total": _in_the_total}
