"""Converters that every service needs."""

import re
from collections.abc import Iterable
from enum import Enum
from typing import Any, TypeVar, cast

from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from sidemirror.v1 import common_pb2 as pb
from sidemirror.v1 import thinking_pb2
from sidemirror_server.trace.log import TurnStanding
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.status import ResultStatus, Usage

K = TypeVar("K", bound=Enum | str)


def numbers_of(kinds: Iterable[K], wire: Any) -> dict[K, Any]:
    """Each member of our enum, or each name → its number in the wire enum, in which every name has the enum's name as
    its prefix (buf's rule). Raises ValueError for a name that the wire enum lacks."""
    prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", wire.DESCRIPTOR.name)
    names = {kind: kind.name if isinstance(kind, Enum) else kind for kind in kinds}
    return {kind: wire.Value(f"{prefix}_{name}".upper()) for kind, name in names.items()}


def name_of(wire: Any, number: int) -> str:
    """The name of a wire enum's value in lower case, without the enum's prefix; the number of one that is not known."""
    values = wire.DESCRIPTOR.values_by_number
    prefix = values[0].name.removesuffix("UNSPECIFIED")
    return values[number].name.removeprefix(prefix).lower() if number in values else str(number)


STATUSES = numbers_of(ResultStatus, pb.ResultStatus)
ORIGINS = numbers_of(Origin, pb.Origin)
OUTCOMES = {
    "": pb.TASK_OUTCOME_UNSPECIFIED,
    **numbers_of(("success", "failure", "partial", "timeout", "error"), pb.TaskOutcome),
}
TURN_STATES = numbers_of(TurnStanding, thinking_pb2.TurnState)
OUTCOME_NAMES = {number: name for name, number in OUTCOMES.items()}
ROLES = numbers_of(("user", "assistant", "system", "tool"), pb.MessageRole)
ROLE_NAMES = {pb.MESSAGE_ROLE_UNSPECIFIED: "user", **{number: name for name, number in ROLES.items()}}


def timestamp(at_us: int) -> Timestamp:
    """Microseconds since the epoch as a Timestamp."""
    return Timestamp(seconds=at_us // 1_000_000, nanos=at_us % 1_000_000 * 1_000)


def write_time(wire: Timestamp, at_us: int) -> None:
    """Writes microseconds since the epoch into an empty Timestamp."""
    wire.seconds = at_us // 1_000_000
    wire.nanos = at_us % 1_000_000 * 1_000


def microseconds(time: Timestamp) -> int:
    """A Timestamp as microseconds since the epoch, rounded down."""
    return time.seconds * 1_000_000 + time.nanos // 1_000


def duration(us: int) -> Duration:
    """Microseconds as a Duration; never negative."""
    us = max(0, us)
    return Duration(seconds=us // 1_000_000, nanos=us % 1_000_000 * 1_000)


def seconds(span: Duration) -> float:
    """A Duration in seconds."""
    return span.seconds + span.nanos / 1e9


def struct(values: dict[str, object]) -> Struct:
    """A JSON-like mapping as a Struct."""
    message = Struct()
    message.update(cast("dict[str, Any]", values))
    return message


def usage_to_wire(usage: Usage | None) -> pb.Usage | None:
    """The model that answered and what it used; None when none answered."""
    if usage is None:
        return None
    return pb.Usage(
        provider=usage.provider,
        model=usage.model,
        parameters=usage.parameters,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd,
        latency=duration(usage.latency_us),
    )


def subjects_of(subject_ids: Iterable[str]) -> tuple[str, ...]:
    """The ids of a request's `subject_ids`, each once."""
    return tuple(dict.fromkeys(subject_ids))


def has_failed(result: pb.ToolResult) -> bool:
    """Whether a tool has failed, as the agent reports it."""
    return result.is_error or bool(result.error)
