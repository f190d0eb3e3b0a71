"""ReportEvents: adds events to a turn with a single call."""

import asyncio
import contextlib

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.thinking.directives import directive_to_wire, is_sent, write_ack
from sidemirror_server.rpc.thinking.turn_events import events_of
from sidemirror_server.rpc.thinking.turns import until
from sidemirror_server.rpc.wire.common import seconds
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.recorder import Recorder

# Seconds left for the answer after the last wait. Chosen here: several times what it takes.
_ANSWER_S = 0.05
# Seconds that the answer waits for advice about a failing call. Chosen here: several times what a healthy store takes.
_TELL_S = 0.1


async def report_events(
    conductor: Conductor, recorder: Recorder, request: pb.ReportEventsRequest, call: Call
) -> pb.ReportEventsResponse:
    turn = await conductor.take_up_named(call.scope, request.turn_id, request.session_id)
    events = await events_of(request.events, turn.state.turn_id, call, turn.given)
    before, withdrawn = turn.state.last_sequence, len(turn.state.withdrawn)
    places = await conductor.take_in(turn, events)
    await recorder.wait_durable(turn, max(places, default=0))
    if turn.telling:
        await asyncio.wait(tuple(turn.telling.values()), timeout=call.time_for(_TELL_S, _ANSWER_S))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(call.time_for(seconds(request.wait), _ANSWER_S)):
            await until(turn, lambda: not turn.state.claims or turn.lost is not None or None)
    # Without `after_sequence`, a call without events answers with what was made while it waited.
    first = request.after_sequence if request.HasField("after_sequence") else min(places, default=before)
    said = [item for item in turn.said if item.sequence > first and item.directive.what is not turn.plan]
    is_withdrawn = set(turn.state.withdrawn).__contains__
    said = [item for item in said if is_sent(item.directive) and not is_withdrawn(item.directive.directive_id)]
    if said:
        await recorder.wait_durable(turn, said[-1].sequence)
    response = pb.ReportEventsResponse(
        directives=[directive_to_wire(item.directive, turn.state.turn_id, item.sequence) for item in said],
        turn_id=turn.state.turn_id,
    )
    write_ack(response.ack, turn, len(events), len(events), call.clock.now_us(), withdrawn)
    return response
