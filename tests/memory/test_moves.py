"""Which moves may be told: each gate at its limit, what a change of the world does, and what cannot be planted."""

import pytest
from msgspec import structs

from sidemirror_server.memory.recoveries.moves import (
    Closest,
    Tally,
    closest_of,
    counted,
    is_silent,
    recoveries_of,
    recovery_of,
    reported_in,
    unchanged_never_worked,
)
from sidemirror_server.memory.recoveries.observation import (
    CameFrom,
    Move,
    MoveKind,
    Observation,
    ValueKind,
    recovery_id,
)
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.silence import Gate, MissedGate
from tests.memory.trails import BLIND, HOUR_US, SHOW_TABLES, SIGNATURE, mixed, row, where

AGAIN = Move(MoveKind.SENT_AGAIN)
EMAIL = Move(MoveKind.CHANGED, ("email",), True, ValueKind.EMAIL, CameFrom.USER_ASKED)
TRANSFER = Move(MoveKind.WENT_ON, ("transfer",), True)
BOTH = Move(MoveKind.LOOKED_UP, ("SHOW TABLES", "DESCRIBE"))
OWN = recovery_id(SIGNATURE, SHOW_TABLES)


def rows(*outcomes: bool, move: Move = SHOW_TABLES, start: int = 1, signature: str = SIGNATURE) -> list[Observation]:
    return [row(start + at, move, worked=worked, signature=signature) for at, worked in enumerate(outcomes)]


def test_five_tries_are_enough_and_four_are_not() -> None:
    assert recovery_of(SIGNATURE, rows(*[True] * 4)) is None
    found = recovery_of(SIGNATURE, rows(*[True] * 5))
    assert found is not None
    assert (found.move, found.told, found.otherwise) == (SHOW_TABLES, Tally(5, 5), Tally())


@pytest.mark.parametrize(("worked", "tries", "told"), [(10, 20, False), (11, 20, True), (3, 5, False), (4, 5, True)])
def test_the_lower_bound(worked: int, tries: int, told: bool) -> None:
    """10 of 20 has the lower bound .299, 11 of 20 .342, 3 of 5 .231, 4 of 5 .376."""
    assert (recovery_of(SIGNATURE, rows(*mixed(worked, tries))) is not None) is told


def test_only_the_last_twenty_tries_count_for_the_gate() -> None:
    assert recovery_of(SIGNATURE, rows(*[False] * 100, *mixed(11, 20))) is not None
    assert recovery_of(SIGNATURE, rows(*[True] * 100, *mixed(11, 20))) is not None
    assert recovery_of(SIGNATURE, rows(*[True] * 100, *mixed(10, 20))) is None


def test_what_began_to_work_counts_from_then_on() -> None:
    """Seen to fail when eight failures from before stood against it: 5 of 13 has the lower bound .177."""
    assert recovery_of(SIGNATURE, rows(*[False] * 8, *[True] * 4)) is None
    for worked in (5, 17, 18, 30):
        found = recovery_of(SIGNATURE, rows(*[False] * 8, *[True] * worked))
        assert found is not None
        assert found.told == Tally(worked, worked)
    found = recovery_of(SIGNATURE, rows(*[False] * 8, *[True] * 9, False))
    assert found is not None
    assert found.told == Tally(10, 9)
    # One of 126 orders, which may be chance; and one try that worked before.
    assert recovery_of(SIGNATURE, rows(*[False] * 4, *[True] * 5)) is None
    assert recovery_of(SIGNATURE, rows(True, *[False] * 7, *[True] * 5)) is None


def test_what_began_to_work_bars_others_once_it_has_enough_tries() -> None:
    """Seen to fail when three tries that worked, behind 14 that had not, counted as a rate of one."""
    good, other = rows(*mixed(19, 20)), Move(MoveKind.OTHER)
    few, enough = ([*good, *rows(*[False] * 14, *[True] * worked, move=other, start=50)] for worked in (3, 5))
    assert recovery_of(SIGNATURE, few) is not None
    assert recovery_of(SIGNATURE, enough) is None


def test_what_others_did_before_the_change_is_not_told_beside_it() -> None:
    """Seen to fail when 9 of 18 stood beside what has worked since."""
    others = [*rows(*[True] * 9, move=COLUMNS), *rows(*[False] * 9, move=COLUMNS, start=40)]
    found = recovery_of(SIGNATURE, [*others, *rows(*[False] * 12, *[True] * 6, start=20)])
    assert found is not None
    assert (found.move, found.told, found.otherwise) == (SHOW_TABLES, Tally(6, 6), Tally(9, 0))


