"""On which events an issue rests, and whether the answer was changed after its critique."""

import msgspec
import pytest

from sidemirror_server.critique.answers import AnswerChange, GivenAnswer, answer_change
from sidemirror_server.critique.grounds import Grounds
from sidemirror_server.critique.material import CritiqueMaterial, ToolEvidence
from sidemirror_server.critique.record import Critique, QuoteSource, Verdict
from sidemirror_server.vocabulary.status import ResultStatus

MATERIAL = CritiqueMaterial(
    "How many orders are open?",
    "There are 17 open orders, all paid.",
    (
        ToolEvidence("sql", "open orders: 18, paid: 4", event_id="r1"),
        ToolEvidence("sql", "customers: 7", event_id="r2"),
        ToolEvidence("sql", "customers: 7, suppliers: 2", event_id="r3"),
    ),
    question_event="q",
    response_event="d",
    task_event="t",
)


@pytest.mark.parametrize(
    ("quote", "source", "reason", "events"),
    [
        ("17 open orders", QuoteSource.RESPONSE, "It is another number.", ("d",)),
        ("17 open orders", QuoteSource.RESPONSE, "Another number. On record: “open orders: 18”.", ("d", "r1")),
        ("How many orders", QuoteSource.TASK, "It is not answered.", ("q",)),
        # Of several results with the words, the last.
        ("customers: 7", QuoteSource.EVIDENCE, "It is left out.", ("r3",)),
        ("customers: 8", QuoteSource.EVIDENCE, "It is left out: “suppliers: 3”.", ()),
    ],
)
def test_the_events_that_have_the_words(quote: str, source: QuoteSource, reason: str, events: tuple[str, ...]) -> None:
    assert Grounds(MATERIAL).of(quote, source, reason) == events


def test_what_is_of_no_turn_rests_on_no_event() -> None:
    given = CritiqueMaterial(MATERIAL.question, MATERIAL.response, (ToolEvidence("sql", "open orders: 18"),))
    reason = "On record: “open orders: 18”."
    assert Grounds(given).of("17 open orders", QuoteSource.RESPONSE, reason) == ()


def judged(at_us: int, response: str) -> Critique:
    return Critique(f"c{at_us}", at_us, Verdict(ResultStatus.OK), response=response)


def draft(at_us: int, text: str) -> GivenAnswer:
    return GivenAnswer(at_us, text, is_draft=True)


def text(at_us: int, said: str) -> GivenAnswer:
    return GivenAnswer(at_us, said, is_draft=False)


FIRST = judged(10, "There are 17.")


@pytest.mark.parametrize(
    ("answers", "later", "change"),
    [
        # Only the draft is on record, and not what was sent.
        ([draft(5, "There are 17.")], [], None),
        ([draft(5, "There are 17."), draft(15, "There are 18.")], [], AnswerChange.CHANGED),
        ([draft(15, "There are 18."), draft(20, "there  are 17.")], [], AnswerChange.NONE),
        ([text(5, "There are 17."), text(15, "There are 18.")], [], AnswerChange.CHANGED),
        # What a model says after a draft may be no answer.
        ([draft(15, "There are 17."), text(20, "Done.")], [], AnswerChange.NONE),
        ([draft(5, "There are 17.")], [judged(20, "There are 18.")], AnswerChange.CHANGED),
        # The same words judged again are no answer that was sent: seen to fail with NONE.
        ([], [judged(20, "There are 17.")], None),
        ([], [judged(15, "There are 17."), judged(20, "There are 18.")], AnswerChange.CHANGED),
        ([], [], None),
        ([text(5, "Let me look.")], [], None),
    ],
)
def test_what_became_of_the_answer(
    answers: list[GivenAnswer], later: list[Critique], change: AnswerChange | None
) -> None:
    assert answer_change(FIRST, answers, [FIRST, *later]) is change


def test_an_answer_to_no_draft_was_changed_by_any_later_one() -> None:
    without = msgspec.structs.replace(FIRST, response="")
    assert answer_change(without, [draft(15, "There are 18.")], [without]) is AnswerChange.CHANGED
