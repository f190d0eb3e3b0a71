"""BuildMemoryContext: a block of lessons for a task."""

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.finding.context import DEFAULT_ITEMS, MemoryContext
from sidemirror_server.memory.finding.fits import ContextTask
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.recorded_turns import RecordedTurns
from sidemirror_server.rpc.memory.memories import CATEGORY_NAMES
from sidemirror_server.rpc.wire.blocks import block_to_wire
from sidemirror_server.vocabulary.text import enter


async def build_memory_context(
    context: MemoryContext, turns: RecordedTurns, request: pb.BuildMemoryContextRequest, call: Call
) -> pb.BuildMemoryContextResponse:
    # A client that names the session alone means the turn that is open there: the record of that turn has the block.
    turn_id = request.turn_id or await turns.open_in(call.scope, request.session_id)
    task = ContextTask(
        task=enter(request.task),
        tools=tuple(dict.fromkeys(enter(tool) for tool in request.tools)),
        error_categories=tuple(
            dict.fromkeys(CATEGORY_NAMES[category] for category in request.error_categories if category)
        ),
        turn_id=turn_id,
        session_id=request.session_id,
        has_shell=request.has_shell or await turns.has_shell(call.scope, turn_id),
    )
    block = await context.build(
        *(call.scope, task, call.make_id(part="/receipt")),
        *(request.max_items or DEFAULT_ITEMS, request.max_tokens),
        request.holdout_fraction,
    )
    return pb.BuildMemoryContextResponse(block=block_to_wire(block))
