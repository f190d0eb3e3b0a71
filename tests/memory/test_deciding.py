"""What people are shown of a recovery is what the next failing call is told."""

import random

import msgspec
import pytest

from sidemirror_server.memory.recoveries.deciding import count, decided, last_failure
from sidemirror_server.memory.recoveries.observation import Move, MoveKind, Observation, ValueKind, recovery_id
from sidemirror_server.memory.recoveries.review import reviewed
from sidemirror_server.memory.recoveries.starter import MYSQL, SQLITE
from sidemirror_server.policy.record import Advice
from sidemirror_server.vocabulary.arbiter import AS_DESIGNED, Telling
from sidemirror_server.vocabulary.silence import SilenceReason
from tests.memory.trails import BLIND, SHOW_TABLES, SIGNATURE, row

SHADOW = Telling(is_shadow=True)
LONGER = Move(MoveKind.LOOKED_UP, ("SHOW TABLES", "DESCRIBE"))
MOVES = (
    *(SHOW_TABLES, LONGER, BLIND, Move(MoveKind.SENT_AGAIN), Move(MoveKind.OTHER)),
    *(Move(MoveKind.WENT_ON, ("transfer",), True), Move(MoveKind.CHANGED, ("email",), True, ValueKind.EMAIL)),
)
OWN = recovery_id(SIGNATURE, SHOW_TABLES)


def of_dialect(rows: list[Observation], dialect: str, *, is_json: bool = False) -> list[Observation]:
    """The rows with the last failing call of this dialect."""
    return [*rows[:-1], msgspec.structs.replace(rows[-1], label="SELECT", dialect=dialect, is_json=is_json)]


def told(rows: list[Observation], telling: Telling = AS_DESIGNED) -> list[str]:
    """The moves that a person is shown as told."""
    found = reviewed(SIGNATURE, rows, telling=telling)
    return [one.recovery_id for one in found if one.sentence and one.silence is None]


@pytest.mark.parametrize("seed", range(200))
def test_a_screen_says_what_the_next_such_call_is_told(seed: int) -> None:
    """Seen to fail on the review that looked for any row of the starter pack that had fitted a call."""
    drawn = random.Random(seed)
    rows = []
    for at in range(drawn.randint(1, 40)):
        move, advised = drawn.choice(MOVES), drawn.random() < 0.2
        one = row(at, move, worked=drawn.random() < 0.7, advised=OWN if advised else "", followed=advised)
        dialect, is_json = drawn.choice((MYSQL, SQLITE, "")), drawn.random() < 0.3
        rows.append(msgspec.structs.replace(one, label="SELECT", dialect=dialect, is_json=is_json))
    telling = drawn.choice((AS_DESIGNED, SHADOW, Telling(has_starters=False)))
    advice = drawn.choice((Advice(), Advice(silenced=(OWN,))))
    decision = decided(count(SIGNATURE, rows), last_failure(SIGNATURE, rows), advice, telling)
    shown = [one for one in reviewed(SIGNATURE, rows, advice, telling) if one.sentence and one.silence is None]
    assert [(one.recovery_id, one.sentence) for one in shown] == (
        [(decision.recovery.recovery_id, decision.text)] if decision.recovery and decision.silence is None else []
    )


def test_a_row_of_the_starter_pack_is_shown_as_told_only_where_it_fits() -> None:
    rows = [row(1, worked=True, advised=OWN, followed=True)]
    assert told(of_dialect(rows, MYSQL)) == [OWN]
    assert OWN not in told(of_dialect(rows, SQLITE))
    assert told(of_dialect(rows, "")) == []
    assert told(of_dialect(rows, MYSQL, is_json=True)) == []


def test_what_changed_beside_a_statement_is_told_of_statements() -> None:
    limit = Move(MoveKind.CHANGED, ("limit",), True, ValueKind.NUMBER)
    rows = of_dialect([row(at, limit) for at in range(6)], MYSQL)
    assert told(rows) == [recovery_id(SIGNATURE, limit)]
    # A command has nothing beside it.
    command = [*rows[:-1], msgspec.structs.replace(rows[-1], label="git")]
    assert told(command) == []


