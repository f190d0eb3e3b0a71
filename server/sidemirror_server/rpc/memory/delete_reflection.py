"""DeleteReflection: removes a memory with its versions."""

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.store import Memories
from sidemirror_server.rpc.boundary.call import Call


async def delete_reflection(
    store: Memories, request: pb.DeleteReflectionRequest, call: Call
) -> pb.DeleteReflectionResponse:
    await store.delete(call.scope, request.reflection_id)
    return pb.DeleteReflectionResponse()
