"""Agents of two frameworks, with their own exporters and told by the environment alone: their turns are on record, and
the recovery that they taught is found.

The frameworks come from the package index, into an environment that uv makes; the model is scripted.
"""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.recoveries import moves
from tests.telemetry_in.agents.exporting import CONVERSATIONS, MISSING, TABLES
from tests.telemetry_in.received import RecordedTurn, recorded, takes_spans, until
from tests.wire.sidecar import SidecarThread

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

AGENTS = Path(__file__).parent / "agents"
EXPORTERS = ("opentelemetry-exporter-otlp-proto-grpc", "opentelemetry-exporter-otlp-proto-http", "opentelemetry-sdk")
PACKAGES = {
    "pydantic_ai_agent": ("pydantic-ai-slim[openai]",),
    "langchain_agent": ("langchain", "langchain-openai", "openinference-instrumentation-langchain"),
}
_CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("run_sql", {"query": "SELECT count(*) FROM orders"}),
    ("list_tables", {}),
    ("run_sql", {"query": "SELECT count(*) FROM orders_2026"}),
)


class _Scripted(BaseHTTPRequestHandler):
    """OpenAI's chat completions: a call of a tool for each result that is still missing, then the answer."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        done = sum(message["role"] == "tool" for message in asked["messages"])
        said: dict[str, Any] = {"role": "assistant", "content": "There are 17." if done == len(_CALLS) else None}
        if done < len(_CALLS):
            name, arguments = _CALLS[done]
            call = {"name": name, "arguments": json.dumps(arguments)}
            said["tool_calls"] = [{"id": f"call_{done}", "type": "function", "function": call}]
        choice = {"index": 0, "message": said, "finish_reason": "tool_calls" if done < len(_CALLS) else "stop"}
        usage = {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60}
        answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "stubborn", "choices": [choice]}
        body = json.dumps({**answer, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def scripted() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Scripted)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def run_agent(name: str, server: SidecarThread, protocol: str, model: str) -> None:
    """Runs the agent; only its environment says where spans go."""
    endpoint = f"http://127.0.0.1:{server.port if protocol == 'grpc' else server.http_port}"
    token = (server.folder / "data" / "http-token").read_text().strip()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "OPENAI_", "VIRTUAL"))},
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{token}",
        "OPENAI_BASE_URL": model,
        "OPENAI_API_KEY": "none",
    }
    wanted = [part for package in (*PACKAGES[name], *EXPORTERS) for part in ("--with", package)]
    command = ["uv", "run", "--no-project", "--isolated", *wanted, "python", str(AGENTS / f"{name}.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500, check=False)
    assert done.stdout.splitlines() == ["There are 17."] * len(CONVERSATIONS), done.stderr[-2000:]


def check(turns: list[RecordedTurn]) -> None:
    assert len(turns) == len(CONVERSATIONS)
    for turn in turns:
        assert (turn.task, turn.answer) == ("How many orders are open?", "There are 17.")
        assert [(call.name, call.is_error) for call in turn.calls] == [
            ("run_sql", True),
            ("list_tables", False),
            ("run_sql", False),
        ]
        assert [call.content for call in turn.calls] == [MISSING, TABLES, "17"]


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
@pytest.mark.parametrize("name", PACKAGES)
def test_what_its_runs_taught_is_found(
    tmp_path: Path, name: str, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    with scripted() as model, takes_spans(tmp_path, telemetry__settle_s="1") as server:
        run_agent(name, server, protocol, model)
        check(recorded(server.address, ended=len(CONVERSATIONS)))
        with grpc.insecure_channel(server.address) as channel:
            stub = ReflectiveMemoryServiceStub(channel)
            request = pb.FindRecoveriesRequest(tool="run_sql", error_text=MISSING, arguments='{"query": "SELECT 1"}')
            found = until(lambda: stub.FindRecoveries(request).block.items, bool)
        assert [item.text for item in found] == ["In 5 of 5 earlier tries the call worked after `list_tables`."]
