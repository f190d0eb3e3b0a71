"""ListTurns: a page of a session's turns, or of a project's."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, size_of, token_for
from sidemirror_server.rpc.thinking.turns import STATES, turn_to_wire
from sidemirror_server.trace.log import HeadKey, TurnLog
from sidemirror_server.vocabulary.ids import SessionId

_STANDINGS = {state: standing for standing, state in STATES.items()}


async def list_turns(log: TurnLog, request: pb.ListTurnsRequest, call: Call) -> pb.ListTurnsResponse:
    size = size_of(request.page_size, 50)
    query = (call.scope, "turns", request.session_id, request.state)
    after = place_in(request.page_token, HeadKey, "page_token", *query)
    session_id = SessionId(request.session_id) if request.session_id else None
    heads = await log.heads(call.scope, session_id, _STANDINGS.get(request.state), after, size + 1)
    more = heads[size - 1] if len(heads) > size else None
    now_us = call.clock.now_us()
    return pb.ListTurnsResponse(
        turns=[turn_to_wire(head, now_us, ()) for head in heads[:size]],
        next_page_token=token_for(HeadKey(more.started_us, more.turn_id), *query) if more else "",
    )
