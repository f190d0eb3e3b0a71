"""Where a text comes from, as a measure of trust (design, section 8, "Trust")."""

from collections.abc import Iterable
from enum import IntEnum


class Origin(IntEnum):
    """Ordered by trust, least trusted lowest; the numbers are stored and never change."""

    # Tool results and errors, and whatever was fetched: anyone may have written it.
    TOOL = 10
    # The agent's own text, or a model's: it may repeat what a tool told it.
    AGENT = 20
    # What the user said.
    USER = 30
    # Base prompts and configuration.
    OPERATOR = 40


def least(origins: Iterable[Origin]) -> Origin:
    """The origin of what is made from texts of these origins; TOOL of none, because nothing vouches for it."""
    return min(origins, default=Origin.TOOL)
