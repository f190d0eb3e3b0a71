"""What every call carries: a deadline, the token, the scope, and for writes a request_id."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from grpc.aio import (
    AioRpcError,
    ClientCallDetails,
    ClientInterceptor,
    Metadata,
    StreamStreamClientInterceptor,
    StreamUnaryClientInterceptor,
    UnaryStreamClientInterceptor,
    UnaryUnaryClientInterceptor,
)

# A local call takes a millisecond; an agent that waits this long has lost its sidecar.
DEFAULT_DEADLINE_S = 10.0
# Calls that ask a language model, which the sidecar gives up to 30 seconds an attempt.
MODEL_DEADLINE_S = 60.0
# Streams that do one piece of work and end.
WORK_DEADLINE_S = 300.0
MODEL_CALLS = frozenset({"Reflect", "Critique", "EvaluateTrace", "GenerateReflection"})
# Streams that go on for as long as there is something to say.
ENDLESS = frozenset({"RunTurn", "WatchTurns", "WatchGoalReflections", "Watch"})

# Calls that are on their way at once, those of turns among them; others wait. The sidecar takes 100 streams on a
# connection. Of calls beyond that grpc.aio loses some when their deadlines pass together: they never end, and the
# channel does not close. The rest is for the streams that an agent opens itself.
CALLS_AT_ONCE = 90
# A call that has waited its turn and has less than this left is not begun.
_TOO_LATE_S = 0.005
# gRPC takes a longer deadline for one that has passed.
_LONGEST_S = 1e9


class TokenUnusable(AioRpcError):
    """The token's file gives none that can be sent: UNAUTHENTICATED, without a call."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            grpc.StatusCode.UNAUTHENTICATED,
            Metadata(),
            Metadata(),
            f"the token's file {path} (SIDEMIRROR_TOKEN_FILE) {why}",
        )


class Places:
    """Room for calls on one channel."""

    def __init__(self, count: int = CALLS_AT_ONCE) -> None:
        self._free = asyncio.Semaphore(count)

    async def call(self, continuation: Callable[..., Any], details: ClientCallDetails, request: Any) -> Any:
        """Makes the call when there is room, which it gives back when it ends. The wait counts for its deadline: raises
        AioRpcError when that passes first."""
        if self._free.locked():
            details = await self._wait(details)
        else:
            await self._free.acquire()
        try:
            call = await continuation(details, request)
        except BaseException:
            self._free.release()
            raise
        call.add_done_callback(lambda _: self._free.release())
        return call

    async def _wait(self, details: ClientCallDetails) -> ClientCallDetails:
        now_s = asyncio.get_running_loop().time
        ends_s = None if details.timeout is None else now_s() + details.timeout
        try:
            async with asyncio.timeout_at(None if ends_s is None else ends_s - _TOO_LATE_S):
                await self._free.acquire()
        except TimeoutError:
            raise AioRpcError(
                grpc.StatusCode.DEADLINE_EXCEEDED,
                Metadata(),
                Metadata(),
                f"its deadline has passed while {CALLS_AT_ONCE} other calls were on their way",
            ) from None
        left_s = None if ends_s is None else ends_s - now_s()
        return ClientCallDetails(details.method, left_s, details.metadata, details.credentials, details.wait_for_ready)


class Carried:
    """What is added to the calls of one client."""

    def __init__(self, deadline_s: float, token_file: str, tenant_id: str, project_id: str) -> None:
        self._deadline_s = deadline_s
        self._token_file = token_file
        self._scope = {"tenant_id": tenant_id, "project_id": project_id}
        self.places = Places()

    def details(self, given: ClientCallDetails, *, streams: bool) -> ClientCallDetails:
        """The call with what it lacks. Raises TokenUnusable."""
        method: str | bytes = given.method  # typed as str, and bytes in fact
        name = (method.decode() if isinstance(method, bytes) else method).rpartition("/")[2]
        timeout = self._deadline(name, streams=streams) if given.timeout is None else given.timeout
        if timeout is not None:
            timeout = min(timeout, _LONGEST_S)
        metadata = Metadata(*(given.metadata or ()))
        if self._token_file:
            metadata.add("authorization", f"Bearer {_token(self._token_file)}")
        return ClientCallDetails(given.method, timeout, metadata, given.credentials, given.wait_for_ready)

    def request(self, request: Any) -> Any:
        """The request with the client's scope and a request_id where it has none. The caller's own is left alone."""
        fields = request.DESCRIPTOR.fields_by_name
        missing = {name: value for name, value in self._scope.items() if value and name in fields}
        if "request_id" in fields and request.DESCRIPTOR.name != "RunTurnRequest":
            missing["request_id"] = str(uuid.uuid4())
        missing = {name: value for name, value in missing.items() if not getattr(request, name)}
        if not missing:
            return request
        named = type(request)()
        named.CopyFrom(request)
        for name, value in missing.items():
            setattr(named, name, value)
        return named

    def _deadline(self, name: str, *, streams: bool) -> float | None:
        if name in ENDLESS:
            return None
        if streams:
            return WORK_DEADLINE_S
        return max(self._deadline_s, MODEL_DEADLINE_S) if name in MODEL_CALLS else self._deadline_s


