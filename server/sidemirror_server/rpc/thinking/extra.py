"""Converter for the messages and tool results that a request for a reflection adds to its turn."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.wire.events import messages_of
from sidemirror_server.rpc.wire.results import tool_result_of
from sidemirror_server.thinking.prompts import ToolOutcome
from sidemirror_server.thinking.reflect import Extra


def extra_of(request: pb.ReflectRequest | pb.GetReflectionPromptRequest) -> Extra:
    """The messages and tool results of a request."""
    results = tuple(
        ToolOutcome(result.name, result.text, result.has_failed) for result in map(tool_result_of, request.tool_results)
    )
    return Extra(messages_of(request.messages), results)
