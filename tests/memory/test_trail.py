"""From events to observations: attempts, moves, outcomes, and what a trail holds."""

import json

import pytest

from sidemirror_server.http.mcp.tools import BY_NAME
from sidemirror_server.memory.recoveries.asked import OWN_TOOLS
from sidemirror_server.memory.recoveries.observation import CameFrom, Move, MoveKind, ValueKind
from sidemirror_server.memory.recoveries.trail import Trail, apply, begin, came, close, end, told, waits
from sidemirror_server.trace.event import ModelStarted, ToolCalled, ToolFailed, ToolReturned
from tests.memory.trails import (
    HOUR_US,
    MISSING_TABLE,
    SHOW_TABLES,
    SIGNATURE,
    Call,
    User,
    event,
    lived,
    observed,
    only,
    sql,
    sql_failed,
    where,
)

TABLES = sql("SHOW TABLES", "[('customers',), ('orders',)]")
COLUMNS = sql("DESCRIBE customers", "[('id',), ('full_name',)]")
REPAIRED = sql("SELECT name FROM customers", "[('Mia',)]")


def test_a_look_up_that_brought_the_new_value() -> None:
    found = only(sql_failed(), TABLES, COLUMNS, REPAIRED)
    assert found.signature == SIGNATURE
    assert found.move == Move(MoveKind.LOOKED_UP, ("SHOW TABLES", "DESCRIBE"))
    assert (found.worked, found.informed, found.label) == (True, True, "SELECT")
    assert found.then == ("SHOW TABLES", "DESCRIBE", "SELECT")


def test_a_look_up_whose_result_was_not_used() -> None:
    found = only(sql_failed(), TABLES, sql("SELECT name FROM people"))
    assert (found.move, found.worked, found.informed) == (SHOW_TABLES, True, False)


def test_a_look_up_that_failed_told_nothing() -> None:
    failed = sql_failed("DESCRIBE users")
    assert observed(sql_failed(), failed, TABLES, REPAIRED)[0].move == SHOW_TABLES


@pytest.mark.parametrize(
    ("between", "kind"),
    [
        ((), MoveKind.CHANGED),
        ((sql("CREATE TABLE users (name text)"),), MoveKind.OTHER),
        ((TABLES, sql("CREATE TABLE users (name text)")), MoveKind.OTHER),
        ((sql("SELECT 1"),), MoveKind.OTHER),
        ((sql_failed("DESCRIBE a", "denied"),), MoveKind.OTHER),
        ((Call("other", "{}"),), MoveKind.OTHER),
        ((Call("get_schema", "{}"),), MoveKind.LOOKED_UP),
    ],
)
def test_what_lies_between_is_the_move(between: tuple[Call, ...], kind: MoveKind) -> None:
    found = next(one for one in observed(sql_failed(), *between, REPAIRED) if one.signature == SIGNATURE)
    assert (found.move.kind, found.worked) == (kind, True)


def test_a_tool_that_only_waits_is_a_step_where_nothing_was_looked_up() -> None:
    wait, look = Call("wait", '{"seconds": 30}'), Call("get_limits", "{}")
    failed, again = Call("quote", '{"id": 1}', "429 Too Many Requests", failed=True), Call("quote", '{"id": 1}')
    (waited,) = observed(failed, wait, again)
    (looked,) = observed(failed, look, wait, again)
    assert waited.move == Move(MoveKind.LOOKED_UP, ("wait",), True)
    assert looked.move == Move(MoveKind.LOOKED_UP, ("get_limits",), True)


@pytest.mark.parametrize(
    "tool", ["what_worked", "mcp__sidemirror__what_worked", "sidemirror_what_worked", "sidemirror.recall_lessons"]
)
def test_to_ask_the_sidecar_is_no_step(tool: str) -> None:
    """Seen to fail when it is: what repairs a failure after it counts for nothing."""
    ask = Call(tool, '{"tool": "sql"}', "In 5 of 5 earlier tries the call worked after `SHOW TABLES`.")
    assert only(sql_failed(), ask, TABLES, REPAIRED).move == SHOW_TABLES
    assert only(sql_failed(), ask, REPAIRED).move.kind is MoveKind.CHANGED


def test_the_sidecars_tools_are_those_of_mcp() -> None:
    assert set(BY_NAME) == OWN_TOOLS


