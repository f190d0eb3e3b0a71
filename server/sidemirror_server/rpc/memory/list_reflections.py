"""ListReflections: a page of a project's memories."""

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.store import Memories, MemoryKey
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import fitting, place_in, size_of, token_for
from sidemirror_server.rpc.memory.memories import KIND_NAMES, STATE_NAMES, memory_to_wire


async def list_reflections(
    store: Memories, request: pb.ListReflectionsRequest, call: Call
) -> pb.ListReflectionsResponse:
    size = size_of(request.page_size, 50)
    query = (call.scope, "memories", request.kind, request.state)
    after = place_in(request.page_token, MemoryKey, "page_token", *query)
    kind, state = KIND_NAMES.get(request.kind), STATE_NAMES.get(request.state)
    found = await store.list(call.scope, kind, state, after, size + 1)
    wires = fitting((memory_to_wire(memory, call.scope) for memory in found[:size]), pb.Memory.ByteSize)
    last = found[len(wires) - 1] if len(wires) < len(found) else None
    token = token_for(MemoryKey(last.created_us, last.memory_id), *query) if last else ""
    return pb.ListReflectionsResponse(memories=wires, next_page_token=token)
