"""Where a text comes from, as a measure of trust (decision 032)."""

from collections.abc import Iterable
from enum import IntEnum


class Origin(IntEnum):
    """Ordered by trust, least trusted lowest; the numbers are stored and never change."""

    # Tool results and errors, and anything fetched: anyone may have written them.
    TOOL = 10
    # The agent's own text, or a model's: it may repeat what a tool told it.
    AGENT = 20
    # What the user said.
    USER = 30
    # Base prompts and configuration.
    OPERATOR = 40


def least(origins: Iterable[Origin]) -> Origin:
    """The origin of a text made from texts of these origins; TOOL without any, because nothing vouches for the text."""
    return min(origins, default=Origin.TOOL)
