"""ExportReflections: every memory of a project, and its observations if asked for, one line of JSON for each."""

from collections.abc import AsyncIterator, Sequence

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.kin.graph import MemoryGraph
from sidemirror_server.memory.kin.links import Link, links_of, memory_key
from sidemirror_server.memory.lessons.portable import line_of
from sidemirror_server.memory.record import MemoryHistory, MemoryRecord, NewLink
from sidemirror_server.memory.recoveries import portable
from sidemirror_server.memory.recoveries.observations import Observations, key_of, sources_of
from sidemirror_server.memory.store import Memories, MemoryKey
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.vocabulary.scope import Scope

_AT_ONCE = 50
# Versions of a memory that are read at once.
_VERSIONS = 1_000
# Signatures whose names are read at once; their rows are read one by one.
_SIGNATURES = 50
# The target size of one message; a single line may be longer.
_PART_BYTES = 512 * 1024


async def export_reflections(
    store: Memories,
    graph: MemoryGraph,
    observations: Observations,
    request: pb.ExportReflectionsRequest,
    call: Call,
) -> AsyncIterator[pb.ExportReflectionsResponse]:
    if request.include_observations:  # they name tokens and subjects, and are of use to whoever may import them
        call.check_admin()
    lines: list[str] = []
    size = 0
    async for line in _lines(store, graph, observations, request, call):
        if lines and size + len(line) > _PART_BYTES:
            yield pb.ExportReflectionsResponse(lines=lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield pb.ExportReflectionsResponse(lines=lines)


async def _lines(
    store: Memories,
    graph: MemoryGraph,
    observations: Observations,
    request: pb.ExportReflectionsRequest,
    call: Call,
) -> AsyncIterator[str]:
    async for line in _of_memories(store, graph, call.scope):
        yield line
    if request.include_observations:
        async for line in _of_observations(observations, call.scope):
            yield line


async def _of_memories(store: Memories, graph: MemoryGraph, scope: Scope) -> AsyncIterator[str]:
    after: MemoryKey | None = None
    while found := await store.list(scope, None, None, after, _AT_ONCE):
        links = await graph.of_memories(scope, tuple(memory.memory_id for memory in found))
        for memory in found:
            earlier = await _earlier(store, scope, memory) if memory.version > 1 else []
            yield line_of(MemoryHistory(memory, tuple(reversed(earlier)), _more_links(memory, links)))
        after = MemoryKey(found[-1].created_us, found[-1].memory_id)


async def _earlier(store: Memories, scope: Scope, memory: MemoryRecord) -> list[MemoryRecord]:
    """Its versions before this one, the latest first."""
    earlier: list[MemoryRecord] = []
    before = memory.version
    while found := await store.versions(scope, memory.memory_id, before, _VERSIONS):
        earlier += found
        before = found[-1].version
    return earlier


async def _of_observations(store: Observations, scope: Scope) -> AsyncIterator[str]:
    after = ""
    while signatures := await store.signatures(scope, after, _SIGNATURES):
        after = signatures[-1]
        for signature in signatures:
            rows = await store.of_signature(scope, signature)
            known = await store.subjects(scope, {record for one in rows for record in (*sources_of(one), key_of(one))})
            for one in filter(portable.is_portable, rows):
                # What is noted of an imported one is under its own key: a turn of this store may have the id of its.
                records = (key_of(one),) if key_of(one) in known else sources_of(one)
                subjects = {subject for record in records for subject in known.get(record, ())}
                yield portable.line_of(one, tuple(sorted(subjects)))


def _more_links(memory: MemoryRecord, links: Sequence[Link]) -> tuple[NewLink, ...]:
    """The links of a memory that cannot be derived from the memory itself."""
    own, source = links_of(memory), memory_key(memory.memory_id)
    found = (NewLink(link.kind, link.target) for link in links if link.source == source)
    return tuple(link for link in found if link not in own)
