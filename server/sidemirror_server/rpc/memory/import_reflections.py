"""ImportReflections: stores the lines of an export in this project."""

import asyncio
from collections.abc import AsyncIterator

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.lessons.keeping import Trust
from sidemirror_server.memory.lessons.portable import BadLine, kept_in
from sidemirror_server.memory.record import MemoryHistory, anew_id, sources_of, without
from sidemirror_server.memory.store import Memories
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.services import Begin
from sidemirror_server.trace.erasure import Erasures, is_erased
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.errors import WrongState

# How many refused lines are listed, as the contract says (ImportReflectionsResponse.refused).
_MOST_REFUSED = 1_000


async def import_reflections(
    store: Memories,
    erasures: Erasures,
    trust: Trust,
    requests: AsyncIterator[pb.ImportReflectionsRequest],
    begin: Begin,
) -> pb.ImportReflectionsResponse:
    call: Call | None = None
    number = imported = known = refused = erased = 0
    told: list[pb.RefusedLine] = []
    async for request in requests:
        call = call or begin(request)
        call.check_scope(request.tenant_id, request.project_id)
        for line in request.lines:
            number += 1
            if not line.strip():
                continue
            try:
                kept = await asyncio.to_thread(kept_in, line, trust)  # up to 4 MiB of JSON
            except BadLine as bad:
                refused += 1
                if len(told) < _MOST_REFUSED:
                    told.append(pb.RefusedLine(number=number, reason=str(bad)))
                continue
            if (left := await _left(erasures, call, kept)) is None:
                erased += 1
                continue
            try:
                is_new = await store.put(call.scope, left)
            except WrongState:  # it was erased meanwhile
                erased += 1
                continue
            imported, known = imported + is_new, known + (not is_new)
    return pb.ImportReflectionsResponse(
        imported_count=imported, known_count=known, refused_count=refused, refused=told, erased_count=erased
    )


async def _left(erasures: Erasures, call: Call, kept: MemoryHistory) -> MemoryHistory | None:
    """What is left of a memory after what was erased here: all of it, what another source taught, or None."""
    memory = kept.memory
    own = key(SourceKind.MEMORY, memory.memory_id)
    erased_us = await erasures.erased(call.scope, (own, *sources_of(memory)))

    def is_gone(source: str, stored_us: int) -> bool:
        return is_erased(erased_us.get(source), source, stored_us)

    if own in erased_us:
        return None
    if not any(is_gone(source, memory.created_us) for source in sources_of(memory)):
        return kept
    made = without(memory, is_gone, anew_id(call.scope, memory.memory_id), call.clock.now_us())
    return None if made is None else MemoryHistory(made)
