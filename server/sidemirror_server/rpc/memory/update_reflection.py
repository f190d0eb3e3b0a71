"""The calls of ReflectiveMemoryService about memories that are kept."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.keep import judged
from sidemirror_server.memory.record import Change, MemoryRecord, MemoryState, Quarantine, Revision
from sidemirror_server.memory.store import Memories, MemoryKey
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, size_of, token_for
from sidemirror_server.rpc.memory.memories import (
    CATEGORY_NAMES,
    KIND_NAMES,
    STATE_NAMES,
    applies_of,
    memory_to_wire,
    object_of,
)
from sidemirror_server.vocabulary.errors import BadInput, NotFound
from sidemirror_server.vocabulary.text import enter

# What UpdateReflection can change, and how it is read.
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
# A page holds about this much, so that it fits into a message of 4 MiB.
_PAGE_BYTES = 2 * 1024 * 1024


class KeptMemoryCalls:
    """Shows, changes, reviews and removes memories."""

    def __init__(self, store: Memories) -> None:
        self._store = store

    async def GetReflection(self, request: pb.GetReflectionRequest, call: Call) -> pb.GetReflectionResponse:
        return pb.GetReflectionResponse(memory=memory_to_wire(await self._get(call, request.reflection_id), call.scope))

    async def ListReflections(self, request: pb.ListReflectionsRequest, call: Call) -> pb.ListReflectionsResponse:
        size = size_of(request.page_size, 50)
        query = (call.scope, "memories", request.kind, request.state)
        after = place_in(request.page_token, MemoryKey, "page_token", *query)
        kind, state = KIND_NAMES.get(request.kind), STATE_NAMES.get(request.state)
        found = await self._store.list(call.scope, kind, state, after, size + 1)
        wires, last = _page([memory_to_wire(memory, call.scope) for memory in found], size)
        token = token_for(MemoryKey(found[last].created_us, found[last].memory_id), *query) if last is not None else ""
        return pb.ListReflectionsResponse(memories=wires, next_page_token=token)

    async def UpdateReflection(self, request: pb.UpdateReflectionRequest, call: Call) -> pb.UpdateReflectionResponse:
        known = await self._get(call, request.reflection_id)
        revision = await asyncio.to_thread(judged, _revision(request, _repeatable(call)), known)
        changed = await self._store.revise(
            call.scope, known.memory_id, revision, call.clock.now_us(), request.if_version or None
        )
        return pb.UpdateReflectionResponse(memory=memory_to_wire(changed, call.scope))

    async def DeleteReflection(self, request: pb.DeleteReflectionRequest, call: Call) -> pb.DeleteReflectionResponse:
        await self._store.delete(call.scope, request.reflection_id)
        return pb.DeleteReflectionResponse()

    async def ListReflectionVersions(
        self, request: pb.ListReflectionVersionsRequest, call: Call
    ) -> pb.ListReflectionVersionsResponse:
        size = size_of(request.page_size, 50)
        query = (call.scope, "versions", request.reflection_id)
        before = place_in(request.page_token, int, "page_token", *query)
        found = await self._store.versions(call.scope, request.reflection_id, before, size + 1)
        if not found and before is None:
            raise NotFound("reflection", request.reflection_id)
        wires, last = _page([memory_to_wire(memory, call.scope) for memory in found], size)
        token = token_for(found[last].version, *query) if last is not None else ""
        return pb.ListReflectionVersionsResponse(versions=wires, next_page_token=token)

    async def ReviewReflection(self, request: pb.ReviewReflectionRequest, call: Call) -> pb.ReviewReflectionResponse:
        state = STATE_NAMES.get(request.state)
        if state is None:
            raise BadInput([("state", "required")])
        quarantine = Quarantine.REVIEWED if state is MemoryState.QUARANTINED else None
        revision = Revision(
            *(Change.REVIEWED, enter(request.reason)), state=state, quarantine=quarantine, revision_id=_repeatable(call)
        )
        changed = await self._store.revise(call.scope, request.reflection_id, revision, call.clock.now_us())
        return pb.ReviewReflectionResponse(memory=memory_to_wire(changed, call.scope))

    async def _get(self, call: Call, memory_id: str) -> MemoryRecord:
        found = await self._store.get(call.scope, (memory_id,))
        if not found:
            raise NotFound("reflection", memory_id)
        return found[0]


def _repeatable(call: Call) -> str:
    """The id of a revision that may be repeated; empty when the client gave no request id."""
    return call.make_id() if call.request_id else ""


def _revision(request: pb.UpdateReflectionRequest, revision_id: str) -> Revision:
    """What a request changes: the fields of its mask, else those that are set. Raises BadInput."""
    changes = request.changes
    paths = list(request.update_mask.paths) or [name for name in _READERS if _is_set(changes, name)]
    unknown = [path for path in paths if path not in _READERS]
    if unknown or not paths:
        raise BadInput([("update_mask", f"one or more of {', '.join(_READERS)}")])
    if "content" in paths and not changes.content.strip():
        raise BadInput([("changes.content", "required, and not of blanks only")])
    given = {_RECORD_NAMES.get(path, path): _READERS[path](changes) for path in paths}
    cleared = "confidence" in given and given["confidence"] is None
    return Revision(
        *(Change.UPDATED, enter(request.reason)), **given, without_confidence=cleared, revision_id=revision_id
    )


def _is_set(changes: pb.MemoryChanges, name: str) -> bool:
    return name in {field.name for field, _ in changes.ListFields()}


def _page(wires: Sequence[pb.Memory], size: int) -> tuple[Sequence[pb.Memory], int | None]:
    """Those that are shown, and the place of the last one when there are more."""
    shown, room = 0, _PAGE_BYTES
    while shown < min(size, len(wires)) and (shown == 0 or room >= wires[shown].ByteSize()):
        room -= wires[shown].ByteSize()
        shown += 1
    return wires[:shown], shown - 1 if shown < len(wires) else None
