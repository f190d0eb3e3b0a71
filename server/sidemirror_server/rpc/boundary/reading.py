"""What the boundary reads of requests: from bytes to messages that are within the limits, each when it is its agent's
turn."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, TypeVar

from google.protobuf.message import DecodeError, Message

from sidemirror_server.rpc.boundary.limits import checker_of
from sidemirror_server.rpc.boundary.shares import Share
from sidemirror_server.vocabulary.errors import BadInput, MalformedMessage

# Bytes of a request that are read on the event loop; more are read on a thread, while other calls go on. Chosen here:
# some milliseconds. A whole message of texts that look like secrets takes a second and more.
AT_ONCE_BYTES = 64 * 1024

Req = TypeVar("Req", bound=Message)
# Calls that ask no model. Those that wait for reflections, because their caller says so (`wait`), are left out.
_PLAIN = frozenset(("StartTurn", "ReportEvents", "ShouldReflect", "GetThinkingPrompt"))


def is_timed_of(method: str, request_type: type[Message]) -> Callable[[Any], bool]:
    """Whether the time that a call with this request takes says how busy the sidecar is."""
    is_plain = method.rpartition("/")[2] in _PLAIN
    if is_plain and "wait" in request_type.DESCRIPTOR.fields_by_name:
        return lambda request: not request.HasField("wait")
    return lambda _: is_plain


def is_write_of(request_type: type[Message]) -> bool:
    """Whether the request has a request_id."""
    return "request_id" in request_type.DESCRIPTOR.fields_by_name


def reader_of(request_type: type[Req], text_bytes: int) -> tuple[Callable[[bytes], Req], Callable[[Req], None]]:
    """A parser and a checker of requests. grpc.aio's own parsing would answer malformed bytes with UNKNOWN."""
    violations_of = checker_of(request_type, text_bytes)

    def parse(raw: bytes) -> Req:
        try:
            return request_type.FromString(raw)
        except DecodeError as error:
            raise MalformedMessage(expected=request_type.DESCRIPTOR.full_name) from error

    def check(request: Req) -> None:
        if violations := violations_of(request):
            raise BadInput(violations)

    return parse, check


async def requests_of(
    raws: AsyncIterator[bytes],
    parse: Callable[[bytes], Req],
    check: Callable[[Req], None],
    heard: Callable[[], None],
    share: Share | None,
    method: str,
    events_in: Callable[[bytes], int],
) -> AsyncIterator[Req]:
    """The client's requests to this method, parsed and checked, each when it is its agent's turn. The handler checks
    the first one, once its scope is known. `events_in`: how many events one has that is not parsed yet."""
    is_first = may_be_large = True
    messages = aiter(raws)
    while (raw := await _next(messages, heard, share, method, events_in, may_be_large=may_be_large)) is not None:
        read = partial(_read, raw, parse, None if is_first else check)
        is_first, may_be_large = False, len(raw) > AT_ONCE_BYTES
        yield read() if len(raw) <= AT_ONCE_BYTES else await asyncio.to_thread(read)


async def _next(
    messages: AsyncIterator[bytes],
    heard: Callable[[], None],
    share: Share | None,
    method: str,
    events_in: Callable[[bytes], int],
    *,
    may_be_large: bool,
) -> bytes | None:
    """The next message once it is its agent's turn; None after the last one."""
    release: Callable[[], None] | None = None
    if share is not None and may_be_large:
        release = await share.read_alone(method)
    elif share is not None:
        await share.room()
    raw: bytes | None = None
    try:
        raw = await anext(messages, None)
        if raw is not None:
            heard()
            if share is not None:
                await share.pace(len(raw), method, events=events_in(raw))
        return raw
    except BaseException:
        raw = b""  # the error's traceback holds this frame
        raise
    finally:
        if release is not None:
            release()


def _read(raw: bytes, parse: Callable[[bytes], Req], check: Callable[[Req], None] | None) -> Req:
    request = parse(raw)
    if check is not None:
        check(request)
    return request
