"""Converters for memories. Texts from the wire pass `enter` here, once."""

from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.finding.worth_telling import awaits_review
from sidemirror_server.memory.record import (
    LAYER,
    SOURCE,
    AppliesWhen,
    MemoryKind,
    MemoryRecord,
    MemoryState,
    quarantine_word,
    sources_of_kind,
    subjects_of,
)
from sidemirror_server.memory.store import Memories
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.wire.common import ORIGINS, numbers_of, struct, timestamp
from sidemirror_server.trace.failure import ErrorCategory
from sidemirror_server.trace.sources import SourceKind
from sidemirror_server.vocabulary.errors import NotFound
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.text import enter, redact_json

CATEGORIES: dict[str, Any] = {
    "": pb.ERROR_CATEGORY_UNSPECIFIED,
    **{one.value: pb.ErrorCategory.Value(f"ERROR_CATEGORY_{one.name}_ERROR") for one in ErrorCategory},
}
CATEGORY_NAMES = {number: name for name, number in CATEGORIES.items()}
KINDS = numbers_of(MemoryKind, pb.MemoryKind)
KIND_NAMES = {number: kind for kind, number in KINDS.items()}
STATES = numbers_of(MemoryState, pb.MemoryState)
STATE_NAMES = {number: state for state, number in STATES.items()}


def object_of(message: Struct) -> dict[str, Any]:
    """A JSON-like object, with secrets redacted in its texts and in the names of its members."""
    entered: dict[str, Any] = redact_json(MessageToDict(message))
    return entered


def applies_of(applies: pb.AppliesWhen) -> AppliesWhen:
    """The record of when a lesson applies."""
    return AppliesWhen(
        tools=tuple(enter(tool) for tool in applies.tools),
        error_categories=tuple(dict.fromkeys(name for n in applies.error_categories if (name := CATEGORY_NAMES[n]))),
        not_when=enter(applies.not_when),
    )


def applies_to_wire(applies: AppliesWhen) -> pb.AppliesWhen | None:
    """The message of when a lesson applies; None when it sets no condition."""
    if applies == AppliesWhen():
        return None
    return pb.AppliesWhen(
        tools=applies.tools,
        error_categories=[CATEGORIES[name] for name in applies.error_categories],
        not_when=applies.not_when,
    )


def memory_to_wire(memory: MemoryRecord, scope: Scope) -> pb.Memory:
    """A memory as a message. `scope`: the tenant and project that own it."""
    return pb.Memory(
        id=memory.memory_id,
        kind=KINDS[memory.kind],
        content=memory.content,
        source=SOURCE,
        importance=memory.importance,
        layer=LAYER,
        tags=memory.tags,
        metadata=struct(memory.metadata) if memory.metadata else None,
        confidence=memory.confidence,
        error_category=CATEGORIES.get(memory.error_category, pb.ERROR_CATEGORY_UNKNOWN_ERROR),
        source_event_ids=memory.source_event_ids,
        origin=ORIGINS[memory.origin],
        state=STATES[memory.state],
        version=memory.version,
        create_time=timestamp(memory.created_us),
        update_time=timestamp(memory.updated_us),
        related_memory_ids=memory.related_ids,
        strategy_of=memory.strategy_of,
        derived_from=memory.derived_from,
        applies_when=applies_to_wire(memory.applies_when),
        strength=memory.strength,
        episode_count=len(memory.episodes),
        quarantine=quarantine_word(memory),
        change=memory.change.value,
        reason=memory.reason,
        tenant_id=scope.tenant_id,
        project_id=scope.project_id,
        error_signature=memory.error_signature,
        subject_ids=subjects_of(memory),
        changed_by=memory.changed_by,
        source_turn_ids=sources_of_kind(memory, SourceKind.TURN),
        source_report_ids=sources_of_kind(memory, SourceKind.GOAL_REPORT),
        awaits_review=memory.state is MemoryState.ACTIVE and awaits_review(memory),
    )


async def read_memory(store: Memories, call: Call, memory_id: str) -> MemoryRecord:
    """The memory of that id. Raises NotFound."""
    found = await store.get(call.scope, (memory_id,))
    if not found:
        raise NotFound("reflection", memory_id)
    return found[0]


def repeatable_id(call: Call) -> str:
    """A revision's id, the same if the request is repeated; empty when the client gave no request_id."""
    return call.make_id() if call.request_id else ""
