"""When a lesson in the words of the rules is told, and when it says nothing of what an agent meets."""

import msgspec
import pytest

from sidemirror_server.memory.finding.worth_telling import is_about, says_nothing_at_failure, says_nothing_at_start
from sidemirror_server.memory.record import MemoryKind, MemoryRecord, Teaching
from sidemirror_server.vocabulary.origin import Origin

TASK = "Count the customers of each country"
LOOK_UP = "There is no table `Users`: list or look up what exists before calling `sql` again."
PASSED = "`sql` failed: its error says “503”, a network failure; a later call of it worked."
GENERAL = "Try `sql` once more after a pause; if it fails again, use another source."
RESTATED = "`sql` failed: its error says “no such table: users”, a not found failure."
QUOTED = "The user corrected the agent: “I meant the net sum”."
OTHER = "The users are called people here."


def lesson(text: str) -> MemoryRecord:
    return MemoryRecord(
        memory_id="m",
        kind=MemoryKind.STRATEGY,
        content=text,
        importance=0.7,
        created_us=1,
        updated_us=1,
        text_key="k",
        origin=Origin.TOOL,
        task_text=TASK,
    )


def reviewed(memory: MemoryRecord) -> MemoryRecord:
    return msgspec.structs.replace(memory, reviewed_version=memory.version)


@pytest.mark.parametrize(
    ("text", "error", "is_told"),
    [
        (LOOK_UP, "no such table: users", True),
        (LOOK_UP, "Table 'USERS' doesn't exist", True),
        (LOOK_UP, "no such table: orders", False),
        (LOOK_UP, "timed out", False),
        (PASSED, "503", False),
        (GENERAL, "503", False),
        (RESTATED, "no such table: users", False),
        (QUOTED, "I meant the net sum", False),
        (OTHER, "no such table: users", True),
    ],
)
def test_at_a_failing_call(text: str, error: str, is_told: bool) -> None:
    assert says_nothing_at_failure(lesson(text), [error]) is not is_told
    assert not says_nothing_at_failure(reviewed(lesson(text)), [error])


COLUMN = "There is no column `amount`: list or look up what exists before calling `Bash` again."


@pytest.mark.parametrize(
    ("text", "error", "is_told"),
    [
        (COLUMN, "no such column: amount", True),
        (COLUMN, "ModuleNotFoundError: No module named 'pandas'", False),
        (COLUMN, "cat: notes.txt: No such file or directory", False),
        (COLUMN, "bash: line 1: nosuchcmd: command not found", False),
        (COLUMN, "no such table: orders", False),
        (COLUMN, 'relation "orders" does not exist', False),
        ("Type the names of subcommands out of `cargo --list`.", "error: no such command: `biuld`", False),
        ("pandas is not installed here: use polars.", "ModuleNotFoundError: No module named 'pandas'", True),
        ("The warehouse keeps its orders by year.", "warehouse has no orders for May", True),
        ("Bash could not find the file.", "cat: notes.txt: No such file or directory", False),
    ],
)
def test_a_tool_for_everything_has_many_failures_of_a_kind(text: str, error: str, is_told: bool) -> None:
    """Reviewed or not: every command of a coding agent is the tool `Bash`, and most of its failures are not found."""
    of_failure = msgspec.structs.replace(reviewed(lesson(text)), error_signature="Bash|not_found|missing_column")
    assert is_about(of_failure, [error]) is is_told
    assert is_about(lesson(text), [error]), "its author said when it applies"


@pytest.mark.parametrize("text", [LOOK_UP, PASSED, GENERAL, RESTATED, QUOTED, OTHER])
def test_at_a_start(text: str) -> None:
    """For another task nothing that a rule made is told; for the same one, and at the same failure, what it advises."""
    told = {
        name: not says_nothing_at_start(lesson(text), task, had_failure=had_failure)
        for name, task, had_failure in (
            ("another", "Count the users of each town by age", False),
            ("none", "", False),
            ("same", f"{TASK}!", False),
            ("failed", "Go on", True),
        )
    }
    advises = text not in (RESTATED, PASSED, QUOTED)
    is_other = text == OTHER
    assert told == {"another": is_other, "none": is_other, "same": advises, "failed": advises}
    assert not says_nothing_at_start(reviewed(lesson(text)), "", had_failure=False)


def test_at_the_start_of_a_later_task_that_taught_it_too() -> None:
    """Seen to fail when only the first task counts: what every task of a project learned came at the start of one."""
    later = "Which users have signed up in May?"
    again = msgspec.structs.replace(lesson(LOOK_UP), taught_by=(Teaching(("turn:t",), "k", 1, task=later),))
    assert says_nothing_at_start(lesson(LOOK_UP), later, had_failure=False)
    assert not says_nothing_at_start(again, later, had_failure=False)
    assert not says_nothing_at_start(again, TASK, had_failure=False)
    assert says_nothing_at_start(again, "Count the users of each town by age", had_failure=False)
