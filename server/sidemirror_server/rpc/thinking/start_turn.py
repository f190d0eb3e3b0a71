"""StartTurn: starts a turn with a single call."""

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.thinking.directives import plan_to_wire
from sidemirror_server.rpc.thinking.turn_events import start_event
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.ids import TurnId


async def start_turn(
    conductor: Conductor, recorder: Recorder, request: pb.StartTurnRequest, call: Call
) -> pb.StartTurnResponse:
    turn_id, said = TurnId(call.make_id(request.turn_id)), request.user_message
    wire = pb.TurnEvent(
        turn_id=request.turn_id,
        subject_ids=request.subject_ids,
        turn_started=pb.TurnStarted(
            session_id=request.session_id,
            task=request.task,
            messages=[common_pb2.Message(role=common_pb2.MESSAGE_ROLE_USER, content=said)] if said else [],
            base_prompt=request.base_prompt,
            provider=request.provider,
            model=request.model,
            config=request.config,
            budget=request.budget,
            reflection_mode=request.reflection_mode or pb.REFLECTION_MODE_ON_REQUEST,
            critique_mode=request.critique_mode,
            context=request.context if request.HasField("context") else None,
            has_shell=request.has_shell,
            without_advice=request.without_advice,
        ),
    )
    event, started = await start_event(wire, call)
    is_new = not (request.turn_id or call.request_id)
    turn = await conductor.start(call.scope, turn_id, event, started, is_new=is_new, wait_for_store=True)
    await recorder.wait_durable(turn, 2)
    return pb.StartTurnResponse(plan=plan_to_wire(turn.plan))
