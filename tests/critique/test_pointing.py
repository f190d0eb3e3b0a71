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
        "misread",
        "What takes the space?",
        (ok("run", "6.9 GB   Archive\n3.8 GB   Inbox\n1.7 GB   Sent"),),
        "The inbox takes 3.3 GB.",
        "The inbox takes 3.3 GB.",
        "3.8 GB   Inbox",
        (
            "The inbox takes 3.8 GB.",
            "The archive takes 6.9 GB, the inbox 3.8 GB.",
            "The inbox takes about 4 GB.",
            "The inbox and the sent mail take 5.5 GB together.",
        ),
    ),
    Case(
        "swapped",
        "Which one has the sofa?",
        (
            ok(
                "get_orders",
                '[{"id": "W-5518203", "items": ["Side table"], "total": 214.0}, '
                '{"id": "W-5518230", "items": ["Blue sofa Lund"], "total": 1290.0}]',
            ),
        ),
        "The blue Lund sofa is in order W-5518203.",
        "The blue Lund sofa is in order W-5518203.",
        '"id": "W-5518230"',
        (
            "The blue Lund sofa is in order W-5518230.",
            "The side table is in order W-5518203.",
            "The blue Lund sofa is not in order W-5518203.",
            "The sofa is in W-5518230, the table in W-5518203.",
        ),
    ),
    Case(
        "derived",
        "What is left to pay?",
        (ok("get_folio", "Room 613.70\nDeposit 150.00"),),
        "The room was €613.70. After your deposit of €150.00, €473.70 is left to pay.",
        "€473.70",
        "613.70",
        (
            "The room was €613.70. After your deposit of €150.00, €463.70 is left to pay.",
            "The room was €613.70 and the deposit €150.00.",
        ),
    ),
    Case(
        "totals",
        "What did I spend on taxis?",
        (ok("search_payments", "03/02 CITYCAB 18.40\n03/05 HOPPA 11.75\n03/13 CITYCAB 32.60"),),
        "You spent 64.75 altogether.",
        "64.75",
        "HOPPA 11.75",
        ("You spent 62.75 altogether.", "The first was 18.40."),
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
        "order",
        "Which is cheaper?",
        (ok("search", '[{"name": "Seaview", "total": 319.6}, {"name": "Dunes", "total": 327.6}]'),),
        "The Dunes is cheaper than the Seaview.",
        "The Dunes is cheaper than the Seaview",
        '"total": 327.6',
        ("The Seaview is cheaper than the Dunes.", "The Dunes is not cheaper than the Seaview."),
    ),
    Case(
        "sequences",
        "What happened first?",
        (
            ok(
                "timeline",
                "10:02:11 pg-2 heartbeat lost\n10:02:41 pg-2 promoted to primary\n10:04:30 config push cfg-918",
            ),
        ),
        "The config push went out before pg-2 was promoted.",
        "The config push went out before pg-2 was promoted.",
        "10:04:30 config push cfg-918",
        (
            "The config push went out after pg-2 was promoted.",
            "pg-2 was promoted before the config push went out.",
        ),
    ),
    Case(
        "counts",
        "What does the audit say?",
        (ok("bash", "# audit report\n5 vulnerabilities (2 low, 3 high)", "npm audit"),),
        "The audit reports 4 vulnerabilities.",
        "reports 4 vulnerabilities",
        "5 vulnerabilities (2 low, 3 high)",
        ("The audit reports 5 vulnerabilities.", "The audit reports five vulnerabilities, 3 of them high."),
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
        "identities",
        "Whose is it?",
        (ok("get_user", '{"email": "mia.li@example.com", "order": "W4817402"}'),),
        "The order W4817420 is hers.",
        "W4817420",
        "W4817402",
        ("The order W4817402 is hers.",),
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
        "left_out",
        "Which terminal do we leave from, is there a meal, and how late can I drop off bags?",
        (ok("get_booking", '{"terminal": "2", "meal": "snack", "bag_drop_closes_min_before": 50}'),),
        "You leave from terminal 2, and there is a meal.",
        "",
        "how late can I drop off bags",
        (
            "You leave from terminal 2, there is a meal, and bags can be dropped off until 50 minutes before.",
            "You leave from terminal 2, and there is a meal. Shall I look up how late it may be?",
        ),
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


def test_a_count_is_no_mistake_for_a_rate() -> None:
    """Seen to fail when any two numbers below 20 counted as alike."""
    answer = "14 orders are open, worth 1200.00 USD or 1104.00 EUR."
    assert of_calls("misread", answer, ok("exchange_rate", "USD/EUR: 0.92")) == []


def test_a_sum_of_the_rows_that_are_meant_is_no_misreading() -> None:
    """Seen to fail on a right answer that nobody had seen: only whole columns were added up."""
    rows = "region | net\nAPAC | 956733\nAPAC | 1008704\nEMEA | 1642137\nEMEA | 1697514"
    assert of_calls("misread", "APAC had 1965437.", ok("sql", rows)) == []


def test_a_rounded_value_was_given() -> None:
    """Seen to fail on a right answer that nobody had seen: a volume was told in millions."""
    quote = '{"name": "Tevora", "price": 3.418, "volume": 11873220}'
    assert of_calls("swapped", "Tevora edged up to 3.418 on a volume of nearly 11.9 million.", ok("quote", quote)) == []


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("You used more gas than before: 1,126 m3 compared with 1,209 m3.", 1),
        ("You used less gas than before: 1,126 m3 compared with 1,209 m3.", 0),
        ("It has 8.9.2, and at least 8.15.3 is required. It is newer than required.", 1),
        ("It has 8.9.2, and at least 8.15.3 is required. It is older than required.", 0),
        ("The top three by time:\n1. join (4,094 s)\n2. sessions (6,759 s)\n3. search (2,277 s)", 1),
        ("The top three by time:\n1. sessions (6,759 s)\n2. join (4,094 s)\n3. search (2,277 s)", 0),
    ],
)
def test_orders_that_the_answer_itself_turns_round(answer: str, found: int) -> None:
    assert len(of_calls("order", answer, ok("run", "1126 and 1209"))) == found


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
