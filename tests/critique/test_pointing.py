"""What each mechanism of pointing finds by itself, with the words of both sides, and what it leaves alone."""

from collections.abc import Sequence
from typing import NamedTuple

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


class Case(NamedTuple):
    """A wrong answer with what is found, and right ones. `against`: a part of the record's quote."""

    mechanism: str
    request: str
    results: Sequence[ToolEvidence]
    wrong: str
    quote: str
    against: str
    right: Sequence[str]


def ok(tool: str, text: str, arguments: str = "") -> ToolEvidence:
    return ToolEvidence(tool, text, arguments=arguments)


ORDER_A = '{"id": "W-5518203", "placed": "2026-03-02", "items": "blue sofa"}'
ORDER_B = '{"id": "W-5518230", "placed": "2026-03-03", "items": "walnut lamp"}'
GUESTS = """{"guests": [{"name": "Salma", "response": "accepted"}, {"name": "Joost", "response": "tentative"},
{"name": "Emeka", "response": "accepted"}]}"""

CASES = (
    Case(
        "sums",
        "What do three cost?",
        (ok("get_item", '{"price": 19.5}'),),
        "Three of them cost 19.50 + 19.50 + 19.50 = 59.50 EUR.",
        "19.50 + 19.50 + 19.50 = 59.50",
        '"price": 19.5',
        ("Three of them cost 19.50 + 19.50 + 19.50 = 58.50 EUR.", "Between 3 - 4 = days."),
    ),
    Case(
        "units",
        "How long did it take?",
        (ok("get_job", '{"duration_ms": 350}'),),
        "It took 350 seconds.",
        "350 seconds",
        '"duration_ms": 350',
        ("It took 350 ms.", "It took 0.35 seconds."),
    ),
    Case(
        "near_values",
        "How high is it?",
        (ok("search", "Mont Blanc, 4808 m, lies in the Alps."),),
        "It rises to 4880 m.",
        "4880",
        "4808",
        ("It rises to 4808 m.", "It rises to 4,808 m."),
    ),
    Case(
        "sole_counts",
        "How many are there?",
        (ok("list_tables", "orders, customers"), ok("run_sql", '{"orders": 41}')),
        "There are 57 orders.",
        "57",
        '{"orders": 41}',
        (
            "There are 41 orders.",
            "There are no orders.",
            "There are about 40 orders.",
            "There are 57 orders in total.",
            "57 customers wrote them.",
            "They were written by 7 orders a day.",
            "There are 57 orders, and there were 16 before.",
            "Two orders are late.",
            "There are two orders that are late.",
            "I looked only at the first two orders.",
        ),
    ),
    Case(
        "sole_counts",
        "How many orders are there?",
        (ok("run_sql", " count \n-------\n  3714\n(1 row)"),),
        "There are twelve orders.",
        "twelve",
        "3714",
        (
            "There are 3,714 orders.",
            "There are 3.7 thousand orders.",
            "It took 12 seconds.",
            "If there were 12 orders, I would say so.",
        ),
    ),
    Case(
        "near_values",
        "What do the amounts add up to?",
        (ok("sum_amount", "rows: 3, sum(amount): 2476"),),
        "They add up to 2746 EUR.",
        "2746",
        "2476",
        ("They add up to 2476 EUR.", "They cost up to 2746 EUR."),
    ),
    Case(
        "weekdays",
        "When is it?",
        (ok("get_event", '{"start": "2026-04-17T10:00"}'),),
        "It is on Monday, 17 April 2026.",
        "Monday, 17 April 2026",
        "2026-04-17",
        (
            "It is on Friday, 17 April 2026.",
            "It is on Friday, 17 April.",
            "The next is on Saturday, 17 April 2027.",
            "There is one next Monday, 17 May.",
            "They meet on Friday 17 April 2026, Monday 20 April 2026 and Tuesday 21 April 2026.",
        ),
    ),
    Case(
        "states",
        "How is the incident?",
        (ok("get_incident", '{"id": "INC-70", "phase": "mitigated", "closed": null}'),),
        "The incident INC-70 is resolved.",
        "The incident INC-70 is resolved.",
        '"phase": "mitigated"',
        (
            "The incident INC-70 is mitigated, but not resolved.",
            "The incident INC-70 is not resolved yet.",
            "The incident INC-70 has been mitigated.",
        ),
    ),
    Case(
        "failures",
        "Do the tests pass?",
        (ok("bash", "FAILED tests/test_a.py::test_b\n1 failed, 119 passed in 3.2s", "pytest -q"),),
        "All tests pass.",
        "All tests pass",
        "1 failed, 119 passed",
        ("119 tests pass, and test_b fails.", "Not all tests pass.", "119 of 120 tests pass; test_b does not."),
    ),
    Case(
        "failures",
        "Please send it to Ann.",
        (ToolEvidence("send_email", "550 mailbox full", failed=True, arguments='{"to": "ann@example.com"}'),),
        "I have sent it to Ann.",
        "I have sent it to Ann",
        "550 mailbox full",
        ("I could not send it to Ann: her mailbox is full.", "Her mailbox is full, and nothing has been sent."),
    ),
    Case(
        "failures",
        "Print the labels.",
        (
            ok(
                "print_labels",
                '{"requested": 20, "printed": 18, "errors": [{"order": "SO-417", "reason": "no postcode"}]}',
            ),
        ),
        "The labels are printed, all 20 of them.",
        "The labels are printed, all 20 of them",
        '"requested": 20, "printed": 18',
        ("18 labels are printed; SO-417 has none.", "The labels are printed, except that of SO-417."),
    ),
    Case(
        "done",
        "Please refund order W17.",
        (ok("get_order", '{"order_id": "W17", "status": "delivered"}'),),
        "I've refunded order W17.",
        "I've refunded order W17",
        "",
        (
            "I have found order W17.",
            "Shall I refund order W17?",
            "I looked at order W17 and refunded nothing.",
            "Nothing has been refunded so far.",
        ),
    ),
    Case(
        "destructive",
        "Why is the disk full?",
        (ok("run", "38G /var/log", "du -sh /var/log"),),
        "The logs take 38 GB. Run `rm -rf /var/log` and it is fine.",
        "rm -rf /var/log",
        "Why is the disk full?",
        (
            "The logs take 38 GB.",
            "The logs take 38 GB. Do not run `rm -rf /var/log`.",
            "The logs take 38 GB. I have reset the filter, so that you see them all again.",
        ),
    ),
    Case(
        "near_values",
        "When was it tagged, and by whom?",
        (ok("get_tag", "v2.14.0 tagged by Ines on 2026-03-11"),),
        "Ines tagged v2.14.0 on 14 March 2026.",
        "14 March 2026",
        "2026-03-11",
        ("Ines tagged v2.14.0 on 11 March 2026.", "In Tokyo it was tagged on 12 March 2026."),
    ),
    Case(
        "near_values",
        "Which version mends it?",
        (ok("get_advisory", '{"affected": ">=2.4.0 <3.1.2", "patched": "3.1.2"}'),),
        "The patched version is 3.1.0.",
        "3.1.0",
        "3.1.2",
        ("The patched version is 3.1.2.", "The patched version is 4.0.1."),
    ),
    Case(
        "rows",
        "Which order has the lamp?",
        (ok("get_order", ORDER_A), ok("get_order", ORDER_B)),
        "The walnut lamp is in order W-5518203, placed on March 3.",
        "W-5518203",
        "W-5518230",
        (
            "The walnut lamp is in order W-5518230, placed on March 3.",
            "The walnut lamp, placed on March 3, is in W-5518230, unlike the sofa in W-5518203.",
        ),
    ),
    Case(
        "rows",
        "What does Easy Access pay?",
        (ok("fetch", "Product      Minimum    AER\nEasy Access  GBP 1      3.64%\nFixed Year   GBP 1,000  4.25%"),),
        "Easy Access currently pays 4.25% AER.",
        "4.25%",
        "3.64%",
        ("Easy Access currently pays 3.64% AER.", "Easy Access pays less than the 4.25% of Fixed Year."),
    ),
    Case(
        "rows",
        "When was it too high?",
        (ok("get_series", '[{"d": "2026-01-05", "v": 18.5}, {"d": "2026-01-07", "v": 31.5}]'),),
        "On 5 January 2026 it was at 31.5.",
        "5 January 2026",
        "2026-01-07",
        ("On 7 January 2026 it was at 31.5.", "From 5 to 7 January it was too high, with 31.5 at most."),
    ),
    Case(
        "row_states",
        "Who comes?",
        (ok("get_event", GUESTS),),
        "Salma and Joost have accepted.",
        "Joost have accepted",
        '"response": "tentative"',
        ("Salma and Emeka have accepted.", "Salma has accepted, and Joost is tentative.", "Joost has not accepted."),
    ),
)
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
