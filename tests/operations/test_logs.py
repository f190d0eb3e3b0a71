"""What a line of the log says, and what it never says."""

import json
import logging
import re

import pytest

from sidemirror_server.operations.logs import JsonLines
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.outage import Outage
from tests.architecture.repository import ROOT

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


def test_the_command_of_the_alerts_page_shows_beginning_and_end(caplog: pytest.LogCaptureFixture) -> None:
    """The end of an outage is no warning. Seen to fail when the command has warnings and errors alone."""
    caplog.set_level(logging.INFO)
    log = logging.getLogger("test")
    outage = Outage(log, "disk_slow", "disk_not_slow", SystemClock())
    outage.failed({})
    outage.worked()
    for event in ("store_back", "model_ready"):
        log.info(event)
    (pattern,) = re.findall(r"--since 24h \| grep -E '(.*)'", (ROOT / "deploy" / "alerts.md").read_text())
    lines = map(JsonLines().format, caplog.records)
    shown = [json.loads(line)["event"] for line in lines if re.search(pattern, line)]
    assert shown == ["disk_slow", "disk_not_slow", "store_back"]
