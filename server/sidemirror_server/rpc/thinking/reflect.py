"""Reflect: one reflection now, on a turn or on what the call brings."""

import asyncio
import contextlib

import msgspec

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.models.gateway import Gateway
from sidemirror_server.models.profiles import Within
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.thinking.directives import left_to_wire, reflection_to_wire
from sidemirror_server.rpc.thinking.extra import extra_of
from sidemirror_server.rpc.thinking.turns import until
from sidemirror_server.rpc.wire.config import budget_of
from sidemirror_server.thinking.prompts import ReflectionPrompts
from sidemirror_server.thinking.record import Reflection
from sidemirror_server.thinking.reflect import given_material
from sidemirror_server.thinking.reflect import reflect as reflection_on
from sidemirror_server.thinking.turn import left
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.reflecting import not_retired
from sidemirror_server.turns.retired import RetiredWords
from sidemirror_server.vocabulary.budget import ANSWER_S, BudgetLeft, Spent, budget_left, claim, model_timeout_s
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.ids import DirectiveId, TurnId
from sidemirror_server.vocabulary.status import ResultStatus, Usage

# The end of a call's time in which it waits no longer for its reflection to be durable. A reflection is advice, which
# streams send before it is durable too. Chosen here: enough for an answer to reach its caller.
_LAST_S = 0.05


async def reflect(
    conductor: Conductor,
    recorder: Recorder,
    gateway: Gateway,
    prompts: ReflectionPrompts,
    retired: RetiredWords,
    request: pb.ReflectRequest,
    call: Call,
) -> pb.ReflectResponse:
    if not request.turn_id:
        return await _without_turn(gateway, prompts, retired, request, call)
    if request.HasField("budget"):
        raise BadInput([("budget", "only without a turn, which has its own")])
    turn = await conductor.take_up(call.scope, TurnId(request.turn_id))
    directive_id = DirectiveId(call.make_id())
    if _said(turn, directive_id) is None and directive_id not in turn.state.claims:
        claimed = conductor.reflect(turn, directive_id, extra_of(request), call.remaining_s())
        if claimed.status is not ResultStatus.OK:
            refused = Reflection(claimed.status, claimed.detail)
            return _answer(refused, left(turn.state, call.clock.now_us()))
    reflection, sequence = await until(turn, lambda: _said(turn, directive_id))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_patience_s(call)):
            await recorder.wait_durable(turn, sequence)
    return _answer(reflection, left(turn.state, call.clock.now_us()), directive_id)


async def _without_turn(
    gateway: Gateway, prompts: ReflectionPrompts, retired: RetiredWords, request: pb.ReflectRequest, call: Call
) -> pb.ReflectResponse:
    """A reflection on the messages and tool results of the call, within its own budget. Nothing of it is kept."""
    if not request.messages and not request.tool_results:
        raise BadInput([("messages", "required without a turn, unless there are tool_results")])
    budget = budget_of(request.budget)
    claimed = claim(budget, Spent(), 0.0)
    if claimed.status is not ResultStatus.OK:
        refused = Reflection(claimed.status, claimed.detail)
        return _answer(refused, budget_left(budget, Spent(), 0.0))
    began_s = call.clock.monotonic_s()
    remaining_s = call.remaining_s()
    within_s = None if remaining_s is None else max(0.0, remaining_s - ANSWER_S)
    timeout_s = model_timeout_s(budget.time_limit_s, within_s)
    material = given_material(extra_of(request))
    within = Within(budget.max_tokens, budget.max_usd)
    made = await reflection_on(gateway, prompts, call.scope, material, timeout_s, within)
    made = await not_retired(retired, call.scope, made)
    took = made.usage or Usage("", "")
    spent = Spent(1, took.input_tokens + took.output_tokens, took.cost_usd or 0.0)
    # Its steps are no events.
    made = msgspec.structs.replace(made, cited_event_ids=())
    return _answer(made, budget_left(budget, spent, call.clock.monotonic_s() - began_s))


def _answer(reflection: Reflection, left_over: BudgetLeft, directive_id: str = "") -> pb.ReflectResponse:
    return pb.ReflectResponse(
        result=reflection_to_wire(reflection), directive_id=directive_id, budget_left=left_to_wire(left_over)
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
