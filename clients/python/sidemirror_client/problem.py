"""What the sidecar says about an error, beyond its status code."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

# The sidecar has understood, and will say the same again.
FINAL = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)


@dataclass(frozen=True)
class Problem:
    """The details of an error (google.rpc).

    `reason` is a name of `sidemirror.v1.ErrorReason` without its prefix, empty for errors that do not come from the
    sidecar. `fields`: what is wrong with the request, by field. `retry_after_s`: when to come again.
    """

    reason: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    retry_after_s: float | None = None


def is_refused(error: grpc.aio.AioRpcError) -> bool:
    """Whether HTTP/2 refused the call (REFUSED_STREAM, 7), or may have: the connection is full for now, and the sidecar
    has not begun with the call. gRPC says so in the error's text only."""
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        return "RST_STREAM with error code 7" in (error.details() or "")
    # What grpc.aio makes of any stream that ends while a request is being written; the next one tells why.
    return error.code() is grpc.StatusCode.INTERNAL and error.details() == "Internal error from Core"


def is_unable(error: grpc.aio.AioRpcError) -> bool:
    """Whether a call that is UNAVAILABLE was answered: the sidecar's store or model is away, and it says so itself. One
    that ends says so too, and is as good as away."""
    return error.code() is grpc.StatusCode.UNAVAILABLE and problem_of(error).reason not in ("", "DRAINING")


def is_answer(error: grpc.aio.AioRpcError) -> bool:
    """Whether the sidecar itself says so, and can be used: its store is there, and it knows the token."""
    is_there = error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED)
    return is_there and bool(problem_of(error).reason)


def reason_of(error: grpc.aio.AioRpcError) -> str:
    """The status and gRPC's own words, which say what is wrong with a connection."""
    return f"{error.code().name} ({error.details()})" if error.details() else error.code().name


def problem_of(error: grpc.RpcError) -> Problem:
    """What came with an error of a call; empty fields where nothing did that can be read."""
    status = status_pb2.Status()
    for name, value in getattr(error, "trailing_metadata", tuple)() or ():
        if name == "grpc-status-details-bin":
            try:
                status = status_pb2.Status.FromString(value)
            except DecodeError:  # something between here and the sidecar has made it
                return Problem()
    reason, metadata, fields, retry_after_s = "", {}, {}, None
    for detail in status.details:
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo.FromString(detail.value)
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Is(error_details_pb2.BadRequest.DESCRIPTOR):
            request = error_details_pb2.BadRequest.FromString(detail.value)
            fields = {violation.field: violation.description for violation in request.field_violations}
        elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            retry_after_s = (
                error_details_pb2.RetryInfo.FromString(detail.value).retry_delay.ToTimedelta().total_seconds()
            )
    return Problem(reason, metadata, fields, retry_after_s)