def test_what_worked_less_often_lately_is_told_as_it_is_now() -> None:
    found = recovery_of(SIGNATURE, rows(*[True] * 100, *mixed(11, 20)))
    assert found is not None
    assert found.told == Tally(20, 11)


@pytest.mark.parametrize(("blind_worked", "told"), [(2, True), (3, False)])
def test_it_must_lie_above_every_other_moves_rate(blind_worked: int, told: bool) -> None:
    """5 of 5 has the lower bound .566; the other move has 2 or 3 of 5."""
    blind = [row(100 + at, BLIND, worked=at < blind_worked) for at in range(5)]
    assert (recovery_of(SIGNATURE, [*rows(*[True] * 5), *blind]) is not None) is told


def test_blind_retry_that_is_as_good_is_not_beaten() -> None:
    assert recovery_of(SIGNATURE, [*rows(*[True] * 9, False), *rows(*[True] * 9, False, move=AGAIN, start=50)]) is None


def test_another_move_with_few_tries_bars_nothing() -> None:
    assert recovery_of(SIGNATURE, [*rows(*[True] * 5), *rows(*[True] * 4, move=BLIND, start=50)]) is not None


COLUMNS = Move(MoveKind.LOOKED_UP, ("DESCRIBE",))


@pytest.mark.parametrize(("own", "others"), [(5, 5), (6, 5), (5, 8), (20, 20)])
def test_of_two_good_repairs_the_better_supported_is_told(own: int, others: int) -> None:
    """Seen to fail when each barred the other: 6 of 6 has the lower bound .61, and the other one worked in all."""
    tries = [*rows(*[True] * own), *rows(*[True] * others, move=COLUMNS, start=50)]
    found = recoveries_of(SIGNATURE, tries)
    # Of two with as many tries the one that was tried last.
    assert [one.move for one in found] == ([SHOW_TABLES, COLUMNS] if own > others else [COLUMNS, SHOW_TABLES])
    assert [one.otherwise for one in found] == [Tally(), Tally()]
    assert recovery_of(SIGNATURE, tries) == found[0]
    assert recoveries_of(SIGNATURE, tries[::-1]) == found


def test_two_that_are_equal_in_all_have_a_stable_order() -> None:
    tries = [*(row(at) for at in range(5)), *(row(at, COLUMNS) for at in range(5))]
    tries = [structs.replace(one, observation_id=str(number)) for number, one in enumerate(tries)]
    found = recoveries_of(SIGNATURE, tries)
    assert [one.move for one in found] == sorted(
        (SHOW_TABLES, COLUMNS), key=lambda move: recovery_id(SIGNATURE, move), reverse=True
    )
    assert recoveries_of(SIGNATURE, tries[::-1]) == found


def test_a_repair_that_is_clearly_worse_is_no_equal() -> None:
    """20 of 20 has the lower bound .84, above 12 of 20."""
    tries = [*rows(*[True] * 12, *[False] * 8), *rows(*[True] * 20, move=COLUMNS, start=50)]
    assert [one.move for one in recoveries_of(SIGNATURE, tries)] == [COLUMNS]


def test_what_may_not_be_told_bars_a_repair_as_before() -> None:
    for other in (BLIND, Move(MoveKind.OTHER), AGAIN):
        assert recoveries_of(SIGNATURE, [*rows(*[True] * 9), *rows(*[True] * 9, move=other, start=50)]) == ()


def test_of_two_repairs_that_which_fails_after_advice_gives_way() -> None:
    told = recovery_id(SIGNATURE, COLUMNS)
    good = [*rows(*[True] * 5), *rows(*[True] * 5, move=COLUMNS, start=50)]
    after = [row(100 + at, COLUMNS, worked=False, advised=told, followed=True) for at in range(2)]
    assert [one.move for one in recoveries_of(SIGNATURE, [*good, *after[:1]])] == [SHOW_TABLES, COLUMNS]
    # What is suspended stands against nothing any more; it did by what it had worked before.
    assert [one.move for one in recoveries_of(SIGNATURE, [*good, *after])] == [SHOW_TABLES]


