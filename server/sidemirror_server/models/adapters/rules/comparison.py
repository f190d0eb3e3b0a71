"""Compares two responses by rule: the better one addresses more of the task with fewer problems."""

from sidemirror_server.models.adapters.rules.critique import SIGNIFICANT, issues_of
from sidemirror_server.models.adapters.rules.response import Response, words
from sidemirror_server.models.adapters.rules.support import support_of
from sidemirror_server.models.answers import ComparisonAnswer
from sidemirror_server.models.evidence import Evidence, EvidenceStep

# Words beyond this number do not raise the score. Chosen here, on two thirds of the recorded pairs
# (`data/critique/human_pairs`): without this limit the longer response wins by its length alone.
_ENOUGH_WORDS = 40
_LENGTH = 0.5
_SAID_TWICE = 0.3
_PROBLEM = 1.0
# Scores closer than this are a tie.
_TIE = 0.02


def comparison_answer(evidence: Evidence) -> ComparisonAnswer:
    """The preference between the evidence's last two responses."""
    responses = [step for step in evidence.steps if step.kind == "response"][-2:]
    if len(responses) < 2:
        return ComparisonAnswer(better="tie", reason="there are not two responses")
    others = tuple(step for step in evidence.steps if step.kind != "response")
    first, second = (response_score(evidence, others, step) for step in responses)
    if abs(first - second) < _TIE:
        return ComparisonAnswer(better="tie", reason="neither is clearly better by what can be checked without a model")
    reason = "it addresses more of the task with fewer problems that can be checked without a model"
    return ComparisonAnswer(better="first" if first > second else "second", reason=reason)


def response_score(evidence: Evidence, others: tuple[EvidenceStep, ...], response: EvidenceStep) -> float:
    """A response's score, which only means something next to the scores of other responses to the same task."""
    alone = Evidence(task=evidence.task, question=evidence.question, steps=(*others, response))
    read = Response(alone, response.text)
    problems = sum(issue.kind in SIGNIFICANT for issue in issues_of(read))
    said = words(response.text)
    if not said:
        return -2.0
    asked = frozenset(words(evidence.question or evidence.task))
    addressed = len(asked & frozenset(said)) / len(asked) if asked else 0.0
    borne_out = support_of(read, problems) if others else 0.0
    enough = min(1.0, len(said) / _ENOUGH_WORDS)
    repeated = 1 - len(frozenset(said)) / len(said)
    return addressed + borne_out + _LENGTH * enough - _SAID_TWICE * repeated - _PROBLEM * problems
