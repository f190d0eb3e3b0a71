"""What a command says of a call that failed."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.cli import main
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.target import exit_code_of, open_channel, why_failed
from tests.faults.process import Process
from tests.http.sidecars import door
from tests.wire.access import UNKNOWN, write_access


async def test_a_sidecar_that_is_killed_in_the_middle_of_a_call(tmp_path: Path) -> None:
    """Seen to fail where a connection that broke was taken for one that speaks no gRPC."""
    async with Process(tmp_path) as process:
        with open_channel(process.address) as channel:
            stub = ThinkingServiceStub(channel)
            await asyncio.to_thread(stub.ListTurns, pb.ListTurnsRequest(), timeout=60)
            watch = stub.WatchTurns(pb.WatchTurnsRequest(), timeout=60)
            await asyncio.to_thread(watch.initial_metadata)
            process.kill()
            error = await asyncio.to_thread(ended, watch)
            told = why_failed(process.address, error)
            assert (
                told
                == f"the sidecar at {process.address} ended, or the connection to it broke, in the middle of the call"
            )
            assert exit_code_of(error) == exit_codes.UNAVAILABLE
            gone = await asyncio.to_thread(ended, stub.WatchTurns(pb.WatchTurnsRequest(), timeout=60))
            assert why_failed(process.address, gone).startswith(f"nothing can be reached at {process.address} (")


def test_a_call_without_a_token_is_told_what_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen to fail: "the call carries no token", and not a word of where one is set."""
    monkeypatch.delenv("SIDEMIRROR_TOKEN_FILE", raising=False)
    with door(tmp_path, {"access_file": str(write_access(tmp_path / "access.json"))}) as server:
        told = "the call carries no token'); SIDEMIRROR_TOKEN_FILE names the file with one"
        assert main(["turns", "list", "--address", server.address]) == exit_codes.FAILED
        assert told in capsys.readouterr().err
        (tmp_path / "token").write_text(UNKNOWN)
        monkeypatch.setenv("SIDEMIRROR_TOKEN_FILE", str(tmp_path / "token"))
        assert main(["turns", "list", "--address", server.address]) == exit_codes.FAILED
        assert "SIDEMIRROR_TOKEN_FILE" not in capsys.readouterr().err


def ended(watch: Iterable[pb.WatchTurnsResponse]) -> grpc.RpcError:
    """The error that a watch ends with."""
    try:
        for _ in watch:
            pass
    except grpc.RpcError as error:
        return error
    raise AssertionError("it ended without an error")
