"""Decides whether a response deserves a critique, by the conditions of seed response-critique (decision 018). Pure."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

# Seed response-critique, "When to reflect": responseLength > 2000, toolResults.length >= 3. Lengths are Unicode code
# points, so that a text has the same length in every language's client (decision 018).
LONGER_THAN = 2000
RESULTS_FROM = 3


class GateReason(StrEnum):
    """A condition of the gate that holds. The values are stored in turn records and never change."""

    TOOL_ERROR = "tool_error"
    LONG_RESPONSE = "long_response"
    MANY_TOOL_RESULTS = "many_tool_results"
    # Not a condition of the gate: the turn requests a critique of every response, or a caller requested this one.
    ALWAYS = "always"


class GateDecision(msgspec.Struct, frozen=True):
    """Whether to critique, and every condition that holds, in the order of GateReason."""

    should_critique: bool
    reasons: tuple[GateReason, ...]


def should_critique(results_failed: Iterable[bool], response_length: int) -> GateDecision:
    """Applies the gate. `results_failed`: whether each tool result has an error; `response_length`: code points."""
    failed = tuple(results_failed)
    reasons = []
    if any(failed):
        reasons.append(GateReason.TOOL_ERROR)
    if response_length > LONGER_THAN:
        reasons.append(GateReason.LONG_RESPONSE)
    if len(failed) >= RESULTS_FROM:
        reasons.append(GateReason.MANY_TOOL_RESULTS)
    return GateDecision(bool(reasons), tuple(reasons))
