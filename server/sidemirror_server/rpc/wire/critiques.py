"""Converters for critiques. They fill in the defaults of the seed response-critique where a model gave nothing
(decision 017)."""

from typing import Any

from sidemirror.v1 import common_pb2
from sidemirror_server.critique.gate import GateReason
from sidemirror_server.critique.record import (
    Better,
    Comparison,
    ConfidenceKind,
    Critique,
    Issue,
    IssueKind,
    QuoteSource,
    Severity,
)
from sidemirror_server.critique.seed_defaults import CONFIDENCE, ISSUES
from sidemirror_server.rpc.wire.common import ORIGINS, STATUSES, numbers_of, usage_to_wire
from sidemirror_server.vocabulary.status import ResultStatus

CRITIQUE_REASONS = numbers_of(GateReason, common_pb2.CritiqueReason)
_KINDS = numbers_of(IssueKind, common_pb2.IssueKind)
_SEVERITIES = numbers_of(Severity, common_pb2.IssueSeverity)
_SOURCES = numbers_of(QuoteSource, common_pb2.QuoteSource)
_CONFIDENCES = numbers_of(ConfidenceKind, common_pb2.ConfidenceKind)
_OUTCOMES: dict[Better | None, Any] = {
    None: common_pb2.COMPARISON_OUTCOME_UNSPECIFIED,
    Better.LATER: common_pb2.COMPARISON_OUTCOME_BETTER,
    Better.EARLIER: common_pb2.COMPARISON_OUTCOME_WORSE,
    Better.TIE: common_pb2.COMPARISON_OUTCOME_TIE,
}


def critique_to_wire(critique: Critique) -> common_pb2.CritiqueResult:
    """A critique, with the defaults of the seed response-critique unless its status is OK."""
    verdict = critique.verdict
    done = verdict.status is ResultStatus.OK
    kind = verdict.confidence_kind
    return common_pb2.CritiqueResult(
        critique_id=critique.critique_id,
        status=STATUSES[verdict.status],
        detail=verdict.detail,
        confidence=CONFIDENCE if verdict.confidence is None or kind is None else verdict.confidence,
        confidence_kind=common_pb2.CONFIDENCE_KIND_UNSPECIFIED if kind is None else _CONFIDENCES[kind],
        issues=[issue.reason for issue in verdict.issues] if done else ISSUES,
        issue_details=[issue_to_wire(issue) for issue in verdict.issues],
        suggestions=verdict.suggestions,
        should_revise=verdict.should_revise,
        dimensions=[
            common_pb2.CritiqueDimension(name=one.name, score=one.score, reason=one.reason)
            for one in verdict.dimensions
        ],
        revision_prompt=verdict.revision_prompt,
        comparison=None if critique.comparison is None else comparison_to_wire(critique.comparison),
        usage=usage_to_wire(verdict.usage),
        dropped_issue_count=verdict.dropped,
        origin=ORIGINS[critique.origin],
        revision_withheld=verdict.withheld,
    )


def comparison_to_wire(comparison: Comparison) -> common_pb2.CritiqueComparison:
    """A comparison as a message."""
    return common_pb2.CritiqueComparison(
        status=STATUSES[comparison.status],
        detail=comparison.detail,
        against_critique_id=comparison.against_id,
        outcome=_OUTCOMES[comparison.better],
        agreed=comparison.agreed,
        reason=comparison.reason,
        usage=usage_to_wire(comparison.usage),
    )


def issue_to_wire(issue: Issue) -> common_pb2.CritiqueIssue:
    """An issue as a message."""
    return common_pb2.CritiqueIssue(
        kind=_KINDS[issue.kind],
        severity=_SEVERITIES[issue.severity],
        quote=issue.quote,
        quote_source=_SOURCES[issue.quote_source],
        reason=issue.reason,
        fix=issue.fix,
        event_ids=issue.event_ids,
    )
