"""What a stranger has written cannot steer the terminal of whoever runs a command."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.cli import main
from sidemirror_server.operations.shown import print_json

# A window's title, a screen that is cleared, the one-byte form of `ESC [`, and a text that runs from right to left.
STEERING = "\x1b]0;pwned\x07\x1b[2J\x9b2J\u202eend"


class _Refuses(grpc.GenericRpcHandler):
    """Refuses each call, as whoever has taken the sidecar's port may do."""

    def service(self, handler_call_details: Any) -> Any:
        def refuse(_: bytes, context: Any) -> None:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, STEERING)

        if "Watch" in handler_call_details.method:
            return grpc.unary_stream_rpc_method_handler(refuse)
        return grpc.unary_unary_rpc_method_handler(refuse)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadPoolExecutor(4) as threads:
        server = grpc.server(threads, handlers=[_Refuses()])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield f"127.0.0.1:{port}"
        server.stop(0).wait()


@pytest.mark.parametrize(
    "command", ["usage", "goals list", "goals retry x", "memory search x", "memory dreams", "health", "watch"]
)
def test_a_refusal_is_told_in_plain_text(command: str, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--address", address]) != 0
    told = "".join(capsys.readouterr())
    assert "pwned" in told
    assert all(char.isprintable() or char == "\n" for char in told)


def test_json_has_no_character_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    content = f"{STEERING}\U000e0041 déjà vu 漢字"
    print_json(pb.Memory(content=content))
    told = capsys.readouterr().out
    assert all(char.isprintable() or char == "\n" for char in told)
    assert "déjà vu 漢字" in told
    assert json.loads(told)["content"] == content
