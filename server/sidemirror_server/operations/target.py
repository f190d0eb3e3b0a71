"""Which sidecar a command speaks to, and the channel to it."""

import asyncio
import contextlib
import re
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import grpc

from sidemirror_server.rpc.listening.addresses import CannotListen, is_local
from sidemirror_server.settings import AsClient, BadSettings, as_client, load, sources

EXIT_FAILED = 1
EXIT_UNREACHABLE = 69  # sysexits.h: service unavailable
# A sidecar is on this machine: a proxy that the environment names is not for it.
CHANNEL_OPTIONS = (("grpc.enable_http_proxy", 0),)
# As access files have them (rpc/boundary/access.py).
_TOKEN = re.compile(rb"[\x21-\x7e]+")
# A local connection takes milliseconds, a sidecar's start about a second.
_CONNECT_S = 5.0


def address_of(flag: str) -> str:
    """The address to call: the flag's, the environment's, or the one that `serve` listens on by default.

    Raises BadSettings.
    """
    return checked(flag or load().address)


def address_given(flag: str) -> str:
    """The address that the flag or the environment names; empty when neither does. Raises BadSettings."""
    if flag:
        return checked(flag)
    settings = load()
    source = next(source for source in sources(settings, {}) if source.name == "address")
    return checked(settings.address) if source.source == "environment" else ""


def checked(address: str) -> str:
    """`address`, which says a host and a port, or a path: gRPC would make something else of another. Raises
    BadSettings."""
    try:
        is_local(address)
    except CannotListen as error:
        raise BadSettings(str(error)) from error
    return address


class Unreachable(Exception):
    """Nothing answers where the sidecar should be."""


def failed(address: str, error: grpc.RpcError) -> int:
    """Says why a call came to nothing; returns the command's exit code."""
    print(f"sidemirror: {why_failed(address, error)}", file=sys.stderr)
    return EXIT_UNREACHABLE if error.code() is grpc.StatusCode.UNAVAILABLE else EXIT_FAILED


def why_failed(address: str, error: grpc.RpcError) -> str:
    """Why a call came to nothing, for people: gRPC's own words about a connection name its insides."""
    code, details = error.code(), error.details() or ""
    answered = any(data.key == "grpc-status-details-bin" for data in error.trailing_metadata() or ())
    if code is grpc.StatusCode.UNAVAILABLE and not answered:
        return f"nothing can be reached at {address} ({_in_short(details)}). Is `sidemirror serve` running there?"
    if code is grpc.StatusCode.DEADLINE_EXCEEDED and not answered:
        return f"{address} did not answer in time"
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return f"what listens at {address} is no sidemirror, or one of another version: it does not know this call"
    return f"{address}: {code.name}: {details}"


def _in_short(details: str) -> str:
    """What gRPC says of a connection that could not be made, without the way there."""
    if "WRONG_VERSION_NUMBER" in details:
        return "it speaks no TLS, and SIDEMIRROR_CA_FILE asks for it"
    if "CERTIFICATE_VERIFY_FAILED" in details or "Peer name" in details:
        return "its certificate is for another name, or not of the authorities in SIDEMIRROR_CA_FILE"
    if "Socket closed" in details or "HTTP/2" in details:
        return "what listens there does not speak gRPC, or only over TLS, for which SIDEMIRROR_CA_FILE is needed"
    return details.rpartition(": ")[2].rstrip("]").lower() or "no reason is known"


def open_channel(address: str) -> grpc.Channel:
    """A channel to `address`: host:port or unix:/path, with TLS where the environment names authorities, and the token
    with each call where it names one. Raises BadSettings."""
    credentials = _credentials(as_client())
    if credentials is None or address.startswith("unix:"):
        channel = grpc.insecure_channel(address, options=CHANNEL_OPTIONS)
    else:
        channel = grpc.secure_channel(address, credentials, options=CHANNEL_OPTIONS)
    carried = _metadata()
    return grpc.intercept_channel(channel, _Blocking(carried)) if carried else channel


