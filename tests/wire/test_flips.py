"""What outcomes make of verdicts: revisions that do harm are withheld, and confidence is calibrated."""

from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import common_pb2, sidecar_pb2
from sidemirror.v1 import critique_pb2 as pb
from sidemirror.v1 import thinking_pb2 as thinking_pb
from sidemirror.v1.critique_pb2_grpc import CritiqueServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from tests.critique.cast import FINE, QUESTION, RESPONSE, REVISED, Cast, argues, critical, issue, prefers
from tests.wire.calls import TIMEOUT_S, bad_field, refused
from tests.wire.critics import GIVEN, critiques, figures, listed, played
from tests.wire.sidecar import sidecar, thinking

SUCCESS, FAILURE, PARTIAL = (
    common_pb2.TASK_OUTCOME_SUCCESS,
    common_pb2.TASK_OUTCOME_FAILURE,
    common_pb2.TASK_OUTCOME_PARTIAL,
)
MODEL, CALIBRATED = common_pb2.CONFIDENCE_KIND_MODEL, common_pb2.CONFIDENCE_KIND_CALIBRATED
# So many right responses made wrong, with none the other way, are no chance.
ENOUGH = 7


def judged(stub: CritiqueServiceStub, **fields: Any) -> common_pb2.CritiqueResult:
    return stub.Critique(pb.CritiqueRequest(**{**GIVEN, **fields}), timeout=TIMEOUT_S).critique


def report(stub: CritiqueServiceStub, critique_id: str, **fields: Any) -> None:
    stub.ReportCritiqueOutcome(pb.ReportCritiqueOutcomeRequest(critique_id=critique_id, **fields), timeout=TIMEOUT_S)


def harmed(stub: CritiqueServiceStub, times: int, **fields: Any) -> None:
    """So many right responses that a revision made wrong."""
    place = {"tenant_id": fields.get("tenant_id", "")}
    for _ in range(times):
        made = judged(stub, **fields)
        report(stub, made.critique_id, outcome=SUCCESS, revised_outcome=FAILURE, **place)


def test_revisions_that_do_harm_are_withheld_everywhere(tmp_path: Path) -> None:
    cast = Cast(
        critique=critical(),
        revision=REVISED,
        comparison=prefers("4,808"),
        debate=lambda ask: argues(issue()) if "argument" in ask.answer_type.__struct_fields__ else critical(),
    )
    with sidecar(tmp_path, model=cast) as server, critiques(server) as stub:
        harmed(stub, ENOUGH - 1)
        assert judged(stub).should_revise
        assert not figures(stub).revisions[0].withheld
        harmed(stub, 1)
        made = judged(stub)
        assert (made.should_revise, made.revision_withheld, made.revision_prompt) == (False, True, "")
        assert [one.kind for one in made.issue_details] == [common_pb2.ISSUE_KIND_WRONG_FACT], "the problem is told"
        assert listed(stub, page_size=1)[0].critique == made
        (told,) = figures(stub).revisions
        assert (told.provider, told.model, told.withheld) == ("scripted", "scripted-1", True)
        assert (told.reported_count, told.made_right_count, told.made_wrong_count) == (ENOUGH, 0, ENOUGH)
        assert not figures(stub, provider="rules").revisions
        assert figures(stub).totals[0].revision_rate == 1.0, "what calls for one is counted as before"
        revised = list(stub.Revise(pb.ReviseRequest(**GIVEN), timeout=TIMEOUT_S))
        assert [one.WhichOneof("step") for one in revised] == ["critique", "result"]
        assert "wrong" in revised[-1].result.reason
        debate = list(stub.Debate(pb.DebateRequest(**GIVEN, critics=2), timeout=TIMEOUT_S))
        assert debate[-1].verdict.critique.revision_withheld
        with thinking(server) as turns:
            start = thinking_pb.StartTurnRequest(user_message=QUESTION, critique_mode=common_pb2.CRITIQUE_MODE_ALWAYS)
            plan = turns.StartTurn(start, timeout=TIMEOUT_S).plan
            draft = thinking_pb.TurnEvent(response_drafted=thinking_pb.ResponseDrafted(text=RESPONSE))
            events = thinking_pb.ReportEventsRequest(turn_id=plan.turn_id, events=[draft], wait={"seconds": 30})
            said = turns.ReportEvents(events, timeout=TIMEOUT_S).directives[-1].critique
            assert (said.should_revise, said.revision_withheld) == (False, True)
        other = judged(stub, tenant_id="other")
        assert (other.should_revise, other.revision_withheld) == (True, False), "outcomes are a tenant's own"
        assert not figures(stub, tenant_id="other").revisions


