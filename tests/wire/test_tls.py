"""TLS on the TCP address: the certificate, its replacement without a restart, clients' certificates, and where a server
may listen only with them."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.assembly import assemble
from sidemirror_server.settings import BadSettings, load
from tests.acceptance.product import run
from tests.faults.process import Process
from tests.faults.sidecars import stub_on
from tests.faults.waiting import until
from tests.wire.access import ACME, Certificates, bearer, write_access

# A certificate by its first and last line, and nothing in between that is one.
BROKEN = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@contextlib.asynccontextmanager
async def serving(folder: Path, **settings: str) -> AsyncIterator[str]:
    """The address of a sidecar with these settings."""
    given = {"address": "127.0.0.1:0", "data_dir": str(folder / "data"), "grace_s": "1", **settings}
    async with assemble(load(given, {})) as sidecar:
        await sidecar.start()
        stop = asyncio.Event()
        serving_until = asyncio.create_task(sidecar.serve_until(stop.wait()))
        try:
            yield f"localhost:{sidecar.port}"
        finally:
            stop.set()
            await serving_until


async def listed(
    address: str, ca: bytes | None, key: bytes | None = None, chain: bytes | None = None, token: str = ""
) -> grpc.StatusCode:
    """How ListSessions ends on a connection of its own that trusts `ca`; without TLS when that is None."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    if ca is None:
        channel = grpc.aio.insecure_channel(address, options=options)
    else:
        channel = grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(ca, key, chain), options=options)
    async with channel:
        try:
            request = pb.ListSessionsRequest(tenant_id="acme" if token else "")
            await stub_on(channel).ListSessions(request, timeout=60, metadata=bearer(token) if token else None)
        except grpc.aio.AioRpcError as error:
            return error.code()
    return grpc.StatusCode.OK


async def test_a_client_that_trusts_the_authority(tmp_path: Path) -> None:
    made, other = Certificates(tmp_path / "tls"), Certificates(tmp_path / "other")
    async with serving(tmp_path, **made.settings()) as address:
        assert await listed(address, made.ca.read_bytes()) is grpc.StatusCode.OK
        assert await listed(address, other.ca.read_bytes()) is grpc.StatusCode.UNAVAILABLE
        assert await listed(address, None) is grpc.StatusCode.UNAVAILABLE


