"""A critique without a model, from a response and its evidence alone.

It reports only what it can quote: contradictions with what is on record (`pointing/`), an answer that is empty or cut,
errors that the response does not mention, and questions that are not addressed. It has no knowledge
of the world, so it cannot check other facts, and gives no confidence.
"""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.advice import telling
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.points import points_of
from sidemirror_server.models.adapters.rules.response import Response, words
from sidemirror_server.models.adapters.rules.support import gives_several
from sidemirror_server.models.adapters.rules.wording import spoken_name
from sidemirror_server.models.answers import CritiqueAnswer, DimensionAnswer, IssueAnswer
from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.vocabulary.terms import telling_terms

SIGNIFICANT = frozenset({"wrong_fact", "missing_critical_information", "potential_harm"})
_QUOTE_CHARS = 200
_MOST_ISSUES = 8
_UNSUPPORTED_FROM = 3
# A response with fewer terms answers in short, such as with a number. Chosen here.
_TOO_SHORT_TERMS = 12
# A run that ends with an error has brought findings, and who tells so many words of them alone tells of it.
_TOLD_TERMS = 3
_ADMITS = re.compile(
    r"\b(?:errors?|fail(?:ed|s|ure)?|could(?: not|n['’]t)|unable|can(?:not|['’]t)|not (?:found|available|possible)|"
    r"unavailable|sorry|unfortunately|no (?:results?|such)|did(?: not|n['’]t)|timed? out|denied|missing|"
    r"does(?: not|n['’]t))\b",
    re.IGNORECASE,
)
# What looks like it and is the opposite.
_DENIES = re.compile(r"\b(?:no|zero|0|without(?: any)?) (?:errors?|fail(?:ed|ures?))\b", re.IGNORECASE)
# Begins at the verb, because a pattern that begins with any run of letters takes quadratic time.
_CLAIMS_DONE = re.compile(
    r"\b(?:has|have|was|were|is|are|been)\s+(?:been\s+|now\s+|also\s+){0,4}(?:successfully\s+)?"
    r"(?:booked|cancell?ed|changed|completed|confirmed|created|deleted|deployed|exchanged|fixed|installed|modified|"
    r"placed|processed|refunded|removed|returned|saved|sent|updated)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]*")
_QUESTION = re.compile(r"[^.?!\n]+\??")
# The end of a text that is cut off: a comma, a dash, or a word that cannot end a sentence. Chosen here.
_CUT = re.compile(
    r"(?:[,;:(\-–—]|(?<=\s)(?:a|an|and|as|at|because|but|by|for|from|in|is|of|on|or|so|that|the|to|with))$", re.I
)


def critique_answer(evidence: Evidence) -> CritiqueAnswer:
    """The critique of the last response in `evidence`."""
    last = next((step.text for step in reversed(evidence.steps) if step.kind == "response"), "")
    response = Response(evidence, last)
    issues = issues_of(response)
    return CritiqueAnswer(
        dimensions=(DimensionAnswer(name="completeness", score=_completeness(issues, response)),),
        issues=issues,
        suggestions=tuple(dict.fromkeys(issue.fix for issue in issues if issue.fix)),
    )


def issues_of(response: Response) -> tuple[IssueAnswer, ...]:
    """The issues of a response, the most significant first."""
    return tuple(_issues(response))[:_MOST_ISSUES]


def _issues(response: Response) -> Iterator[IssueAnswer]:
    """The issues, the most significant first."""
    if not response.text.strip():
        if response.asked:
            yield _issue(
                "missing_critical_information", response.asked, "The response is empty.", "Answer the question."
            )
        return
    for _, point in points_of(response.evidence, response.text):
        yield _pointed(point)
    yield from _errors(response)
    yield from _cut(response)
    yield from _unaddressed(response)
    if gives_several(response):
        reason = "The question asks for one answer, and the response gives several."
        yield _issue("unclear", response.final, reason, "Decide on one answer.", "major")
    if len(response.unsupported) >= _UNSUPPORTED_FROM and response.known:
        claim = _sentence_with(response.text, response.unsupported)
        if claim:
            reason = "Nothing that was given or found mentions this."
            yield _issue("unsupported_claim", claim, reason, "Look it up, or say that it is not checked.", "major")


def _pointed(point: Point) -> IssueAnswer:
    """A contradiction as an issue: it quotes the answer, or what the answer leaves out, and its reason the record."""
    record = _clipped(" ".join(point.against.split()))
    beside = f" On record: “{record}”." if point.quote and record else ""
    return _issue(point.kind, point.quote or point.against, point.reason + beside, point.fix)