def test_a_longer_look_up_after_advice_counts_against_it() -> None:
    """Seen to fail when only the rows with the same move were looked at."""
    rows = [row(at, LONGER, worked=False, advised=OWN, followed=True) for at in (1, 2)]
    assert told(of_dialect(rows, MYSQL)) == []
    failed = last_failure(SIGNATURE, of_dialect(rows, MYSQL))
    assert not decided(count(SIGNATURE, rows), failed, Advice(), AS_DESIGNED).text


def test_in_shadow_mode_nothing_is_shown_as_told() -> None:
    rows = [row(at) for at in range(6)]
    assert told(rows) == [OWN]
    assert told(rows, SHADOW) == []
    (first, *_) = reviewed(SIGNATURE, rows, telling=SHADOW)
    assert (first.silence, first.sentence[:9]) == (SilenceReason.SHADOW, "In 6 of 6")


COLUMNS = Move(MoveKind.LOOKED_UP, ("DESCRIBE",))
FLAG = Move(MoveKind.CHANGED, ("paged",), True, ValueKind.TRUE)
# A name that is not said.
UNSAID = Move(MoveKind.CHANGED, ("notify",), True, ValueKind.TRUE)


def reasons(rows: list[Observation], telling: Telling = AS_DESIGNED) -> dict[str, str]:
    return {one.recovery_id: one.reason for one in reviewed(SIGNATURE, rows, telling=telling)}


def test_of_two_good_repairs_one_is_told_and_the_other_is_said_to_be_as_good() -> None:
    """Seen to fail when the starter pack was told, since "nothing else was learned"."""
    rows = of_dialect([*(row(at, COLUMNS) for at in range(6)), *(row(50 + at) for at in range(5))], MYSQL)
    other = recovery_id(SIGNATURE, COLUMNS)
    assert told(rows) == [other]
    said = reasons(rows)
    assert said[other].endswith("where 30 % are needed, and 1 other is not clearly worse or better")
    assert said[OWN] == "it passes the gates, but another move is told, which has more support"
    decision = decided(count(SIGNATURE, rows), last_failure(SIGNATURE, rows), Advice(), AS_DESIGNED)
    assert decision.text == "In 6 of 6 earlier tries the call worked after `DESCRIBE`."


def test_of_two_good_repairs_that_is_told_which_may_be_said() -> None:
    rows = [*(row(at, FLAG) for at in range(5)), *(row(50 + at, UNSAID) for at in range(6))]
    rows = [msgspec.structs.replace(one, label="sql", is_json=True) for one in rows]
    assert told(rows) == [recovery_id(SIGNATURE, FLAG)]
    assert reasons(rows)[recovery_id(SIGNATURE, UNSAID)].startswith("it passes the gates, but the name `notify`")


def test_the_starter_pack_says_whether_anything_was_tried() -> None:
    tried = of_dialect([row(at, BLIND) for at in range(6)], MYSQL)
    (why,) = (one.reason for one in reviewed(SIGNATURE, tried, telling=AS_DESIGNED) if one.is_starter)
    assert why == "of the starter pack: of what was tried at this failure nothing passes the gates yet"
    stopped = of_dialect([row(1, Move(MoveKind.STOPPED), worked=False)], MYSQL)
    (why,) = (one.reason for one in reviewed(SIGNATURE, stopped, telling=AS_DESIGNED) if one.is_starter)
    assert why == "of the starter pack: nothing else was learned of this failure yet"


def test_an_id_from_before_forms_silences_the_move_in_each_form() -> None:
    """Seen to fail: what a policy had silenced was told again once its form was."""
    plain = Move(MoveKind.CHANGED, ("day",), True, ValueKind.REFORMATTED)
    formed = msgspec.structs.replace(plain, form=("digits", "hyphen", "digits"))
    rows = [msgspec.structs.replace(row(at, formed, worked=True), is_json=True, label="sql") for at in range(8)]
    known, failed = count(SIGNATURE, rows), last_failure(SIGNATURE, rows)
    assert decided(known, failed, Advice(), AS_DESIGNED).text
    advice = Advice(silenced=(recovery_id(SIGNATURE, plain),))
    silence = decided(known, failed, advice, AS_DESIGNED).silence
    assert silence is not None
    assert silence.reason == SilenceReason.SILENCED
    assert [one.silence for one in reviewed(SIGNATURE, rows, advice)] == [SilenceReason.SILENCED]
    other = msgspec.structs.replace(formed, form=("digits",))
    assert decided(known, failed, Advice(silenced=(recovery_id(SIGNATURE, other),)), AS_DESIGNED).silence is None
