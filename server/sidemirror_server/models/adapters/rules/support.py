"""How far the evidence supports a response, from 0 to 1. The value ranks responses to one task.

The value is not a probability, and is never given as a confidence: on the recorded answers it predicts correctness no
better than their length does (decision 047).

The weights are log odds, where 0 is an even chance. They were chosen by hand on two thirds of the recorded answers with
a known outcome (`data/critique/outcome_labelled`, split by question), and measured on the rest;
`tests/critique/test_rules_recorded.py` prints both results.
"""

import math
import re

from sidemirror_server.models.adapters.rules.response import Response

_START = -0.3
_GIVEN = 0.7  # the answer is in the material word for word, or has only words of the question
_COVERED = 0.8  # times the share of the question's names and numbers in the material
_UNSUPPORTED = -0.25  # for each name or number that the material does not mention
_MOST_UNSUPPORTED = 6
_SEVERAL = -1.2  # several answers where one was asked for
_NO_ANSWER = -0.8  # "none", "unknown"
_NO_NUMBER = -0.3  # a number was asked for, and there is none
_LONGER = -0.1  # for each word that the answer adds to the question: each is a further claim
_MOST_WORDS = 8
_FAILED = -1.5  # for each significant problem that was found
_EMPTY = 0.02

_SEVERAL_ANSWERS = re.compile(r"\b(?:and|or|both)\b|[,;/(&]")
_ASKS_FOR_SEVERAL = re.compile(
    r"\b(?:which two|what two|both|list|names of|who were|who are|what are|which are)\b", re.I
)
_ASKS_FOR_NUMBER = re.compile(r"\b(?:(?:what|which) year|when|how many|how much)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen)\b", re.I)
_DECLINES = re.compile(r"(?:none|unknown|n/?a\b|not |cannot|unable|unclear)", re.IGNORECASE)


def gives_several(response: Response) -> bool:
    """Whether the response gives several answers after "answer:", although the question asks for one."""
    return (
        response.says_final
        and _SEVERAL_ANSWERS.search(response.final) is not None
        and not _ASKS_FOR_SEVERAL.search(response.asked)
        and response.final.casefold() not in response.asked.casefold()
    )


def support_of(response: Response, significant: int) -> float:
    """The support, 0 to 1. `significant`: how many issues of the kinds in `critique.py:SIGNIFICANT` were found."""
    if not response.text.strip():
        return _EMPTY
    odds = _START + _COVERED * response.covered
    if not response.answer_words or response.answer_is_given:
        odds += _GIVEN
    odds += _UNSUPPORTED * min(len(response.unsupported), _MOST_UNSUPPORTED)
    odds += _LONGER * min(len(response.answer_words), _MOST_WORDS)
    odds += _SEVERAL * gives_several(response)
    odds += _NO_ANSWER * bool(_DECLINES.match(response.final))
    odds += _NO_NUMBER * bool(_ASKS_FOR_NUMBER.search(response.asked) and not _NUMBER.search(response.final))
    odds += _FAILED * significant
    return round(1 / (1 + math.exp(-odds)), 3)
