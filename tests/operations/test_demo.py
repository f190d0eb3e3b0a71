"""The demonstration shows nothing that does not happen: what differs between the attempts is what the sidecar says."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from sidemirror.v1 import common_pb2, goal_reflection_pb2, reflective_memory_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.models.language_model import Ask, Completion
from sidemirror_server.operations.demo import alone_attempt, recovery_sessions, sidecar_attempt
from sidemirror_server.operations.demo.attempt import block_in
from sidemirror_server.operations.demo.books import QUESTION, right_answer
from sidemirror_server.operations.demo.memory import Told, reflect, what_fits
from sidemirror_server.operations.demo.policy import DemoStep, Policy, Tactic, tactic_in
from sidemirror_server.operations.demo.review import Witness, reviews
from sidemirror_server.operations.demo.tools import DemoOutcome
from sidemirror_server.operations.own_sidecar import own_sidecar
from sidemirror_server.operations.target import dial
from sidemirror_server.vocabulary.block import WHOSE
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus

pytestmark = pytest.mark.slow("the demonstration runs in its own time")


class Notes:
    """An onlooker that remembers."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, bool]] = []
        self.tactics: list[Tactic | None] = []
        self.said: list[pb.TurnDirective] = []
        self.lesson: goal_reflection_pb2.GoalReflection | None = None
        self.result: reflective_memory_pb2.ReflectionResult | None = None
        self.lessons = ""
        self.known: Told | None = None

    def learned(self, reflection: goal_reflection_pb2.GoalReflection | None) -> None:
        self.lesson = reflection

    def kept(self, result: reflective_memory_pb2.ReflectionResult | None) -> None:
        self.result = result

    def began(self, directives: Sequence[pb.TurnDirective], lessons: str) -> None:
        self.said.extend(directives)
        self.lessons = lessons

    def did(self, number: int, step: DemoStep, outcome: DemoOutcome) -> None:
        self.steps.append((step.call.name, outcome.failed))

    def heard(self, directives: Sequence[pb.TurnDirective], tactic: Tactic | None) -> None:
        self.said.extend(directives)
        self.tactics.append(tactic)

    def told(self, told: Told | None) -> None:
        self.known = told


class Silent:
    """A model that fails at every question."""

    provider = "silent"
    name = "silent-1"

    async def complete(self, ask: Ask[Any], timeout_s: float) -> Completion[Any]:
        raise ModelFailed(ResultStatus.FAILED_MODEL, "it says nothing")


def test_the_right_answer() -> None:
    assert right_answer() == Decimal("1131.09")  # ((1200.00 + 860.50) * 0.9 - 625.00) * 0.92


async def test_alone_the_agent_runs_into_its_limit() -> None:
    notes = Notes()

    result = await alone_attempt(notes)

    assert (result.steps, result.errors, result.repeated, result.answer) == (16, 12, 12, None)
    assert notes.steps == [
        *[("search_contracts", False)] * 4,
        *[("run_sql", True)] * 4,
        *[("list_payments", True)] * 4,
        *[("get_rate", True)] * 4,
    ]
    assert notes.said == []


async def test_with_a_sidecar_it_finds_the_answer() -> None:
    notes = Notes()

    result = await sidecar_attempt(notes)

    assert (result.steps, result.errors, result.nudges, result.reflections) == (11, 3, 1, 4)
    assert result.answer == right_answer()
    assert notes.tactics == [Tactic.CHANGE_ARGUMENTS, Tactic.LOOK_UP, Tactic.ASK_FOR_LESS, Tactic.PAUSE]
    reflections = [directive for directive in notes.said if directive.HasField("reflection")]
    assert all(directive.reflection.cited_event_ids for directive in reflections)
    assert [list(directive.reasons) for directive in reflections] == [
        [pb.REFLECTION_REASON_STUCK],
        [pb.REFLECTION_REASON_TOOL_ERROR],
        [pb.REFLECTION_REASON_TOOL_ERROR],
        [pb.REFLECTION_REASON_TOOL_ERROR],
    ]


async def test_with_a_sidecar_whose_model_fails_only_the_nudge_helps() -> None:
    """It is the sidecar's words that change what the agent does: without reflections it gets past the search alone."""
    notes = Notes()

    result = await sidecar_attempt(notes, Silent())

    assert result.answer is None
    assert result.steps == 16
    assert {tactic for tactic in notes.tactics if tactic} == {Tactic.CHANGE_ARGUMENTS}
    assert notes.steps[3] == ("search_contracts", False)
    assert notes.steps[4:8] == [("run_sql", True)] * 4


