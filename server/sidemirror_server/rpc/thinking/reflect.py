"""Reflect: one reflection on a turn, now."""

import asyncio
import contextlib

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.thinking.directives import left_to_wire, reflection_to_wire
from sidemirror_server.rpc.thinking.extra import extra_of
from sidemirror_server.rpc.thinking.turns import until
from sidemirror_server.thinking.record import Reflection
from sidemirror_server.thinking.turn import left
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.ids import DirectiveId, TurnId
from sidemirror_server.vocabulary.status import ResultStatus

# The end of a call's time in which it waits no longer for its reflection to be durable. A reflection is advice, which
# streams send before it is durable too. Chosen here: enough for an answer to reach its caller.
_LAST_S = 0.05


async def reflect(
    conductor: Conductor, recorder: Recorder, request: pb.ReflectRequest, call: Call
) -> pb.ReflectResponse:
    turn = await conductor.take_up(call.scope, TurnId(request.turn_id))
    directive_id = DirectiveId(call.make_id())
    if _said(turn, directive_id) is None and directive_id not in turn.state.claims:
        claimed = conductor.reflect(turn, directive_id, extra_of(request), call.remaining_s())
        if claimed.status is not ResultStatus.OK:
            return pb.ReflectResponse(
                result=reflection_to_wire(Reflection(claimed.status, claimed.detail)),
                budget_left=left_to_wire(left(turn.state, call.clock.now_us())),
            )
    reflection, sequence = await until(turn, lambda: _made(turn, directive_id))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_patience_s(call)):
            await recorder.wait_durable(turn, sequence)
    return pb.ReflectResponse(
        result=reflection_to_wire(reflection),
        directive_id=directive_id,
        budget_left=left_to_wire(left(turn.state, call.clock.now_us())),
    )


def _patience_s(call: Call) -> float | None:
    """How long the call may wait until its reflection is durable; None: as long as that takes."""
    remaining_s = call.remaining_s()
    return None if remaining_s is None else max(0.0, remaining_s - _LAST_S)


def _said(turn: LiveTurn, directive_id: DirectiveId) -> tuple[Reflection, int] | None:
    """The reflection of this directive, and its sequence number; None until it is made."""
    for item in reversed(turn.said):
        if item.directive.directive_id == directive_id and isinstance(item.directive.what, Reflection):
            return item.directive.what, item.sequence
    return None


def _made(turn: LiveTurn, directive_id: DirectiveId) -> tuple[Reflection, int] | None:
    """Like `_said`, but raises the turn's error if the turn is lost, because the reflection is then never made."""
    said = _said(turn, directive_id)
    if said is None and turn.lost is not None:
        raise turn.lost
    return said