def test_sent_again() -> None:
    found = only(sql_failed(), sql("SELECT name FROM users"))
    assert (found.move, found.worked, found.pause_ms) == (Move(MoveKind.SENT_AGAIN), True, 1000)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Bash", "DB_PASSWORD=[redacted:password] ./migrate.sh"),
        ("login", '{"user": "app", "password": "[redacted:value]"}'),
        ("login", '{"password": "[redacted:value]", "note": "' + "x" * 200_000 + '"}'),
    ],
)
def test_another_secret_is_not_the_same_call_again(tool: str, arguments: str) -> None:
    """Two passwords look alike once they are redacted: to send the first one again locks accounts."""
    failed = Call(tool, arguments, "access denied for user app", failed=True)
    found = only(failed, Call(tool, arguments, "ok"))
    assert (found.move, found.worked) == (Move(MoveKind.CHANGED), True)


def _in(where: str, description: str = "Test", error: str = "") -> Call:
    arguments = {"command": "npm test", "cwd": where, "timeout": 9, "description": description}
    return Call("Bash", json.dumps(arguments), error or "ok", failed=bool(error))


def test_a_command_in_another_place_is_not_the_same_call_again() -> None:
    """Seen to fail: who ran it in the right folder taught to send it again."""
    assert only(_in("/srv", error="npm ERR! no package.json"), _in("/srv/shop")).move == Move(MoveKind.CHANGED)
    again = only(_in("/srv", error="npm ERR! no package.json"), _in("/srv", "Test once more"))
    assert again.move == Move(MoveKind.SENT_AGAIN)


def test_an_attempt_is_among_the_next_six_calls() -> None:
    found = only(sql_failed(), *[TABLES] * 5, REPAIRED)
    assert (found.move, found.worked) == (SHOW_TABLES, True)
    found = only(sql_failed(), *[TABLES] * 6, REPAIRED)
    assert (found.move.kind, found.worked) == (MoveKind.STOPPED, False)


def test_another_intent_is_no_attempt() -> None:
    assert only(sql_failed(), sql("SELECT 1")).move.kind is MoveKind.STOPPED
    assert only(sql_failed(), sql("DELETE FROM users WHERE name = ''")).move.kind is MoveKind.STOPPED


def test_one_success_serves_one_failure() -> None:
    found = observed(sql_failed(), sql_failed(), REPAIRED)
    assert [(one.move.kind, one.worked) for one in found] == [(MoveKind.SENT_AGAIN, False), (MoveKind.CHANGED, True)]


def _called(trail: Trail, *ids: str) -> None:
    for name in ids:
        apply(trail, event(name, 0, ToolCalled(name, "sql", "SELECT name FROM users")))


def test_a_parallel_sibling_is_no_attempt() -> None:
    trail = Trail()
    begin(trail, where())
    _called(trail, "a", "b")
    apply(trail, event("ar", 0, ToolFailed("a", MISSING_TABLE)))
    apply(trail, event("br", 0, ToolReturned("b", "[]")))
    assert close(trail, "success") == ()
    assert [one.move.kind for one in end(trail)] == [MoveKind.STOPPED]


def test_of_two_failed_siblings_one_success_serves_the_later() -> None:
    trail = Trail()
    begin(trail, where())
    _called(trail, "a", "b")
    apply(trail, event("ar", 0, ToolFailed("a", MISSING_TABLE)))
    apply(trail, event("br", 0, ToolFailed("b", MISSING_TABLE)))
    _called(trail, "c")
    apply(trail, event("cr", 0, ToolReturned("c", "[]")))
    assert [(one.failure_id, one.worked) for one in close(trail, "success")] == [("b", True)]
    assert [(one.failure_id, one.worked) for one in end(trail)] == [("a", False)]


def test_another_agents_call_is_no_attempt() -> None:
    found = only(sql_failed(), REPAIRED._replace(agent="other"))
    assert (found.move.kind, found.worked) == (MoveKind.STOPPED, False)


def test_polling_calls_are_no_attempts() -> None:
    trail = Trail()
    begin(trail, where())
    lived(trail, sql_failed())
    apply(trail, event("p", 0, ToolCalled("p", "sql", "SELECT name FROM users", polling=True)))
    apply(trail, event("pr", 0, ToolReturned("", "[]")))
    assert close(trail, "success") == ()
    assert len(trail.waiting) == 1


def test_an_attempt_that_hides_errors_repairs_nothing() -> None:
    failed = Call(
        "bash", "cat /etc/shop/users.toml", "cat: /etc/shop/users.toml: No such file or directory", failed=True
    )
    found = only(failed, Call("bash", "cat /etc/shop/users.toml 2>/dev/null || true", ""))
    assert not found.worked


@pytest.mark.parametrize("outcome", ["success", "", "partial"])
def test_an_attempt_of_a_turn_that_did_not_fail(outcome: str) -> None:
    assert only(sql_failed(), TABLES, REPAIRED, outcome=outcome).worked


@pytest.mark.parametrize("outcome", ["failure", "timeout", "error"])
def test_an_attempt_of_a_turn_that_failed_repairs_nothing(outcome: str) -> None:
    assert not only(sql_failed(), TABLES, REPAIRED, outcome=outcome).worked