def test_what_is_erased_counts_no_more(tmp_path: Path) -> None:
    with sidecar(tmp_path, model=Cast(critique=critical())) as server, critiques(server) as stub:
        harmed(stub, ENOUGH, subject_ids=["Ada"])
        assert judged(stub).revision_withheld
        with grpc.insecure_channel(server.address) as channel:
            SidecarServiceStub(channel).Erase(sidecar_pb2.EraseRequest(subject_id="Ada"), timeout=TIMEOUT_S)
        assert not figures(stub).revisions
        assert judged(stub).should_revise


def test_outcomes_of_both_responses(tmp_path: Path) -> None:
    with played(tmp_path, Cast(critique=critical())) as stub:
        made = judged(stub)
        report(stub, made.critique_id, revised_outcome=PARTIAL)
        (kept,) = listed(stub)
        assert (kept.outcome, kept.revised_outcome) == (common_pb2.TASK_OUTCOME_UNSPECIFIED, PARTIAL)
        assert figures(stub).totals[0].reported_count == 0, "of the judged response nothing is known"
        report(stub, made.critique_id, outcome=FAILURE, score=0.25)
        report(stub, made.critique_id, revised_outcome=SUCCESS)
        (kept,) = listed(stub)
        assert (kept.outcome, kept.score, kept.revised_outcome) == (FAILURE, 0.25, SUCCESS)
        assert figures(stub).revisions[0].made_right_count == 1
        without = pb.ReportCritiqueOutcomeRequest(critique_id=made.critique_id, revised_outcome=SUCCESS, score=1.0)
        assert refused(stub.ReportCritiqueOutcome, without) == bad_field("score")


def test_confidence_is_calibrated_from_fifty_outcomes_on(tmp_path: Path) -> None:
    with played(tmp_path, Cast(critique=FINE)) as stub:
        for place in range(50):
            made = judged(stub)
            assert (made.confidence, made.confidence_kind) == (0.9, MODEL)
            report(stub, made.critique_id, outcome=FAILURE if place % 5 < 3 else SUCCESS)
        made = judged(stub)
        assert made.confidence_kind == CALIBRATED
        assert made.confidence == pytest.approx(0.4, abs=0.02)
        assert listed(stub)[0].critique.confidence == made.confidence
        assert judged(stub, tenant_id="other").confidence_kind == MODEL


def test_the_built_in_rules_have_a_confidence_once_it_is_calibrated(tmp_path: Path) -> None:
    wrong, right = (
        {"response": f"17 + 25 = {sum_}", "user_message": "17 + 25?", "tool_results": []} for sum_ in (43, 42)
    )
    with sidecar(tmp_path) as server, critiques(server) as stub:
        for place in range(50):
            made = judged(stub, **(wrong if place % 2 else right))
            assert made.confidence_kind == common_pb2.CONFIDENCE_KIND_UNSPECIFIED
            report(stub, made.critique_id, outcome=FAILURE if place % 2 or place % 10 == 0 else SUCCESS)
        low, high = judged(stub, **wrong), judged(stub, **right)
        assert low.confidence_kind == high.confidence_kind == CALIBRATED
        assert low.confidence < 0.1 < 0.7 < high.confidence
        assert figures(stub).totals[0].mean_confidence == pytest.approx(
            (low.confidence + high.confidence) / 2, abs=1e-5
        )
