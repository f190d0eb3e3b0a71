"""Texts that take long to search for secrets: an export costs so much CPU, and the texts of its other spans are left
out, never kept unsearched."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.rpc.otlp import decoding
from sidemirror_server.rpc.otlp.decoder import SpanDecoder
from tests.telemetry_in.made import MadeCall, request_of, run_of
from tests.telemetry_in.received import as_json, export, post, recorded, takes_spans

# Lines that may all be one token (`tests/vocabulary/test_text.py`).
COSTLY = "a1b2c3\\nxoxb-1AKIA" * 500
CALLS = 100


@pytest.fixture
def decoded_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exports are decoded in the process of the test, and may cost little."""

    async def decode(_: SpanDecoder, body: bytes, *, is_json: bool, with_content: bool) -> Any:
        return decoding.decode(body, is_json=is_json, with_content=with_content)

    monkeypatch.setattr(SpanDecoder, "decode", decode)
    monkeypatch.setattr(decoding, "MOST_CPU_S", 0.3)


@pytest.mark.usefixtures("decoded_here")
def test_the_texts_of_the_other_spans_are_left_out_and_the_sender_hears_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Seen to fail when nothing is counted: all texts are kept."""
    costly = [MadeCall("sql", "SELECT 1", f"{number} {COSTLY}") for number in range(CALLS)]
    with takes_spans(tmp_path) as server:
        told = export(server.address, request_of(run_of("t", costly))).partial_success
        assert told.rejected_spans == 0
        assert told.error_message.startswith("the texts of ")
        _, _, answer = post(server, as_json(request_of(run_of("u", costly))), "application/json")
        assert json.loads(answer)["partialSuccess"]["rejectedSpans"] == "0"
        turns = recorded(server.address, ended=2)
    for turn in turns:
        assert [call.name for call in turn.calls] == ["sql"] * CALLS
        kept = [bool(call.content) for call in turn.calls]
        assert kept[0]
        assert not kept[-1]
    left_out = [record for record in caplog.records if record.getMessage() == "texts_left_out"]
    assert [record.levelno for record in left_out] == [logging.WARNING] * 2


@pytest.mark.usefixtures("decoded_here")
def test_ordinary_texts_cost_little() -> None:
    calls = [MadeCall("sql", "SELECT 1", "a row of a table\n" * 50) for _ in range(CALLS)]
    found = decoding.decode(request_of(run_of("t", calls)).SerializeToString(), is_json=False, with_content=True)
    assert found.without_texts == 0
