"""CritiqueService over a real socket."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidemirror.v1 import common_pb2, sidecar_pb2
from sidemirror.v1 import critique_pb2 as pb
from sidemirror.v1 import thinking_pb2 as thinking_pb
from sidemirror.v1.critique_pb2_grpc import CritiqueServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.models.answers import ComparisonAnswer, DebateAnswer
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.vocabulary.status import ResultStatus
from tests.critique.cast import (
    EVIDENCE,
    FINE,
    QUESTION,
    RESPONSE,
    REVISED,
    Cast,
    argues,
    critical,
    issue,
    prefers,
)
from tests.wire.calls import NOT_FOUND, REUSED, TIMEOUT_S, bad_field, called, failed, refused, returned, said
from tests.wire.critics import GIVEN, OK, critiques, figures, listed, played
from tests.wire.sidecar import SidecarThread


@pytest.fixture(scope="module")
def stub(server: SidecarThread) -> Iterator[CritiqueServiceStub]:
    with critiques(server) as made:
        yield made


# --- the gate -------------------------------------------------------------------------------------------------------

ERROR, LONG, MANY = (
    common_pb2.CRITIQUE_REASON_TOOL_ERROR,
    common_pb2.CRITIQUE_REASON_LONG_RESPONSE,
    common_pb2.CRITIQUE_REASON_MANY_TOOL_RESULTS,
)
FINE_RESULT = common_pb2.ToolResult(name="f", content="fine")
FAILED_RESULT = common_pb2.ToolResult(name="f", error="timeout")


@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        ({}, []),
        ({"response": "\U0001f642" * 2000}, []),
        ({"response": "\U0001f642" * 2001}, [LONG]),
        ({"response_length": 2000}, []),
        ({"response_length": 2001}, [LONG]),
        ({"tool_results": [FINE_RESULT] * 2}, []),
        ({"tool_results": [FINE_RESULT] * 3}, [MANY]),
        ({"tool_results": [common_pb2.ToolResult(is_error=True)]}, [ERROR]),
        ({"tool_results": [common_pb2.ToolResult(error="timeout")]}, [ERROR]),
        ({"tool_results": [FINE_RESULT, FINE_RESULT, FAILED_RESULT], "response_length": 2001}, [ERROR, LONG, MANY]),
    ],
)
def test_the_gate(stub: CritiqueServiceStub, fields: dict[str, Any], reasons: list[int]) -> None:
    answer = stub.ShouldCritique(pb.ShouldCritiqueRequest(**fields), timeout=TIMEOUT_S)
    assert list(answer.reasons) == reasons
    assert answer.should_critique is bool(reasons)


# --- one verdict ----------------------------------------------------------------------------------------------------


def test_a_verdict(tmp_path: Path) -> None:
    with played(tmp_path, Cast(critique=critical(issue(fix="Say 4,808.")))) as stub:
        critique = stub.Critique(pb.CritiqueRequest(**GIVEN), timeout=TIMEOUT_S).critique
        assert (critique.status, critique.confidence, critique.should_revise) == (OK, 0.3, True)
        assert critique.confidence_kind == common_pb2.CONFIDENCE_KIND_MODEL
        assert list(critique.issues) == ["The evidence says 4,808 m."]
        assert critique.issue_details[0] == common_pb2.CritiqueIssue(
            kind=common_pb2.ISSUE_KIND_WRONG_FACT,
            severity=common_pb2.ISSUE_SEVERITY_MAJOR,
            quote="4,208 metres high",
            quote_source=common_pb2.QUOTE_SOURCE_RESPONSE,
            reason="The evidence says 4,808 m.",
            fix="Say 4,808.",
        )
        assert list(critique.suggestions) == ["Check the height."]
        assert [(one.name, one.score) for one in critique.dimensions] == [("accuracy", 0.2)]
        assert critique.revision_prompt.endswith("Possible fix: Say 4,808.")
        assert (critique.usage.provider, critique.usage.input_tokens) == ("scripted", 100)
        assert critique.origin == common_pb2.ORIGIN_TOOL
        kept = listed(stub)
        assert [one.critique for one in kept] == [critique]
        assert (kept[0].user_message, kept[0].response, kept[0].made_by) == (QUESTION, RESPONSE, "critique")


def test_what_the_model_is_asked(tmp_path: Path) -> None:
    cast = Cast(critique=FINE)
    with played(tmp_path, cast) as stub:
        for response in (RESPONSE, "Something else."):
            stub.Critique(pb.CritiqueRequest(**{**GIVEN, "response": response}), timeout=TIMEOUT_S)
    one, other = cast.asked
    assert (one.temperature, one.max_tokens) == (0.1, 300)
    assert one.system == other.system, "a fixed rubric can be cached"
    assert RESPONSE not in one.system
    fence = one.prompt.partition("<data-")[2].partition(">")[0]
    assert one.prompt.count(f"<data-{fence}>") == one.prompt.count(f"</data-{fence}>") == 3
    assert one.prompt.index(QUESTION) < one.prompt.index(EVIDENCE) < one.prompt.index(RESPONSE)


def test_the_model_reads_what_a_tool_was_called_with(tmp_path: Path) -> None:
    cast = Cast(critique=FINE)
    arguments = '{"query": "height of Mont Blanc", "password": "hunter2"}'
    result = common_pb2.ToolResult(name="search", arguments=arguments, content=EVIDENCE)
    with played(tmp_path, cast) as stub:
        stub.Critique(pb.CritiqueRequest(**{**GIVEN, "tool_results": [result]}), timeout=TIMEOUT_S)
    (asked,) = cast.asked
    assert 'search({"query": "height of Mont Blanc"' in asked.prompt
    assert "hunter2" not in asked.prompt
    assert [step.kind for step in asked.evidence.steps] == ["tool_call", "tool_result", "response"]


@pytest.mark.parametrize(
    "status",
    [
        ResultStatus.FAILED_MODEL,
        ResultStatus.FAILED_PARSE,
        ResultStatus.TRUNCATED,
        ResultStatus.REFUSED,
        ResultStatus.SKIPPED_SPEND,
    ],
)
def test_a_failing_model_gives_the_seeds_default_and_moves_no_figure(tmp_path: Path, status: ResultStatus) -> None:
    parts = [critical(), FINE, status]
    with played(tmp_path, Cast(critique=lambda ask: parts.pop(0) if len(parts) > 1 else parts[0])) as stub:
        for _ in range(2):
            assert stub.Critique(pb.CritiqueRequest(**GIVEN), timeout=TIMEOUT_S).critique.status == OK
        end_time = stub.ListCritiques(pb.ListCritiquesRequest()).critiques[0].create_time
        end_time.seconds += 3600
        before, kept = figures(stub, end_time=end_time), listed(stub)
        assert before.totals[0].p50_confidence == 0.3
        critique = stub.Critique(pb.CritiqueRequest(**GIVEN), timeout=TIMEOUT_S).critique
        assert critique.status == common_pb2.ResultStatus.Value(f"RESULT_STATUS_{status.name}")
        assert (critique.confidence, list(critique.issues)) == (0.5, ["Reflection failed"])
        assert critique.confidence_kind == common_pb2.CONFIDENCE_KIND_UNSPECIFIED
        assert (list(critique.suggestions), critique.should_revise) == ([], False)
        assert (critique.critique_id, list(critique.issue_details), critique.revision_prompt) == ("", [], "")
        assert critique.detail == "as the script says"
        assert figures(stub, end_time=end_time) == before
        assert listed(stub) == kept


def test_an_answer_that_was_cut_off_is_asked_for_once_more(tmp_path: Path) -> None:
    cast = Cast(critique=lambda ask: ResultStatus.TRUNCATED if ask.max_tokens == 300 else FINE)
    with played(tmp_path, cast) as stub:
        critique = stub.Critique(pb.CritiqueRequest(**GIVEN), timeout=TIMEOUT_S).critique
        assert (critique.status, critique.usage.input_tokens) == (OK, 200)
    assert [ask.max_tokens for ask in cast.asked] == [300, 1200]


def test_a_model_that_never_answers_is_given_up_before_the_deadline(tmp_path: Path) -> None:
    cast = Cast(held=(Purpose.CRITIQUE,), critique=FINE)
    with played(tmp_path, cast) as stub:
        critique = stub.Critique(pb.CritiqueRequest(**GIVEN), timeout=1.0).critique
        assert (critique.status, critique.confidence) == (common_pb2.RESULT_STATUS_FAILED_MODEL, 0.5)
        assert cast.cancelled.acquire(timeout=TIMEOUT_S)


def test_compared_with_an_earlier_response(tmp_path: Path) -> None:
    with played(tmp_path, Cast(critique=critical(), comparison=prefers("4,808"))) as stub:
        earlier = stub.Critique(pb.CritiqueRequest(**GIVEN), timeout=TIMEOUT_S).critique
        request = pb.CritiqueRequest(**{**GIVEN, "response": REVISED.response}, compare_to=earlier.critique_id)
        comparison = stub.Critique(request, timeout=TIMEOUT_S).critique.comparison
        assert (comparison.outcome, comparison.agreed) == (common_pb2.COMPARISON_OUTCOME_BETTER, True)
        assert comparison.against_critique_id == earlier.critique_id
        assert refused(stub.Critique, pb.CritiqueRequest(**GIVEN, compare_to="nobody")) == NOT_FOUND


def test_bad_requests(stub: CritiqueServiceStub) -> None:
    assert refused(stub.Critique, pb.CritiqueRequest()) == bad_field("response")
    assert refused(stub.Critique, pb.CritiqueRequest(turn_id="unknown")) == NOT_FOUND
    assert refused(stub.Revise, pb.ReviseRequest(user_message="x")) == bad_field("response")
    assert refused(stub.Revise, pb.ReviseRequest(**GIVEN, max_revisions=4)) == bad_field("max_revisions")
    assert refused(stub.Debate, pb.DebateRequest(**GIVEN, critics=1)) == bad_field("critics")
    assert refused(stub.Debate, pb.DebateRequest(**GIVEN, critics=6)) == bad_field("critics")
    assert refused(stub.Debate, pb.DebateRequest(**GIVEN, max_rounds=3)) == bad_field("max_rounds")
    assert refused(stub.EvaluateTrace, pb.EvaluateTraceRequest()) == bad_field("turn_id")
    assert refused(stub.EvaluateTrace, pb.EvaluateTraceRequest(turn_id="unknown")) == NOT_FOUND
    long = pb.EvaluateTraceRequest(turn_id="t", checklist=["x", "y" * 1001])
    assert refused(stub.EvaluateTrace, long) == bad_field("checklist[1]")
    report = pb.ReportCritiqueOutcomeRequest(critique_id="unknown", outcome=common_pb2.TASK_OUTCOME_SUCCESS)
    assert refused(stub.ReportCritiqueOutcome, report) == NOT_FOUND
    report.outcome = common_pb2.TASK_OUTCOME_UNSPECIFIED
    assert refused(stub.ReportCritiqueOutcome, report) == bad_field("outcome")
    report.critique_id = ""
    assert refused(stub.ReportCritiqueOutcome, report) == bad_field("critique_id")
    times = {"start_time": {"seconds": 10}, "end_time": {"seconds": 10}}
    assert refused(stub.GetCritiqueStatistics, pb.GetCritiqueStatisticsRequest(**times)) == bad_field("start_time")  # type: ignore[arg-type]
    times["end_time"] = {"seconds": 200 * 86400}
    hours = pb.GetCritiqueStatisticsRequest(**times, interval=pb.STATISTICS_INTERVAL_HOUR)  # type: ignore[arg-type]
    assert refused(stub.GetCritiqueStatistics, hours) == bad_field("start_time")


# --- request ids, tenants, lists ------------------------------------------------------------------------------------


def test_the_same_request_is_answered_the_same_and_a_failed_try_does_not_bind_it(tmp_path: Path) -> None:
    parts: list[Any] = [ResultStatus.FAILED_MODEL, FINE, critical()]
    cast = Cast(critique=lambda ask: parts.pop(0))
    with played(tmp_path, cast) as stub:
        request = pb.CritiqueRequest(**GIVEN, request_id="r")
        assert stub.Critique(request, timeout=TIMEOUT_S).critique.status != OK
        first = stub.Critique(request, timeout=TIMEOUT_S)
        assert stub.Critique(request, timeout=TIMEOUT_S) == first
        assert (first.critique.confidence, len(cast.asked)) == (0.9, 2)
        other = pb.CritiqueRequest(**{**GIVEN, "response": "Another."}, request_id="r")
        assert refused(stub.Critique, other) == REUSED
        assert len(listed(stub)) == 1


@pytest.mark.parametrize("method", ["Revise", "Debate"])
def test_the_same_stream_is_answered_the_same(tmp_path: Path, method: str) -> None:
    cast = Cast(
        critique=critical(),
        revision=REVISED,
        comparison=prefers("4,808"),
        debate=lambda ask: argues() if ask.answer_type is DebateAnswer else FINE,
    )
    kind: Any = {"Revise": pb.ReviseRequest, "Debate": pb.DebateRequest}[method]
    with played(tmp_path, cast) as stub:
        call = getattr(stub, method)
        first = list(call(kind(**GIVEN, request_id="r"), timeout=TIMEOUT_S))
        asked = len(cast.asked)
        assert list(call(kind(**GIVEN, request_id="r"), timeout=TIMEOUT_S)) == first
        assert len(cast.asked) == asked
        assert refused(call, kind(**{**GIVEN, "response": "Another."}, request_id="r")) == REUSED
        assert len(listed(stub)) == 1


def test_tenants_never_meet(stub: CritiqueServiceStub) -> None:
    made = stub.Critique(pb.CritiqueRequest(**GIVEN, tenant_id="mine"), timeout=TIMEOUT_S).critique
    assert len(listed(stub, tenant_id="mine")) == 1
    assert listed(stub, tenant_id="yours") == []
    assert not figures(stub, tenant_id="yours").totals
    report = pb.ReportCritiqueOutcomeRequest(
        tenant_id="yours", critique_id=made.critique_id, outcome=common_pb2.TASK_OUTCOME_SUCCESS
    )
    assert refused(stub.ReportCritiqueOutcome, report) == NOT_FOUND
    compared = pb.CritiqueRequest(**GIVEN, tenant_id="yours", compare_to=made.critique_id)
    assert refused(stub.Critique, compared) == NOT_FOUND


def test_pages_and_filters(stub: CritiqueServiceStub) -> None:
    for number in range(7):
        place: dict[str, Any] = {"session_id": f"s{number % 2}", "turn_id": f"t{number % 3}"}
        stub.Critique(pb.CritiqueRequest(**GIVEN, tenant_id="pages", **place), timeout=TIMEOUT_S)
    every = listed(stub, tenant_id="pages")
    assert len(every) == 7
    assert listed(stub, tenant_id="pages", page_size=2) == every
    assert [one.session_id for one in every] == [f"s{number % 2}" for number in reversed(range(7))]
    assert len(listed(stub, tenant_id="pages", session_id="s0")) == 4
    assert len(listed(stub, tenant_id="pages", turn_id="t0")) == 3
    assert len(listed(stub, tenant_id="pages", turn_id="t0", session_id="s1")) == 1
    token = stub.ListCritiques(pb.ListCritiquesRequest(tenant_id="pages", page_size=2)).next_page_token
    elsewhere = pb.ListCritiquesRequest(tenant_id="pages", session_id="s0", page_token=token)
    assert refused(stub.ListCritiques, elsewhere) == bad_field("page_token")


def test_figures_and_outcomes(stub: CritiqueServiceStub) -> None:
    wrong = {"response": "17 + 25 = 43", "user_message": "What is 17 + 25?", "tool_results": []}
    right = {"response": "17 + 25 = 42", "user_message": "What is 17 + 25?", "tool_results": []}
    made = [
        stub.Critique(pb.CritiqueRequest(tenant_id="figures", **fields), timeout=TIMEOUT_S).critique  # type: ignore[arg-type]
        for fields in (wrong, right, right)
    ]
    assert [one.should_revise for one in made] == [True, False, False]
    for critique, outcome in zip(made, ("FAILURE", "FAILURE", "SUCCESS"), strict=True):
        stub.ReportCritiqueOutcome(
            pb.ReportCritiqueOutcomeRequest(
                tenant_id="figures",
                critique_id=critique.critique_id,
                outcome=f"TASK_OUTCOME_{outcome}",
                score=0.5,
            ),
            timeout=TIMEOUT_S,
        )
    found = figures(stub, tenant_id="figures", interval=pb.STATISTICS_INTERVAL_HOUR)
    total = found.totals[0]
    assert (total.provider, total.count, total.revision_rate) == ("rules", 3, pytest.approx(1 / 3))  # type: ignore[comparison-overlap]
    assert (total.reported_count, total.agreement) == (3, pytest.approx(2 / 3))  # type: ignore[comparison-overlap]
    assert {(one.confidence, one.confidence_kind) for one in made} == {(0.5, 0)}, "the rules give no confidence"
    assert not total.HasField("mean_confidence")
    assert not total.HasField("p50_confidence")
    assert [bucket.count for bucket in found.buckets] in ([3], [1, 2], [2, 1])
    assert not figures(stub, tenant_id="figures", provider="anthropic").totals
    kept = listed(stub, tenant_id="figures")
    assert (kept[0].outcome, kept[0].score) == (common_pb2.TASK_OUTCOME_SUCCESS, 0.5)


# --- revise, debate, evaluate ---------------------------------------------------------------------------------------


def test_revise(tmp_path: Path) -> None:
    cast = Cast(critique=critical(), revision=REVISED, comparison=prefers("4,808"))
    with played(tmp_path, cast) as stub:
        made = list(stub.Revise(pb.ReviseRequest(**GIVEN), timeout=TIMEOUT_S))
        assert [one.WhichOneof("step") for one in made] == ["critique", "revision", "comparison", "result"]
        result = made[-1].result
        assert (result.response, result.number, result.revised) == (REVISED.response, 1, True)
        assert made[2].comparison.comparison.agreed
        assert [one.critique.critique_id for one in listed(stub)] == [result.critique_id]


@pytest.mark.parametrize("better", ["first", "tie"])
def test_revise_keeps_the_original(tmp_path: Path, better: Any) -> None:
    cast = Cast(critique=critical(), revision=REVISED, comparison=ComparisonAnswer(better=better))
    with played(tmp_path, cast) as stub:
        result = list(stub.Revise(pb.ReviseRequest(**GIVEN), timeout=TIMEOUT_S))[-1].result
        assert (result.response, result.number, result.revised) == (RESPONSE, 0, False)


def test_leaving_a_stream_ends_the_spending(tmp_path: Path) -> None:
    cast = Cast(held=(Purpose.REVISION, Purpose.DEBATE), critique=critical())
    with played(tmp_path, cast) as stub:
        revising = stub.Revise(pb.ReviseRequest(**GIVEN), timeout=TIMEOUT_S)
        assert next(revising).WhichOneof("step") == "critique"
        assert all(cast.began.acquire(timeout=TIMEOUT_S) for _ in range(2))
        revising.cancel()
        assert cast.cancelled.acquire(timeout=TIMEOUT_S)
        debating = stub.Debate(pb.DebateRequest(**GIVEN, critics=2), timeout=TIMEOUT_S)
        assert all(cast.began.acquire(timeout=TIMEOUT_S) for _ in range(2))
        debating.cancel()
        assert all(cast.cancelled.acquire(timeout=TIMEOUT_S) for _ in range(2))
    assert cast.purposes() == ["critique", "revision", "debate", "debate"]


def test_debate(tmp_path: Path) -> None:
    def speak(ask: Any) -> Any:
        if ask.answer_type is not DebateAnswer:
            return critical()
        return argues(issue(), argument="It is wrong.") if "contradicts" in ask.system else argues()

    with played(tmp_path, Cast(debate=speak)) as stub:
        made = list(stub.Debate(pb.DebateRequest(**GIVEN, critics=2), timeout=TIMEOUT_S))
        assert [one.WhichOneof("part") for one in made] == ["argument"] * 4 + ["verdict"]
        verdict = made[-1].verdict
        assert (verdict.rounds, verdict.agreed, verdict.critique.should_revise) == (2, False, True)
        assert [one.made_by for one in listed(stub)] == ["debate"]


def test_evaluate_a_recorded_turn_and_given_events(server: SidecarThread, stub: CritiqueServiceStub) -> None:
    events = [
        said("Where is W17?"),
        called("find", "W17", "c1"),
        failed("timeout", "c1"),
        called("find", "W17", "c2"),
        returned("in Graz", "c2"),
        thinking_pb.TurnEvent(response_drafted=thinking_pb.ResponseDrafted(text="In Graz.")),
    ]
    given = stub.EvaluateTrace(pb.EvaluateTraceRequest(events=events, tenant_id="trace"), timeout=TIMEOUT_S).evaluation
    names = ["correctness", "helpfulness", "safety", "completeness", "efficiency"]
    assert [one.name for one in given.criteria] == names
    assert [one.score if one.HasField("score") else None for one in given.criteria] == [None, None, None, 1.0, 0.5]
    with grpc.insecure_channel(server.address) as channel:
        thinking = ThinkingServiceStub(channel)
        turn_id = thinking.StartTurn(thinking_pb.StartTurnRequest(tenant_id="trace"), timeout=TIMEOUT_S).plan.turn_id
        reported = thinking_pb.ReportEventsRequest(tenant_id="trace", turn_id=turn_id, events=events)
        thinking.ReportEvents(reported, timeout=TIMEOUT_S)
    request = pb.EvaluateTraceRequest(tenant_id="trace", turn_id=turn_id)
    assert stub.EvaluateTrace(request, timeout=TIMEOUT_S).evaluation == given
    both = pb.EvaluateTraceRequest(tenant_id="trace", turn_id=turn_id, events=events)
    assert refused(stub.EvaluateTrace, both) == bad_field("turn_id")


def test_a_critique_of_a_recorded_turn(server: SidecarThread, stub: CritiqueServiceStub) -> None:
    with grpc.insecure_channel(server.address) as channel:
        thinking = ThinkingServiceStub(channel)
        start = thinking_pb.StartTurnRequest(tenant_id="turn", user_message="Cancel W17.")
        turn_id = thinking.StartTurn(start, timeout=TIMEOUT_S).plan.turn_id
        events = [
            called("cancel_order", "W17", "c1"),
            failed("503", "c1"),
            thinking_pb.TurnEvent(response_drafted=thinking_pb.ResponseDrafted(text="W17 has been cancelled.")),
        ]
        report = thinking_pb.ReportEventsRequest(tenant_id="turn", turn_id=turn_id, events=events)
        assert not thinking.ReportEvents(report, timeout=TIMEOUT_S).directives, "critique_mode is OFF by default"
    critique = stub.Critique(pb.CritiqueRequest(tenant_id="turn", turn_id=turn_id), timeout=TIMEOUT_S).critique
    assert critique.should_revise
    assert critique.issue_details[0].quote == "W17 has been cancelled"
    assert listed(stub, tenant_id="turn", turn_id=turn_id)[0].user_message == "Cancel W17."


# --- the service ----------------------------------------------------------------------------------------------------


def test_health_and_server_info(server: SidecarThread) -> None:
    with grpc.insecure_channel(server.address) as channel:
        request = health_pb2.HealthCheckRequest(service="sidemirror.v1.CritiqueService")
        health: Any = health_pb2_grpc.HealthStub(channel)
        answer = health.Check(request, timeout=TIMEOUT_S)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        info = SidecarServiceStub(channel).GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=TIMEOUT_S)
        purposes = {model.purpose for model in info.models}
        assert {"critique", "revision", "comparison", "trace_evaluation", "debate"} <= purposes
