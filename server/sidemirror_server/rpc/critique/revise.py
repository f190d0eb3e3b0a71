"""Revise: alternates verdicts and revisions, and streams each step as it is made."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import assert_never

import msgspec

from sidemirror.v1 import critique_pb2 as pb
from sidemirror_server.critique import record
from sidemirror_server.critique import revise as revising
from sidemirror_server.critique.keeping import About, Critic
from sidemirror_server.critique.material import CritiqueMaterial
from sidemirror_server.critique.revise import DEFAULT_REVISIONS, Compared, KeptResponse, Revised, StepVerdict
from sidemirror_server.models.scoped_model import ScopedModel
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.recorded_turns import RecordedTurns
from sidemirror_server.rpc.critique.material import given_material
from sidemirror_server.rpc.wire.common import STATUSES, subjects_of, usage_to_wire
from sidemirror_server.rpc.wire.critiques import comparison_to_wire, critique_to_wire


async def revise(
    model: ScopedModel, critic: Critic, turns: RecordedTurns, request: pb.ReviseRequest, call: Call
) -> AsyncGenerator[pb.ReviseResponse, None]:
    heard_us = call.clock.now_us()
    material = await given_material(turns, request, call, needs_response=True)
    revisions = request.max_revisions or DEFAULT_REVISIONS
    kept_id = ""
    # Closed when the client leaves, which ends the model call in progress.
    judge = partial(critic.verdict, call.scope)
    async with aclosing(revising.revise(model, judge, call.scope, material, revisions, call.model_time_s)) as steps:
        async for step in steps:
            if isinstance(step, StepVerdict):
                critique = await _keep_step(critic, step, material, request, call, heard_us)
                kept_id = critique.critique_id or kept_id
                told = pb.ReviseCritique(number=step.number, critique=critique_to_wire(critique))
                yield pb.ReviseResponse(critique=told)
            else:
                yield _step_to_wire(step, kept_id)


async def _keep_step(
    critic: Critic, step: StepVerdict, material: CritiqueMaterial, request: pb.ReviseRequest, call: Call, heard_us: int
) -> record.Critique:
    judged = msgspec.structs.replace(material, response=step.response)
    about = About(request.turn_id, request.session_id, subject_ids=subjects_of(request.subject_ids), heard_us=heard_us)
    return await critic.keep(call.scope, call.make_id(part=f"/{step.number}"), judged, step.verdict, about)


def _step_to_wire(step: Revised | Compared | KeptResponse, critique_id: str) -> pb.ReviseResponse:
    """A step other than a verdict. `critique_id`: the last verdict that was stored."""
    match step:
        case Revised():
            revision = pb.Revision(
                number=step.number,
                status=STATUSES[step.status],
                detail=step.detail,
                response=step.response,
                usage=usage_to_wire(step.usage),
            )
            return pb.ReviseResponse(revision=revision)
        case Compared():
            comparison = comparison_to_wire(step.comparison)
            return pb.ReviseResponse(comparison=pb.ReviseComparison(number=step.number, comparison=comparison))
        case KeptResponse():
            result = pb.ReviseResult(
                response=step.response,
                number=step.number,
                revised=step.number > 0,
                reason=step.reason,
                critique_id=critique_id,
            )
            return pb.ReviseResponse(result=result)
        case _:
            assert_never(step)