async def test_a_certificate_is_replaced_without_a_restart(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By one of another authority; a pair that does not belong together changes nothing. Seen to fail when
    `Reread.current` does not look again."""
    made, other = Certificates(tmp_path / "tls"), Certificates(tmp_path / "other")
    async with serving(tmp_path, **made.settings()) as address:
        assert await listed(address, made.ca.read_bytes()) is grpc.StatusCode.OK
        made.key.write_bytes(other.key.read_bytes())
        async with asyncio.timeout(60):
            while "certificate_not_read" not in caplog.text:
                assert await listed(address, made.ca.read_bytes()) is grpc.StatusCode.OK
        made.certificate.write_bytes(other.certificate.read_bytes())
        async with asyncio.timeout(60):
            while await listed(address, other.ca.read_bytes()) is not grpc.StatusCode.OK:
                pass
        assert await listed(address, made.ca.read_bytes()) is grpc.StatusCode.UNAVAILABLE


async def test_clients_certificates(tmp_path: Path) -> None:
    """Seen to fail when `require_client_authentication` is not said."""
    made, other = Certificates(tmp_path / "tls"), Certificates(tmp_path / "other")
    settings = {**made.settings(), "tls__client_ca_file": str(made.ca)}
    async with serving(tmp_path, **settings) as address:
        ca = made.ca.read_bytes()
        assert await listed(address, ca, *made.of_client()) is grpc.StatusCode.OK
        assert await listed(address, ca) is grpc.StatusCode.UNAVAILABLE
        assert await listed(address, ca, *other.of_client()) is grpc.StatusCode.UNAVAILABLE


async def test_beyond_loopback_with_tls_and_tokens(tmp_path: Path) -> None:
    made, access = Certificates(tmp_path / "tls"), write_access(tmp_path / "access.json")
    settings = {**made.settings(), "access_file": str(access), "address": "0.0.0.0:0"}
    async with serving(tmp_path, **settings) as address:
        assert await listed(address, made.ca.read_bytes(), token=ACME) is grpc.StatusCode.OK
        assert await listed(address, made.ca.read_bytes()) is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("has", [(), ("tls",), ("tokens",)], ids=str)
async def test_beyond_loopback_without_both_it_does_not_start(has: tuple[str, ...], tmp_path: Path) -> None:
    """Seen to fail when `check_address` is content with one of them."""
    settings = {"address": "0.0.0.0:0"}
    if "tls" in has:
        settings |= Certificates(tmp_path / "tls").settings()
    if "tokens" in has:
        settings["access_file"] = str(write_access(tmp_path / "access.json"))
    with pytest.raises(BadSettings, match=r"only loopback .* can be listened on without ") as refused:
        async with serving(tmp_path, **settings):
            pass
    assert ("TLS (" in str(refused.value), "tokens (" in str(refused.value)) == ("tls" not in has, "tokens" not in has)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda made: made.key.chmod(0o644), "its mode is 0644"),
        (lambda made: made.key.unlink(), "No such file"),
        (lambda made: made.certificate.write_text("nothing"), "no certificate in PEM"),
    ],
    ids=["key for all", "no key", "no certificate"],
)
async def test_files_that_cannot_be_used(change: object, told: str, tmp_path: Path) -> None:
    made = Certificates(tmp_path / "tls")
    assert callable(change)
    change(made)
    with pytest.raises(BadSettings, match=told):
        async with serving(tmp_path, **made.settings()):
            pass


@pytest.mark.parametrize(
    ("setting", "name", "content", "told"),
    [
        ("client_ca_file", "ca.pem", b"nothing", "there is no certificate in PEM in it"),
        ("client_ca_file", "ca.pem", b"", "there is no certificate in PEM in it"),
        ("client_ca_file", "ca.pem", bytes(range(256)), "there is no certificate in PEM in it"),
        ("client_ca_file", "ca.pem", None, "No such file"),
        ("client_ca_file", "ca.pem", BROKEN, "certificate 1 of 1 cannot be read"),
        ("certificate_file", "tls.crt", None, "No such file"),
        ("key_file", "tls.crt", b"nothing", "tls.crt: there is no certificate in PEM in it"),
        ("key_file", "tls.crt", BROKEN, "they are not a certificate and its key in PEM"),
        ("key_file", "tls.key", b"nothing", "they are not a certificate and its key in PEM"),
        ("key_file", "tls.key", b"another's", "the key is not the certificate's"),
    ],
)
def test_what_a_start_says_of_a_file_that_it_cannot_use(
    setting: str, name: str, content: bytes | None, told: str, tmp_path: Path
) -> None:
    """One line that names the setting and the file, as a user sees it. Seen to fail when `read_authorities` looks at
    nothing: gRPC refuses to listen, and the line speaks of the address."""
    made = Certificates(tmp_path / "tls")
    if content is None:
        (tmp_path / "tls" / name).unlink()
    else:
        other = Certificates(tmp_path / "other")
        (tmp_path / "tls" / name).write_bytes(other.key.read_bytes() if content == b"another's" else content)
    given = {**made.settings(), "tls__client_ca_file": str(made.ca), "address": "127.0.0.1:0"}
    flags = [part for key, value in given.items() for part in (f"--{key.replace('_', '-')}", value)]
    ended = run("serve", *flags, cwd=tmp_path)
    assert ended.returncode == 78
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"sidemirror: tls__{setting} (SIDEMIRROR_TLS__{setting.upper()}): {tmp_path}")
    assert name in line
    assert told in line


async def test_the_second_authority_of_two_is_none(tmp_path: Path) -> None:
    made = Certificates(tmp_path / "tls")
    made.ca.write_bytes(made.ca.read_bytes() + BROKEN)
    with pytest.raises(BadSettings, match=r"tls__client_ca_file .*certificate 2 of 2 cannot be read"):
        async with serving(tmp_path, **made.settings(), tls__client_ca_file=str(made.ca)):
            pass


async def test_handshakes_that_fail_leave_no_line(tmp_path: Path) -> None:
    """Anybody who reaches the port could fill the disk with them. Seen to fail when `_serve` of the command line does
    not ask gRPC to be quiet: a line each."""
    made = Certificates(tmp_path / "tls")
    settings = {name.replace("__", "--"): value for name, value in made.settings().items()}
    async with Process(tmp_path, settings, module="sidemirror_server.cli", arguments=("serve",)) as process:
        # The last line of its start.
        await until(lambda: "sidemirror is serving on" in process.text())
        before = len(process.text().splitlines())
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", process.port), 5) as stranger:
                stranger.sendall(b"no handshake at all\r\n" * 10)
                stranger.settimeout(5)
                with contextlib.suppress(OSError):
                    while stranger.recv(4096):
                        pass
        assert await listed(f"localhost:{process.port}", made.ca.read_bytes()) is grpc.StatusCode.OK
        assert process.text().splitlines()[before:] == []


async def test_a_certificate_without_its_key(tmp_path: Path) -> None:
    made = Certificates(tmp_path / "tls")
    with pytest.raises(BadSettings, match="TLS needs a certificate and its key"):
        async with serving(tmp_path, tls__certificate_file=str(made.certificate)):
            pass


@pytest.mark.parametrize(
    ("said", "wide", "answers"),
    [(None, False, True), (None, True, False), ("true", True, True), ("false", False, False)],
)
async def test_reflection_by_policy(said: str | None, wide: bool, answers: bool, tmp_path: Path) -> None:
    from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

    made = Certificates(tmp_path / "tls")
    settings = {**made.settings(), "access_file": str(write_access(tmp_path / "access.json"))}
    settings["address"] = "0.0.0.0:0" if wide else "127.0.0.1:0"
    if said is not None:
        settings["reflection"] = said
    async with serving(tmp_path, **settings) as address:
        credentials = grpc.ssl_channel_credentials(made.ca.read_bytes())
        async with grpc.aio.secure_channel(address, credentials) as channel:
            reflection: Any = reflection_pb2_grpc
            stub = reflection.ServerReflectionStub(channel)
            call = stub.ServerReflectionInfo(timeout=60)
            if answers:
                await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
                assert "sidemirror.v1.ThinkingService" in str(await call.read())
            else:
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await call.read()
                assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
