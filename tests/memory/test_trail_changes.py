"""From events to observations: what an attempt changed in the arguments of the call that had failed."""

import pytest

from sidemirror_server.memory.recoveries.observation import CameFrom, Move, MoveKind, ValueKind
from tests.memory.trails import MISSING_TABLE, SHOW_TABLES, SIGNATURE, Call, observed, only, sql, sql_failed

REPAIRED = sql("SELECT name FROM customers", "[('Mia',)]")


def book(arguments: str, result: str = "booked", failed: bool = False) -> Call:
    return Call("book", arguments, result, failed)


@pytest.mark.parametrize(
    ("before", "now", "steps", "value", "came_from"),
    [
        ('{"user": "x77"}', '{"user_id": "x77"}', ("user", "user_id"), ValueKind.RENAMED, None),
        ('{"compact": true}', '{"paged": true}', ("compact", "paged"), None, None),
        ('{"user": "x", "a": 1}', '{"user_id": "x", "a": 2}', ("a", "user", "user_id"), None, None),
        ('{"id": "W77", "a": 1}', '{"id": "W77"}', ("a",), ValueKind.REMOVED, None),
        ('{"id": "a"}', '{"id": "a7"}', ("id",), ValueKind.ID, CameFrom.NOWHERE),
        ('{"n": 100}', '{"n": 1000}', ("n",), ValueKind.NUMBER, CameFrom.NOWHERE),
        ('{"n": -100}', '{"n": 100}', ("n",), ValueKind.NUMBER, CameFrom.NOWHERE),
        ('{"n": "12.50"}', '{"n": 1250}', ("n",), ValueKind.NUMBER, CameFrom.NOWHERE),
        ('{"id": 1}', '{"id": 1, "all": true}', ("all",), ValueKind.TRUE, CameFrom.NOWHERE),
        ('{"in": "be"}', '{"in": "nl"}', ("in",), ValueKind.WORD, CameFrom.NOWHERE),
        ('{"kind": "gold"}', '{"kind": "economy"}', ("kind",), ValueKind.WORD, CameFrom.ERROR),
        ('{"kind": "gold"}', '{"kind": "W4711"}', ("kind",), ValueKind.ID, CameFrom.RESULT),
        ('{"on": "x"}', '{"on": "2026-11-22"}', ("on",), ValueKind.DATE, CameFrom.NOWHERE),
        ('{"a": [{"b": 1}]}', '{"a": [{"b": 27}]}', ("a[].b",), ValueKind.NUMBER, CameFrom.NOWHERE),
        ('{"a": 1, "b": 2}', '{"a": 3, "b": 4}', ("a", "b"), None, None),
    ],
)
def test_what_changed(
    before: str, now: str, steps: tuple[str, ...], value: ValueKind | None, came_from: CameFrom | None
) -> None:
    earlier = Call("list_orders", "{}", "W4711")
    found = only(earlier, book(before, "Error: kind must be economy", failed=True), book(now))
    assert found.move == Move(MoveKind.CHANGED, steps, True, value, came_from)


