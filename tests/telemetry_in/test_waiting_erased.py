"""Spans that wait for the rest of their trace are erased with their session or turn."""

from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import sidecar_pb2
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from tests.telemetry_in.made import MadeCall, SpanMessage, request_of, run_of
from tests.telemetry_in.received import export, recorded, takes_spans
from tests.wire.sidecar import PATIENCE_S

NEEDLE = "needle-of-the-erased"


def run(name: str, text: str) -> tuple[list[SpanMessage], list[SpanMessage]]:
    """The spans of a run's calls, which name the conversation as Pydantic AI's do, and those of its agent, which come
    last."""
    spans = run_of(f"run {name}", (MadeCall("sql", f"SELECT {text}", text, failed=False),), conversation=name)
    for one in spans:
        if one.parent_span_id:
            one.attributes.add(key="gen_ai.conversation.id").value.string_value = name
    return [one for one in spans if one.parent_span_id], [one for one in spans if not one.parent_span_id]


def left_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.is_file() and NEEDLE.encode() in path.read_bytes()]


@pytest.mark.parametrize("by", ["session", "turn"])
def test_waiting_spans_go_and_those_of_others_stay(by: str, tmp_path: Path) -> None:
    """Seen to fail when an erasure does not know what waits: the text is still in the file."""
    with takes_spans(tmp_path) as server:
        (calls, top), (others, top_of_others) = run("anna", NEEDLE), run("bert", "bread")
        export(server.address, request_of([*calls, *others]))
        assert left_in(server.folder / "data")
        target = {
            "session": sidecar_pb2.EraseRequest(session_id="otlp:anna", request_id="e"),
            "turn": sidecar_pb2.EraseRequest(
                turn_id=f"otlp-{top[0].trace_id.hex()}-{top[0].span_id.hex()}", request_id="e"
            ),
        }[by]
        with grpc.insecure_channel(server.address) as channel:
            SidecarServiceStub(channel).Erase(target, timeout=PATIENCE_S)
        assert left_in(server.folder / "data") == []
        export(server.address, request_of([*top, *top_of_others]))
        found = recorded(server.address, ended=1)
        assert [(turn.session, [call.content for call in turn.calls]) for turn in found] == [("otlp:bert", ["bread"])]
