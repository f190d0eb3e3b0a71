"""ImportReflections: stores the lines of an export in this project."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from enum import Enum, auto

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.lessons.keeping import Trust
from sidemirror_server.memory.lessons.portable import kept_in
from sidemirror_server.memory.line import BadLine
from sidemirror_server.memory.record import MemoryHistory, anew_id, sources_of, without
from sidemirror_server.memory.recoveries.observations import Observations
from sidemirror_server.memory.recoveries.portable import is_of_observation, observation_of
from sidemirror_server.memory.store import Memories
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.services import Begin
from sidemirror_server.trace.erasure import Erasures, is_erased
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.errors import WrongState

# How many refused lines are listed, as the contract says (ImportReflectionsResponse.refused).
_MOST_REFUSED = 1_000


class _Came(Enum):
    """What came of a line that is not refused."""

    IMPORTED = auto()
    KNOWN = auto()
    ERASED = auto()


async def import_reflections(
    store: Memories,
    observations: Observations,
    erasures: Erasures,
    trust: Trust,
    requests: AsyncIterator[pb.ImportReflectionsRequest],
    begin: Begin,
) -> pb.ImportReflectionsResponse:
    call: Call | None = None
    number = 0
    counts = Counter[_Came]()
    refused = 0
    told: list[pb.RefusedLine] = []
    async for request in requests:
        call = call or begin(request)
        call.check_scope(request.tenant_id, request.project_id)
        for line in request.lines:
            number += 1
            if not line.strip():
                continue
            try:
                if await asyncio.to_thread(is_of_observation, line):  # up to 4 MiB of JSON
                    counts[await _observation(observations, call, line)] += 1
                else:
                    counts[await _memory(store, erasures, trust, call, line)] += 1
            except BadLine as bad:
                refused += 1
                if len(told) < _MOST_REFUSED:
                    told.append(pb.RefusedLine(number=number, reason=str(bad)))
            except WrongState:  # it was erased, perhaps meanwhile
                counts[_Came.ERASED] += 1
    return pb.ImportReflectionsResponse(
        imported_count=counts[_Came.IMPORTED],
        known_count=counts[_Came.KNOWN],
        refused_count=refused,
        refused=told,
        erased_count=counts[_Came.ERASED],
    )


async def _memory(store: Memories, erasures: Erasures, trust: Trust, call: Call, line: str) -> _Came:
    """Stores the memory of a line. Raises BadLine, WrongState if it was erased meanwhile."""
    kept = await asyncio.to_thread(kept_in, line, trust)
    if (left := await _left(erasures, call, kept)) is None:
        return _Came.ERASED
    return _Came.IMPORTED if await store.put(call.scope, left) else _Came.KNOWN


async def _observation(store: Observations, call: Call, line: str) -> _Came:
    """Stores the observation of a line. It counts as if it had been made here, for whom its line names: whoever may
    make one up can have a repair told, so that an admin has to. Raises BadLine, WrongState if a source was erased."""
    if not call.is_admins:
        raise BadLine("observations are imported with an admin's token only")
    found = await asyncio.to_thread(observation_of, line, call.scope, call.clock.now_us())
    is_new = await store.put(call.scope, found.observation, found.subjects)
    return _Came.IMPORTED if is_new else _Came.KNOWN


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
