"""What a command says of a call that failed."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import grpc

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.target import exit_code_of, open_channel, why_failed
from tests.faults.process import Process


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


def ended(watch: Iterable[pb.WatchTurnsResponse]) -> grpc.RpcError:
    """The error that a watch ends with."""
    try:
        for _ in watch:
            pass
    except grpc.RpcError as error:
        return error
    raise AssertionError("it ended without an error")
