"""ShouldReflect: whether now is the time for a reflection."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.thinking.directives import REASONS, write_left
from sidemirror_server.thinking.schedule import Decision, ScheduleFacts, decide
from sidemirror_server.thinking.sessions import config_in
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.thinking.turn import decision, left
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.head import head_in
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.vocabulary.errors import NotFound, WrongState
from sidemirror_server.vocabulary.ids import SessionId, TurnId


async def should_reflect(
    sessions: Sessions, conductor: Conductor, request: pb.ShouldReflectRequest, call: Call
) -> pb.ShouldReflectResponse:
    turn: LiveTurn | None
    if request.WhichOneof("target") == "turn_id":
        turn = await conductor.take_up(call.scope, TurnId(request.turn_id))
        if not turn.accepts:
            raise WrongState("turn", turn.state.turn_id, turn.state.standing.value)
    else:
        turn = await conductor.newest_open(call.scope, SessionId(request.session_id))
    if turn is None:
        return await _between_turns(sessions, conductor, request.session_id, call)
    response = _decision_to_wire(decision(turn.state))
    response.budget_left.SetInParent()
    write_left(response.budget_left, left(turn.state, call.clock.now_us()))
    return response


async def _between_turns(
    sessions: Sessions, conductor: Conductor, session_id: str, call: Call
) -> pb.ShouldReflectResponse:
    """The decision for a session without an open turn, from its configuration, turn count and left-over tool errors."""
    await conductor.settle_session(call.scope, SessionId(session_id))
    record = await sessions.get(call.scope, SessionId(session_id))
    if record is None:
        raise NotFound("session", session_id)
    left_over = head_in(record.newest_head).carried.tool_errors if record.newest_head else ()
    facts = ScheduleFacts(turn_count=record.turn_count, tool_errors=len(left_over))
    return _decision_to_wire(decide(config_in(record.body), facts))


def _decision_to_wire(decided: Decision) -> pb.ShouldReflectResponse:
    # Field by field: a constructor's keywords take three times as long.
    wire = pb.ShouldReflectResponse()
    wire.should_reflect = decided.should_reflect
    wire.reason = REASONS[decided.reason]
    if decided.matches:
        wire.matches.extend(REASONS[reason] for reason in decided.matches)
    return wire