@pytest.mark.parametrize(
    ("before", "now", "steps", "form"),
    [
        ('{"id": "77812"}', '{"id": "ORD-77812"}', ("id",), ("capitals", "hyphen", "digits")),
        ('{"id": "W77"}', '{"id": "#W77"}', ("id",), ("number sign", "capitals", "digits")),
        ('{"n": "100"}', '{"n": 100}', ("n",), ("a number",)),
        ('{"n": "7"}', '{"n": 7.0}', ("n",), ("a number",)),
        ('{"in": "be"}', '{"in": "BE"}', ("in",), ("capitals",)),
        ('{"on": "2026-11-16"}', '{"on": "2026-11-16T00:00:00Z"}', ("on",), ("YYYY-MM-DDThh:mm:ssZ",)),
        ('{"on": "16/11/2026"}', '{"on": "2026-11-16"}', ("on",), ("YYYY-MM-DD",)),
        ('{"on": "16 November 2026"}', '{"on": "2026-11-16"}', ("on",), ("YYYY-MM-DD",)),
        ('{"no": "0055482"}', '{"no": "55482"}', ("no",), ("trimmed digits",)),
        ('{"id": "7"}', '{"id": "ORD-7"}', ("id",), ("capitals", "hyphen", "digits")),
        ('{"is": "yes"}', '{"is": true}', ("is",), ("a boolean",)),
        ('{"is": 0}', '{"is": false}', ("is",), ("a boolean",)),
        ('{"ids": ["7", "12"]}', '{"ids": ["B-7", "B-12"]}', ("ids[]",), ("capitals", "hyphen", "digits")),
        ('{"ids": ["A", "12"]}', '{"ids": ["A", "B-12"]}', ("ids[]",), ("capitals", "hyphen", "digits")),
        ('{"eur": "$1,200.50"}', '{"eur": 1200.5}', ("eur",), ("a number",)),
        ('{"eur": "1.200,50 €"}', '{"eur": 1200.5}', ("eur",), ("a number",)),
        ('{"inr": "12,34,567.50"}', '{"inr": 1234567.5}', ("inr",), ("a number",)),
        ('{"n": "#77812"}', '{"n": 77812}', ("n",), ("a number",)),
        ('{"phone": "(555) 123-4567"}', '{"phone": "5551234567"}', ("phone",), ("digits",)),
        ('{"phone": "555.123.4567"}', '{"phone": "5551234567"}', ("phone",), ("digits",)),
        ('{"tag": "1.2"}', '{"tag": "v1.2"}', ("tag",), ("small", "digits", "dot", "digits")),
        ('{"wait": "5"}', '{"wait": "5m"}', ("wait",), ("digits", "small")),
        ('{"at": "2026-11-16T10:00"}', '{"at": "2026-11-16T10:00:00"}', ("at",), ("YYYY-MM-DDThh:mm:ss",)),
        ('{"at": "2026-11-16T10:00:00Z"}', '{"at": "2026-11-16T10:00:00.000Z"}', ("at",), ()),
        ('{"at": "2026-11-16 10:00+00:00"}', '{"at": "2026-11-16T10:00Z"}', ("at",), ("YYYY-MM-DDThh:mmZ",)),
        ('{"at": "2026-11-16T10:00"}', '{"at": "2026-11-16T10:00+02:00"}', ("at",), ("YYYY-MM-DDThh:mm+hh:mm",)),
        ('{"at": "20261116T100000Z"}', '{"at": "2026-11-16T10:00:00Z"}', ("at",), ("YYYY-MM-DDThh:mm:ssZ",)),
        ('{"at": "2026-11-16T1000"}', '{"at": "2026-11-16T10:00"}', ("at",), ("YYYY-MM-DDThh:mm",)),
        ('{"at": "2026-11-16T10:00-0500"}', '{"at": "2026-11-16T10:00-05:00"}', ("at",), ("YYYY-MM-DDThh:mm+hh:mm",)),
        ('{"ids": "13027"}', '{"ids": ["13027"]}', ("ids",), ("a list",)),
        ('{"ids": ["13027"]}', '{"ids": "13027"}', ("ids[]",), ("a single value",)),
    ],
)
def test_a_value_in_another_form(before: str, now: str, steps: tuple[str, ...], form: tuple[str, ...]) -> None:
    found = only(book(before, "Error: kind must be economy", failed=True), book(now))
    assert found.move == Move(MoveKind.CHANGED, steps, True, ValueKind.REFORMATTED, form=form)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        # In cents it is another number.
        ('{"of": "$19.99"}', '{"of": 1999}'),
        ('{"of": "19,99"}', '{"of": "1999"}'),
        ('{"of": "yes"}', '{"of": false}'),
        ('{"of": "-5 EUR"}', '{"of": 5}'),
        ('{"of": "$-5"}', '{"of": 5}'),
        ('{"of": "500g"}', '{"of": 500}'),
        ('{"of": "1234"}', '{"of": "B-91234"}'),
        ('{"of": "2026-11-16"}', '{"of": "2026-11-17"}'),
        ('{"of": "2026-11-16T10:00"}', '{"of": "2026-11-16T11:30"}'),
        ('{"of": "2026-11-16T10:00:00Z"}', '{"of": "2026-11-16T10:00:00+02:00"}'),
        ('{"of": "2026-11-16T10:00:00+05:00"}', '{"of": "2026-11-16T10:00:00-05:00"}'),
        ('{"of": "2026-11-16T10:00:00.123456+05:00"}', '{"of": "2026-11-16T10:00:00.123456-05:00"}'),
        ('{"of": "16/11/2026 10:00+05:00"}', '{"of": "16/11/2026 10:00-05:00"}'),
        ('{"of": "2026-11-16T10:00:00.5Z"}', '{"of": "2026-11-16T10:00:00Z"}'),
        ('{"of": ["7", "12"]}', '{"of": ["B-7", "B-13"]}'),
        ('{"of": "1.2.3"}', '{"of": 12.3}'),
        ('{"of": "5, 6"}', '{"of": 56}'),
        ('{"of": "500, 600"}', '{"of": 500600}'),
        ('{"of": "1,200,50"}', '{"of": 1200.5}'),
        ('{"of": ">500"}', '{"of": 500}'),
        ('{"of": "500+"}', '{"of": 500}'),
        ('{"of": "≈500"}', '{"of": 500}'),
        ('{"of": "(500)"}', '{"of": 500}'),
        ('{"of": "50%"}', '{"of": 50}'),
        ('{"of": "100 %"}', '{"of": 100}'),
        ('{"of": "7"}', '{"of": "user-7-x91"}'),
        # Too long to be compared.
        (f'{{"of": "{"a" * 400}"}}', f'{{"of": "{"A" * 400}"}}'),
    ],
)
def test_another_value_is_not_the_same_in_another_form(before: str, now: str) -> None:
    """Seen to fail with cents, and with the end of a longer number."""
    found = only(book(before, "Error: kind must be economy", failed=True), book(now))
    assert found.move.value is not ValueKind.REFORMATTED


