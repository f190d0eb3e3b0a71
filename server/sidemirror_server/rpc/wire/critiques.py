"""Verdicts from records to the wire. Writes the seed's default where a model said nothing (design section 3)."""

from typing import Any, assert_never

from sidemirror.v1 import common_pb2
from sidemirror.v1 import critique_pb2 as pb
from sidemirror_server.critique import evaluate
from sidemirror_server.critique.debate import Argument
from sidemirror_server.critique.gate import GateReason
from sidemirror_server.critique.record import (
    Better,
    Comparison,
    Critique,
    Dimension,
    Issue,
    IssueKind,
    QuoteSource,
    Severity,
    critique_in,
)
from sidemirror_server.critique.revise import Compared, Kept, Revised
from sidemirror_server.critique.statistics import PPM, Figures
from sidemirror_server.critique.store import CritiqueRecord
from sidemirror_server.critique.unaided import CONFIDENCE, ISSUES
from sidemirror_server.rpc.wire.common import ORIGINS, OUTCOMES, STATUSES, timestamp, usage_to_wire
from sidemirror_server.vocabulary.status import ResultStatus, Usage

CRITIQUE_REASONS: dict[GateReason, Any] = {
    reason: common_pb2.CritiqueReason.Value(f"CRITIQUE_REASON_{reason.name}") for reason in GateReason
}
_KINDS: dict[IssueKind, Any] = {kind: common_pb2.IssueKind.Value(f"ISSUE_KIND_{kind.name}") for kind in IssueKind}
_SEVERITIES: dict[Severity, Any] = {
    severity: common_pb2.IssueSeverity.Value(f"ISSUE_SEVERITY_{severity.name}") for severity in Severity
}
_SOURCES: dict[QuoteSource, Any] = {
    source: common_pb2.QuoteSource.Value(f"QUOTE_SOURCE_{source.name}") for source in QuoteSource
}
_OUTCOMES: dict[Better | None, Any] = {
    None: common_pb2.COMPARISON_OUTCOME_UNSPECIFIED,
    Better.LATER: common_pb2.COMPARISON_OUTCOME_BETTER,
    Better.EARLIER: common_pb2.COMPARISON_OUTCOME_WORSE,
    Better.TIE: common_pb2.COMPARISON_OUTCOME_TIE,
}


def critique_to_wire(critique: Critique) -> common_pb2.CritiqueResult:
    """A critique; the seed's default where its status is not OK."""
    verdict = critique.verdict
    done = verdict.status is ResultStatus.OK
    return common_pb2.CritiqueResult(
        critique_id=critique.critique_id,
        status=STATUSES[verdict.status],
        detail=verdict.detail,
        confidence=CONFIDENCE if verdict.confidence is None else verdict.confidence,
        issues=[issue.reason for issue in verdict.issues] if done else ISSUES,
        issue_details=[_issue(issue) for issue in verdict.issues],
        suggestions=verdict.suggestions,
        should_revise=verdict.should_revise,
        dimensions=[
            common_pb2.CritiqueDimension(name=one.name, score=one.score, reason=one.reason)
            for one in verdict.dimensions
        ],
        revision_prompt=verdict.revision_prompt,
        comparison=None if critique.comparison is None else comparison_to_wire(critique.comparison),
        usage=_usage(verdict.usage),
        dropped_issue_count=verdict.dropped,
        origin=ORIGINS[critique.origin],
    )


def comparison_to_wire(comparison: Comparison) -> common_pb2.CritiqueComparison:
    """A comparison."""
    return common_pb2.CritiqueComparison(
        status=STATUSES[comparison.status],
        detail=comparison.detail,
        against_critique_id=comparison.against_id,
        outcome=_OUTCOMES[comparison.better],
        agreed=comparison.agreed,
        reason=comparison.reason,
        usage=_usage(comparison.usage),
    )


def kept_to_wire(record: CritiqueRecord) -> pb.KeptCritique:
    """A critique as it is kept."""
    critique = critique_in(record.body)
    return pb.KeptCritique(
        critique=critique_to_wire(critique),
        turn_id=critique.turn_id,
        session_id=critique.session_id,
        user_message=critique.question,
        response=critique.response,
        create_time=timestamp(critique.created_us),
        outcome=OUTCOMES[record.outcome.outcome if record.outcome else ""],
        score=record.outcome.score if record.outcome else None,
        made_by=critique.made_by,
    )


def step_to_wire(step: Revised | Compared | Kept, critique_id: str) -> pb.ReviseResponse:
    """A step of a revision that is not a verdict. `critique_id`: the last verdict that was kept."""
    match step:
        case Revised():
            revision = pb.Revision(
                number=step.number,
                status=STATUSES[step.status],
                detail=step.detail,
                response=step.response,
                usage=_usage(step.usage),
            )
            return pb.ReviseResponse(revision=revision)
        case Compared():
            comparison = comparison_to_wire(step.comparison)
            return pb.ReviseResponse(comparison=pb.ReviseComparison(number=step.number, comparison=comparison))
        case Kept():
            result = pb.ReviseResult(
                response=step.response,
                number=step.number,
                revised=step.number > 0,
                reason=step.reason,
                critique_id=critique_id,
            )
            return pb.ReviseResponse(result=result)
        case _:
            assert_never(step)


def argument_to_wire(argument: Argument) -> pb.DebateResponse:
    """An argument."""
    return pb.DebateResponse(
        argument=pb.DebateArgument(
            round=argument.round,
            critic=argument.critic,
            brief=argument.brief,
            status=STATUSES[argument.status],
            detail=argument.detail,
            argument=argument.text,
            issue_details=[_issue(issue) for issue in argument.issues],
            should_revise=argument.revise,
            usage=_usage(argument.usage),
        )
    )


def evaluation_to_wire(evaluation: evaluate.Evaluation) -> pb.TraceEvaluation:
    """An evaluation."""
    return pb.TraceEvaluation(
        status=STATUSES[evaluation.status],
        detail=evaluation.detail,
        criteria=[
            pb.TraceCriterion(name=one.name, score=one.score, reason=one.reason, computed=one.computed)
            for one in evaluation.criteria
        ],
        usage=_usage(evaluation.usage),
    )


def figures_to_wire(figures: Figures) -> pb.CritiqueFigures:
    """Figures of one provider over one span."""
    return pb.CritiqueFigures(
        start_time=timestamp(figures.start_us),
        provider=figures.provider,
        count=figures.count,
        mean_confidence=figures.mean,
        p10_confidence=_ratio(figures.p10_ppm),
        p50_confidence=_ratio(figures.p50_ppm),
        p90_confidence=_ratio(figures.p90_ppm),
        revision_rate=figures.revision_rate,
        reported_count=figures.reported,
        agreement=figures.agreed / figures.reported if figures.reported else None,
    )


def _issue(issue: Issue) -> common_pb2.CritiqueIssue:
    return common_pb2.CritiqueIssue(
        kind=_KINDS[issue.kind],
        severity=_SEVERITIES[issue.severity],
        quote=issue.quote,
        quote_source=_SOURCES[issue.quote_source],
        reason=issue.reason,
        fix=issue.fix,
    )


def _dimension(dimension: Dimension) -> common_pb2.CritiqueDimension:
    return common_pb2.CritiqueDimension(name=dimension.name, score=dimension.score, reason=dimension.reason)


def _usage(usage: Usage | None) -> common_pb2.Usage | None:
    return None if usage is None else usage_to_wire(usage)


def _ratio(ppm: int | None) -> float | None:
    return None if ppm is None else ppm / PPM