@pytest.mark.parametrize(
    ("error", "again", "worked"),
    [
        ("503 Service Unavailable", '{"id": 1}', True),
        ("503 Service Unavailable", '{"id": 2}', False),
        ("Error: id 1 is absent", '{"id": 1}', False),
    ],
)
def test_what_passes_by_itself_has_worked_though_the_turn_failed(error: str, again: str, worked: bool) -> None:
    """Only where the same call was sent again: another one may have hidden the failure."""
    failed = Call("get_order", '{"id": 1}', error, failed=True)
    (found,) = observed(failed, Call("get_order", again, "{}"), outcome="failure")
    assert found.worked is worked


def test_a_failure_that_the_tool_does_not_mark() -> None:
    found = only(sql("SELECT name FROM users", f"Error: {MISSING_TABLE}"), TABLES, REPAIRED)
    assert (found.signature, found.worked) == (SIGNATURE, True)


def test_a_call_that_has_worked_is_no_failure_whatever_its_text_says() -> None:
    trail = Trail()
    begin(trail, where())
    _called(trail, "a")
    assert apply(trail, event("ar", 0, ToolReturned("a", f"Error: {MISSING_TABLE}", has_worked=True))) is None
    assert not waits(trail)


def test_an_error_that_says_nothing_is_not_observed() -> None:
    assert observed(sql_failed(error="An error occurred while running the tool."), TABLES, REPAIRED) == ()


# JSON arguments


def find(email: str, result: str = "found", failed: bool = False) -> Call:
    return Call("find_user", f'{{"email": "{email}"}}', result, failed)


NOT_FOUND = find("mia@a.example", "Error: user not found", failed=True)


def test_a_value_that_the_user_gave_when_asked() -> None:
    found = only(NOT_FOUND, User("it is mia@b.example"), find("mia@b.example"))
    assert found.move == Move(MoveKind.CHANGED, ("email",), True, ValueKind.EMAIL, CameFrom.USER_ASKED)


def test_a_value_that_the_user_had_given() -> None:
    found = only(User("mia@b.example, or mia@a.example"), NOT_FOUND, find("mia@b.example"))
    assert found.move.came_from is CameFrom.USER


def test_the_next_item_of_a_list_is_no_repair() -> None:
    """Seen to fail: who went through a list taught that a call works with another item's id, which is another order."""
    sheet = Call("read_sheet", "{}", '["A-1", "A-2", "A-3"]')
    failed = Call("get_order", '{"order_id": "A-1"}', "Error: order not found", failed=True)
    found = only(sheet, failed, Call("get_order", '{"order_id": "A-2"}', "paid"))
    assert found.move == Move(MoveKind.CHANGED, ("order_id",), True)
    # Beside a value of another kind it is what that stands for.
    book = Call("find_contact", "{}", '{"name": "kim", "email": "kim@a.example"}')
    mailed = Call("send_mail", '{"to": "kim"}', "Error: invalid recipient", failed=True)
    repaired = only(book, mailed, Call("send_mail", '{"to": "kim@a.example"}', "sent"))
    assert repaired.move == Move(MoveKind.CHANGED, ("to",), True, ValueKind.EMAIL, CameFrom.RESULT)


@pytest.mark.parametrize(
    ("said", "came_from"),
    [
        ("What is it in euro?", CameFrom.NOWHERE),
        ("What is it in euro (EUR)?", CameFrom.USER),
        ("Eurozone", CameFrom.NOWHERE),
    ],
)
def test_what_a_user_gave_is_a_word(said: str, came_from: CameFrom) -> None:
    """Seen to fail when `EUR` was found in "euro": who follows "that the user had given" sends what has failed."""
    failed = Call("rate", '{"currency": "euro"}', "Error: unknown currency", failed=True)
    found = only(User(said), failed, Call("rate", '{"currency": "EUR"}', "1.1"))
    assert found.move.came_from is came_from


@pytest.mark.parametrize("name", ["code", "script"])
def test_a_code_that_is_a_name_is_a_value(name: str) -> None:
    """Seen to fail when it was read as a program's text, so that nothing was learned of it."""
    failed = Call("look", f'{{"{name}": "euro"}}', "Error: unknown", failed=True)
    found = only(failed, Call("look", f'{{"{name}": "EUR"}}', "1.1"))
    assert found.move == Move(MoveKind.CHANGED, (name,), True, ValueKind.WORD, CameFrom.NOWHERE)
    program = Call("look", f'{{"{name}": "print(1)"}}', "Error: unknown", failed=True)
    assert only(program, Call("look", f'{{"{name}": "print(2)"}}', "2")).move == Move(MoveKind.CHANGED)


