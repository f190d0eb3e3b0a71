"""The address of the sidecar that a command calls, and the channel to it."""

import argparse
import asyncio
import contextlib
import re
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.shown import plain
from sidemirror_server.rpc.listening.addresses import CannotListen, is_local
from sidemirror_server.settings import AsClient, BadSettings, as_client, load, sources

# The environment's proxy is ignored, because a sidecar is on this machine.
CHANNEL_OPTIONS = (("grpc.enable_http_proxy", 0),)
# The form that access files require (rpc/boundary/access.py).
_TOKEN = re.compile(rb"[\x21-\x7e]+")
# How gRPC's texts about a connection begin that broke while a call used it; others are about one that was not made.
_BROKEN = ("Stream removed", "Socket closed", "Connection reset", "Broken pipe", "recvmsg:", "sendmsg:")
# A local connection takes milliseconds, and a sidecar starts within about a second.
_CONNECT_S = 5.0


def address_of(flag: str) -> str:
    """The address to call: from the flag, from the environment, or the default address of `serve`.

    Raises BadSettings.
    """
    return checked(flag or load().address)


def address_given(flag: str) -> str:
    """The address from the flag or the environment; empty if neither has one. Raises BadSettings."""
    if flag:
        return checked(flag)
    settings = load()
    source = next(source for source in sources(settings, {}) if source.name == "address")
    return checked(settings.address) if source.source == "environment" else ""


def checked(address: str) -> str:
    """Returns `address` if it is a host and port, or a path; gRPC would misread any other form. Raises BadSettings."""
    try:
        is_local(address)
    except CannotListen as error:
        raise BadSettings(str(error)) from error
    return address


class Unreachable(Exception):
    """No sidecar answers at the address."""


def scope_of(options: argparse.Namespace) -> dict[str, Any]:
    """The scope of a command, as fields of a request. Empty ids mean the sidecar's own: of a tenant with all its
    projects, the project."""
    if options.scope is None:
        return {"tenant_id": options.tenant_id, "project_id": options.project_id}
    return {"tenant_id": options.scope.tenant_id, "project_id": options.scope.project_id or ""}


def asked(address: str, ask: Callable[[grpc.Channel], int]) -> int:
    """The exit code that `ask` returns for a channel to the address (see `address_of`). A failed call is printed, and
    ends the command. Raises BadSettings."""
    address = address_of(address)
    with open_channel(address) as channel:
        try:
            return ask(channel)
        except grpc.RpcError as error:
            return _failed(address, error)


def _failed(address: str, error: grpc.RpcError) -> int:
    """Prints why a call failed; returns the command's exit code."""
    is_scope = error.code() is grpc.StatusCode.PERMISSION_DENIED and "this tenant" in (error.details() or "")
    hint = "; `--scope TENANT/PROJECT` names another" if is_scope else ""
    print(f"sidemirror: {why_failed(address, error)}{hint}", file=sys.stderr)
    return exit_code_of(error)


def exit_code_of(error: grpc.RpcError) -> int:
    """The exit code of a command whose call failed: UNAVAILABLE if a sidecar or its store does not answer."""
    away = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    # What does not know a call of ours is no sidecar, or one of another version.
    is_none = error.code() is grpc.StatusCode.UNIMPLEMENTED and not is_answer(error)
    return exit_codes.UNAVAILABLE if error.code() in away or is_none else exit_codes.FAILED


def why_failed(address: str, error: grpc.RpcError) -> str:
    """Why a call failed, for people, on one line: whoever listens there wrote it. gRPC's own text about connections
    describes its internals."""
    code, details, answered = error.code(), plain(error.details() or ""), is_answer(error)
    if code is grpc.StatusCode.UNAVAILABLE and not answered and details.startswith(_BROKEN):
        return f"the sidecar at {address} ended, or the connection to it broke, in the middle of the call"
    if code is grpc.StatusCode.UNAVAILABLE and not answered:
        return f"nothing can be reached at {address} ({_in_short(details)}). Is `sidemirror serve` running there?"
    if code is grpc.StatusCode.DEADLINE_EXCEEDED and not answered:
        return f"{address} did not answer in time"
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return f"what listens at {address} is no sidemirror, or one of another version: it does not know this call"
    lacks_token = code is grpc.StatusCode.UNAUTHENTICATED and not as_client().token
    hint = "; SIDEMIRROR_TOKEN_FILE names the file with one" if lacks_token else ""
    return f"{address}: {code.name}: {details}{hint}"


def is_answer(error: grpc.RpcError) -> bool:
    """Whether a sidecar has answered with this error; else gRPC says by it that there was no answer."""
    told: Any = error.trailing_metadata() or ()
    return any(key == "grpc-status-details-bin" for key, _ in told)


def reason_of(error: grpc.RpcError) -> str:
    """The reason of errors.proto that a sidecar gave; empty without an answer."""
    return str(info_of(error).reason)


