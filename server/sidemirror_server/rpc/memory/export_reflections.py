"""The calls of ReflectiveMemoryService that carry memories from one store to another."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import cast

from google.protobuf.message import Message

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.graph import MemoryGraph
from sidemirror_server.memory.keep import Trust
from sidemirror_server.memory.links import Link, links_of, memory_key
from sidemirror_server.memory.portable import BadLine, kept_in, line_of
from sidemirror_server.memory.record import Kept, MemoryRecord, NewLink
from sidemirror_server.memory.store import Memories, MemoryKey
from sidemirror_server.rpc.boundary.call import Call

_AT_ONCE = 50
_MOST_VERSIONS = 1_000
# A part of an export holds about this much; a line may be longer by itself.
_PART_BYTES = 512 * 1024
# Contract: ImportReflectionsResponse.refused.
_MOST_REFUSED = 1_000


class PortableMemoryCalls:
    """Exports and imports."""

    def __init__(self, store: Memories, graph: MemoryGraph, trust: Trust) -> None:
        self._store = store
        self._trust = trust
        self._graph = graph

    async def ExportReflections(
        self, request: pb.ExportReflectionsRequest, call: Call
    ) -> AsyncIterator[pb.ExportReflectionsResponse]:
        after: MemoryKey | None = None
        lines: list[str] = []
        size = 0
        while found := await self._store.list(call.scope, None, None, after, _AT_ONCE):
            links = await self._graph.of_memories(call.scope, tuple(memory.memory_id for memory in found))
            for memory in found:
                earlier: tuple[MemoryRecord, ...] = ()
                if memory.version > 1:
                    earlier = await self._store.versions(call.scope, memory.memory_id, memory.version, _MOST_VERSIONS)
                line = line_of(Kept(memory, tuple(reversed(earlier)), _more_links(memory, links)))
                if lines and size + len(line) > _PART_BYTES:
                    yield pb.ExportReflectionsResponse(lines=lines)
                    lines, size = [], 0
                lines.append(line)
                size += len(line)
            after = MemoryKey(found[-1].created_us, found[-1].memory_id)
        if lines:
            yield pb.ExportReflectionsResponse(lines=lines)

    async def ImportReflections(
        self, requests: AsyncIterator[Message], begin: Callable[[Message], Call]
    ) -> pb.ImportReflectionsResponse:
        call: Call | None = None
        number = imported = known = refused = 0
        told: list[pb.RefusedLine] = []
        async for message in requests:
            request = cast("pb.ImportReflectionsRequest", message)
            call = call or begin(request)
            for line in request.lines:
                number += 1
                if not line.strip():
                    continue
                try:
                    kept = await asyncio.to_thread(kept_in, line, self._trust)  # up to 4 MiB of JSON
                except BadLine as bad:
                    refused += 1
                    if len(told) < _MOST_REFUSED:
                        told.append(pb.RefusedLine(number=number, reason=str(bad)))
                    continue
                if await self._store.put(call.scope, kept):
                    imported += 1
                else:
                    known += 1
        return pb.ImportReflectionsResponse(
            imported_count=imported, known_count=known, refused_count=refused, refused=told
        )


def _more_links(memory: MemoryRecord, links: Sequence[Link]) -> tuple[NewLink, ...]:
    """The links of a memory that do not arise from the memory itself."""
    own, source = links_of(memory), memory_key(memory.memory_id)
    found = (NewLink(link.kind, link.target) for link in links if link.source == source)
    return tuple(link for link in found if link not in own)
