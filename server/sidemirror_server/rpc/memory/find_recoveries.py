"""FindRecoveries: what repaired a failure like this one before."""

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.recoveries.asked import asked
from sidemirror_server.memory.recoveries.deciding import FailedAttempt
from sidemirror_server.memory.recoveries.finding import RecoveryFinder, receipt_id_of
from sidemirror_server.memory.recoveries.signed import failure_signature
from sidemirror_server.memory.recoveries.starter import dialect_of
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.recorded_turns import RecordedTurns
from sidemirror_server.rpc.wire.blocks import block_to_wire
from sidemirror_server.trace.given_secrets import enter_arguments
from sidemirror_server.vocabulary.text import enter


async def find_recoveries(
    finder: RecoveryFinder, turns: RecordedTurns, request: pb.FindRecoveriesRequest, call: Call
) -> pb.FindRecoveriesResponse:
    tool = enter(request.tool)
    arguments, given = enter_arguments(request.arguments)
    what = asked(tool, arguments)
    error_text = enter(request.error_text, given)
    failed = FailedAttempt(
        failure_signature(what, error_text),
        is_json=what.is_json,
        turn_id=request.turn_id,
        session_id=request.session_id,
        label=what.label,
        dialect=dialect_of(tool, error_text),
        values=what.values,
        has_shell=request.has_shell or await turns.has_shell(call.scope, request.turn_id),
    )
    of_turn = receipt_id_of(call.scope, request.turn_id, failed.signature)
    receipt_id = of_turn if request.turn_id else call.make_id(part="/receipt")
    block = (await finder.find(call.scope, failed, receipt_id)).block
    return pb.FindRecoveriesResponse(signature=failed.signature, block=block_to_wire(block))
