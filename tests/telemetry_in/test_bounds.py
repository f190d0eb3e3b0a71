"""What one trace may cost, what cuts may not leave, and when a turn of spans ran."""

import logging
import time
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.telemetry_in import inbox, recording
from sidemirror_server.telemetry_in.reading import span_of
from sidemirror_server.telemetry_in.spans import RawSpan
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from tests.telemetry_in.made import MadeCall, SpanMessage, request_of, run_of
from tests.telemetry_in.received import export, recorded, takes_spans
from tests.wire.sidecar import PATIENCE_S, SidecarThread

TOKEN = f"ghp_{'A1b2C3d4E5' * 3}abcdef"
MOST = 40


def read(**attributes: Any) -> Any:
    said = {"gen_ai.operation.name": "execute_tool"} | {
        f"gen_ai.{name.replace('__', '.')}": value for name, value in attributes.items()
    }
    return span_of(RawSpan("t", "s", "", "the span", 1_000, 2_000, False, "", "", said), with_content=True)


@pytest.mark.parametrize("before", range(60, 100, 3))
def test_a_name_that_is_cut_keeps_no_half_of_a_secret(before: int) -> None:
    """Seen to fail when a name is cut before it is redacted."""
    name = "x " * (before // 2) + TOKEN
    span = read(tool__name=name, tool__call__id=name, conversation__id=name)
    whole = "x " * (before // 2) + "ghp_[redacted:github]"
    for kept, most in ((span.name, 100), (span.call_id, 100), (span.session, 123)):
        assert kept == whole[:most]


@pytest.mark.parametrize("at", [24_000, 32_000, 256 * 1024, 256 * 1024 - 8_000])
@pytest.mark.parametrize("inside", [1, 20, 39])
def test_a_text_that_is_cut_keeps_no_half_of_a_secret(at: int, inside: int) -> None:
    """At the limit of a text, and of what was looked at once. Seen to fail when a text is cut before it is redacted."""
    text = ("a line\n" * (at // 7 + 1))[: at - inside - 1] + " " + TOKEN + " a line" * 50_000
    span = read(tool__call__arguments=text, tool__call__result=text)
    for kept in (span.arguments, span.text):
        assert len(kept) <= 32_000
        assert TOKEN[:8] not in kept
        assert TOKEN[-8:] not in kept


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that a test reaches at once."""
    for module in (inbox, recording):
        monkeypatch.setattr(module, "MOST_SPANS", MOST)


def dropped(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.getMessage() == "spans_dropped"]


@pytest.mark.usefixtures("small")
def test_a_trace_has_so_many_spans_and_the_sender_hears_of_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Seen to fail when the inbox counts nothing."""
    calls = [MadeCall("sql", f"SELECT {number}", str(number)) for number in range(3 * MOST)]
    flood, other = run_of("flood", calls), run_of("other", calls[:3], conversation="other")
    with takes_spans(tmp_path) as server:
        kept = 0
        for start in range(0, len(flood), 15):
            part = flood[start : start + 15]
            told = export(server.address, request_of(part)).partial_success
            kept += len(part) - told.rejected_spans
            assert bool(told.error_message) is bool(told.rejected_spans)
        assert kept == MOST
        assert export(server.address, request_of(other)).partial_success.rejected_spans == 0
        turns = recorded(server.address, ended=2)
    assert sorted(len(turn.calls) for turn in turns) == [3, MOST]
    assert [record.levelno for record in dropped(caplog)] == [logging.WARNING]


@pytest.mark.slow("a trace has to be quiet")
@pytest.mark.usefixtures("small")
def test_what_other_sidecars_let_in_is_bounded_where_turns_are_made(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail when all notes of a trace are read."""
    monkeypatch.setattr(inbox, "MOST_SPANS", 10 * MOST)
    calls = [MadeCall("sql", f"SELECT {number}", str(number)) for number in range(3 * MOST)]
    flood = run_of("flood", calls)
    with takes_spans(tmp_path, telemetry__settle_s="2") as server:
        for start in range(0, len(flood), 10):
            export(server.address, request_of(flood[start : start + 10]))
        (turn,) = recorded(server.address, ended=1)
    assert len(turn.calls) == MOST
    assert [(record.levelno, record.__dict__["count"]) for record in dropped(caplog)] == [
        (logging.WARNING, len(flood) - MOST)
    ]


def test_what_is_dropped_of_a_trace_is_told_once_a_minute() -> None:
    """Also where other sidecars took it in. Seen to fail when only traces that were taken in here are remembered."""
    nothing: Any = None
    spans = inbox.SpanInbox(nothing, nothing, 0)
    minute_us = 60 * 1_000_000
    told = [spans.is_first_drop(DEFAULT_SCOPE, "flood", now_us) for now_us in (0, 1, minute_us, minute_us + 1)]
    assert told == [True, False, False, True]
    assert spans.is_first_drop(DEFAULT_SCOPE, "other", 1)


@pytest.mark.slow("traces have to be quiet")
def test_more_traces_than_are_known_at_once_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "_MOST_TRACES", 2)
    runs = [run_of(f"run {number}", (MadeCall("sql", "SELECT 1", "1"),)) for number in range(6)]
    with takes_spans(tmp_path) as server:
        export(server.address, request_of([one for run in runs for one in run]))
        assert len(recorded(server.address, ended=6)) == 6


def heads(server: SidecarThread) -> dict[str, pb.Turn]:
    with grpc.insecure_channel(server.address) as channel:
        turns = ThinkingServiceStub(channel).ListTurns(pb.ListTurnsRequest(), timeout=PATIENCE_S).turns
    return {turn.session_id: turn for turn in turns}


def moved(run: list[SpanMessage], by_s: float) -> list[SpanMessage]:
    for one in run:
        one.start_time_unix_nano += int(by_s * 1e9)
        one.end_time_unix_nano += int(by_s * 1e9)
    return run


def test_a_turn_of_spans_ran_when_its_spans_say(tmp_path: Path) -> None:
    """Within the last day; what says anything else ended when it came. Seen to fail when a turn has the times of its
    record."""
    hour_s, day_s = 3_600.0, 24 * 3_600.0
    calls = (MadeCall("sql", "SELECT 1", "1"),)
    began_s = time.time()
    with takes_spans(tmp_path) as server:
        for name, by_s in (("now", 0.0), ("earlier", -5 * hour_s), ("ahead", 2 * hour_s), ("long ago", -9 * day_s)):
            export(server.address, request_of(moved(run_of(name, calls, conversation=name), by_s)))
        recorded(server.address, ended=4)
        found = heads(server)
    ended_s = time.time()
    for name, turn in found.items():
        start_s, end_s = turn.start_time.ToNanoseconds() / 1e9, turn.update_time.ToNanoseconds() / 1e9
        assert end_s - start_s == pytest.approx(5.0, abs=0.01)
        if name == "otlp:earlier":
            assert began_s - 60 - 5 * hour_s <= start_s <= ended_s - 60 - 5 * hour_s
        elif name == "otlp:now":
            assert began_s - 60 <= start_s <= ended_s - 60
        else:
            assert began_s - 1 <= end_s <= ended_s
