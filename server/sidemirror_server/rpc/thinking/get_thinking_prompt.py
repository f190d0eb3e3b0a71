"""GetThinkingPrompt: the prompt and parameters of a thinking level, without a turn."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.wire.common import struct
from sidemirror_server.rpc.wire.config import LEVELS
from sidemirror_server.thinking.levels import ThinkLevel, level_named
from sidemirror_server.thinking.provider_parameters import plan_thinking

_LEVELS = {number: level_named(name) for number, name in LEVELS.items()}
_LEVEL_NUMBERS = {level: number for number, level in _LEVELS.items()}


async def get_thinking_prompt(request: pb.GetThinkingPromptRequest, call: Call) -> pb.GetThinkingPromptResponse:
    level = _LEVELS.get(request.level, ThinkLevel.OFF)
    plan = plan_thinking(request.base_prompt, level, request.provider, request.model)
    unknown = request.level not in _LEVELS and request.level != pb.THINK_LEVEL_UNSPECIFIED
    clamps = (f"level {request.level} is not known: OFF applies",) if unknown else ()
    # Field by field: a constructor's keywords take three times as long.
    response = pb.GetThinkingPromptResponse()
    response.prompt = plan.prompt
    response.token_budget = plan.token_budget
    response.provider_parameters.SetInParent()
    if plan.provider_parameters:
        response.provider_parameters.CopyFrom(struct(plan.provider_parameters))
    if clamps or plan.clamps:
        response.clamps.extend((*clamps, *plan.clamps))
    response.requested_level = request.level
    response.applied_level = _LEVEL_NUMBERS[plan.level]
    return response
