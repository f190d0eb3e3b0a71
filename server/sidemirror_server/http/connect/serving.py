"""Connect over the handlers of the boundary: `POST /package.Service/Method`, in JSON or protobuf.

Unary calls and server streams; client streams and bidi streams need HTTP/2 and are answered with `unimplemented`. There
is no GET. The handlers are those of gRPC: they take and give bytes, and a context (`http/context.py`).
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Any, TypeAlias

import grpc
import msgspec
from google.protobuf.descriptor import Descriptor, MethodDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions

from sidemirror_server.http.asgi import CLOSE, Headers, Receive, Scope, Send, answer, only, part, start, tell
from sidemirror_server.http.connect.bodies import Left, read_body, while_there
from sidemirror_server.http.connect.errors import error_of, refusal, refuse
from sidemirror_server.http.connect.forms import (
    GZIP,
    HEAD_BYTES,
    IDENTITY,
    Form,
    Head,
    compressed,
    decompressed,
    form_of,
    forms_of,
    framed,
    head_of,
    only_frame,
    too_long,
    worth_gzip,
)
from sidemirror_server.http.connect.json_messages import BadJson, JsonMessages, WorkerEnded
from sidemirror_server.http.context import Ended, HttpContext
from sidemirror_server.rpc.boundary.status import status_of
from sidemirror_server.vocabulary.errors import MalformedMessage

Unary: TypeAlias = Callable[[bytes, Any], Awaitable[bytes]]
Stream: TypeAlias = Callable[[bytes, Any], AsyncGenerator[bytes, None]]

# The call's own deadline. It has no details, as if the client had noticed it first, because either may be the first.
TOO_LATE = refusal(grpc.StatusCode.DEADLINE_EXCEEDED, "the call's deadline passed before the server could answer")
# Larger bodies are compressed on a thread; zlib lets the others run meanwhile.
_LARGE_BYTES = 16 * 1024


class Method(msgspec.Struct, frozen=True):
    """A method of the contract with its gRPC handler; None: it is not served."""

    contract: MethodDescriptor
    handler: Any

    @property
    def streams(self) -> bool:
        """Whether its messages are in frames."""
        return bool(self.contract.client_streaming or self.contract.server_streaming)


def methods_of(contract: Any, handlers: Mapping[str, Any]) -> dict[str, Method]:
    """The service's methods by their paths. `handlers`: gRPC's, by the name of the RPC."""
    return {
        f"/{contract.full_name}/{method.name}": Method(method, handlers.get(method.name)) for method in contract.methods
    }


def changes_nothing(method: Method) -> bool:
    """Whether the contract says that calls of it have no effect."""
    level: int = method.contract.GetOptions().idempotency_level
    return level == MethodOptions.NO_SIDE_EFFECTS


class Connect:
    """An ASGI application that serves these methods."""

    def __init__(self, methods: Mapping[str, Method], message_bytes: int) -> None:
        """`methods`: by path. `message_bytes`: the largest request, as sent and without its compression."""
        self._methods = methods
        self._most_bytes = message_bytes
        self._messages = JsonMessages(
            file
            for method in methods.values()
            for file in (method.contract.input_type.file, method.contract.output_type.file)
        )

    async def close(self) -> None:
        """Ends the worker that converts long messages."""
        await self._messages.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Not errors of Connect: a client derives their code from the status of HTTP.
        method = self._methods.get(scope["path"])
        if method is None:
            await tell(send, 404, "no such RPC is served here", [CLOSE])
            return
        if scope["method"] != "POST":
            await tell(send, 405, "POST is expected", [(b"allow", b"POST"), CLOSE])
            return
        form = form_of(only(scope, b"content-type"))
        if form is None or form.streams is not method.streams:
            expected = forms_of(streams=method.streams)
            more = [(b"accept-post", expected.encode()), CLOSE]
            await tell(send, 415, f"content-type: one of {expected} is expected", more)
            return
        call = _Call(method, form, scope, receive, send, self._most_bytes, self._messages)
        with suppress(Left):
            await (call.stream() if method.streams else call.unary())


class _Call:
    """One call."""

    def __init__(
        self,
        method: Method,
        form: Form,
        scope: Scope,
        receive: Receive,
        send: Send,
        most_bytes: int,
        messages: JsonMessages,
    ) -> None:
        self._method = method
        self._form = form
        self._scope = scope
        self._receive = receive
        self._send = send
        self._most_bytes = most_bytes
        self._messages = messages
        self._has_begun = False
        # Of a stream's answer.
        self._coding = IDENTITY
        # A request whose body was not read ends its connection: the body may never end.
        self._more: Headers = [CLOSE]
        self._context = HttpContext(scope, None)

    async def unary(self) -> None:
        """Serves a unary call."""
        try:
            head = head_of(self._scope, self._form)
            self._context = context = HttpContext(self._scope, head.timeout_s)
            async with asyncio.timeout(head.timeout_s):
                request = await self._request(head)
                response = await while_there(self._receive, self._method.handler.unary_unary(request, context))
                body = await self._written(response)
        except Ended as ended:
            await refuse(self._send, ended.status, [*self._more, *self._ending()])
            return
        except TimeoutError:
            await refuse(self._send, TOO_LATE, [*self._more, *self._ending()])
            return
        more = [*self._ending(), (b"accept-encoding", GZIP.encode())]
        if worth_gzip(body, accepted=head.accepts_gzip):
            body = await _compressed(body)
            more.append((b"content-encoding", GZIP.encode()))
        await answer(self._send, 200, self._form.content_type, body, more)

    def _ending(self) -> Headers:
        """The headers and trailers that the handler has set; of a unary call all are headers."""
        trailers = [(f"trailer-{key}", value) for key, value in self._context.trailing]
        return _coded([*self._context.initial, *trailers])

    async def stream(self) -> None:
        """Serves a stream. Its HTTP status is 200 whatever happens: errors stand in its last frame."""
        error = None
        try:
            head = head_of(self._scope, self._form)
            self._context = context = HttpContext(self._scope, head.timeout_s)
            context.begin = self._begin
            self._coding = GZIP if head.accepts_gzip else IDENTITY
            async with asyncio.timeout(head.timeout_s):
                if self._method.contract.client_streaming:
                    text = "streams of requests need gRPC; over HTTP/1.1 there are single requests"
                    raise Ended(refusal(grpc.StatusCode.UNIMPLEMENTED, text))
                request = await self._request(head)
                await while_there(self._receive, self._stream_out(request, head))
        except Ended as ended:
            error = ended.status
        except TimeoutError:
            error = TOO_LATE
        end: dict[str, Any] = {} if error is None else {"error": error_of(error)}
        if self._context.trailing:
            metadata: dict[str, list[str]] = {}
            for key, value in self._context.trailing:
                metadata.setdefault(key, []).append(value)
            end["metadata"] = metadata
        await self._begin()
        await self._send(part(framed(json.dumps(end).encode(), is_end=True), more=False))

    async def _stream_out(self, request: bytes, head: Head) -> None:
        async with aclosing(self._method.handler.unary_stream(request, self._context)) as responses:
            async for response in responses:
                body = await self._written(response)
                if is_compressed := worth_gzip(body, accepted=head.accepts_gzip):
                    body = await _compressed(body)
                await self._begin()
                await self._send(part(framed(body, is_compressed=is_compressed), more=True))
                # A stream that has much to say must not keep the loop from others.
                await asyncio.sleep(0)

    async def _begin(self) -> None:
        """Sends the head of a stream's answer, once."""
        if not self._has_begun:
            self._has_begun = True
            codings = ((b"connect-accept-encoding", GZIP), (b"connect-content-encoding", self._coding))
            more = [(name, coding.encode()) for name, coding in codings]
            initial = _coded(self._context.initial)
            await self._send(start(200, self._form.content_type, [*more, *initial, *self._more]))

    async def _request(self, head: Head) -> bytes:
        """The request as protobuf's bytes. Raises Ended, and Left."""
        if self._method.handler is None:
            raise Ended(refusal(grpc.StatusCode.UNIMPLEMENTED, "this method is not served"))
        frame_bytes = HEAD_BYTES if self._form.streams else 0
        body = await read_body(self._scope, self._receive, self._most_bytes + frame_bytes)
        self._more = []
        is_compressed = head.encoding == GZIP
        if self._form.streams:
            body, marked = only_frame(body)
            if marked and not is_compressed:
                text = "a message is marked as compressed, and no encoding is named"
                raise Ended(refusal(grpc.StatusCode.INTERNAL, text))
            is_compressed = marked
        if is_compressed and body:
            body = await asyncio.to_thread(decompressed, body, self._most_bytes)
        if len(body) > self._most_bytes:
            raise too_long(self._most_bytes)
        if self._form.codec == "proto":
            return body
        return await self._read(self._method.contract.input_type, body)

    async def _read(self, descriptor: Descriptor, body: bytes) -> bytes:
        try:
            return await self._messages.read(descriptor, body)
        except BadJson as error:
            status = status_of(MalformedMessage(expected=descriptor.full_name))
            status.message = f"the body is no JSON of {descriptor.full_name}: {error}"
            raise Ended(status) from error
        except WorkerEnded as error:
            raise _unavailable() from error

    async def _written(self, response: bytes) -> bytes:
        if self._form.codec == "proto":
            return response
        try:
            return await self._messages.write(self._method.contract.output_type, response)
        except BadJson as error:
            text = f"the answer cannot be JSON, ask for protobuf: {error}"
            raise Ended(refusal(grpc.StatusCode.INTERNAL, text)) from error
        except WorkerEnded as error:
            raise _unavailable() from error


def _unavailable() -> Ended:
    return Ended(refusal(grpc.StatusCode.UNAVAILABLE, "the conversion of a long message ended; ask again"))


async def _compressed(body: bytes) -> bytes:
    return compressed(body) if len(body) < _LARGE_BYTES else await asyncio.to_thread(compressed, body)


def _coded(pairs: list[tuple[str, str]]) -> Headers:
    return [(key.lower().encode("ascii"), value.encode("latin-1")) for key, value in pairs]
