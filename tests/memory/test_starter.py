"""The starter pack: what it says, of which failures, and what speaks against it."""

import json
import re

import pytest

from sidemirror_server.memory.kin.signature import error_signature
from sidemirror_server.memory.recoveries.asked import asked
from sidemirror_server.memory.recoveries.moves import refutes, reported_in
from sidemirror_server.memory.recoveries.observation import (
    Move,
    MoveKind,
    Observation,
    Where,
    observation_id,
    recovery_id,
)
from sidemirror_server.memory.recoveries.reviewed_lookups import LOOKUPS
from sidemirror_server.memory.recoveries.starter import LABEL, STARTERS, dialect_of, move_of, recovery_for, starter_for
from sidemirror_server.vocabulary.ids import EventId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from tests.architecture.repository import ROOT

SCHEMA = "SELECT ... FROM information_schema"
SQLITE_TABLES = "SELECT ... FROM sqlite_master"

# What programs say, as their documentation or the programs themselves have it, and the look-up for it.
FAILURES = (
    ("git checkout feature", "error: pathspec 'feature' did not match any file(s) known to git", "git branch --list"),
    ("git add notes.txt", "fatal: pathspec 'notes.txt' did not match any files", "git ls-files"),
    ("git switch feature-x", "fatal: invalid reference: feature-x", "git branch --list"),
    ("git push origin main", "error: src refspec main does not match any", "git branch --list"),
    (
        "git diff foo",
        "fatal: ambiguous argument 'foo': unknown revision or path not in the working tree.",
        "git branch --list",
    ),
    ("git push upstream", "fatal: 'upstream' does not appear to be a git repository", "git remote -v"),
    ("git log", "fatal: not a git repository (or any of the parent directories): .git", "pwd"),
    ("python app.py", "ModuleNotFoundError: No module named 'requests'", "pip list"),
    ("python3 app.py", "ModuleNotFoundError: No module named 'requests'", "pip list"),
    ("pip show foo", "WARNING: Package(s) not found: foo", "pip list"),
    (
        "pip install reqests",
        "ERROR: Could not find a version that satisfies the requirement reqests (from versions: none)\nERROR: No match",
        "pip index versions",
    ),
    (
        "pip install requests==99",
        "ERROR: Could not find a version that satisfies the requirement requests==99 (from versions: 2.31.0, 2.32.0)",
        "pip index versions",
    ),
    ("node app.js", "Error: Cannot find module 'express'", "npm ls"),
    ("npm test", "Error: Cannot find module 'express'", "npm ls"),
    ("kubectl get pod1", 'error: the server doesn\'t have a resource type "pod1"', "kubectl api-resources"),
    ("kubectl logs web", 'Error from server (NotFound): pods "web" not found', "kubectl get"),
    ("kubectl get pod web", 'Error from server (NotFound): pods "web" not found', "kubectl get"),
    (
        "npm run biuld",
        'npm error Missing script: "biuld"\nnpm error\nnpm error To see a list of scripts, run:\nnpm error   npm run',
        "npm run",
    ),
    ("npm run biuld", 'npm ERR! Missing script: "biuld"', "npm run"),
    ("sqlite3 shop.db 'SELECT * FROM orderz'", "Error: in prepare, no such table: orderz", ".tables"),
    ("sqlite3 shop.db 'SELECT nam FROM orders'", "Error: in prepare, no such column: nam", ".schema"),
    (
        "mysql shop -e 'SELECT 1 FROM orderz'",
        "ERROR 1146 (42S02) at line 1: Table 'shop.orderz' doesn't exist",
        "SHOW TABLES",
    ),
    (
        "mysql shop -e 'SELECT x FROM orders'",
        "ERROR 1054 (42S22) at line 1: Unknown column 'x' in 'field list'",
        "DESCRIBE",
    ),
    ("mysql shopp -e 'SELECT 1'", "ERROR 1049 (42000): Unknown database 'shopp'", "SHOW DATABASES"),
    (
        "psql -c 'SELECT * FROM orderz'",
        'ERROR:  relation "orderz" does not exist\nLINE 1: SELECT',
        r"\dt",
    ),
    ("psql -c 'SELECT nam FROM orders'", 'ERROR:  column "nam" does not exist\nLINE 1: SELECT nam FROM orders', r"\d"),
    (
        "psql -d shopp -c 'SELECT 1'",
        'psql: error: connection to server at "db", port 5432 failed: FATAL:  database "shopp" does not exist',
        r"\l",
    ),
)

# What databases say to tools that take SQL themselves: the tool, the statement, the error, and the look-up; empty where
# it cannot be known whose the statement was.
STATEMENT_FAILURES = (
    ("sqlite_query", "SELECT * FROM orderz", "sqlite3.OperationalError: no such table: orderz", SQLITE_TABLES),
    ("mcp__sqlite__read_query", "SELECT nam FROM orders", "Database error: no such column: nam", "PRAGMA table_info"),
    ("query", "SELECT * FROM orderz", "no such table: orderz", SQLITE_TABLES),
    ("query", "SELECT * FROM orders", "ERROR 1146 (42S02): Table 'shop.orders' doesn't exist", "SHOW TABLES"),
    ("query", "SELECT x FROM orders", "(1054, \"Unknown column 'x' in 'field list'\")", "DESCRIBE"),
    ("query", "USE foo", "ERROR 1049 (42000): Unknown database 'foo'", "SHOW DATABASES"),
    ("query", "SELECT * FROM orderz", 'relation "orderz" does not exist', f"{SCHEMA}.tables"),
    ("query", "SELECT nam FROM orders", 'column "nam" does not exist', f"{SCHEMA}.columns"),
    ("query", "SELECT nam FROM orders", "Invalid column name 'nam'.", ""),
    ("pg_query", "SELECT nam FROM orders", "undefined column nam", f"{SCHEMA}.columns"),
    ("mysql_to_postgres", "SELECT nam FROM orders", "undefined column nam", ""),
)


