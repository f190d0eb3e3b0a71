"""ExportReflections: every memory of a project, one line of JSON for each."""

from collections.abc import AsyncIterator, Sequence

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.kin.graph import MemoryGraph
from sidemirror_server.memory.kin.links import Link, links_of, memory_key
from sidemirror_server.memory.lessons.portable import line_of
from sidemirror_server.memory.record import MemoryHistory, MemoryRecord, NewLink
from sidemirror_server.memory.store import Memories, MemoryKey
from sidemirror_server.rpc.boundary.call import Call

_AT_ONCE = 50
_MOST_VERSIONS = 1_000
# The target size of one message; a single line may be longer.
_PART_BYTES = 512 * 1024


async def export_reflections(
    store: Memories, graph: MemoryGraph, request: pb.ExportReflectionsRequest, call: Call
) -> AsyncIterator[pb.ExportReflectionsResponse]:
    after: MemoryKey | None = None
    lines: list[str] = []
    size = 0
    while found := await store.list(call.scope, None, None, after, _AT_ONCE):
        links = await graph.of_memories(call.scope, tuple(memory.memory_id for memory in found))
        for memory in found:
            earlier: tuple[MemoryRecord, ...] = ()
            if memory.version > 1:
                earlier = await store.versions(call.scope, memory.memory_id, memory.version, _MOST_VERSIONS)
            line = line_of(MemoryHistory(memory, tuple(reversed(earlier)), _more_links(memory, links)))
            if lines and size + len(line) > _PART_BYTES:
                yield pb.ExportReflectionsResponse(lines=lines)
                lines, size = [], 0
            lines.append(line)
            size += len(line)
        after = MemoryKey(found[-1].created_us, found[-1].memory_id)
    if lines:
        yield pb.ExportReflectionsResponse(lines=lines)


def _more_links(memory: MemoryRecord, links: Sequence[Link]) -> tuple[NewLink, ...]:
    """The links of a memory that cannot be derived from the memory itself."""
    own, source = links_of(memory), memory_key(memory.memory_id)
    found = (NewLink(link.kind, link.target) for link in links if link.source == source)
    return tuple(link for link in found if link not in own)
