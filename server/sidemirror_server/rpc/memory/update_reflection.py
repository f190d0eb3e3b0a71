"""UpdateReflection: changes a memory's values in a new version."""

import asyncio
from collections.abc import Callable
from typing import Any

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.lessons.keeping import judged
from sidemirror_server.memory.record import Change, Revision
from sidemirror_server.memory.store import Memories
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.memory.memories import (
    CATEGORY_NAMES,
    applies_of,
    memory_to_wire,
    object_of,
    read_memory,
    repeatable_id,
)
from sidemirror_server.rpc.wire.common import subjects_of
from sidemirror_server.trace.sources import SourceKind, keys
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.text import enter

# The fields that UpdateReflection can change → their readers.
_READERS: dict[str, Callable[[pb.MemoryChanges], Any]] = {
    "content": lambda new: enter(new.content),
    "importance": lambda new: new.importance,
    "confidence": lambda new: new.confidence if new.HasField("confidence") else None,
    "tags": lambda new: tuple(dict.fromkeys(enter(tag) for tag in new.tags if tag.strip())),
    "error_category": lambda new: CATEGORY_NAMES[new.error_category],
    "metadata": lambda new: object_of(new.metadata),
    "applies_when": lambda new: applies_of(new.applies_when),
    "related_memory_ids": lambda new: tuple(enter(memory_id) for memory_id in new.related_memory_ids),
}
_RECORD_NAMES = {"related_memory_ids": "related_ids"}


async def update_reflection(
    store: Memories, request: pb.UpdateReflectionRequest, call: Call
) -> pb.UpdateReflectionResponse:
    now_us = call.clock.now_us()  # an erasure that begins from here on refuses the change
    known = await read_memory(store, call, request.reflection_id)
    revision = await asyncio.to_thread(judged, _revision(request, repeatable_id(call), call.caller_name), known)
    changed = await store.revise(call.scope, known.memory_id, revision, now_us, request.if_version or None)
    return pb.UpdateReflectionResponse(memory=memory_to_wire(changed, call.scope))


def _revision(request: pb.UpdateReflectionRequest, revision_id: str, changed_by: str) -> Revision:
    """The revision of a request: the fields in its mask; without a mask, all that are set. Raises BadInput."""
    changes = request.changes
    are_set = {field.name for field, _ in changes.ListFields()}
    paths = list(request.update_mask.paths) or [name for name in _READERS if name in are_set]
    wrong = [f"update_mask.paths[{index}]" for index, path in enumerate(paths) if path not in _READERS]
    if wrong or not paths:
        raise BadInput([(field, f"one or more of {', '.join(_READERS)}") for field in wrong or ["update_mask"]])
    if "content" in paths and not changes.content.strip():
        raise BadInput([("changes.content", "required, and not of blanks only")])
    given = {_RECORD_NAMES.get(path, path): _READERS[path](changes) for path in paths}
    cleared = "confidence" in given and given["confidence"] is None
    return Revision(
        *(Change.UPDATED, enter(request.reason)),
        **given,
        without_confidence=cleared,
        revision_id=revision_id,
        sources=keys(SourceKind.SUBJECT, subjects_of(request.subject_ids)),
        changed_by=changed_by,
    )