def test_what_was_gone_on_with() -> None:
    found = only(NOT_FOUND, Call("transfer", '{"to": "a person"}'))
    assert (found.move, found.worked) == (Move(MoveKind.WENT_ON, ("transfer",), True), False)


# A trail over time


def test_a_trail_goes_on_with_the_next_turn() -> None:
    trail = Trail()
    begin(trail, where(1))
    lived(trail, NOT_FOUND)
    assert close(trail, "success") == ()
    begin(trail, where(2))
    lived(trail, User("mia@b.example"), find("mia@b.example"))
    (found,) = close(trail, "success")
    assert found.move.came_from is CameFrom.USER_ASKED
    assert found.where == where(1)


def test_advice_and_whether_it_was_followed() -> None:
    for said, followed in ((SHOW_TABLES, True), (Move(MoveKind.LOOKED_UP, ("DESCRIBE",)), False)):
        trail = Trail()
        begin(trail, where())
        lived(trail, sql_failed())
        told(trail, trail.waiting[0].failure.event_id, "recovery", said)
        lived(trail, TABLES, REPAIRED)
        (found,) = close(trail, "success")
        assert (found.advised, found.followed) == ("recovery", followed)


@pytest.mark.parametrize(
    ("earlier", "followed"),
    [
        ((), True),
        ((Call("what_worked", "{}"),), True),
        (("another agent's model",), True),
        (("model",), False),
        ((TABLES,), False),
        ((TABLES, REPAIRED), False),
    ],
)
def test_advice_that_comes_when_the_agent_has_gone_on_is_not_followed(
    earlier: tuple[Call | str, ...], followed: bool
) -> None:
    """`earlier`: what the agent does before it is recorded. Seen to fail for the last three without `came`."""
    trail = Trail()
    begin(trail, where())
    lived(trail, sql_failed())
    told(trail, trail.waiting[0].failure.event_id, "recovery", SHOW_TABLES)
    for one in earlier:
        if isinstance(one, Call):
            lived(trail, one)
        else:
            apply(trail, event("m", HOUR_US, ModelStarted(), "" if one == "model" else "other"))
    assert came(trail, "another recovery") is False
    assert came(trail, "recovery") is not followed
    lived(trail, *(one for one in (TABLES, REPAIRED) if one not in earlier))
    (found,) = close(trail, "success")
    assert (found.move, found.worked) == (SHOW_TABLES, True)
    assert (found.advised, found.followed) == ("recovery", followed)


def test_advice_without_which_the_turn_ended_is_not_followed_in_the_next() -> None:
    trail = Trail()
    begin(trail, where(1))
    lived(trail, sql_failed())
    told(trail, trail.waiting[0].failure.event_id, "recovery", SHOW_TABLES)
    assert came(trail, "recovery", never=True)
    assert close(trail, "success") == ()
    begin(trail, where(2))
    lived(trail, TABLES, REPAIRED)
    (found,) = close(trail, "success")
    assert (found.move, found.advised, found.followed) == (SHOW_TABLES, "recovery", False)


def test_a_failure_is_told_as_it_happens() -> None:
    trail = Trail()
    begin(trail, where())
    lived(trail, TABLES)
    apply(trail, event("c", 0, ToolCalled("c", "sql", "SELECT name FROM users")))
    failure = apply(trail, event("r", 0, ToolFailed("c", MISSING_TABLE)))
    assert failure is not None
    assert (failure.failure_id, failure.signature, trail.looked_up) == ("c", SIGNATURE, ["SHOW TABLES"])


def test_the_same_failure_has_the_same_id() -> None:
    once, again = only(sql_failed(), REPAIRED), only(sql_failed(), REPAIRED)
    assert once.observation_id == again.observation_id
    assert observed(sql_failed(), REPAIRED, number=2)[0].observation_id != once.observation_id


def test_a_trail_stays_bounded() -> None:
    trail = Trail()
    begin(trail, where())
    for number in range(300):
        name = f"f{number}"
        apply(trail, event(name, 0, ToolCalled(name, f"tool{number}", "{}"), agent=f"agent {number}"))
        apply(trail, event(f"{name}r", 0, ToolFailed(name, "Error: no such order " + "x" * 20_000), f"agent {number}"))
        apply(trail, event(f"o{number}", 0, ToolCalled(f"o{number}", "get_order", "{}")))
    assert (len(trail.waiting), len(trail.open_calls), len(trail.texts)) == (50, 100, 40)
    assert max(len(one.text) for one in trail.texts) == 8_000
    assert len(trail.seen) == 250


def test_a_trail_needs_a_turn() -> None:
    with pytest.raises(ValueError, match="begins with a turn"):
        apply(Trail(), event("a", 0, ToolCalled("a", "sql")))