@pytest.mark.parametrize(("tool", "statement", "error", "look_up"), STATEMENT_FAILURES)
def test_a_statement_finds_the_look_up_of_its_database(tool: str, statement: str, error: str, look_up: str) -> None:
    label = asked(tool, json.dumps({"sql": statement})).label
    found = starter_for(error_signature(tool, error), label, dialect_of(tool, error))
    assert (found.look_up if found else "") == look_up


@pytest.mark.parametrize(("command", "error", "look_up"), FAILURES)
def test_what_programs_say_finds_its_look_up(command: str, error: str, look_up: str) -> None:
    found = starter_for(error_signature("shell", error), asked("shell", command).label)
    assert found is not None
    assert found.look_up == look_up


def test_every_row_is_reached_and_has_a_source_and_a_reviewed_look_up() -> None:
    reached = {
        starter_for(error_signature("shell", error), asked("shell", command).label) for command, error, _ in FAILURES
    } | {
        starter_for(error_signature(tool, error), asked(tool, statement).label, dialect_of(tool, error))
        for tool, statement, error, _ in STATEMENT_FAILURES
    }
    assert set(STARTERS) == reached - {None}
    for one in STARTERS:
        assert one.source
        assert one.look_up in LOOKUPS
        assert one.sentence == f"{LABEL} `{one.look_up}` shows {one.shows}."


def test_a_call_is_not_told_what_it_is() -> None:
    signature = error_signature("shell", "fatal: pathspec 'feature' did not match any files")
    assert starter_for(signature, "git ls-files") is None
    assert starter_for(signature, "git checkout") is not None
    assert starter_for(signature, "") is None


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("foo -x", "bash: foo: command not found"),
        ("cat a.txt", "cat: a.txt: No such file or directory"),
        ("grep --foo x", "grep: unrecognized option '--foo'"),
    ],
)
def test_what_a_shell_says_by_itself_finds_nothing(command: str, error: str) -> None:
    """The error names what is wrong: a look-up for every command was of no use (decision 095)."""
    assert starter_for(error_signature("shell", error), asked("shell", command).label) is None


def test_other_failures_find_nothing() -> None:
    for error in ("Order 17 has been cancelled", "too many requests", "Permission denied"):
        assert starter_for(error_signature("shell", error), "cat") is None


SIGNATURE = "sql|not_found|missing_table"
STARTER = next(one for one in STARTERS if one.look_up == "SHOW TABLES")
ID = recovery_id(SIGNATURE, STARTER.move)


def rows(count: int, *, worked: bool, advised: bool = False) -> list[Observation]:
    """The look-up, once in each of so many sessions."""
    found = []
    for number in range(count):
        where = Where(DEFAULT_SCOPE, TurnId(f"t{number}"), SessionId(f"s{number}"), f"s{number}")
        row = Observation(
            *(observation_id(where, "f"), where, EventId("f"), SIGNATURE, "SELECT", STARTER.move, worked, number),
            advised=ID if advised else "",
            followed=advised,
        )
        found.append(row)
    return found


def test_its_id_is_that_of_the_move() -> None:
    assert recovery_for(SIGNATURE, STARTER).recovery_id == ID
    assert move_of(SIGNATURE, ID) == STARTER.move
    assert move_of(SIGNATURE, recovery_id(SIGNATURE, Move(MoveKind.SENT_AGAIN))) is None


def test_tries_speak_against_it() -> None:
    assert not refutes(SIGNATURE, STARTER.move, reported_in([]))
    assert not refutes(SIGNATURE, STARTER.move, reported_in(rows(4, worked=False))), "too few to say so"
    assert refutes(SIGNATURE, STARTER.move, reported_in(rows(5, worked=False)))
    assert not refutes(SIGNATURE, STARTER.move, reported_in(rows(9, worked=True)))
    # After advice two failures in succession are enough, as for what was learned.
    assert not refutes(SIGNATURE, STARTER.move, reported_in(rows(1, worked=False, advised=True)))
    assert refutes(SIGNATURE, STARTER.move, reported_in(rows(2, worked=False, advised=True)))


def test_the_page_of_hooks_shows_what_its_command_is_told() -> None:
    page = (ROOT / "docs/hooks.md").read_text("utf-8")
    told = re.search(r"ask your agent to run `(.+?)`.*?^```\n\[ABOUT THIS FAILURE\]\n• (.+?)\n```", page, re.S | re.M)
    assert told is not None
    signature = error_signature("Bash", "Error: in prepare, no such table: orders")
    found = starter_for(signature, asked("Bash", told[1]).label)
    assert found is not None
    assert told[2] == found.sentence
