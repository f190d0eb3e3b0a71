"""Converter for the messages and tool results that a request for a reflection adds to its turn."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.wire.common import has_failed
from sidemirror_server.rpc.wire.events import messages_of
from sidemirror_server.thinking.prompts import ToolOutcome
from sidemirror_server.thinking.reflect import Extra
from sidemirror_server.vocabulary.text import enter


def extra_of(request: pb.ReflectRequest | pb.GetReflectionPromptRequest) -> Extra:
    """The messages and tool results of a request."""
    results = tuple(
        ToolOutcome(enter(result.name), enter(result.error or result.content), has_failed(result))
        for result in request.tool_results
    )
    return Extra(messages_of(request.messages), results)
