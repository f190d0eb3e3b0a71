"""Whether an answer was changed after it was criticised, as far as its turn's record tells it. Pure."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from sidemirror_server.critique.quotes import normal
from sidemirror_server.critique.record import Critique


class AnswerChange(StrEnum):
    """What became of an answer after its critique; None of these where it is not known."""

    NONE = "none"
    CHANGED = "changed"


class GivenAnswer(msgspec.Struct, frozen=True):
    """An answer that the turn reported. `is_draft`: as a drafted response, and not as a text of the model."""

    at_us: int
    text: str
    is_draft: bool


def answer_change(
    critique: Critique, answers: Sequence[GivenAnswer], critiques: Sequence[Critique]
) -> AnswerChange | None:
    """What became of the answer after this critique; None without a later answer: what was sent is not on record.
    `answers`: those of its turn, oldest first; `critiques`: all of the turn. Drafts and other judged responses
    count before texts of the model, which may be no answers."""
    at_us, judged = critique.created_us, normal(critique.response)
    again = [(one.created_us, one.response) for one in critiques if one.created_us > at_us and one.response]
    # The same words judged again, as by `revised` after `critique`, were not sent by that.
    later = [(made_us, text) for made_us, text in again if normal(text) != judged]
    later += [(one.at_us, one.text) for one in answers if one.at_us > at_us and one.is_draft]
    later = later or [(one.at_us, one.text) for one in answers if one.at_us > at_us]
    if not later:
        return None
    _, last = max(later, key=lambda one: one[0])
    return AnswerChange.NONE if normal(last) == judged else AnswerChange.CHANGED
