"""Behind which results an adapter waits for advice: those that the sidecar takes for failures, and few others."""

import time

import pytest

from bench.recovery_runs import results
from bench.split import Part
from sidemirror_client.failing import may_have_failed
from sidemirror_server.trace.failed import reports_failure
from tests.recorded import recordings
from tests.trace.test_failed import FAILED

# Of frameworks' own examples, and of the wordings that the sidecar knows.
MORE = (
    "Error: (sqlite3.OperationalError) no such column: Total",
    "Tool error: Please check your input and try again. (unknown location 'Pariss': did you mean 'Paris'?)",
    "Error executing tool: disk on fire",
    "{'status': 'error', 'error_message': 'no weather for NYC'}",
    '{"success": false, "data": null}',
    '{"items": [], "errors": ["too many"]}',
)
WORKED = (
    "",
    "[]",
    "done",
    "17",
    "[(17,)]",
    "Sunny, 25 degrees",
    '{"error": null, "data": 1}',
    '{"error": "", "output": "x"}',
    '{"error": [], "ok": true}',
    '{"exit_code": 0, "status": 200, "success": true}',
    '[{"error": "a row of a table of errors"}]',
    "name: Bob\ncity: Lisbon",
    "03/02 CITYCAB 18.40\n03/05 HOPPA 11.75",
)


@pytest.mark.parametrize("text", [*FAILED, *MORE])
def test_a_failure_is_waited_for(text: str) -> None:
    assert may_have_failed(text)


@pytest.mark.parametrize("text", WORKED)
def test_a_plain_result_is_not(text: str) -> None:
    assert not may_have_failed(text)


@pytest.mark.parametrize(
    "text",
    ["{" * 100_000, '{"error"' + " " * 100_000, "a: " * 30_000, "x: line 1: " * 9_000, "[" * 50_000, '"' * 99_999],
)
def test_a_hostile_result_takes_no_time(text: str) -> None:
    began = time.perf_counter()
    may_have_failed(text)
    assert time.perf_counter() - began < 0.1


def test_recorded_results() -> None:
    """Of every fourth result of the tuning part: of those that the sidecar takes for failures all but one in a hundred,
    and of the others one in thirty at most, which are waited for in vain."""
    texts = [text for recorded, _ in results(recordings(), Part.TUNING).values() for _, text in recorded if text]
    texts = texts[::4]
    found = [(reports_failure(text), may_have_failed(text)) for text in texts]
    failed, others = [ours for theirs, ours in found if theirs], [ours for theirs, ours in found if not theirs]
    assert sum(failed) / len(failed) > 0.99
    assert sum(others) / len(others) < 1 / 30
