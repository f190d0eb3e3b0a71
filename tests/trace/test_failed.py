"""Which results report a failure though no tool said so; the figures on recorded results are bench.recoveries'."""

import time

import pytest

from bench.recovery_runs import results
from bench.split import Part
from sidemirror_server.trace.failed import reports_failure
from tests.recorded import recordings

FAILED = (
    "Error handling request: KeyError",
    "Error logging in: invalid credentials",
    "Error: 0.0.0.0:8080 is in use",
    "Error: 0 is not a valid port",
    "Error: order not found",
    "error: pathspec 'x' did not match any file(s) known to git",
    "ERROR:\nParameter `old_str` is required",
    "fatal: not a git repository",
    "Traceback (most recent call last):\n  File 'a.py', line 1\nKeyError: 'x'",
    "part of the output\nValueError: not in range",
    "cat: encrypt.txt: No such file or directory",
    "/bin/bash: line 1: tshark: command not found\nInput: the program will exit now",
    "/bin/bash: -c: line 1: syntax error near unexpected token `;'\n/bin/bash: -c: line 1: `It seems that; …'",
    "dirname: missing operand\nTry 'dirname --help' for more information.",
    "exitcode: 1 (execution failed)\nCode output: unknown language",
    "some output\n[The command completed with exit code 2.]",
    "Command timed out",
    "1 failed: assert 1.9 == 1.90",
    "FAILED test_money.py::test_cents - assert 1.9 == 1.90\n1 failed, 3 passed in 0.12s",
    "F.\n=== 2 failed, 1 passed in 0.10s ===",
    '{"error": "no such customer"}',
    '{"ok": false, "data": null}',
    '{"status": "failed"}',
    '{"status": 503}',
    '{"exit_code": 1, "stdout": "x"}',
    '{"isError": true, "content": []}',
    "{'output': '', 'error': 'Error: invalid syntax'}",
)
WORKED = (
    "Error handling guide. When a file is not found, retry.",
    "FAILED 0, passed 12",
    "Errors: 0\nWarnings: 2",
    "",
    "[]",
    "done",
    "0 errors found",
    "0 failed, 3 passed",
    "3 passed, 0 failed in 0.12s",
    "2 failed logins of alice were found",
    "error_count 0",
    "/var/log/app.log:17: ERROR could not connect\n/var/log/app.log:18: INFO retried\n/var/log/app.log:19: INFO done",
    "def fail():\n    raise ValueError('no')\n\nprint('x')",
    "a.txt\nb.txt\nls: c: Permission denied",
    '{"error": null, "data": 1}',
    '{"error": "", "output": "x"}',
    '{"status": "delivered", "items": [{"error": "none"}]}',
    '{"code": "W404"}',
    '[{"error": "a row of a table of errors"}]',
    "exitcode: 0 (execution succeeded)\nCode output: Error: printed by the program itself",
    "{'output': 'fine', 'error': ''}",
    # Python's own notation, of what Python cannot make: neither raises.
    "{'a': 1, []: 2}",
    "{'a': {[1]}}",
    "Errors and how to avoid them: a chapter",
)


@pytest.mark.parametrize("text", FAILED)
def test_a_failure_is_recognised(text: str) -> None:
    assert reports_failure(text)


@pytest.mark.parametrize("text", WORKED)
def test_a_result_is_no_failure(text: str) -> None:
    assert not reports_failure(text)


@pytest.mark.parametrize("text", ["{" * 50_000, "a: " * 30_000, "error" * 20_000, "x: line 1: " * 9_000, "{'" * 4_000])
def test_a_hostile_result_takes_no_time(text: str) -> None:
    began = time.perf_counter()
    reports_failure(text)
    assert time.perf_counter() - began < 1.0


def test_recorded_results() -> None:
    """Of the results whose source marks failures, those with a text, on the tuning part. InterCode's Python results are
    left out: there `Failed 3/3 Test Cases` is marked as worked."""
    sets = results(recordings(), Part.TUNING)
    pairs = [pair for name, (recorded, _) in sets.items() if name != "intercode python" for pair in recorded if pair[1]]
    found = [failed for failed, text in pairs if reports_failure(text)]
    assert sum(found) / len(found) > 0.98
    assert sum(found) / sum(failed for failed, _ in pairs) > 0.97
