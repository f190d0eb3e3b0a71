"""The bench of recoveries on made runs: what it asks about, what it counts, and that it would notice a leak."""

from typing import Any

import pytest

from bench.recovery_advice import bins, counted, coverage, done, learned, lift, lookup_signatures, otherwise
from bench.recovery_next import METHODS, Scores, cases_of, difference, kind_of, scores_of
from bench.recovery_runs import Run, run_of
from bench.recovery_strangers import strangers
from tests.memory.trails import MISSING_TABLE

FAILED, TABLES, REPAIRED = "SELECT name FROM users", "SHOW TABLES", "SELECT name FROM customers"


def made(number: int, *statements: tuple[str, str], tool: str = "sql", agent: str = "agent") -> Run:
    """A run of calls with results; a result that begins with `!` is an error."""
    events: list[dict[str, Any]] = []
    for statement, result in statements:
        at = len(events)
        kind = "tool_error" if result.startswith("!") else "tool_result"
        events += [
            {"i": at, "type": "tool_call", "name": tool, "content": statement},
            {"i": at + 1, "type": kind, "name": tool, "content": result.removeprefix("!")},
        ]
    row = {
        "episode_id": f"e{number}",
        "split_group": f"g{number % 4}",
        "agent": {"name": agent},
        "task": {"description": f"task {number}"},
        "outcome": "success",
        "events": events,
    }
    return run_of(row, "made", start_us=number * 3_600_000_000)


def repaired(number: int, agent: str = "agent") -> Run:
    found = (TABLES, "[('customers',)]")
    return made(number, (FAILED, f"!{MISSING_TABLE}"), found, (REPAIRED, "[]"), agent=agent)


def test_a_case_is_a_failure_with_another_step_after_it() -> None:
    (case,) = cases_of([repaired(1)])
    assert (case.label, case.next_label, case.is_recovered, case.tool) == ("SELECT", "SHOW TABLES", True, "sql")
    assert cases_of([made(2, (FAILED, f"!{MISSING_TABLE}"), (REPAIRED, "[]"))]) == []


@pytest.mark.parametrize("name", METHODS)
def test_every_method_learns_the_next_step(name: str) -> None:
    train = [repaired(number) for number in range(6)]
    rows = [row for run in train for row in run.observations]
    (scores,) = scores_of(METHODS[name](cases_of(train), rows), cases_of([repaired(9)]))
    assert scores.hits == (True, True, True, True)
    (scores,) = scores_of(METHODS[name]([], []), cases_of([repaired(9)]))
    assert scores.hits == (False, False, False, False)


def test_a_difference_with_its_interval() -> None:
    right = [Scores(f"g{at % 5}", (True, True, True, True)) for at in range(20)]
    wrong = [Scores(f"g{at % 5}", (at % 5 == 0, True, True, True)) for at in range(20)]
    mean, low, high = difference(right, wrong, 0)
    assert (mean, high) == (0.8, 1.0)
    assert 0 < low < 0.8
    assert difference(right, wrong, 1) == (0.0, 0.0, 0.0)


def test_what_advice_is_worth() -> None:
    recoveries = learned([repaired(number) for number in range(6)])
    assert list(recoveries) == ["sql|not_found|missing_table"]
    blind = made(20, (FAILED, f"!{MISSING_TABLE}"), (REPAIRED, f"!{MISSING_TABLE}"))
    unknown = made(21, ("SELECT a FROM b", "!Unknown column 'a'"), ("SELECT c FROM b", "[]"))
    rows = counted(recoveries, [repaired(9), blind, unknown])
    assert coverage(rows) == (1, 2)
    assert done(rows) == (1, 1)
    assert otherwise(rows) == (0, 1)
    assert lift(rows) == 1.0
    assert bins(rows) == [(1.0, (1, 1))]


def test_which_signatures_could_have_look_up_advice() -> None:
    """Those that a look-up repaired in as many sessions as the gate asks for: no rule can tell more of these runs."""
    assert lookup_signatures([repaired(1)]) == set()
    unrepaired = made(
        3, ("SELECT 1 FROM orders", MISSING_TABLE), ("SHOW TABLES", "x"), ("SELECT 1 FROM orders", MISSING_TABLE)
    )
    assert lookup_signatures([repaired(1), unrepaired]) == set()
    assert lookup_signatures([repaired(1), repaired(2), unrepaired]) == {"sql|not_found|missing_table"}


def test_a_step_has_a_kind() -> None:
    assert [kind_of(label) for label in ("SHOW TABLES", "ls", "cat", "mkdir", "SELECT", "x")] == [
        *("looks", "looks", "reads", "changes", "queries", "program")
    ]


def test_a_customers_value_that_is_kept_is_noticed() -> None:
    """A tool whose name is a customer's: it would stand in a row, and in no sentence."""
    failed = ('{"user_id": "mia_li_3668"}', "!Error: user not found")
    leaks, sentences, values = strangers([made(1, failed, tool="get_user"), made(2, failed, tool="mia_li_3668")])
    assert values == 1
    assert all("mia_li_3668" in leak for leak in leaks)
    assert len(leaks) == 1
    assert sentences == set()
