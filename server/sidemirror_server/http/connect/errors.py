"""Errors as Connect writes them: a code, a message and details in JSON, and a status of HTTP."""

import base64
import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import grpc
from google.protobuf import json_format
from google.rpc import status_pb2

from sidemirror_server.http.asgi import Headers, Send, answer
from sidemirror_server.rpc.boundary.status import status_of
from sidemirror_server.vocabulary.errors import NotPermitted, Unauthenticated

JSON = "application/json"

# gRPC code → HTTP status (connectrpc.com/docs/protocol, "Error Codes").
_HTTP = {
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.UNKNOWN: 500,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.INTERNAL: 500,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DATA_LOSS: 500,
    grpc.StatusCode.UNAUTHENTICATED: 401,
}
_CODES = {code.value[0]: code for code in _HTTP}


def refusal(code: grpc.StatusCode, message: str) -> status_pb2.Status:
    """A status without details, for what the protocol itself refuses."""
    return status_pb2.Status(code=code.value[0], message=message)


def code_of(status: status_pb2.Status) -> str:
    """The status's code as Connect writes it."""
    code = _CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    # Connect spells this one as HTTP does.
    return "canceled" if code is grpc.StatusCode.CANCELLED else code.name.lower()


def error_of(status: status_pb2.Status) -> dict[str, Any]:
    """The error as Connect's JSON. A detail has its bytes in base64, and beside them what they say, where the type is
    known."""
    error: dict[str, Any] = {"code": code_of(status)}
    if status.message:
        error["message"] = status.message
    if status.details:
        error["details"] = [_detail(packed) for packed in status.details]
    return error


def _detail(packed: Any) -> dict[str, Any]:
    detail = {
        "type": packed.type_url.rpartition("/")[2],
        "value": base64.b64encode(packed.value).decode().rstrip("="),
    }
    try:
        said = json_format.MessageToDict(packed)
    except (TypeError, ValueError):  # a type that this process does not know
        return detail
    said.pop("@type")
    return {**detail, "debug": said}


async def refuse_stranger(send: Send, error: Unauthenticated | NotPermitted, more: Headers) -> None:
    """Answers a caller that is not let in. The answer is kept, so that a flood of them costs little."""
    known = _to_stranger(type(error), error.facts["reason"])  # type: ignore[arg-type]  # a type can be hashed
    await answer(send, *known, more)


@lru_cache(maxsize=32)
def _to_stranger(kind: Callable[..., Unauthenticated | NotPermitted], reason: str) -> tuple[int, str, bytes]:
    """Cached: the reasons are a few fixed sentences (`http/door.py`, `rpc/boundary/identity.py`)."""
    status = status_of(kind(reason=reason))
    return _HTTP[_CODES[status.code]], JSON, json.dumps(error_of(status)).encode()


async def refuse(send: Send, status: status_pb2.Status, more: Headers) -> None:
    """Answers with an error."""
    http_status = _HTTP[_CODES.get(status.code, grpc.StatusCode.UNKNOWN)]
    await answer(send, http_status, JSON, json.dumps(error_of(status)).encode(), more)