async def test_the_second_attempt_starts_with_what_the_first_one_taught() -> None:
    """The first failed call of the attempt before does not happen again, and the reflection on it is saved."""
    first = Witness(Notes())
    await alone_attempt(first)
    notes = Notes()

    result = await sidecar_attempt(notes, after=first)

    assert notes.lesson is not None
    assert (notes.lesson.goal_id, round(notes.lesson.importance, 6)) == ("what-ortega-owes", 1.0)
    block = block_in(notes.said)
    assert block.splitlines() == ["[LESSONS FROM EARLIER WORK]", f"• [Goal: {QUESTION}] {notes.lesson.insight}"]
    assert notes.result is not None
    heading, whose, *lessons = notes.lessons.splitlines()
    assert (heading, whose) == ("[LESSONS FROM EARLIER WORK]", WHOSE)
    # The reflection only says what failed: it is kept, and not told.
    asked_for = {f"• [Strategy, from a tool] {notes.result.strategy_text}"}
    # What is learned of the goal unasked comes beside it, once it is stored.
    assert asked_for <= set(lessons) <= {*asked_for, f"• [Reflection, from a tool] {notes.lesson.insight}"}
    assert Policy().read(notes.lessons) is Tactic.LOOK_UP, "the strategy alone helps"
    assert notes.tactics[0] is Tactic.LOOK_UP
    assert (result.steps, result.errors, result.nudges, result.reflections) == (10, 2, 1, 3)
    assert result.answer == right_answer()


async def test_in_the_end_it_is_told_what_became_of_the_lessons() -> None:
    """By the receipt of their block; one task is no proof, and is not said to be one."""
    first = Witness(Notes())
    await alone_attempt(first)
    notes = Notes()

    await sidecar_attempt(notes, after=first)

    assert notes.known is not None
    assert notes.result is not None
    assert notes.known.receipt_id
    assert notes.known.succeeded
    assert notes.lesson is not None
    asked_for = {notes.result.strategy_text}
    assert asked_for <= {text for text, _ in notes.known.lessons} <= {*asked_for, notes.lesson.insight}
    for _, lesson in notes.known.lessons:
        assert (lesson.outside.assigned_count, lesson.outside.success_count) == (1, 1)
        assert (lesson.outside.returned_count, lesson.outside.stayed_away_count) == (0, 1)
        assert lesson.verdict == reflective_memory_pb2.LESSON_VERDICT_NOT_ENOUGH_DATA


async def test_without_a_lesson_there_is_nothing_to_tell() -> None:
    notes = Notes()

    await sidecar_attempt(notes)

    assert notes.known is None


async def test_a_model_that_fails_teaches_nothing() -> None:
    first = Witness(Notes())
    await alone_attempt(first)
    notes = Notes()
    silent = Silent()
    async with own_sidecar(silent) as address, dial(address) as channel:
        notes.kept(await reflect(channel, first.made))
        assert not (await what_fits(channel, first.made)).items
    assert notes.result is None


@pytest.mark.parametrize(
    ("said", "tactic"),
    [
        ("List or look up what exists before calling it again.", Tactic.LOOK_UP),
        ("Ask it for less at once.", Tactic.ASK_FOR_LESS),
        ("Try it once more after a pause.", Tactic.PAUSE),
        ("Do not call it with the same arguments again.", Tactic.CHANGE_ARGUMENTS),
        ("Say something kind.", None),
    ],
)
def test_the_agent_reads_what_is_suggested(said: str, tactic: Tactic | None) -> None:
    reflection = pb.MidTurnReflection(status=common_pb2.RESULT_STATUS_OK, suggested_action=said)
    failed = pb.MidTurnReflection(status=common_pb2.RESULT_STATUS_FAILED_MODEL, suggested_action=said)

    assert tactic_in([pb.TurnDirective(reflection=reflection)]) is tactic
    assert tactic_in([pb.TurnDirective(reflection=failed)]) is None


async def test_one_draft_is_to_be_revised_and_the_other_is_not() -> None:
    witness = Witness(Notes())
    await sidecar_attempt(witness)
    careless, careful = await reviews(witness.results)
    assert (careless.critique.should_revise, careful.critique.should_revise) == (True, False)
    assert [issue.quote for issue in careless.critique.issue_details][:1] == ["1854.45 - 625.00 = 1299.45"]
    assert str(right_answer()) in careful.draft
    assert str(right_answer()) not in careless.draft


async def test_drafts_are_let_through_when_the_model_fails() -> None:
    for review in await reviews([], Silent()):
        assert (review.critique.should_revise, review.critique.confidence) == (False, 0.5)
        assert list(review.critique.issues) == ["Reflection failed"]


async def test_what_repaired_a_call_is_told_and_used() -> None:
    """From the sixth session on; one in ten is held back, and then the next one is told."""
    *before, last = await recovery_sessions()
    assert len(before) >= 5
    assert {(one.calls, one.failed, one.advice) for one in before} == {(4, 2, "")}
    assert (last.calls, last.failed) == (3, 1)
    tries = len(before)
    worked = f"In {tries} of {tries} earlier tries the call worked after `SELECT ... FROM sqlite_master`"
    assert last.advice == f"{worked}; without, in 0 of {tries}."
