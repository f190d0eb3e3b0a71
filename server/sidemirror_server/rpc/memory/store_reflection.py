"""StoreReflection: stores a result that a client sends back."""

import msgspec

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.lessons.keeping import Keeper
from sidemirror_server.memory.record import quarantine_word
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.recorded_turns import RecordedTurns
from sidemirror_server.rpc.memory.memories import STATES
from sidemirror_server.rpc.memory.results import ids_of, result_of
from sidemirror_server.rpc.wire.common import subjects_of
from sidemirror_server.trace.sources import SourceKind, keys


async def store_reflection(
    keeper: Keeper, turns: RecordedTurns, request: pb.StoreReflectionRequest, call: Call
) -> pb.StoreReflectionResponse:
    heard_us = call.clock.now_us()
    subject_ids = subjects_of(request.subject_ids)
    result, more = result_of(request.result, request.session_id, subject_ids, heard_us)
    in_session = keys(SourceKind.SUBJECT, await turns.subjects_of_session(call.scope, result.session_id))
    result = msgspec.structs.replace(result, sources=tuple(dict.fromkeys((*result.sources, *in_session))))
    stored = await keeper.keep(call.scope, result, ids_of(call), more=more, heard_us=heard_us, by=call.caller_name)
    answer = pb.StoreReflectionResponse(
        reflection_id=stored.reflection_id, strategy_id=stored.strategy_id, not_stored_reason=stored.reason
    )
    if (now := stored.reflection) is not None:
        answer.state = STATES[now.state]
        if now.quarantine:
            answer.quarantine, answer.quarantine_reason = quarantine_word(now), now.reason
    return answer
