"""What a handler behind the boundary asks of gRPC's context, for a call that came over HTTP."""

import time
from collections.abc import Awaitable, Callable, Sequence

import grpc
from google.rpc import status_pb2

from sidemirror_server.http.asgi import Scope

_DETAILS = "grpc-status-details-bin"
Metadata = Sequence[tuple[str, str]]


class Ended(Exception):
    """The call ends with this status."""

    def __init__(self, status: status_pb2.Status) -> None:
        super().__init__(status.code)
        self.status = status


class HttpContext:
    """The methods of `grpc.aio.ServicerContext` that the boundary and its handlers call."""

    def __init__(self, scope: Scope, timeout_s: float | None) -> None:
        """`timeout_s`: the time that the caller gives the call, from now on; None: no deadline."""
        self._headers = tuple((key.decode("latin-1"), value.decode("latin-1")) for key, value in scope["headers"])
        self._client = scope["client"]
        self._ends_s = None if timeout_s is None else time.monotonic() + timeout_s
        self._code: grpc.StatusCode | None = None
        self.initial: list[tuple[str, str]] = []
        self.trailing: list[tuple[str, str]] = []
        # Sends the answer's head; set by a call that can send it before its first message.
        self.begin: Callable[[], Awaitable[None]] | None = None

    def invocation_metadata(self) -> Metadata:
        """The request's headers, with names in small letters."""
        return self._headers

    def peer(self) -> str:
        """The caller's address in gRPC's form."""
        if self._client is None:
            return "unix:"
        host, port = self._client[:2]
        return f"ipv6:%5B{host}%5D:{port}" if ":" in host else f"ipv4:{host}:{port}"

    def time_remaining(self) -> float | None:
        """Seconds until the deadline, never negative; None without one."""
        return None if self._ends_s is None else max(0.0, self._ends_s - time.monotonic())

    def code(self) -> grpc.StatusCode | None:
        """The status with which the call was aborted; None if it was not."""
        return self._code

    async def send_initial_metadata(self, metadata: Metadata) -> None:
        """Adds headers to the answer, and sends its head if the call is a stream."""
        self.initial += metadata
        if self.begin is not None:
            await self.begin()

    def set_trailing_metadata(self, metadata: Metadata) -> None:
        """What goes with the end of the answer."""
        self.trailing = list(metadata)

    async def abort_with_status(self, status: grpc.Status) -> None:
        """Ends the call with a status. Raises Ended."""
        self._code = status.code
        raise Ended(_rich(status))


def _rich(status: grpc.Status) -> status_pb2.Status:
    """The whole status, which gRPC carries in a trailer."""
    for key, value in status.trailing_metadata or ():
        if key == _DETAILS and isinstance(value, bytes):
            return status_pb2.Status.FromString(value)
    return status_pb2.Status(code=status.code.value[0], message=status.details)
