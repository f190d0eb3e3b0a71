"""Converter for tools' results that a request brings along. Each incoming text passes `enter` here, once."""

from typing import NamedTuple

from sidemirror.v1 import common_pb2 as pb
from sidemirror_server.rpc.wire.common import has_failed
from sidemirror_server.trace.given_secrets import enter_arguments
from sidemirror_server.vocabulary.text import enter


class GivenResult(NamedTuple):
    """What a tool was called with and returned, or why it failed."""

    name: str
    arguments: str
    text: str
    has_failed: bool


def tool_result_of(result: pb.ToolResult) -> GivenResult:
    """The record of a result."""
    arguments, given = enter_arguments(result.arguments)
    return GivenResult(enter(result.name), arguments, enter(result.error or result.content, given), has_failed(result))
