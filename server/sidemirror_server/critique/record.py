"""What a critique is, as it is kept: field names and enum values are part of the stored format.

A critique whose status is not OK holds nothing that a model could have said: no confidence, no issues, no dimensions.
The seed's default for it is written by the converter in `rpc` alone (design section 3).
"""

from collections.abc import Callable
from enum import StrEnum

import msgspec

from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.status import ResultStatus, Usage


class IssueKind(StrEnum):
    """What is wrong. The first three are the seed's "significant problems": they alone ask for a revision."""

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
    """How much an issue matters to the reader. It never decides about a revision: the kind does."""

    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class QuoteSource(StrEnum):
    """Where an issue's quote was found. Said by the server, not by the model."""

    RESPONSE = "response"
    TASK = "task"
    EVIDENCE = "evidence"


class Issue(msgspec.Struct, frozen=True, omit_defaults=True):
    """One problem whose quote was found where it should be."""

    kind: IssueKind
    severity: Severity
    quote: str
    quote_source: QuoteSource
    reason: str
    fix: str = ""


class Dimension(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of the seed's four dimensions (accuracy, completeness, actionability, clarity), 0 to 1."""

    name: str
    score: float
    reason: str = ""


class Better(StrEnum):
    """Which of two responses a comparison prefers."""

    EARLIER = "earlier"
    LATER = "later"
    TIE = "tie"


class Comparison(msgspec.Struct, frozen=True, omit_defaults=True):
    """A later response against an earlier one, asked in both orders. `better` is None when the status is not OK, which
    decides nothing: the earlier one is kept. `agreed`: both orders gave the same answer; else it is a tie."""

    status: ResultStatus
    detail: str = ""
    better: Better | None = None
    agreed: bool = False
    reason: str = ""
    against_id: str = ""
    usage: Usage | None = None


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of one question about a response. `dropped`: issues whose quote was not there, or that only repeat
    orders to the critic that stood in the material."""

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


class Critique(msgspec.Struct, frozen=True, omit_defaults=True):
    """A verdict with what it is about. `made_by`: critique or debate. `question` and `response` are kept for
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
    """What became of the response as it was critiqued. `outcome`: success, failure, partial, timeout or error."""

    outcome: str
    score: float | None = None
    reported_us: int = 0


# The JSON that keeps a critique.
critique_body: Callable[[Critique], bytes] = msgspec.json.Encoder().encode
# What such JSON keeps.
critique_in: Callable[[bytes], Critique] = msgspec.json.Decoder(Critique).decode