def test_look_ups_of_which_one_contains_the_other_do_not_bar_each_other() -> None:
    short = rows(*mixed(12, 20))
    long = rows(*mixed(16, 20), move=BOTH, start=50)
    found = recovery_of(SIGNATURE, [*short, *long])
    assert found is not None
    assert (found.move, found.told, found.otherwise) == (BOTH, Tally(20, 16), Tally(20, 12))


@pytest.mark.parametrize(
    ("right", "corrected", "told"),
    [
        (
            Move(MoveKind.CHANGED, ("paged",), True, ValueKind.TRUE),
            Move(MoveKind.CHANGED, ("dry", "paged"), True),
            True,
        ),
        (
            Move(MoveKind.CHANGED, ("paged",), True, ValueKind.TRUE),
            Move(MoveKind.CHANGED, ("dry", "full"), True),
            False,
        ),
        (
            Move(MoveKind.CHANGED, ("qty", "units"), True, ValueKind.RENAMED),
            Move(MoveKind.CHANGED, ("total", "units"), True, ValueKind.RENAMED),
            True,
        ),
        (
            Move(MoveKind.CHANGED, ("qty", "units"), True, ValueKind.RENAMED),
            Move(MoveKind.CHANGED, ("qty", "total"), True, ValueKind.RENAMED),
            True,
        ),
    ],
)
def test_a_guess_that_was_corrected_does_not_bar_the_change(right: Move, corrected: Move, told: bool) -> None:
    """Who first set another flag, and then the right one as well, changed more or came from elsewhere. The last are two
    repairs, of which the better supported is told."""
    both = [*rows(*[True] * 6, move=right), *rows(*[True] * 5, move=corrected, start=50)]
    found = recovery_of(SIGNATURE, both)
    assert (found is not None and found.move == right) is told


def test_a_pause_brings_no_value_and_helps_where_time_does() -> None:
    wait = Move(MoveKind.LOOKED_UP, ("wait",), True)
    for category, told in (("rate_limit", True), ("network", True), ("not_found", False)):
        signature = f"quote|{category}|x"
        tries = [row(at, wait, signature=signature, informed=False) for at in range(5)]
        assert (recovery_of(signature, tries) is not None) is told


def test_who_did_more_did_not_go_without() -> None:
    found = recovery_of(SIGNATURE, [*rows(*[True] * 5), *rows(True, False, move=BOTH, start=50)])
    assert found is not None
    assert (found.move, found.otherwise) == (SHOW_TABLES, Tally())


def test_a_look_up_must_have_brought_a_value_in_two_sessions() -> None:
    tries = [row(at, informed=at < 1) for at in range(5)]
    assert recovery_of(SIGNATURE, tries) is None
    assert recovery_of(SIGNATURE, [row(at, informed=at < 2) for at in range(5)]) is not None


def test_other_moves_are_never_told() -> None:
    for move in (Move(MoveKind.OTHER), BLIND, Move(MoveKind.CHANGED, ("a", "b"), True)):
        assert recovery_of(SIGNATURE, rows(*[True] * 50, move=move)) is None


def test_a_write_that_fakes_the_repair_silences_and_is_not_told() -> None:
    assert (
        recovery_of(SIGNATURE, [*rows(*[True] * 9, False), *rows(*[True] * 20, move=Move(MoveKind.OTHER), start=50)])
        is None
    )


def test_sent_again_with_its_usual_pause() -> None:
    tries = [row(at, AGAIN, worked=worked, pause_ms=at * 100) for at, worked in enumerate(mixed(14, 20))]
    found = recovery_of(SIGNATURE, tries)
    assert found is not None
    assert (found.told, found.pause_ms) == (Tally(20, 14), 1_100)


def test_sent_again_needs_a_rate_of_a_half() -> None:
    assert recovery_of(SIGNATURE, rows(*mixed(11, 20), move=AGAIN)) is not None
    assert recovery_of(SIGNATURE, rows(*mixed(49, 100), move=AGAIN)) is None


def test_a_changed_argument() -> None:
    user = "find_user|not_found|absent user"
    assert recovery_of(user, rows(*[True] * 5, move=EMAIL, signature=user)) is not None
    for category in ("network", "timeout", "rate_limit"):
        passing = f"find_user|{category}|x"
        assert recovery_of(passing, rows(*[True] * 9, move=EMAIL, signature=passing)) is None


