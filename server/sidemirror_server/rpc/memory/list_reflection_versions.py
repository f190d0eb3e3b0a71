"""ListReflectionVersions: a page of a memory's versions."""

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.store import Memories
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import fitting, place_in, size_of, token_for
from sidemirror_server.rpc.memory.memories import memory_to_wire
from sidemirror_server.vocabulary.errors import NotFound


async def list_reflection_versions(
    store: Memories, request: pb.ListReflectionVersionsRequest, call: Call
) -> pb.ListReflectionVersionsResponse:
    size = size_of(request.page_size, 50)
    query = (call.scope, "versions", request.reflection_id)
    before = place_in(request.page_token, int, "page_token", *query)
    found = await store.versions(call.scope, request.reflection_id, before, size + 1)
    if not found and before is None:
        raise NotFound("reflection", request.reflection_id)
    wires = fitting((memory_to_wire(memory, call.scope) for memory in found[:size]), pb.Memory.ByteSize)
    token = token_for(wires[-1].version, *query) if len(wires) < len(found) else ""
    return pb.ListReflectionVersionsResponse(versions=wires, next_page_token=token)
