"""What an ended turn has to teach, and the job that comes of it."""

import pytest

from sidemirror_server.thinking.turn import apply
from sidemirror_server.thinking.turn_state import TurnState
from sidemirror_server.trace.event import (
    ResponseDrafted,
    ToolCalled,
    ToolFailed,
    ToolReturned,
    TurnFinished,
    TurnStarted,
    UserMessage,
    What,
)
from sidemirror_server.turns.teaching import Cause, Teacher, causes_of, ended_turn_in
from sidemirror_server.vocabulary.scope import Scope
from tests.turns.house import event

SCOPE, OTHER = Scope("acme", "shop"), Scope("acme", "blog")
HOUR_US = 3_600_000_000
FAILS = (ToolCalled("c", "sql"), ToolFailed("c", "no such table: users"))
WORKS = (ToolCalled("c", "sql"), ToolReturned("c", "3 rows"))


def ended(*whats: What, turn_id: str = "t", turn_count: int = 1) -> TurnState:
    """The state of a turn with these events, as its fold gives it."""
    state = TurnState()
    for place, what in enumerate((*whats, TurnFinished("success")), start=1):
        apply(state, place, place, event(f"e{place}", what))
    state.turn_id, state.turn_count, state.learns = turn_id, turn_count, True  # type: ignore[assignment]
    return state


@pytest.mark.parametrize(
    ("whats", "turn_count", "causes"),
    [
        (WORKS, 1, ()),
        (FAILS, 1, (Cause.FAILURE,)),
        ((*FAILS, *WORKS), 1, (Cause.FAILURE,)),
        ((TurnStarted("s", "That's wrong, it is net."), *WORKS), 2, (Cause.CORRECTION,)),
        # Nothing was said before it that it could correct.
        ((TurnStarted("s", "That's wrong, it is net."), *WORKS), 1, ()),
        ((ResponseDrafted("It is 42."), UserMessage("No, I meant the net sum.")), 1, (Cause.CORRECTION,)),
    ],
)
def test_what_a_turn_teaches(whats: tuple[What, ...], turn_count: int, causes: tuple[Cause, ...]) -> None:
    assert causes_of(ended(*whats, turn_count=turn_count)) == causes


def test_a_response_after_a_critique_that_asked_for_it() -> None:
    state = ended(ResponseDrafted("a"))
    assert causes_of(state) == ()
    state.revision_asked = True
    apply(state, 9, 9, event("e9", ResponseDrafted("b")))
    assert causes_of(state) == (Cause.REVISION,)


def test_a_turn_that_was_not_to_be_learned_from() -> None:
    state = ended(*FAILS)
    state.learns = False
    assert Teacher(0, by_signature=False).taught(SCOPE, state, 0).sequel is None


def test_each_turn_is_a_job_of_its_own_or_each_failure() -> None:
    turns, failures = (Teacher(0, by_signature=by_signature) for by_signature in (False, True))
    one, two = ended(*FAILS, turn_id="t1"), ended(*FAILS, turn_id="t2")
    by_turn = [turns.taught(SCOPE, state, 0).sequel for state in (one, two, one)]
    assert by_turn[0] == by_turn[2] != by_turn[1]
    by_failure = [failures.taught(SCOPE, state, 0).sequel for state in (one, two)]
    elsewhere = failures.taught(OTHER, one, 0).sequel
    jobs = [job for job in (*by_failure, elsewhere) if job is not None]
    assert jobs[0].job_id == jobs[1].job_id != jobs[2].job_id
    assert [ended_turn_in(job.payload).turn_id for job in jobs] == ["t1", "t2", "t1"]


def test_an_hour_has_room_for_so_many_turns_of_a_project() -> None:
    teacher = Teacher(2, by_signature=False)
    state = ended(*FAILS)
    taught = [teacher.taught(SCOPE, state, 0) for _ in range(3)]
    assert [one.sequel is not None for one in taught] == [True, True, False]
    assert taught[2].left == ("failure",)
    # The first one that is left is told of, once in an hour.
    assert [one.is_first_left for one in (*taught, teacher.taught(SCOPE, state, 0))] == [False, False, True, False]
    assert teacher.taught(OTHER, state, HOUR_US - 1).sequel is not None
    assert [teacher.taught(SCOPE, state, HOUR_US).is_first_left for _ in range(4)] == [False, False, True, False]
