"""Critique: a verdict on one response."""

from sidemirror.v1 import critique_pb2 as pb
from sidemirror_server.critique.keeping import About, Critic
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.recorded_turns import RecordedTurns
from sidemirror_server.rpc.critique.material import given_material
from sidemirror_server.rpc.wire.common import subjects_of
from sidemirror_server.rpc.wire.critiques import critique_to_wire
from sidemirror_server.turns.shell import safe_critique


async def critique(
    critic: Critic, turns: RecordedTurns, request: pb.CritiqueRequest, call: Call
) -> pb.CritiqueResponse:
    heard_us = call.clock.now_us()
    material = await given_material(turns, request, call, needs_response=False)
    about = About(request.turn_id, request.session_id, subject_ids=subjects_of(request.subject_ids), heard_us=heard_us)
    made = await critic.judge(
        call.scope, call.make_id(), material, about, call.model_time_s, compare_to=request.compare_to
    )
    if await turns.has_shell(call.scope, request.turn_id):
        made = safe_critique(made)
    return pb.CritiqueResponse(critique=critique_to_wire(made))