def test_a_changed_argument_must_have_worked_in_two_sessions() -> None:
    once = [row(at, EMAIL) for at in range(5)]
    assert recovery_of(SIGNATURE, once) is not None
    assert recovery_of(SIGNATURE, [structs.replace(one, where=where(1, f"token {one.at_us}")) for one in once]) is None


@pytest.mark.parametrize(("runs", "gone", "told"), [(8, 3, True), (7, 7, False), (8, 2, False)])
def test_what_was_gone_on_with(runs: int, gone: int, told: bool) -> None:
    tries = [row(at, TRANSFER if at < gone else Move(MoveKind.STOPPED), worked=False) for at in range(runs)]
    found = recovery_of(SIGNATURE, tries)
    assert (found is not None) is told
    if found is not None:
        assert found.told == Tally(runs, gone)


def test_nothing_is_gone_on_with_where_something_worked() -> None:
    tries = [row(at, TRANSFER, worked=False) for at in range(12)]
    assert recovery_of(SIGNATURE, [*tries, row(20, BLIND)]) is None


def test_unchanged_never_worked() -> None:
    assert unchanged_never_worked(reported_in(rows(*[False] * 19, move=AGAIN))) is None
    assert unchanged_never_worked(reported_in(rows(*[False] * 20, move=AGAIN))) == Tally(20, 0)
    assert unchanged_never_worked(reported_in(rows(*[False] * 19, True, move=AGAIN))) is None


# Who teaches


def test_one_identity_counts_twice_a_day_for_a_move() -> None:
    tries = [row(at, identity="one token", at_us=at * 1_000_000) for at in range(20)]
    assert len(counted(tries)) == 2
    assert recovery_of(SIGNATURE, tries) is None
    assert len(counted([*tries, *[row(100 + at, identity=f"{at}") for at in range(3)]])) == 5


def test_planted_successes_are_not_told() -> None:
    """Two of two identities, and any number of one identity in two days."""
    assert recovery_of(SIGNATURE, rows(True, True)) is None
    planted = [row(at, identity="one token", at_us=at * HOUR_US) for at in range(48)]
    assert recovery_of(SIGNATURE, planted) is None


def test_a_failure_counts_once() -> None:
    assert len(counted([row(1), row(1)])) == 1


# After advice


def advised(start: int, *outcomes: bool, followed: bool = True, identity: str = "") -> list[Observation]:
    return [
        row(
            start + at,
            SHOW_TABLES if followed else BLIND,
            worked=worked,
            advised=OWN,
            followed=followed,
            identity=identity,
        )
        for at, worked in enumerate(outcomes)
    ]


def test_successes_after_advice_raise_nothing() -> None:
    assert recovery_of(SIGNATURE, [*rows(*[True] * 4), *advised(50, *[True] * 20)]) is None
    found = recovery_of(SIGNATURE, [*rows(*[True] * 5), *advised(50, *[True] * 20)])
    assert found is not None
    assert found.told == Tally(5, 5)


def test_successes_after_advice_do_not_lift_it_over_the_bound() -> None:
    assert recovery_of(SIGNATURE, [*rows(*[True, False] * 10), *advised(50, *[True] * 10)]) is None


def test_failures_after_advice_lower_it() -> None:
    mixed = [outcome for _ in range(10) for outcome in (False, True)]
    assert recovery_of(SIGNATURE, [*rows(*[True] * 20), *advised(50, *mixed)]) is None


def test_two_failures_in_succession_suspend_it() -> None:
    known = rows(*[True] * 20)
    assert recovery_of(SIGNATURE, [*known, *advised(50, False)]) is not None
    assert recovery_of(SIGNATURE, [*known, *advised(50, False, True, False)]) is not None
    assert recovery_of(SIGNATURE, [*known, *advised(50, False, False)]) is None
    assert recovery_of(SIGNATURE, [*known, *advised(50, False, False, True, True, True)]) is None


def test_two_failures_of_one_identity_on_one_day_suspend_it() -> None:
    known = [*rows(*[True] * 20), *[row(60 + at, identity="one", at_us=2_000 * HOUR_US + at) for at in range(2)]]
    failed = [
        row(90 + at, worked=False, advised=OWN, followed=True, identity="one", at_us=2_001 * HOUR_US + at)
        for at in range(2)
    ]
    assert recovery_of(SIGNATURE, [*known, *failed]) is None


