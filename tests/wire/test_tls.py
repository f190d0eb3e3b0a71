"""TLS on the TCP address: the certificate, its replacement without a restart, clients' certificates, and where a server
may listen only with them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.assembly import assemble
from sidemirror_server.settings import BadSettings, load
from tests.faults.sidecars import stub_on
from tests.wire.access import ACME, Certificates, bearer, write_access


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
            await stub_on(channel).ListSessions(request, timeout=10, metadata=bearer(token) if token else None)
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
        async with asyncio.timeout(20):
            while "certificate_not_read" not in caplog.text:
                assert await listed(address, made.ca.read_bytes()) is grpc.StatusCode.OK
        made.certificate.write_bytes(other.certificate.read_bytes())
        async with asyncio.timeout(20):
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
        (lambda made: made.certificate.write_text("nothing"), "not a certificate"),
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
            call = stub.ServerReflectionInfo(
                iter([reflection_pb2.ServerReflectionRequest(list_services="")]), timeout=10
            )
            if answers:
                assert "sidemirror.v1.ThinkingService" in str(await call.read())
            else:
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await call.read()
                assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
