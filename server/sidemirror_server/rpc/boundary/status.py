"""The one table of errors: the gRPC status of each error in the vocabulary.

The look-up follows the MRO, so that a new error class has its parent's row until it gets its own. Any other exception
is INTERNAL with a fixed text; its details go to the log only.
"""

from collections.abc import Callable
from functools import lru_cache

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from grpc_status import rpc_status
from msgspec import Struct

from sidemirror.v1 import errors_pb2 as pb
from sidemirror_server.vocabulary import errors

DOMAIN = "sidemirror.dev"
_PREFIX = "ERROR_REASON_"
# Seconds that a client should wait before it retries. Chosen here: less than the recorder's longest backoff.
_RETRY_AFTER_S = 1
# The longest text about violations in a status, in characters. The trailers hold it as text and twice more in base64.
# gRPC peers may refuse trailers of more than 8 KiB: the client would then see neither code nor reason.
_VIOLATION_CHARACTERS = 1_500


class Row(Struct, frozen=True):
    """The gRPC code and reason of an error; `retry` adds a RetryInfo."""

    code: StatusCode
    reason: "pb.ErrorReason"
    retry: bool = False


INTERNAL = Row(StatusCode.INTERNAL, pb.ERROR_REASON_INTERNAL)
INTERNAL_TEXT = "the server failed to handle this call; its log has the detail"

TABLE: dict[type[BaseException], Row] = {
    errors.MalformedMessage: Row(StatusCode.INVALID_ARGUMENT, pb.ERROR_REASON_MALFORMED_MESSAGE),
    errors.BadInput: Row(StatusCode.INVALID_ARGUMENT, pb.ERROR_REASON_INVALID_FIELD),
    errors.RequestIdReused: Row(StatusCode.INVALID_ARGUMENT, pb.ERROR_REASON_REQUEST_ID_REUSED),
    errors.NotFound: Row(StatusCode.NOT_FOUND, pb.ERROR_REASON_NOT_FOUND),
    errors.AlreadyExists: Row(StatusCode.ALREADY_EXISTS, pb.ERROR_REASON_ALREADY_EXISTS),
    errors.WrongState: Row(StatusCode.FAILED_PRECONDITION, pb.ERROR_REASON_WRONG_STATE),
    errors.LimitReached: Row(StatusCode.RESOURCE_EXHAUSTED, pb.ERROR_REASON_LIMIT_REACHED),
    errors.Unauthenticated: Row(StatusCode.UNAUTHENTICATED, pb.ERROR_REASON_UNAUTHENTICATED),
    errors.NotPermitted: Row(StatusCode.PERMISSION_DENIED, pb.ERROR_REASON_SCOPE_NOT_PERMITTED),
    errors.StoreUnavailable: Row(StatusCode.UNAVAILABLE, pb.ERROR_REASON_STORE_UNAVAILABLE, retry=True),
    errors.StoreFull: Row(StatusCode.RESOURCE_EXHAUSTED, pb.ERROR_REASON_STORE_FULL, retry=True),
    errors.ModelUnavailable: Row(StatusCode.UNAVAILABLE, pb.ERROR_REASON_MODEL_UNAVAILABLE, retry=True),
    errors.SpendCapReached: Row(StatusCode.RESOURCE_EXHAUSTED, pb.ERROR_REASON_SPEND_CAP_REACHED),
    errors.Disabled: Row(StatusCode.FAILED_PRECONDITION, pb.ERROR_REASON_DISABLED),
    errors.Draining: Row(StatusCode.UNAVAILABLE, pb.ERROR_REASON_DRAINING, retry=True),
    TimeoutError: Row(StatusCode.DEADLINE_EXCEEDED, pb.ERROR_REASON_DEADLINE_EXCEEDED),
}


def row_of(error: BaseException) -> Row:
    """The nearest row along the error's MRO; INTERNAL when there is none."""
    for kind in type(error).__mro__:
        if kind in TABLE:
            return TABLE[kind]
    return INTERNAL


def reason_of(row: Row) -> str:
    """The row's reason, in the form of ErrorInfo."""
    return pb.ErrorReason.Name(row.reason).removeprefix(_PREFIX)


def status_of(error: BaseException) -> status_pb2.Status:
    """The rich status that a client gets for `error`: code, text, ErrorInfo, and the details of its class."""
    row = row_of(error)
    info = error_details_pb2.ErrorInfo(reason=reason_of(row), domain=DOMAIN)
    text = INTERNAL_TEXT
    details: list[Message] = [info]
    if isinstance(error, errors.SidemirrorError):
        text = _text(error)
        info.metadata.update(error.facts if not isinstance(error, errors.BadInput) else {})
        details.extend(_more(error))
    elif isinstance(error, TimeoutError):
        text = "the call's deadline passed before the server could answer"
    if row.retry or (isinstance(error, errors.LimitReached) and error.passes):
        details.append(error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=_RETRY_AFTER_S)))
    return status_pb2.Status(code=row.code.value[0], message=text, details=[_packed(detail) for detail in details])


def call_status_of(error: BaseException) -> grpc.Status:
    """`status_of` in gRPC's form. The status for an unauthorised caller is cached, so that a flood of such calls costs
    little."""
    if isinstance(error, errors.Unauthenticated | errors.NotPermitted):
        return _of_stranger(type(error), tuple(error.facts.items()))  # type: ignore[arg-type]  # a type can be hashed
    return rpc_status.to_status(status_of(error))


@lru_cache(maxsize=32)
def _of_stranger(kind: Callable[..., errors.SidemirrorError], facts: tuple[tuple[str, str], ...]) -> grpc.Status:
    """Cached: the facts are a few fixed texts (`identity.py`, and that a role is not bound to a tenant)."""
    return rpc_status.to_status(status_of(kind(**dict(facts))))


def _more(error: errors.SidemirrorError) -> list[Message]:
    if isinstance(error, errors.BadInput):
        violations = [
            error_details_pb2.BadRequest.FieldViolation(field=field, description=description)
            for field, description in _said(error)
        ]
        return [error_details_pb2.BadRequest(field_violations=violations)]
    if isinstance(error, errors.RequestIdReused):
        violation = error_details_pb2.BadRequest.FieldViolation(field="request_id", description=str(error))
        return [error_details_pb2.BadRequest(field_violations=[violation])]
    if isinstance(error, errors.LimitReached):
        violated = error_details_pb2.QuotaFailure.Violation(
            subject=error.subject, description=f"{error.limit} is {error.value}"
        )
        return [error_details_pb2.QuotaFailure(violations=[violated])]
    return []


def _text(error: errors.SidemirrorError) -> str:
    if not isinstance(error, errors.BadInput):
        return str(error)
    said = _said(error)
    left = len(error.violations) - len(said)
    return f"{errors.BadInput(said)}{f' and {left} more' if left else ''}"


def _said(error: errors.BadInput) -> tuple[tuple[str, str], ...]:
    """The first violations, as many as the trailers have room for; at least one."""
    size = 0
    for number, (field, description) in enumerate(error.violations):
        size += len(field) + len(description)
        if number and size > _VIOLATION_CHARACTERS:
            return error.violations[:number]
    return error.violations


def _packed(message: Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
