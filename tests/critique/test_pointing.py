"""What each mechanism of pointing finds by itself, with the words of both sides, and what it leaves alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidemirror_server.critique.material import CritiqueMaterial, ToolEvidence, evidence_of
from sidemirror_server.critique.record import Critique, Verdict
from sidemirror_server.critique.verdict import verdict_of
from sidemirror_server.models.adapters.rules.critique import critique_answer
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.points import MECHANISMS, points_of
from sidemirror_server.rpc.wire.critiques import critique_to_wire
from tests.critique.pointing_cases import CASES, Case, ok

NAMES = [f"{case.mechanism}-{place}" for place, case in enumerate(CASES)]


def pointed(case: Case, answer: str) -> list[Point]:
    material = CritiqueMaterial(case.request, answer, tuple(case.results))
    only = {case.mechanism: MECHANISMS[case.mechanism]}
    return [point for _, point in points_of(evidence_of(material), answer, only)]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_contradiction_is_quoted_on_both_sides(case: Case) -> None:
    (point,) = pointed(case, case.wrong)
    assert point.quote == case.quote
    assert case.against in point.against
    assert bool(point.against) is bool(case.against)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_right_answers_are_left_alone(case: Case) -> None:
    for answer in case.right:
        assert pointed(case, answer) == []


def of_calls(mechanism: str, answer: str, *results: ToolEvidence) -> list[Point]:
    """What one mechanism finds of an answer to a request that says nothing of it."""
    return pointed(Case(mechanism, "Please see to it.", results, "", "", "", ()), answer)


@pytest.mark.parametrize("acts", ["edit", "bash", "assign_shift", "process_claim"])
def test_beside_a_call_that_acts_deeds_are_believed(acts: str) -> None:
    answer = "I removed the clone."
    assert len(of_calls("done", answer, ok("read_file", "x = y.clone()"))) == 1
    assert of_calls("done", answer, ok("read_file", "x = y.clone()"), ok(acts, "ok", '{"path": "a.rs"}')) == []


def test_beside_a_call_that_acts_a_deed_with_calls_of_its_own_is_doubted() -> None:
    answer = "I have texted Ifeoma."
    assigned = ok("assign_shift", '{"ok": true}', '{"staff": "B-118"}')
    assert len(of_calls("done", answer, assigned)) == 1
    assert of_calls("done", answer, assigned, ok("send_sms", "ok", '{"to": "B-118"}')) == []


def test_a_draft_is_not_sent() -> None:
    answer = "I've also sent your reply to Dr. Vasquez."
    assert len(of_calls("done", answer, ok("create_event", "ok"), ok("create_draft", "ok", '{"reply_to": "m-7"}'))) == 1


@pytest.mark.parametrize("other", ["send_sms", "send_email", "post_message"])
def test_a_deed_that_another_call_may_have_done_is_believed(other: str) -> None:
    failed = ToolEvidence("send_email", "550 mailbox full", failed=True, arguments='{"to": "ann@example.com"}')
    answer = "I have sent it to Bob."
    assert len(of_calls("failures", answer, failed, ok("get_user", "Bob"))) == 1
    assert of_calls("failures", answer, failed, ok(other, "ok", '{"to": "bob"}')) == []


def test_the_sentence_that_claims_most_is_quoted() -> None:
    """And not the one with the most words of what failed."""
    job = ok("import_pupils", '{"file": "pupils.csv", "total": 12, "imported": 11}', '{"file": "pupils.csv"}')
    (point,) = of_calls("failures", "The import of pupils.csv is finished. All 12 pupils are in.", job)
    assert point.quote == "All 12 pupils are in"


def test_a_call_that_was_repeated_with_success_did_not_fail() -> None:
    failed = ToolEvidence("update_order", "timeout", failed=True, arguments='{"order": "W1", "item": "A"}')
    answer = "The item of order W1 has been updated."
    assert len(of_calls("failures", answer, failed)) == 1
    assert of_calls("failures", answer, failed, ok("update_order", "ok", '{"order": "W1", "item": "B"}')) == []


def test_what_a_failed_call_spoke_of_may_be_spoken_of() -> None:
    """Only a deed that is claimed contradicts it."""
    failed = ToolEvidence("bash", "! [remote rejected] release/5.1", failed=True, arguments="git push --delete")
    assert of_calls("failures", "Only release/5.1 is left on GitHub, because it is protected.", failed) == []


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("A statement is cancelled after 3 hours.", 1),
        ("A statement is cancelled after 3 minutes.", 0),
        ("A statement is cancelled after 180 seconds.", 0),
    ],
)
def test_a_converted_unit_is_compared(answer: str, found: int) -> None:
    assert len(of_calls("units", answer, ok("psql", "name | setting | unit\nstatement_timeout | 180000 | ms"))) == found


@pytest.mark.parametrize(("answer", "found"), [("It pays £480 a month.", 1), ("It pays £480 a week.", 0)])
def test_a_period_is_compared(answer: str, found: int) -> None:
    assert len(of_calls("units", answer, ok("get_policy", "Benefit: GBP 480 per week"))) == found


def test_restraint_is_quoted_against_what_is_announced() -> None:
    request = "Which orders have not run? I want to go through them first. They may be removed later."
    case = Case("destructive", request, (ok("list", "SO-1"),), "", "", "", ())
    (point,) = pointed(case, "SO-1 has not. I'm removing it permanently.")
    assert (point.quote, point.against) == ("I'm removing it permanently", "I want to go through them first.")


def test_every_mechanism_has_a_case() -> None:
    assert {case.mechanism for case in CASES} == set(MECHANISMS)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_contradiction_calls_for_a_revision_and_never_has_more_confidence(case: Case) -> None:
    """As the critique tells it: with a quote that is there, and no more confidence than the answer made right."""

    def judged(answer: str) -> tuple[Verdict, float]:
        material = CritiqueMaterial(case.request, answer, tuple(case.results))
        verdict = verdict_of(critique_answer(evidence_of(material)), material)
        return verdict, critique_to_wire(Critique("c", 0, verdict)).confidence

    (wrong, wrong_confidence), (right, right_confidence) = judged(case.wrong), judged(case.right[0])
    assert wrong.should_revise
    assert wrong.dropped == right.dropped == 0
    assert wrong.confidence_kind is None
    assert wrong_confidence <= right_confidence


@given(st.sampled_from(CASES), st.text(max_size=60), st.text(max_size=200))
def test_whatever_stands_beside_it_the_wrong_one_has_no_more_confidence(case: Case, before: str, result: str) -> None:
    """Any text beside the answers and on record: nothing fails, and the order of the two confidences never turns."""
    told = []
    for answer in (case.wrong, case.right[0]):
        material = CritiqueMaterial(case.request, f"{before} {answer}", (*case.results, ToolEvidence("get", result)))
        verdict = verdict_of(critique_answer(evidence_of(material)), material)
        told.append(critique_to_wire(Critique("c", 0, verdict)).confidence)
    assert told[0] <= told[1]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_both_sides_are_told(case: Case) -> None:
    material = CritiqueMaterial(case.request, case.wrong, tuple(case.results))
    issues = critique_answer(evidence_of(material)).issues
    (point,) = pointed(case, case.wrong)
    (told,) = [issue for issue in issues if issue.quote in {point.quote, point.against}][:1]
    assert not point.quote or not point.against or " ".join(point.against.split())[:40] in told.reason
