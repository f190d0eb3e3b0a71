"""What a stored answer came from: the records that its request and its response name, by which an erasure finds it."""

from collections.abc import Callable
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from sidemirror.v1 import sidecar_pb2
from sidemirror_server.trace.receipts import GOAL_ITEM
from sidemirror_server.trace.sources import SourceKind, key

# Fields that name a record, by "Message.field", else by "field".
_NAMES = {
    "turn_id": SourceKind.TURN,
    "session_id": SourceKind.SESSION,
    "subject_ids": SourceKind.SUBJECT,
    "critique_id": SourceKind.CRITIQUE,
    "compare_to": SourceKind.CRITIQUE,
    "receipt_id": SourceKind.RECEIPT,
    "report_id": SourceKind.GOAL_REPORT,
    "reflection_id": SourceKind.MEMORY,
    "strategy_id": SourceKind.MEMORY,
    "Memory.id": SourceKind.MEMORY,
    "ContextItem.id": SourceKind.MEMORY,
    "GoalReflection.id": SourceKind.GOAL_REFLECTION,
}
# The answer says nothing of what was erased, and must not keep its id.
_UNNAMED = {sidecar_pb2.EraseRequest.DESCRIPTOR.full_name}

_Collect = Callable[[Any, dict[str, None]], None]


def sources_of(request: Message, response: Message) -> tuple[str, ...]:
    """The keys of the records that a request names itself, and of those that its response names anywhere; each once."""
    found: dict[str, None] = {}
    if request.DESCRIPTOR.full_name not in _UNNAMED:
        for collect in _own(request.DESCRIPTOR):
            collect(request, found)
        _collect(response, found)
    return tuple(found)


def _collect(message: Any, found: dict[str, None]) -> None:
    for collect in (*_own(message.DESCRIPTOR), *_nested(message.DESCRIPTOR)):
        collect(message, found)


@cache
def _own(descriptor: Descriptor) -> tuple[_Collect, ...]:
    """What collects the records that a message's own fields name."""
    named = (
        (field, _NAMES.get(f"{descriptor.name}.{field.name}", _NAMES.get(field.name))) for field in descriptor.fields
    )
    return tuple(_of_field(field.name, kind, is_list=field.is_repeated) for field, kind in named if kind is not None)


@cache
def _nested(descriptor: Descriptor) -> tuple[_Collect, ...]:
    """What collects the records that a message's inner messages name."""
    return tuple(
        _of_messages(field.name, is_list=field.is_repeated)
        for field in descriptor.fields
        if field.message_type is not None and _names_any(field.message_type, frozenset())
    )


def _names_any(descriptor: Descriptor, above: frozenset[str]) -> bool:
    """Whether a message can name a record, itself or in an inner message."""
    if not descriptor.full_name.startswith("sidemirror.") or descriptor.GetOptions().map_entry:
        return False
    if descriptor.full_name in above:
        return False
    inner = above | {descriptor.full_name}
    return bool(_own(descriptor)) or any(
        field.message_type is not None and _names_any(field.message_type, inner) for field in descriptor.fields
    )


def _of_field(name: str, kind: SourceKind, *, is_list: bool) -> _Collect:
    def collect(message: Any, found: dict[str, None]) -> None:
        value = getattr(message, name)
        meant = SourceKind.GOAL_REFLECTION if getattr(message, "kind", None) == GOAL_ITEM else kind
        for one in value if is_list else (value,):
            if one:
                found[key(meant, one)] = None

    return collect


def _of_messages(name: str, *, is_list: bool) -> _Collect:
    def collect(message: Any, found: dict[str, None]) -> None:
        if is_list:
            for one in getattr(message, name):
                _collect(one, found)
        elif message.HasField(name):
            _collect(getattr(message, name), found)

    return collect