def info_of(error: grpc.RpcError) -> error_details_pb2.ErrorInfo:
    """The reason and the metadata of errors.proto that a sidecar gave; without any where there is no answer."""
    told: Any = error.trailing_metadata() or ()
    info = error_details_pb2.ErrorInfo()
    for key, value in told:
        if key == "grpc-status-details-bin":
            any(detail.Unpack(info) for detail in status_pb2.Status.FromString(value).details)
    return info


def _in_short(details: str) -> str:
    """gRPC's reason for a failed connection, without its path through the library."""
    if "WRONG_VERSION_NUMBER" in details:
        return "it speaks no TLS, and SIDEMIRROR_CA_FILE asks for it"
    if "CERTIFICATE_VERIFY_FAILED" in details or "Peer name" in details:
        return "its certificate is for another name, or not of the authorities in SIDEMIRROR_CA_FILE"
    if "Socket closed" in details or "HTTP/2" in details:
        return "what listens there does not speak gRPC, or only over TLS, for which SIDEMIRROR_CA_FILE is needed"
    return details.rpartition(": ")[2].rstrip("]").lower() or "no reason is known"


def open_channel(address: str) -> grpc.Channel:
    """A channel to `address`: host:port or unix:/path. It uses TLS if the environment names certificate authorities,
    and sends the token if the environment names one. Raises BadSettings."""
    credentials = _credentials(as_client())
    if credentials is None or address.startswith("unix:"):
        channel = grpc.insecure_channel(address, options=CHANNEL_OPTIONS)
    else:
        channel = grpc.secure_channel(address, credentials, options=CHANNEL_OPTIONS)
    carried = _metadata()
    return grpc.intercept_channel(channel, _Blocking(carried)) if carried else channel


def _metadata() -> tuple[tuple[str, str | bytes], ...]:
    """A call's metadata: the token, if the environment names a file with one. Raises BadSettings."""
    token = token_given()
    return (("authorization", f"Bearer {token}"),) if token else ()


def token_given() -> str:
    """The token of the file that the environment names; empty if it names none. Raises BadSettings."""
    path = as_client().token
    if not path:
        return ""
    token = _read(path, "SIDEMIRROR_TOKEN_FILE").strip()
    if not _TOKEN.fullmatch(token):
        raise BadSettings(
            f"SIDEMIRROR_TOKEN_FILE: {path}: a token alone is expected, in one line of printable characters"
        )
    return token.decode()


def _credentials(given: AsClient) -> grpc.ChannelCredentials | None:
    if not given.ca:
        return None
    if bool(given.key) != bool(given.certificate):
        # gRPC aborts the process if one of the two is missing.
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
async def dial(address: str, *, is_own: bool = False) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to `address`: host:port or unix:/path. `is_own`: the sidecar is this command's own, and the token and
    the certificates that the environment names are not for it. Raises Unreachable if no sidecar answers there,
    BadSettings."""
    own = grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS) if is_own else None
    async with own or aio_channel(address) as channel:
        try:
            async with asyncio.timeout(_CONNECT_S):
                await channel.channel_ready()
        except TimeoutError as error:
            raise Unreachable(f"nothing can be reached at {address}. Is `sidemirror serve` running there?") from error
        yield channel


def aio_channel(address: str) -> grpc.aio.Channel:
    """`open_channel` for asyncio. Raises BadSettings."""
    credentials = _credentials(as_client())
    carried = _metadata()
    interceptors: list[grpc.aio.ClientInterceptor] = [_Unary(carried), _ServerStream(carried), _BidiStream(carried)]
    if not carried:
        interceptors.clear()
    if credentials is None or address.startswith("unix:"):
        return grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS, interceptors=interceptors)
    return grpc.aio.secure_channel(address, credentials, options=CHANNEL_OPTIONS, interceptors=interceptors)


class _Blocking(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamUnaryClientInterceptor):
    """Adds metadata to every call of a blocking channel, except bidirectional streams."""

    def __init__(self, carried: Sequence[tuple[str, str | bytes]]) -> None:
        self._carried = carried

    def _go_on(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        carried = (*self._carried, *(client_call_details.metadata or ()))
        return continuation(client_call_details._replace(metadata=carried), request)

    intercept_unary_unary: Any = _go_on
    intercept_unary_stream: Any = _go_on
    intercept_stream_unary: Any = _go_on


class _Carries:
    """Adds metadata to every call. grpc.aio needs one interceptor for each kind of call."""

    def __init__(self, carried: Sequence[tuple[str, str | bytes]]) -> None:
        self._carried = carried

    async def go_on(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        """Continues the call with the added metadata."""
        details = client_call_details
        carried = grpc.aio.Metadata(*self._carried, *(details.metadata or ()))
        given = (details.method, details.timeout, carried, details.credentials, details.wait_for_ready)
        return await continuation(grpc.aio.ClientCallDetails(*given), request)


class _Unary(_Carries, grpc.aio.UnaryUnaryClientInterceptor):
    intercept_unary_unary: Any = _Carries.go_on


class _ServerStream(_Carries, grpc.aio.UnaryStreamClientInterceptor):
    intercept_unary_stream: Any = _Carries.go_on


class _BidiStream(_Carries, grpc.aio.StreamStreamClientInterceptor):
    intercept_stream_stream: Any = _Carries.go_on
