"""What an agent adds to what its turn knows, for a reflection."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.wire.common import has_failed
from sidemirror_server.rpc.wire.events import messages_of
from sidemirror_server.thinking.prompts import ToolOutcome
from sidemirror_server.thinking.reflect import Extra
from sidemirror_server.vocabulary.text import enter


def extra_of(request: pb.ReflectRequest | pb.GetReflectionPromptRequest) -> Extra:
    """What the agent adds to what the turn knows."""
    results = tuple(
        ToolOutcome(enter(result.name), enter(result.error or result.content), has_failed(result))
        for result in request.tool_results
    )
    return Extra(messages_of(request.messages), results)