def test_it_comes_back_when_tries_without_advice_pass_again() -> None:
    suspended = [*rows(*[True] * 20), *advised(50, False, False)]
    assert recovery_of(SIGNATURE, [*suspended, *rows(*[True] * 4, start=60)]) is None
    found = recovery_of(SIGNATURE, [*suspended, *rows(*[True] * 5, start=60)])
    assert found is not None
    assert found.told == Tally(5, 5)


def test_what_else_was_done_after_advice_counts_for_nothing() -> None:
    known = rows(*[True] * 5)
    told = recovery_of(SIGNATURE, known)
    assert told is not None
    for worked in (True, False):
        assert recovery_of(SIGNATURE, [*known, *advised(50, *[worked] * 20, followed=False)]) == told


def test_one_in_ten_stays_silent() -> None:
    found = recovery_of(SIGNATURE, rows(*[True] * 5))
    assert found is not None
    silent = [is_silent(f"receipt {number}", found) for number in range(10_000)]
    assert 900 < sum(silent) < 1_100
    assert silent == [is_silent(f"receipt {number}", found) for number in range(10_000)]


def test_what_comes_closest_where_nothing_is_told() -> None:
    assert closest_of(SIGNATURE, reported_in([])) is None
    other = Move(MoveKind.OTHER, ("rm",))
    tried = [*rows(True, True, False), *rows(True, True, True, True, move=other, start=10)]
    # What may be told goes before what never is, whatever its rate.
    assert closest_of(SIGNATURE, reported_in(tried)) == Closest(OWN, Tally(3, 2), missed=MissedGate(Gate.TRIES, 5, 3))
    never = Closest(recovery_id(SIGNATURE, other), Tally(1, 1), missed=MissedGate(Gate.KIND))
    assert closest_of(SIGNATURE, reported_in(rows(True, move=other))) == never
    assert closest_of(SIGNATURE, reported_in(rows(False, move=TRANSFER))) is None, "there was no attempt"


def test_what_comes_closest_may_be_suspended() -> None:
    told = [structs.replace(one, advised=OWN, followed=True) for one in rows(False, False, start=20)]
    found = closest_of(SIGNATURE, reported_in([*rows(*[True] * 6), *told]))
    assert found == Closest(OWN, Tally(6, 6), is_suspended=True, missed=MissedGate(Gate.TRIES, 5, 0))
    assert recovery_of(SIGNATURE, [*rows(*[True] * 6), *told]) is None


def of_spans(at_us: int, name: str, *, recorded_us: int, caller: str = "", worked: bool = True) -> Observation:
    """A try that a span tells of, at a time of its own."""
    found = row(1, SHOW_TABLES, worked=worked)
    told = structs.replace(
        found.where,
        turn_id=TurnId(name),
        session_id=SessionId(f"otlp:{name}"),
        identity=caller or f"otlp:{name}",
        conversation=f"otlp:{name}",
        recorded_us=recorded_us,
    )
    return structs.replace(found, observation_id=name, where=told, at_us=at_us)


def test_spans_without_a_token_count_twice_an_hour() -> None:
    """By when they came. Seen to fail when each conversation is a sender of its own, and by the times of the spans."""
    hours = [of_spans(hour * HOUR_US, f"{hour} {one}", recorded_us=0) for hour in range(3) for one in range(4)]
    assert len(counted(hours)) == 6
    at_once = [structs.replace(one, where=structs.replace(one.where, recorded_us=9 * HOUR_US)) for one in hours]
    assert len(counted(at_once)) == 2
    assert recovery_of(SIGNATURE, at_once) is None
    found = recovery_of(SIGNATURE, hours)
    assert found is not None
    assert (found.told, found.from_spans) == (Tally(6, 6), True)


def test_tokens_are_bounded_by_the_day_alone() -> None:
    named = [of_spans(at, f"{at}", recorded_us=HOUR_US, caller=f"token {at % 3}") for at in range(1, 13)]
    assert len(counted(named)) == 6


def test_what_comes_later_takes_no_place_of_what_came_before() -> None:
    """Whatever times it has. Seen to fail when the rows of an hour are taken in the order of their own times."""
    first = [of_spans(5 * HOUR_US, f"first {one}", recorded_us=5 * HOUR_US + one) for one in range(2)]
    forged = [of_spans(one, f"forged {one}", recorded_us=5 * HOUR_US + 10, worked=False) for one in range(9)]
    assert counted([*forged, *first]) == tuple(first)
