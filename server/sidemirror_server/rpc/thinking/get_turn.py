"""GetTurn: a turn, and a page of its record."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.critique.store import Critiques
from sidemirror_server.memory.recoveries.observations import Observations
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import PAGE_BYTES, place_in, size_of, token_for
from sidemirror_server.rpc.boundary.recorded_turns import given_a_moment
from sidemirror_server.rpc.thinking.directives import entry_to_wire
from sidemirror_server.rpc.thinking.follow_ups import follow_ups_of
from sidemirror_server.rpc.thinking.turn_critiques import critiques_of
from sidemirror_server.rpc.thinking.turns import beside_turns, turn_to_wire
from sidemirror_server.thinking.record import recorded_in
from sidemirror_server.trace.log import TurnLog
from sidemirror_server.trace.receipts import Receipts
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.errors import NotFound
from sidemirror_server.vocabulary.giving_way import GivesWay
from sidemirror_server.vocabulary.ids import TurnId


async def get_turn(
    log: TurnLog,
    critiques: Critiques,
    observations: Observations,
    receipts: Receipts,
    conductor: Conductor,
    recorder: Recorder,
    request: pb.GetTurnRequest,
    call: Call,
) -> pb.GetTurnResponse:
    turn_id = TurnId(request.turn_id)
    live = conductor.in_memory(call.scope, turn_id) or await conductor.completed(call.scope, turn_id)
    if live is not None:
        await given_a_moment(recorder.wait_durable(live, live.state.last_sequence))
    head = await log.head(call.scope, turn_id)
    if head is None:
        raise NotFound("turn", turn_id)
    query = (call.scope, "turn", turn_id, request.after_sequence)
    after = place_in(request.page_token, int, "page_token", *query)
    after = request.after_sequence if after is None else after
    size = size_of(request.page_size, 100)
    entries = await log.read(call.scope, turn_id, after, size, PAGE_BYTES)
    last = entries[-1].sequence if entries else after
    gives_way = GivesWay()
    recorded, told = [], []
    for entry in entries:
        await gives_way()
        one = recorded_in(entry)
        recorded.append(one)
        told.append(entry_to_wire(one, turn_id, entry.sequence, token_for(entry.position, call.scope)))
    judged: list[pb.TurnCritique] = []
    if not after:  # the first page
        judged = await critiques_of(critiques, log, call.scope, turn_id)
    beside = await beside_turns(receipts, critiques, call.scope, (turn_id,))
    return pb.GetTurnResponse(
        turn=turn_to_wire(head, call.clock.now_us(), tuple(live.state.claims) if live else (), beside),
        entries=told,
        next_page_token=token_for(last, *query) if entries and last < head.last_sequence else "",
        critiques=judged,
        follow_ups=await follow_ups_of(observations, call.scope, turn_id, recorded),
    )
