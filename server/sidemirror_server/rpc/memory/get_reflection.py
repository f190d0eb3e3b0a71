"""GetReflection: a memory as it is now."""

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.store import Memories
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.memory.memories import memory_to_wire, read_memory


async def get_reflection(store: Memories, request: pb.GetReflectionRequest, call: Call) -> pb.GetReflectionResponse:
    return pb.GetReflectionResponse(
        memory=memory_to_wire(await read_memory(store, call, request.reflection_id), call.scope)
    )
