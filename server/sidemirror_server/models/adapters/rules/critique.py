"""A critique without a model, from a response and its evidence alone.

It reports only what it can quote: contradictions with what is on record (`pointing/`), an answer that is empty or cut,
errors that the response does not mention, and questions that are not addressed. It has no knowledge
of the world, so it cannot check other facts, and gives no confidence.
"""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.advice import telling
from sidemirror_server.models.adapters.rules.pointing.failures import admits_failure
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.points import points_of
from sidemirror_server.models.adapters.rules.response import Response
from sidemirror_server.models.adapters.rules.support import gives_several
from sidemirror_server.models.adapters.rules.wording import spoken_name
from sidemirror_server.models.answers import CritiqueAnswer, DimensionAnswer, IssueAnswer
from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.vocabulary.terms import telling_terms

SIGNIFICANT = frozenset({"wrong_fact", "missing_critical_information", "potential_harm"})
_QUOTE_CHARS = 200
_MOST_ISSUES = 8
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
# If every call failed, an answer that says no, or asks, tells that something is missing.
_SAYS_NO = re.compile(
    r"\b(?:no|not|none|nobody|nothing|never|neither|nor|without|"
    r"already (?:taken|booked|full|gone|used|closed|exists?))\b|n['’]t\b|\?",
    re.IGNORECASE,
)
# Common words. A longer text with few of them is in another language, whose words are not known here.
_ENGLISH = re.compile(
    r"\b(?:the|are|were|has|have|you|your|its|and|with|there|this|that|which|they|our|from|while|would|can|could|"
    r"not|it)\b",
    re.IGNORECASE,
)
# Of so many words on, at least one in so many. Chosen here.
_ENGLISH_FROM, _ENGLISH_EACH = 6, 20
# Begins at the verb, because a pattern that begins with any run of letters takes quadratic time.
_CLAIMS_DONE = re.compile(
    r"\b(?:has|have|was|were|is|are|been)\s+(?:been\s+|now\s+|also\s+){0,4}(?:successfully\s+)?"
    r"(?:booked|cancell?ed|changed|completed|confirmed|created|deleted|deployed|exchanged|fixed|installed|modified|"
    r"placed|processed|refunded|removed|returned|saved|sent|updated)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
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
        yield _pointed(point, response)
    yield from _errors(response)
    yield from _cut(response)
    yield from _unaddressed(response)
    if gives_several(response):
        reason = "The question asks for one answer, and the response gives several."
        yield _issue("unclear", response.final, reason, "Decide on one answer.", "major")


def _pointed(point: Point, response: Response) -> IssueAnswer:
    """A contradiction as an issue: it quotes the answer, or what the answer leaves out, and its reason the record, or
    what the user asked for."""
    against = _clipped(" ".join(point.against.split()))
    is_asked = point.against in response.evidence.question or point.against in response.evidence.task
    where = "You were asked" if is_asked and point.against not in response.record else "On record"
    beside = f" {where}: “{against}”." if point.quote and against else ""
    return _issue(point.kind, point.quote or point.against, point.reason + beside, point.fix)


def _errors(response: Response) -> Iterator[IssueAnswer]:
    """An issue for failures that were neither recovered from nor mentioned in the response, in any words of theirs."""
    standing, said = _standing(response), _DENIES.sub("", response.text)
    if not standing or _ADMITS.search(said) or admits_failure(said) or not _is_english(said):
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
    elif not response.worked and not _SAYS_NO.search(said):
        reason = f"Every tool call failed, {tool} with this error, and the response does not say so."
        yield _issue("missing_critical_information", error, reason, "Say what failed and what is therefore not known.")
    elif response.worked:
        reason = f"{tool} failed with this error, nothing made it good, and the response does not mention it."
        yield _issue("missing_detail", error, reason, "Say what could not be found out.", "major")


def _is_english(text: str) -> bool:
    """Whether a text may be English. One of a few words, or of numbers, may be."""
    words = _WORD.findall(text)
    if sum(not word.isascii() for word in words) * 2 > len(words):
        return False
    return len(words) < _ENGLISH_FROM or len(_ENGLISH.findall(text)) * _ENGLISH_EACH >= len(words)


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
    if len(said) < _TOO_SHORT_TERMS or said & telling_terms(response.record) or not _is_english(response.text):
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


def _issue(kind: str, quote: str, reason: str, fix: str, severity: str = "critical") -> IssueAnswer:
    return IssueAnswer(kind=kind, severity=severity, quote=_clipped(quote), reason=reason, fix=fix)  # type: ignore[arg-type]


def _clipped(quote: str) -> str:
    """The beginning of a quote, cut between words, so that it is still found in its text."""
    quote = quote.strip()
    return quote if len(quote) <= _QUOTE_CHARS else quote[:_QUOTE_CHARS].rsplit(None, 1)[0]
