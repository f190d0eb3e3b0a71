"""ImportReflections: stores the lines of an export in this project."""

import asyncio
from collections.abc import AsyncIterator

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.lessons.keeping import Trust
from sidemirror_server.memory.lessons.portable import BadLine, kept_in
from sidemirror_server.memory.store import Memories
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.services import Begin

# How many refused lines are listed, as the contract says (ImportReflectionsResponse.refused).
_MOST_REFUSED = 1_000


async def import_reflections(
    store: Memories, trust: Trust, requests: AsyncIterator[pb.ImportReflectionsRequest], begin: Begin
) -> pb.ImportReflectionsResponse:
    call: Call | None = None
    number = imported = known = refused = 0
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
            if await store.put(call.scope, kept):
                imported += 1
            else:
                known += 1
    return pb.ImportReflectionsResponse(imported_count=imported, known_count=known, refused_count=refused, refused=told)
