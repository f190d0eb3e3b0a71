"""Spans that wait for the rest of their trace are erased with their session or turn."""

from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import sidecar_pb2
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.telemetry_in import recording
from tests.telemetry_in.made import MadeCall, SpanMessage, request_of, run_of
from tests.telemetry_in.received import export, recorded, takes_spans, until
from tests.telemetry_in.test_keeping import Counted
from tests.wire.sidecar import PATIENCE_S, SidecarThread

NEEDLE = "needle-of-the-erased"


def run(name: str, text: str) -> tuple[list[SpanMessage], list[SpanMessage]]:
    """The spans of a run's calls, which name the conversation as Pydantic AI's do, and those of its agent, which come
    last."""
    spans = run_of(f"run {name}", (MadeCall("sql", f"SELECT {text}", text, failed=False),), conversation=name)
    for one in spans:
        if one.parent_span_id:
            one.attributes.add(key="gen_ai.conversation.id").value.string_value = name
    return [one for one in spans if one.parent_span_id], [one for one in spans if not one.parent_span_id]


def erase(server: SidecarThread, by: str, top: SpanMessage) -> None:
    """Erases the session `otlp:anna`, or the turn of this span."""
    turn_id = f"otlp-{top.trace_id.hex()}-{top.span_id.hex()}"
    target = {
        "session": sidecar_pb2.EraseRequest(session_id="otlp:anna", request_id="e"),
        "turn": sidecar_pb2.EraseRequest(turn_id=turn_id, request_id="e"),
    }[by]
    with grpc.insecure_channel(server.address) as channel:
        SidecarServiceStub(channel).Erase(target, timeout=PATIENCE_S)


def left_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.is_file() and NEEDLE.encode() in path.read_bytes()]


@pytest.mark.parametrize("by", ["session", "turn"])
def test_waiting_spans_go_and_those_of_others_stay(by: str, tmp_path: Path) -> None:
    """Seen to fail when an erasure does not know what waits: the text is still in the file."""
    with takes_spans(tmp_path) as server:
        (calls, top), (others, top_of_others) = run("anna", NEEDLE), run("bert", "bread")
        export(server.address, request_of([*calls, *others]))
        assert left_in(server.folder / "data")
        erase(server, by, top[0])
        assert left_in(server.folder / "data") == []
        export(server.address, request_of([*top, *top_of_others]))
        found = recorded(server.address, ended=1)
        assert [(turn.session, [call.content for call in turn.calls]) for turn in found] == [("otlp:bert", ["bread"])]


@pytest.mark.parametrize("is_recorded", [False, True], ids=["that waits", "that is recorded"])
@pytest.mark.parametrize("by", ["session", "turn"])
def test_what_comes_below_what_was_erased_is_late(
    by: str, is_recorded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The top comes first and alone names the conversation. Seen to fail when the ids of erased spans are forgotten: of
    the calls a turn was made in another session, with their texts."""
    found = Counted()
    monkeypatch.setattr(recording, "SPANS", found)
    *calls, top = run_of("run anna", (MadeCall("sql", f"SELECT {NEEDLE}", NEEDLE),) * 2, conversation="anna")
    _, above = run("bert", "bread")
    settings: dict[str, Any] = {"telemetry__settle_s": "0.3" if is_recorded else "2", "abandon_after_s": "1"}
    with takes_spans(tmp_path, **settings) as server:
        export(server.address, request_of([top, *calls[:1]] if is_recorded else [top]))
        if is_recorded:
            recorded(server.address, ended=1)
        erase(server, by, top)
        export(server.address, request_of(calls[1:] if is_recorded else calls))
        export(server.address, request_of([*run("bert", "bread")[0], *above]))
        until(lambda: found.became["late"], lambda count: count == (1 if is_recorded else 2))
        turns = recorded(server.address, ended=1)
    assert [turn.session for turn in turns] == ["otlp:bert"]