def test_an_argument_that_was_not_there_is_added() -> None:
    found = only(book('{"id": 1}', "Error: too many", failed=True), book('{"id": 1, "limit": 10}'))
    assert found.move == Move(MoveKind.CHANGED, ("limit",), True, ValueKind.NUMBER, CameFrom.NOWHERE, is_added=True)


@pytest.mark.parametrize(
    ("before", "now", "error", "came_from"),
    [
        ('{"lat": "51.1 N"}', '{"lat": 51.1}', "could not convert string to float: '51.1 N'", CameFrom.NOWHERE),
        ('{"lat": "51.1 N"}', '{"lat": 51.1}', "no number: '51.1 N'; is it 51.1?", CameFrom.ERROR),
        ('{"by": "name"}', '{"by": "full_name"}', "no such column: name; did you mean full_name?", CameFrom.ERROR),
        ('{"by": "full_name"}', '{"by": "name"}', "no such column: full_name", CameFrom.NOWHERE),
    ],
)
def test_to_quote_a_wrong_value_is_not_to_name_the_right_one(
    before: str, now: str, error: str, came_from: CameFrom
) -> None:
    found = only(book(before, f"Error: {error}", failed=True), book(now))
    assert found.move.came_from is came_from


def test_who_corrects_a_guess_goes_back_to_the_call_before_it() -> None:
    """The flag that helped is one change of the first call, and two of the second."""
    refusal = "Error: kind must be economy"
    first, guess = (book(arguments, refusal, failed=True) for arguments in ('{"id": 1}', '{"id": 1, "dry": true}'))
    one, other = observed(first, guess, book('{"id": 1, "paged": true}'))
    paged = Move(MoveKind.CHANGED, ("paged",), True, ValueKind.TRUE, CameFrom.NOWHERE)
    assert (one.move.steps, one.worked) == (("dry",), False)
    assert (other.move, other.worked) == (paged, True)


def limited(statement: str, limit: int, error: str = "") -> Call:
    return Call("sql", f'{{"sql": "{statement}", "limit": {limit}}}', error or "[]", failed=bool(error))


def test_a_statement_with_a_limit_is_repaired_as_one_without() -> None:
    found = only(limited("SELECT name FROM users", 5, MISSING_TABLE), limited("SHOW TABLES", 5), REPAIRED)
    assert (found.signature, found.move, found.label, found.is_json) == (SIGNATURE, SHOW_TABLES, "SELECT", False)


def test_what_changed_beside_a_statement() -> None:
    error = "Error: limit must be at most 100"
    one = only(limited("SELECT a FROM b", 500, error), limited("SELECT a FROM b", 50))
    assert one.move == Move(MoveKind.CHANGED, ("limit",), True, ValueKind.NUMBER, CameFrom.NOWHERE)
    database = (Call("sql", f'{{"sql": "SELECT a FROM b", "database": "{name}"}}', "no") for name in ("main", "shop"))
    wrong, right = database
    assert only(wrong._replace(failed=True, result=MISSING_TABLE), right).move.steps == ("database",)
    added = only(sql_failed('{"sql": "SELECT a FROM b"}', error), limited("SELECT a FROM b", 50))
    assert added.move.steps == ("limit",)
    other = only(limited("SELECT a FROM b", 500, error), limited("SELECT a, c FROM b", 50))
    assert other.move == Move(MoveKind.CHANGED)
    same = only(limited("SELECT a FROM b", 500, error), limited("SELECT a FROM b", 500))
    assert same.move == Move(MoveKind.SENT_AGAIN)


def test_another_failure_begins_anew() -> None:
    first = book('{"id": 1}', "Error: kind must be economy", failed=True)
    guess = book('{"id": 1, "dry": true}', "PermissionError: dry runs are not allowed", failed=True)
    _, other = observed(first, guess, book('{"id": 1, "paged": true}'))
    assert other.move == Move(MoveKind.CHANGED, ("dry", "paged"), True)
