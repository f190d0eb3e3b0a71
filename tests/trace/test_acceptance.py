"""Which entries a turn's log accepts, without a store. What stores do with it is in tests/conformance/turn_log.py."""

import pytest

from sidemirror_server.trace.acceptance import Accepted, accept, check_repeated
from sidemirror_server.trace.log import Batch, Draft, TurnHead, TurnStanding
from sidemirror_server.vocabulary.errors import WrongState
from sidemirror_server.vocabulary.ids import SessionId, TurnId

S, OTHER = SessionId("s"), SessionId("other")
T, U = TurnId("t"), TurnId("u")


def batch(last: int, *sequences: int, turn_id: TurnId = T, session_id: SessionId = S, body: bytes = b"") -> Batch:
    head = TurnHead(turn_id, session_id, 1, TurnStanding.OPEN, last, 0, 0, body)
    return Batch(head, tuple(Draft(sequence, 0, b"%d" % sequence) for sequence in sequences))


def told(accepted: Accepted) -> tuple[list[tuple[str, int]], list[tuple[str, int]], list[tuple[str, int]]]:
    """The heads with their last sequence, the fresh drafts, the repeated ones, each by turn."""
    return (
        [(head.turn_id, head.last_sequence) for head in accepted.heads],
        [(head.turn_id, draft.sequence) for head, draft in accepted.fresh],
        [(head.turn_id, draft.sequence) for head, draft in accepted.repeated],
    )


def test_a_new_turn_begins_with_one() -> None:
    assert told(accept([batch(2, 1, 2)], {})) == ([("t", 2)], [("t", 1), ("t", 2)], [])


def test_what_continues_is_fresh_and_what_is_there_is_repeated() -> None:
    assert told(accept([batch(4, 2, 3, 4)], {T: (S, 3)})) == ([("t", 4)], [("t", 4)], [("t", 2), ("t", 3)])


def test_batches_of_one_append_continue_each_other() -> None:
    accepted = accept([batch(1, 1), batch(1, 1, turn_id=U), batch(2, 2), batch(2, 2)], {})
    assert told(accepted) == ([("t", 2), ("u", 1)], [("t", 1), ("u", 1), ("t", 2)], [("t", 2)])


def test_the_last_of_two_heads_of_one_place_stays() -> None:
    (head,) = accept([batch(3, body=b"one"), batch(3, body=b"two")], {T: (S, 3)}).heads
    assert head.body == b"two"


def test_a_head_that_is_behind_is_left_out() -> None:
    assert told(accept([batch(2, 2)], {T: (S, 3)})) == ([], [], [("t", 2)])
    assert told(accept([batch(0)], {})) == ([("t", 0)], [], [])


@pytest.mark.parametrize(
    ("wrong", "ends"),
    [
        (batch(2, 2), 0),  # a hole at the beginning
        (batch(3, 1, 3), 1),  # a hole between
        (batch(1, 0, 1), 0),  # sequences begin with 1
        (batch(2, 1), 1),  # the head knows of more
        (batch(1, 1, 2), 2),  # the head knows of fewer
    ],
)
def test_a_hole_is_refused(wrong: Batch, ends: int) -> None:
    with pytest.raises(WrongState, match=f"ends with entry {ends}"):
        accept([wrong], {})


def test_a_turn_of_another_session_is_refused() -> None:
    with pytest.raises(WrongState, match="of another session"):
        accept([batch(2, 2)], {T: (OTHER, 1)})
    with pytest.raises(WrongState, match="of another session"):
        accept([batch(1, 1), batch(2, 2, session_id=OTHER)], {})


def test_what_is_known_is_left_as_it_was() -> None:
    kept = {T: (S, 1)}
    accept([batch(2, 2)], kept)
    assert kept == {T: (S, 1)}


def test_a_place_is_taken_by_one_body() -> None:
    repeated = accept([batch(2, 1, 2)], {T: (S, 2)}).repeated
    check_repeated(repeated, {("t", 1): b"1", ("t", 2): b"2"})
    for bodies in ({("t", 1): b"1", ("t", 2): b"another"}, {("t", 1): b"1"}):
        with pytest.raises(WrongState, match="entry 2 is another one"):
            check_repeated(repeated, bodies)
