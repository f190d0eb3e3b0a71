"""Agents of the recorded set-ups with their own exporters, told by the environment alone: their turns are on record,
and the recovery that they taught is found.

The frameworks come from the package indexes; the model is scripted.
"""

from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.recoveries import moves
from tests.http.sidecars import token_of
from tests.telemetry_in.agents.shop import ANSWER, CONVERSATIONS, MISSING, QUESTION, TABLES
from tests.telemetry_in.captures import EXPECTED
from tests.telemetry_in.received import RecordedTurn, recorded, takes_spans, until
from tests.telemetry_in.scripted import scripted
from tests.telemetry_in.setups import SETUPS, STEPS, Destination, in_order, run
from tests.wire.sidecar import SidecarThread


def destination(server: SidecarThread, protocol: str) -> Destination:
    endpoint = f"http://127.0.0.1:{server.port if protocol == 'grpc' else server.http_port}"
    return Destination(endpoint, protocol, f"authorization=Bearer%20{token_of(server.folder / 'data')}")


def check(turns: list[RecordedTurn]) -> None:
    assert len(turns) == len({turn.session for turn in turns}) == len(CONVERSATIONS)
    for turn in turns:
        assert turn.session.startswith("otlp:")
        assert len({call.call_id for call in turn.calls}) == len(turn.calls)
        assert (turn.task, turn.answer) == (QUESTION, ANSWER)
        assert [(call.name, call.is_error) for call in turn.calls] == [
            ("run_sql", True),
            ("list_tables", False),
            ("run_sql", False),
        ]
        for call, said in zip(turn.calls, (MISSING, TABLES, "17"), strict=True):
            assert said in call.content
        for call, step in zip(turn.calls, STEPS, strict=True):
            assert all(value in call.arguments for value in step.arguments.values())


def told(server: SidecarThread) -> list[str]:
    with grpc.insecure_channel(server.address) as channel:
        stub = ReflectiveMemoryServiceStub(channel)
        request = pb.FindRecoveriesRequest(tool="run_sql", error_text=MISSING, arguments='{"query": "SELECT 1"}')
        return [item.text for item in stub.FindRecoveries(request).block.items]


def learned(server: SidecarThread) -> int:
    """How many tries after a failure are learned from."""
    with grpc.insecure_channel(server.address) as channel:
        found = ReflectiveMemoryServiceStub(channel).ListRecoveries(pb.ListRecoveriesRequest()).signatures
    return sum(one.observation_count for one in found)


def test_every_recorded_set_up_has_an_agent() -> None:
    assert set(SETUPS) == set(EXPECTED)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "protocol", "compression"),
    [
        *((name, protocol, "") for name in SETUPS for protocol in ("grpc", "http/protobuf")),
        *(("pydantic-ai", protocol, "gzip") for protocol in ("grpc", "http/protobuf")),
        # No exporter in Python writes JSON.
        ("vercel-ai-6", "http/json", "gzip"),
    ],
)
def test_what_its_runs_taught_is_found(
    tmp_path: Path, name: str, protocol: str, compression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that name no conversation count as one, of which nothing is told."""
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    # How long it takes until it is told is for others to test.
    monkeypatch.setattr(moves, "MOST_AN_HOUR", 1_000)
    with scripted(in_order) as model, takes_spans(tmp_path, telemetry__settle_s="1") as server:
        more = {"OTEL_EXPORTER_OTLP_COMPRESSION": compression} if compression else {}
        said = run(SETUPS[name], destination(server, protocol), model, tmp_path, **more)
        assert said == [ANSWER] * len(CONVERSATIONS)
        check(recorded(server.address, ended=len(CONVERSATIONS)))
        until(lambda: learned(server), lambda count: count == len(CONVERSATIONS))
        if SETUPS[name].has_conversations:
            assert told(server) == ["In 5 of 5 earlier tries the call worked after `list_tables`."]
        else:
            assert told(server) == []
