"""ListTurns: a page of a session's turns, or of a project's."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.critique.store import Critiques
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import ALL_TIME, place_in, size_of, span_in, token_for
from sidemirror_server.rpc.thinking.turns import beside_turns, turn_to_wire
from sidemirror_server.rpc.wire.common import OUTCOME_NAMES, TURN_STATES
from sidemirror_server.trace.log import HeadKey, TurnLog
from sidemirror_server.trace.receipts import Receipts
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.ids import SessionId, TurnId

_STANDINGS = {state: standing for standing, state in TURN_STATES.items()}


async def list_turns(
    log: TurnLog, receipts: Receipts, critiques: Critiques, request: pb.ListTurnsRequest, call: Call
) -> pb.ListTurnsResponse:
    size = size_of(request.page_size, 50)
    span = span_in(request)
    outcomes = _outcomes_in(request)
    narrowed = (outcomes, span) if outcomes or span != ALL_TIME else ()
    query = (call.scope, "turns", request.session_id, request.state, *narrowed)
    after = place_in(request.page_token, HeadKey, "page_token", *query)
    session_id = SessionId(request.session_id) if request.session_id else None
    if after is None and span.until_us is not None:
        after = HeadKey(span.until_us, TurnId(""))
    heads = await log.heads(
        *(call.scope, session_id, _STANDINGS.get(request.state), after, size + 1),
        outcomes=outcomes,
        from_us=span.from_us,
    )
    more = heads[size - 1] if len(heads) > size else None
    page, now_us = heads[:size], call.clock.now_us()
    beside = await beside_turns(receipts, critiques, call.scope, [head.turn_id for head in page])
    return pb.ListTurnsResponse(
        turns=[turn_to_wire(head, now_us, (), beside) for head in page],
        next_page_token=token_for(HeadKey(more.started_us, more.turn_id), *query) if more else "",
    )


def _outcomes_in(request: pb.ListTurnsRequest) -> tuple[str, ...]:
    """The outcomes that are asked for, each once and in order. Raises BadInput for one that is not known."""
    for place, number in enumerate(request.outcomes):
        if number not in OUTCOME_NAMES:
            raise BadInput([(f"outcomes[{place}]", "not a known outcome")])
    return tuple(sorted({OUTCOME_NAMES[number] for number in request.outcomes}))
