"""A trace of 80,000 spans, sent as it is: what is over its bounds is told and dropped, memory stays where it is."""

import json
import sys
import time
from pathlib import Path

import pytest

from sidemirror_server.telemetry_in.inbox import MOST_SPANS
from tests.faults.process import Process
from tests.telemetry_in.made import MadeCall, SpanMessage, request_of, run_of
from tests.telemetry_in.received import TAKES_SPANS, export, recorded

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

SPANS = 80_000
# What exporters send at once.
BATCH = 512
# Resident, with all that was sent; it is 80 MB of texts.
MOST_MB = 400
SETTINGS = {name: value for name, value in TAKES_SPANS.items() if name != "http_address"}


def flood() -> list[list[SpanMessage]]:
    """A run with so many calls, in batches; the agent comes last."""
    calls = [MadeCall("sql", f"SELECT {number}", f"row {number} " * 100) for number in range(SPANS - 1)]
    spans = run_of("flood", calls, conversation="c")
    return [spans[start : start + BATCH] for start in range(0, len(spans), BATCH)]


async def test_a_trace_of_80000_spans(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before `SpanInbox.is_first_drop` there was a warning for each of the late batches."""
    batches = flood()
    async with Process(tmp_path, SETTINGS) as process:
        before_mb = process.memory_bytes() / 1e6
        began_s, rejected, most_mb = time.monotonic(), 0, before_mb
        for batch in batches:
            rejected += export(process.address, request_of(batch)).partial_success.rejected_spans
            most_mb = max(most_mb, process.memory_bytes() / 1e6)
        sent_s = time.monotonic() - began_s
        (turn,) = recorded(process.address, ended=1)
        made_s = time.monotonic() - began_s
        most_mb = max(most_mb, process.memory_bytes() / 1e6)
        warnings = [line for line in process.text().splitlines() if '"spans_dropped"' in line]
    with capsys.disabled():
        sys.stdout.write(
            f"\n{SPANS} spans of one trace: answered in {sent_s:.1f} s, a turn of {len(turn.calls)} calls after "
            f"{made_s:.1f} s; memory {before_mb:.0f} to {most_mb:.0f} MB\n"
        )
    # The bounds and the warnings are of each minute; on a busy machine the sending takes several.
    minutes = int(made_s // 60) + 1
    assert SPANS - minutes * MOST_SPANS <= rejected < SPANS
    assert 1 <= len(warnings) <= minutes + 1
    assert {json.loads(line)["level"] for line in warnings} == {"warning"}
    assert 0 < len(turn.calls) <= MOST_SPANS
    assert most_mb < MOST_MB
