"""Debate: several critics, some rounds, one verdict."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from sidemirror.v1 import critique_pb2 as pb
from sidemirror_server.critique import debate as debating
from sidemirror_server.critique.debate import DEFAULT_CRITICS, FEWEST_CRITICS, MOST_ROUNDS, Argument
from sidemirror_server.critique.keeping import About, Critic
from sidemirror_server.models.scoped_model import ScopedModel
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.recorded_turns import RecordedTurns
from sidemirror_server.rpc.critique.material import given_material
from sidemirror_server.rpc.wire.common import STATUSES, subjects_of, usage_to_wire
from sidemirror_server.rpc.wire.critiques import critique_to_wire, issue_to_wire
from sidemirror_server.vocabulary.errors import BadInput


async def debate(
    model: ScopedModel, critic: Critic, turns: RecordedTurns, request: pb.DebateRequest, call: Call
) -> AsyncGenerator[pb.DebateResponse, None]:
    heard_us = call.clock.now_us()
    material = await given_material(turns, request, call, needs_response=True)
    critics, rounds = request.critics or DEFAULT_CRITICS, request.max_rounds or MOST_ROUNDS
    if critics < FEWEST_CRITICS:
        raise BadInput([("critics", "a number from 2 to 5, or 0 for 3")])
    async with aclosing(debating.debate(model, call.scope, material, critics, rounds, call.model_time_s)) as parts:
        async for part in parts:
            if isinstance(part, Argument):
                yield _argument_to_wire(part)
                continue
            about = About(request.turn_id, request.session_id, "debate", subjects_of(request.subject_ids), heard_us)
            settled = await critic.settled(call.scope, part.verdict)
            critique = await critic.keep(call.scope, call.make_id(), material, settled, about)
            verdict = pb.DebateVerdict(critique=critique_to_wire(critique), rounds=part.rounds, agreed=part.agreed)
            yield pb.DebateResponse(verdict=verdict)


def _argument_to_wire(argument: Argument) -> pb.DebateResponse:
    return pb.DebateResponse(
        argument=pb.DebateArgument(
            round=argument.round,
            critic=argument.critic,
            brief=argument.brief,
            status=STATUSES[argument.status],
            detail=argument.detail,
            argument=argument.text,
            issue_details=[issue_to_wire(issue) for issue in argument.issues],
            should_revise=argument.revise,
            usage=usage_to_wire(argument.usage),
        )
    )
