"""A critique as stored: field names and enum values are part of the format.

A critique whose status is not OK has no confidence, no issues and no dimensions. Only the converter in `rpc` fills in
the defaults of seed response-critique (decision 017).
"""

from collections.abc import Callable
from enum import StrEnum

import msgspec

from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.status import ResultStatus, Usage

# The provider of the built-in rules, as stored.
_RULES = "rules"


class IssueKind(StrEnum):
    """What is wrong. Only the first three call for a revision: seed response-critique's "significant problems"."""

    WRONG_FACT = "wrong_fact"
    MISSING_CRITICAL_INFORMATION = "missing_critical_information"
    POTENTIAL_HARM = "potential_harm"
    MISSING_DETAIL = "missing_detail"
    UNSUPPORTED_CLAIM = "unsupported_claim"
    NOT_ACTIONABLE = "not_actionable"
    UNCLEAR = "unclear"
    STYLE = "style"
    LENGTH = "length"


class Severity(StrEnum):
    """How much an issue matters to the reader. The need for a revision depends on the kind, never on this."""

    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class QuoteSource(StrEnum):
    """Where the server found an issue's quote."""

    RESPONSE = "response"
    TASK = "task"
    EVIDENCE = "evidence"


class ConfidenceKind(StrEnum):
    """The kind of a confidence: a language model's own estimate, or calibrated by the project's outcomes."""

    MODEL = "model"
    CALIBRATED = "calibrated"


class Issue(msgspec.Struct, frozen=True, omit_defaults=True):
    """One problem, whose quote was found in a text that its kind may quote. `event_ids`: the turn's events that it
    rests on (`grounds.py`)."""

    kind: IssueKind
    severity: Severity
    quote: str
    quote_source: QuoteSource
    reason: str
    fix: str = ""
    event_ids: tuple[str, ...] = ()


class Dimension(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of the four dimensions: accuracy, completeness, actionability or clarity. `score`: 0 to 1."""

    name: str
    score: float
    reason: str = ""


class Better(StrEnum):
    """Which of two responses a comparison prefers."""

    EARLIER = "earlier"
    LATER = "later"
    TIE = "tie"


class Comparison(msgspec.Struct, frozen=True, omit_defaults=True):
    """A comparison of a later response with an earlier one, asked in both orders. `better`: None if the status is not
    OK (the earlier one is then kept). `agreed`: both orders gave the same answer; if not, it is a tie."""

    status: ResultStatus
    detail: str = ""
    better: Better | None = None
    agreed: bool = False
    reason: str = ""
    against_id: str = ""
    usage: Usage | None = None


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """The judgement of one response. `dropped`: how many issues were dropped, because their quote was not found or
    because they contain orders to the critic. `confidence`: how likely the response is right and complete, 0 to 1; of
    a calibrated one `stated` is what the model said. `withheld`: issues call for a revision that is not asked for."""

    status: ResultStatus
    detail: str = ""
    confidence: float | None = None
    issues: tuple[Issue, ...] = ()
    suggestions: tuple[str, ...] = ()
    dimensions: tuple[Dimension, ...] = ()
    should_revise: bool = False
    revision_prompt: str = ""
    dropped: int = 0
    usage: Usage | None = None
    calibrated: bool = False
    stated: float | None = None
    withheld: bool = False

    @property
    def calls_for_revision(self) -> bool:
        """Whether an issue calls for a revision, asked for or withheld."""
        return self.should_revise or self.withheld

    @property
    def confidence_kind(self) -> ConfidenceKind | None:
        """The kind of the confidence; None without one. Earlier versions stored a confidence of the built-in rules,
        which was not a probability (decision 047)."""
        if self.calibrated:
            return ConfidenceKind.CALIBRATED
        if self.confidence is None or (self.usage is not None and self.usage.provider == _RULES):
            return None
        return ConfidenceKind.MODEL


class Critique(msgspec.Struct, frozen=True, omit_defaults=True):
    """A verdict with the response that it judges. `made_by`: critique or debate. `question` and `response` are kept for
    `compare_to`."""

    critique_id: str
    created_us: int
    verdict: Verdict
    question: str = ""
    response: str = ""
    turn_id: str = ""
    session_id: str = ""
    made_by: str = "critique"
    comparison: Comparison | None = None
    origin: Origin = Origin.TOOL


class CritiqueOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcomes reported for the critiqued response, and for the one revised after it (`revised`): success, failure,
    partial, timeout or error; empty where none is reported."""

    outcome: str
    score: float | None = None
    reported_us: int = 0
    revised: str = ""


# A critique as JSON, its stored form.
critique_body: Callable[[Critique], bytes] = msgspec.json.Encoder().encode
# The critique in its stored form.
critique_in: Callable[[bytes], Critique] = msgspec.json.Decoder(Critique).decode
