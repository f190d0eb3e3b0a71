from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidemirror_server.memory.kin.signature import error_signature
from sidemirror_server.models.adapters.rules.wording import what_it_says
from sidemirror_server.trace.failure import ErrorCategory, category_of, masked, telling_line
from tests.recorded import episodes

TRACEBACK = 'Traceback (most recent call last):\n  File "/tmp/a.py", line 3, in <module>\n    get(url, timeout=5)\n'

CASES = [
    ("timeout", "Command timed out"),
    ("timeout", "HTTP 504 Gateway"),
    ("timeout", "exitcode: 124 (execution failed)\nCode output: "),
    ("timeout", "context deadline exceeded"),
    ("timeout", "java.net.SocketTimeoutException: Read timed out"),
    ("timeout", "ERROR: canceling statement due to statement timeout"),
    ("validation", "Error executing query: You have an error in your SQL syntax; check the manual"),
    ("validation", "Error: 1 validation error for Payment\npayment_id\n  Field required [type=missing]"),
    ("validation", "/bin/bash: -c: line 1: syntax error: unexpected end of file"),
    ("validation", "SyntaxError: Unexpected token } in JSON at position 4"),
    ("validation", "Error: gift card balance is not enough"),
    ("validation", "status code: 422"),
    ("validation", "java.lang.IllegalArgumentException: n"),
    ("permission", "/bin/bash: line 1: ./run: Permission denied"),
    ("permission", "Error: 403 Forbidden"),
    ("validation", '[{"type":"extra_forbidden","loc":["n"],"msg":"Extra inputs are not permitted","input":1}]'),
    ("permission", "psycopg.errors.InsufficientPrivilege: permission denied for table users"),
    ("not_found", "Error: user not found"),
    ("not_found", "ls: cannot access '/x': No such file or directory"),
    ("not_found", "Error executing query: Table 'a.b' doesn't exist"),
    ("not_found", "/bin/bash: line 1: foo: command not found"),
    ("not_found", TRACEBACK + "ModuleNotFoundError: No module named 'x'"),
    ("not_found", "Error: Cannot find module 'left-pad'"),
    ("not_found", 'ERROR: relation "users" does not exist'),
    ("rate_limit", "HTTP/1.1 429 Too Many Requests"),
    ("rate_limit", "You exceeded your current quota, permission denied"),
    ("rate_limit", "Error: quota exceeded for requests per minute"),
    ("resource", "cp: error writing 'b': Disk quota exceeded"),
    ("resource", "OSError: [Errno 122] Disk quota exceeded: 'out.bin'"),
    ("network", "Error: 503 Service Unavailable"),
    ("network", "dial tcp 10.0.0.1:80: connect: connection refused"),
    ("network", "Error: getaddrinfo ENOTFOUND api.example"),
    ("network", "TypeError: Failed to fetch"),
    ("tool", "500 from upstream: internal server error"),
    ("tool", "Process exited with code: 1"),
    ("model", "This model's maximum context length is 8192 tokens"),
    ("resource", "java.lang.OutOfMemoryError: Java heap space"),
    ("resource", "write failed: No space left on device"),
    ("resource", "exit code: 137"),
    ("logic", TRACEBACK + "TypeError: 'NoneType' object is not iterable"),
    ("logic", "Test case did not pass. Please try again."),
    ("logic", "IndexError: list index out of range"),
    ("logic", "panic: runtime error: invalid memory address or nil pointer dereference"),
    ("logic", "TypeError: x.map is not a function"),
    ("logic", TRACEBACK + "ValueError: chr() arg not in range(0x110000)"),
    ("unknown", ""),
    ("unknown", "5a6"),
]


@pytest.mark.parametrize(("category", "text"), CASES)
def test_a_wording_tells_the_category(category: str, text: str) -> None:
    assert category_of(text, "some_tool") == category


def test_every_category_is_tested() -> None:
    assert {category for category, _ in CASES} == {category.value for category in ErrorCategory}


def test_code_in_a_traceback_does_not_decide() -> None:
    assert category_of(TRACEBACK + "KeyError: 'slots'") is ErrorCategory.LOGIC


def test_a_model_that_fails_without_a_word_of_why() -> None:
    assert category_of("it broke", "ask_llm") is ErrorCategory.MODEL
    assert category_of("it broke", "weather") is ErrorCategory.UNKNOWN


def test_the_telling_line() -> None:
    assert telling_line(TRACEBACK + "ValueError: bad\n") == "ValueError: bad"
    assert telling_line("\nexitcode: 1 (execution failed)\nran\n") == "exitcode: 1 (execution failed)"
    assert telling_line("Reading lists...\nE: Unable to locate package x") == "E: Unable to locate package x"
    assert telling_line(" \n") == ""


@pytest.mark.parametrize("before", ["Command failed: ", "Error: Command failed: ", "Command failed with exit code 1: "])
def test_what_was_run_is_not_what_failed(before: str) -> None:
    """As Node.js and execa say it. Seen to fail when the first line with an error word is taken, whatever it is."""
    written = f"{before}sqlite3 shop.db 'SELECT status FROM orders'\nin prepare, no such column: status\n"
    assert telling_line(written) == "in prepare, no such column: status"
    assert error_signature("sql", written) == "sql|not_found|missing_column"
    assert what_it_says(written) == "“in prepare, no such column: status”"
    assert telling_line(f"{before}make all\n") == f"{before}make all"


def test_details_of_a_line_are_masked() -> None:
    assert masked("Error: Plan with ID P1006 not found in '/tmp/x'") == "error: plan with id <n> not found in <quoted>"
    assert masked("GET https://a.example/1:  /tmp/x.txt") == "get <url> <path>"
    # What is quoted is no detail when it is the error itself.
    assert masked('value = "Error: user not found"') == "value = error: user not found"


@given(st.text(max_size=400))
def test_any_text_has_a_category(text: str) -> None:
    category_of(text, "t")


def test_recorded_tool_errors_are_seldom_unknown() -> None:
    unknown: Counter[str] = Counter()
    errors = 0
    for name in ("intercode", "tau_bench", "tau2_bench", "swe_agent", "who_and_when"):
        for episode in episodes(name).values():
            for event in episode["events"]:
                if event["type"] == "tool_error":
                    errors += 1
                    if category_of(event["content"], event["name"]) is ErrorCategory.UNKNOWN:
                        unknown[event["content"].strip()] += 1
    assert errors == 7_841
    # 179 of them have no text at all: a shell command that only returned a non-zero status.
    assert unknown[""] == 179
    assert unknown.total() - unknown[""] <= 25
