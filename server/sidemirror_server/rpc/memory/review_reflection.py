"""ReviewReflection: a person activates, quarantines or retires a memory."""

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.record import Change, MemoryState, Quarantine, Revision
from sidemirror_server.memory.store import Memories
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.memory.memories import STATE_NAMES, memory_to_wire, repeatable_id
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.text import enter


async def review_reflection(
    store: Memories, request: pb.ReviewReflectionRequest, call: Call
) -> pb.ReviewReflectionResponse:
    state = STATE_NAMES.get(request.state)
    if state is None:
        raise BadInput([("state", "required")])
    quarantine = Quarantine.REVIEWED if state is MemoryState.QUARANTINED else None
    revision = Revision(
        *(Change.REVIEWED, enter(request.reason)),
        state=state,
        quarantine=quarantine,
        revision_id=repeatable_id(call),
        changed_by=call.caller_name,
    )
    changed = await store.revise(call.scope, request.reflection_id, revision, call.clock.now_us())
    return pb.ReviewReflectionResponse(memory=memory_to_wire(changed, call.scope))