def _errors(response: Response) -> Iterator[IssueAnswer]:
    """An issue for failures that were neither recovered from nor mentioned in the response, in any words of theirs."""
    standing = _standing(response)
    if not standing or _ADMITS.search(_DENIES.sub("", response.text)):
        return
    failed = standing[-1]
    brought = telling_terms(failed.text) - telling_terms(response.asked)
    if len(brought & telling_terms(response.text)) >= _TOLD_TERMS:
        return
    done = _CLAIMS_DONE.search(response.text)
    error, tool = _clipped(telling(failed.text)) or failed.name, spoken_name(failed.name)
    if done is not None and not response.worked:
        reason = f"The response says that this was done, and the only outcome of {tool} is an error."
        claim = _sentence_around(response.text, done)
        yield _issue("wrong_fact", claim, reason, "Say what failed, or try again.", "critical")
    elif not response.worked:
        reason = f"Every tool call failed, {tool} with this error, and the response does not say so."
        yield _issue("missing_critical_information", error, reason, "Say what failed and what is therefore not known.")
    else:
        reason = f"{tool} failed with this error, nothing made it good, and the response does not mention it."
        yield _issue("missing_detail", error, reason, "Say what could not be found out.", "major")


def _sentence_around(text: str, found: re.Match[str]) -> str:
    begins = max(text.rfind(mark, 0, found.start()) for mark in ".!?\n") + 1
    rest = _SENTENCE.match(text, found.end())
    return text[begins : rest.end() if rest else found.end()].strip()


def _standing(response: Response) -> list[EvidenceStep]:
    """Failures that are not followed by a success of the same tool."""
    steps = response.evidence.steps
    worked_at = {
        step.name: place for place, step in enumerate(steps) if step.kind == "tool_result" and not step.is_error
    }
    return [step for place, step in enumerate(steps) if step.is_error and worked_at.get(step.name, -1) < place]


def _cut(response: Response) -> Iterator[IssueAnswer]:
    text = response.text.rstrip()
    ends = text[-_QUOTE_CHARS:].splitlines()[-1].strip()
    if text.count("```") % 2:
        reason = "A block of code is opened and never closed: the response is cut off."
        yield _issue("missing_critical_information", ends, reason, "Write the response to its end.")
    elif len(text.split()) > 8 and _CUT.search(text):
        reason = "The response ends in the middle of a sentence."
        yield _issue("missing_critical_information", ends, reason, "Write the response to its end.")


def _unaddressed(response: Response) -> Iterator[IssueAnswer]:
    """An issue for questions that share no stem with the response, unless the response is short. A response that shares
    one with what its calls brought answers in the record's words, and is not doubted."""
    said = telling_terms(response.text)
    if len(said) < _TOO_SHORT_TERMS or said & telling_terms(response.record):
        return
    parts = [part.strip() for part in _QUESTION.findall(response.asked) if part.endswith("?")] or [response.asked]
    asked = [part for part in parts if len(telling_terms(part)) >= 3]
    missed = [part for part in asked if not telling_terms(part) & said]
    if not missed:
        return
    if len(missed) == len(asked):
        reason = "The response has nothing in common with what was asked."
        yield _issue("missing_critical_information", missed[0], reason, "Address the question.")
    else:
        yield _issue(
            "missing_detail", missed[0], "The response does not address this part.", "Address it too.", "major"
        )


def _completeness(issues: tuple[IssueAnswer, ...], response: Response) -> float:
    """1 if nothing is missing, halved for each missing thing; 0 for an empty response."""
    if not response.text.strip():
        return 0.0
    missing = sum(issue.kind in {"missing_critical_information", "missing_detail"} for issue in issues)
    return round(0.5**missing, 3)


def _sentence_with(text: str, wanted: frozenset[str]) -> str:
    """The sentence with the most of the wanted words; empty if none has any."""
    sentences = [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", text) if part.strip()]
    best = max(sentences, key=lambda part: len(wanted & frozenset(words(part))), default="")
    return best if wanted & frozenset(words(best)) else ""


def _issue(kind: str, quote: str, reason: str, fix: str, severity: str = "critical") -> IssueAnswer:
    return IssueAnswer(kind=kind, severity=severity, quote=_clipped(quote), reason=reason, fix=fix)  # type: ignore[arg-type]


def _clipped(quote: str) -> str:
    """The beginning of a quote, cut between words, so that it is still found in its text."""
    quote = quote.strip()
    return quote if len(quote) <= _QUOTE_CHARS else quote[:_QUOTE_CHARS].rsplit(None, 1)[0]
