"""What is small on its way and large inside, who begins a handshake and says nothing more, and SIGHUP."""

import signal
import socket
import ssl
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.figures import show
from tests.faults.process import Process
from tests.faults.sidecars import connected
from tests.wire.access import ACME, Certificates, write_access
from tests.wire.test_tls import listed

pytestmark = pytest.mark.slow("bombs of many MiB, hundreds of handshakes, and sidecars that are told to end")
MIB = 1024 * 1024
# What each inflates to. Many times the limit of a message, which is 4 MiB.
INSIDE = 128 * MIB
LIST = "/sidemirror.v1.ThinkingService/ListTurns"


def peak_bytes(process: Process) -> int:
    """The most that a process had resident in memory."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


async def test_a_gzip_bomb_is_refused_and_takes_no_memory(tmp_path: Path) -> None:
    """Calls whose message is compressed to a thousandth (`grpc-encoding: gzip`). Seen to fail for a server with
    `limits.message_bytes` above what is inside."""
    async with Process(tmp_path) as process, connected(process.address) as stub:
        await stub.ListTurns(pb.ListTurnsRequest(), timeout=60)
        before = peak_bytes(process)
        options = [("grpc.max_send_message_length", -1)]
        async with grpc.aio.insecure_channel(process.address, options=options) as channel:
            call: Any = channel.unary_unary(LIST, request_serializer=bytes, response_deserializer=bytes)
            for _ in range(4):
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await call(bytes(INSIDE), timeout=120, compression=grpc.Compression.Gzip)
                assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        await stub.ListTurns(pb.ListTurnsRequest(), timeout=60)
        more = peak_bytes(process) - before
        show(f"4 bombs of {INSIDE // MIB} MiB: {more / MIB:.0f} MiB more at most")
        assert more < INSIDE // 4


async def test_handshakes_that_never_end_hold_up_nobody(tmp_path: Path) -> None:
    """300 connections that stop in the middle of TLS's first message, and 300 that say nothing. Seen to fail
    when the credentials are given to gRPC anew at each handshake: the process ends (SIGSEGV, SIGABRT)."""
    made = Certificates(tmp_path / "tls")
    settings = {name.replace("__", "--"): value for name, value in made.settings().items()}
    hello = _client_hello()
    async with Process(tmp_path, settings) as process:
        address, authority = f"localhost:{process.port}", made.ca.read_bytes()
        assert await listed(address, authority) is grpc.StatusCode.OK
        before = process.memory_bytes()
        with ExitStack() as stack:
            for number in range(600):
                stranger = stack.enter_context(socket.create_connection(("127.0.0.1", process.port), 30))
                if number % 2:
                    stranger.sendall(hello[: len(hello) // 2])
            for _ in range(5):
                assert await listed(address, authority) is grpc.StatusCode.OK
            more = process.memory_bytes() - before
        show(f"600 handshakes that do not end: {more / MIB:.0f} MiB")
        assert more < 128 * MIB
        assert await listed(address, authority) is grpc.StatusCode.OK


def _client_hello() -> bytes:
    """The first message of a client of TLS."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    client = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("has_tls", [False, True])
async def test_sighup_ends_it_as_sigterm_does(has_tls: bool, tmp_path: Path) -> None:
    """A terminal that is closed, or whoever wants files to be read anew, with files that are broken at that moment:
    what was acknowledged is there, and nothing is lost. Seen to fail without the handler: the code is -1."""
    access = write_access(tmp_path / "access.json")
    settings = {"access_file": str(access)}
    made = Certificates(tmp_path / "tls")
    if has_tls:
        settings |= {name.replace("__", "--"): value for name, value in made.settings().items()}
    async with Process(tmp_path, settings, module="sidemirror_server.cli", arguments=("serve",)) as process:
        access.write_text("{broken")
        if has_tls:
            made.certificate.write_text("broken")
            address, authority = f"localhost:{process.port}", made.ca.read_bytes()
            assert await listed(address, authority, token=ACME) is grpc.StatusCode.OK
        else:
            assert await listed(process.address, None, token=ACME) is grpc.StatusCode.OK
        process.signal(signal.SIGHUP)
        code, _ = await process.ended(60)
        assert code == 0
        assert "Traceback" not in process.text()