def _metadata() -> tuple[tuple[str, str | bytes], ...]:
    """What a call carries besides its request: the token, when the environment names a file with one. Raises
    BadSettings."""
    path = as_client().token
    if not path:
        return ()
    token = _read(path, "SIDEMIRROR_TOKEN_FILE").strip()
    if not _TOKEN.fullmatch(token):
        raise BadSettings(
            f"SIDEMIRROR_TOKEN_FILE: {path}: a token alone is expected, in one line of printable characters"
        )
    return (("authorization", f"Bearer {token.decode()}"),)


def _credentials(given: AsClient) -> grpc.ChannelCredentials | None:
    if not given.ca:
        return None
    if bool(given.key) != bool(given.certificate):
        # gRPC would end the process.
        lacking = "SIDEMIRROR_CLIENT_KEY_FILE" if given.certificate else "SIDEMIRROR_CLIENT_CERTIFICATE_FILE"
        raise BadSettings(f"{lacking}: a client's certificate and its key are used together")
    key = _read(given.key, "SIDEMIRROR_CLIENT_KEY_FILE") if given.key else None
    chain = _read(given.certificate, "SIDEMIRROR_CLIENT_CERTIFICATE_FILE") if given.certificate else None
    return grpc.ssl_channel_credentials(_read(given.ca, "SIDEMIRROR_CA_FILE"), key, chain)


def _read(path: str, name: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise BadSettings(f"{name}: {path}: {error.strerror}") from error


@contextlib.asynccontextmanager
async def dial(address: str) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to `address`: host:port or unix:/path. Raises Unreachable when nothing answers there."""
    async with _aio_channel(address) as channel:
        try:
            async with asyncio.timeout(_CONNECT_S):
                await channel.channel_ready()
        except TimeoutError as error:
            raise Unreachable(f"nothing can be reached at {address}. Is `sidemirror serve` running there?") from error
        yield channel


def _aio_channel(address: str) -> grpc.aio.Channel:
    credentials = _credentials(as_client())
    carried = _metadata()
    interceptors: list[grpc.aio.ClientInterceptor] = [_Unary(carried), _ServerStream(carried), _BidiStream(carried)]
    if not carried:
        interceptors.clear()
    if credentials is None or address.startswith("unix:"):
        return grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS, interceptors=interceptors)
    return grpc.aio.secure_channel(address, credentials, options=CHANNEL_OPTIONS, interceptors=interceptors)


class _Blocking(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamUnaryClientInterceptor):
    """Adds metadata to every call, but those that stream both ways, of a channel that is no asyncio one."""

    def __init__(self, carried: Sequence[tuple[str, str | bytes]]) -> None:
        self._carried = carried

    def _go_on(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        carried = (*self._carried, *(client_call_details.metadata or ()))
        return continuation(client_call_details._replace(metadata=carried), request)

    intercept_unary_unary: Any = _go_on
    intercept_unary_stream: Any = _go_on
    intercept_stream_unary: Any = _go_on


class _Carries:
    """Adds metadata to every call. grpc.aio wants one interceptor for each kind of call."""

    def __init__(self, carried: Sequence[tuple[str, str | bytes]]) -> None:
        self._carried = carried

    async def _go_on(
        self, continuation: Callable[..., Any], details: grpc.aio.ClientCallDetails, request: object
    ) -> Any:
        carried = grpc.aio.Metadata(*self._carried, *(details.metadata or ()))
        given = (details.method, details.timeout, carried, details.credentials, details.wait_for_ready)
        return await continuation(grpc.aio.ClientCallDetails(*given), request)


class _Unary(_Carries, grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await self._go_on(continuation, client_call_details, request)


class _ServerStream(_Carries, grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await self._go_on(continuation, client_call_details, request)


class _BidiStream(_Carries, grpc.aio.StreamStreamClientInterceptor):
    async def intercept_stream_stream(self, continuation: Any, client_call_details: Any, request_iterator: Any) -> Any:
        return await self._go_on(continuation, client_call_details, request_iterator)
