"""ListReflections: a page of a project's memories, or those that the request names."""

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.store import Memories, MemoryKey
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import fitting, place_in, size_of, token_for
from sidemirror_server.rpc.memory.memories import KIND_NAMES, STATE_NAMES, memory_to_wire
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.text import enter


async def list_reflections(
    store: Memories, request: pb.ListReflectionsRequest, call: Call
) -> pb.ListReflectionsResponse:
    if request.reflection_ids:
        if request.page_token:
            raise BadInput([("page_token", "only without reflection_ids")])
        return await _of_ids(store, request, call)
    size = size_of(request.page_size, 50)
    query = (call.scope, "memories", request.kind, request.state)
    after = place_in(request.page_token, MemoryKey, "page_token", *query)
    kind, state = KIND_NAMES.get(request.kind), STATE_NAMES.get(request.state)
    found = await store.list(call.scope, kind, state, after, size + 1)
    wires = fitting((memory_to_wire(memory, call.scope) for memory in found[:size]), pb.Memory.ByteSize)
    last = found[len(wires) - 1] if len(wires) < len(found) else None
    token = token_for(MemoryKey(last.created_us, last.memory_id), *query) if last else ""
    return pb.ListReflectionsResponse(memories=wires, next_page_token=token)


async def _of_ids(store: Memories, request: pb.ListReflectionsRequest, call: Call) -> pb.ListReflectionsResponse:
    found = await store.get(call.scope, tuple(dict.fromkeys(map(enter, request.reflection_ids))))
    wires = fitting((memory_to_wire(memory, call.scope) for memory in found), pb.Memory.ByteSize)
    return pb.ListReflectionsResponse(memories=wires)
