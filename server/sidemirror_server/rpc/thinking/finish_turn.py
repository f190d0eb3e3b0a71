"""FinishTurn: ends a turn with a single call."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.thinking.directives import summary_to_wire
from sidemirror_server.rpc.thinking.turns import until
from sidemirror_server.rpc.wire.common import OUTCOME_NAMES
from sidemirror_server.trace.event import Event, TurnFinished, origin_of
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.ids import EventId


async def finish_turn(
    conductor: Conductor, recorder: Recorder, request: pb.FinishTurnRequest, call: Call
) -> pb.FinishTurnResponse:
    turn = await conductor.take_up_named(call.scope, request.turn_id, request.session_id)
    score = request.score if request.HasField("score") else None
    what = TurnFinished(OUTCOME_NAMES[request.outcome], score)
    event = Event(EventId(call.make_id()), call.clock.now_us(), what, origin_of(what))
    await conductor.take_in(turn, [event])
    summary = await until(turn, lambda: turn.state.summary)
    await recorder.wait_durable(turn, turn.state.last_sequence)
    return pb.FinishTurnResponse(summary=summary_to_wire(summary), turn_id=turn.state.turn_id)
