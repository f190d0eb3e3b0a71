"""GetReflectionPrompt: the prompt of a reflection, for agents that ask their own model."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.thinking.extra import extra_of
from sidemirror_server.thinking.prompts import ReflectionPrompts
from sidemirror_server.thinking.reflect import material_of, prompt_of
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.vocabulary.ids import TurnId


async def get_reflection_prompt(
    conductor: Conductor, prompts: ReflectionPrompts, request: pb.GetReflectionPromptRequest, call: Call
) -> pb.GetReflectionPromptResponse:
    turn = await conductor.take_up(call.scope, TurnId(request.turn_id))
    material = material_of(turn.state, extra_of(request))
    return pb.GetReflectionPromptResponse(system=prompts.system(), prompt=prompt_of(material, prompts))
