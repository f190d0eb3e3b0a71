"""What a line of the log says, and what it never says."""

import json
import logging

import pytest

from sidemirror_server.operations.logs import JsonLines

CANARY = "a-customer's-words"


def test_an_error_is_told_by_type_and_place_only() -> None:
    """Seen to fail with the standard library's own text of an exception."""
    with pytest.raises(RuntimeError) as caught:
        fails()
    raised = (caught.type, caught.value, caught.tb)
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, "call_failed", None, raised)
    line = JsonLines().format(record)
    assert CANARY not in line
    told = json.loads(line)["exception"]
    assert told.count("Traceback (most recent call last):") == 2
    assert told.index("builtins.ValueError") < told.index("builtins.RuntimeError")
    assert "test_logs.py" in told


def fails() -> None:
    try:
        int(CANARY)
    except ValueError as error:
        raise RuntimeError(f"no number: {CANARY}") from error


def test_a_time_says_its_zone() -> None:
    """UTC, wherever the machine is. Seen to fail with the machine's own time."""
    record = logging.LogRecord("x", logging.INFO, __file__, 1, "serving", None, None)
    record.created, record.msecs = 1_800_000_000.25, 250.0
    assert json.loads(JsonLines().format(record))["time"] == "2027-01-15T08:00:00.250Z"