def _token(path: str) -> str:
    """What is in the file. Raises TokenUnusable, which does not quote it.

    Read for every call: whoever issues tokens replaces the file. It is small, and cached by the system."""
    try:
        token = Path(path).read_text(encoding="utf-8").strip()
    except UnicodeDecodeError:
        raise TokenUnusable(path, "is not UTF-8") from None
    except (OSError, ValueError) as error:
        raise TokenUnusable(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    # gRPC fails with an error of its own for anything else in a header's value.
    if not (token.isascii() and token.isprintable()):
        raise TokenUnusable(path, "holds what cannot be sent: a token is one line of printable ASCII")
    return token


def interceptors(carried: Carried) -> list[ClientInterceptor]:
    """One for each kind of call, as grpc.aio wants it."""
    return [_Unary(carried), _ServerStream(carried), _ClientStream(carried), _BidiStream(carried)]


class _Unary(UnaryUnaryClientInterceptor):
    def __init__(self, carried: Carried) -> None:
        self._carried = carried

    async def intercept_unary_unary(
        self, continuation: Callable[..., Any], client_call_details: ClientCallDetails, request: Any
    ) -> Any:
        details = self._carried.details(client_call_details, streams=False)
        return await self._carried.places.call(continuation, details, self._carried.request(request))


class _ServerStream(UnaryStreamClientInterceptor):
    def __init__(self, carried: Carried) -> None:
        self._carried = carried

    async def intercept_unary_stream(
        self, continuation: Callable[..., Any], client_call_details: ClientCallDetails, request: Any
    ) -> Any:
        details = self._carried.details(client_call_details, streams=True)
        return await continuation(details, self._carried.request(request))


class _ClientStream(StreamUnaryClientInterceptor):
    def __init__(self, carried: Carried) -> None:
        self._carried = carried

    async def intercept_stream_unary(
        self, continuation: Callable[..., Any], client_call_details: ClientCallDetails, request_iterator: Any
    ) -> Any:
        details = self._carried.details(client_call_details, streams=True)
        return await self._carried.places.call(continuation, details, _scoped(self._carried, request_iterator))


class _BidiStream(StreamStreamClientInterceptor):
    def __init__(self, carried: Carried) -> None:
        self._carried = carried

    async def intercept_stream_stream(
        self, continuation: Callable[..., Any], client_call_details: ClientCallDetails, request_iterator: Any
    ) -> Any:
        details = self._carried.details(client_call_details, streams=True)
        return await self._carried.places.call(continuation, details, _scoped(self._carried, request_iterator))


async def _scoped(carried: Carried, requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for request in requests:
        yield carried.request(request)


def channel_options(services: Sequence[ServiceDescriptor]) -> Sequence[tuple[str, int | str]]:
    """How the channel behaves: what is tried again, and how soon a lost sidecar is looked for and noticed."""
    return [
        ("grpc.service_config", json.dumps(service_config(services))),
        # A sidecar is next door: look for it again soon after it was away, and never through a proxy.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1_000),
        ("grpc.enable_http_proxy", 0),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
    ]


def service_config(services: Sequence[ServiceDescriptor]) -> dict[str, Any]:
    """Retries for the unary methods: all of them are reads, or writes that a request_id makes safe to repeat."""
    names = [
        {"service": service.full_name, "method": method.name}
        for service in services
        for method in service.methods
        if not (method.client_streaming or method.server_streaming)
    ]
    policy = {
        "maxAttempts": 4,
        "initialBackoff": "0.1s",
        "maxBackoff": "1s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"],
    }
    return {"methodConfig": [{"name": names, "retryPolicy": policy}]}
