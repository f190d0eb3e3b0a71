"""OTLP over HTTP: `POST /v1/traces` and its like, in protobuf or JSON, with gzip, as the protocol says.

The handlers are the boundary's (`rpc/otlp/services.py`). An error is a google.rpc.Status in the request's own form, or
in protobuf where it has none; 429 and 503 say when to send again.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import grpc
from google.protobuf import json_format
from google.rpc import error_details_pb2, status_pb2

from sidemirror_server.http.asgi import CLOSE, Headers, Receive, Scope, Send, answer, only
from sidemirror_server.http.connect.bodies import Left, read_body, while_there
from sidemirror_server.http.connect.errors import http_status_of, refusal
from sidemirror_server.http.connect.forms import GZIP, IDENTITY, decompressed, too_long
from sidemirror_server.http.context import Ended, HttpContext

_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
# Both names of RFC 9110.
_GZIPS = (GZIP, "x-gzip")
_RETRY_AFTER: Headers = [(b"retry-after", b"1")]


class Otlp:
    """An ASGI application that takes exports."""

    def __init__(self, paths: Mapping[str, Mapping[str, Any]], message_bytes: int) -> None:
        """`paths`: the handlers by path and content type. `message_bytes`: the largest export, as sent and without its
        compression."""
        self._paths = paths
        self._most_bytes = message_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handlers = self._paths[scope["path"]]
        content_type = _content_type(scope)
        if scope["method"] != "POST":
            status = refusal(grpc.StatusCode.UNIMPLEMENTED, "POST is expected")
            await self.refuse(scope, send, status, [(b"allow", b"POST"), CLOSE], code=405)
        elif content_type not in handlers:
            text = f"content-type: one of {', '.join(handlers)} is expected"
            await self.refuse(scope, send, refusal(grpc.StatusCode.INVALID_ARGUMENT, text), [CLOSE], code=415)
        else:
            with suppress(Left):
                await self._serve(handlers[content_type], content_type, scope, receive, send)

    async def refuse(
        self, scope: Scope, send: Send, status: status_pb2.Status, more: Headers, *, code: int | None = None
    ) -> None:
        """Answers with an error. `code`: of HTTP, where the status does not say it."""
        content_type = _JSON if _content_type(scope) == _JSON else _PROTOBUF
        await answer(send, code or _http_status(status), content_type, _written(status, content_type), more)

    async def _serve(self, handler: Any, content_type: str, scope: Scope, receive: Receive, send: Send) -> None:
        # A request whose body was not read ends its connection: the body may never end.
        more: Headers = [CLOSE]
        try:
            body = await read_body(scope, receive, self._most_bytes)
            more = []
            encoding = only(scope, b"content-encoding").strip().lower() or IDENTITY
            if encoding not in (IDENTITY, *_GZIPS):
                text = f"content-encoding {encoding[:20]!r} is not known: {GZIP} and {IDENTITY} are"
                await self.refuse(scope, send, refusal(grpc.StatusCode.INVALID_ARGUMENT, text), [], code=415)
                return
            body = await self._plain(encoding, body)
            response = await while_there(receive, handler.unary_unary(body, HttpContext(scope, None)))
        except Ended as ended:
            if _may_try_again(ended.status):
                more = [*more, *_RETRY_AFTER]
            await self.refuse(scope, send, ended.status, more)
            return
        await answer(send, 200, content_type, response)

    async def _plain(self, encoding: str, body: bytes) -> bytes:
        if encoding in _GZIPS and body:
            body = await asyncio.to_thread(decompressed, body, self._most_bytes)
        if len(body) > self._most_bytes:
            raise too_long(self._most_bytes)
        return body


def _content_type(scope: Scope) -> str:
    return only(scope, b"content-type").partition(";")[0].strip().lower()


def _may_try_again(status: status_pb2.Status) -> bool:
    return any(detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR) for detail in status.details)


def _http_status(status: status_pb2.Status) -> int:
    """An exporter repeats what got 429, 502, 503 or 504. What is too large for ever is none of these."""
    code = http_status_of(status)
    return 413 if code == 429 and not _may_try_again(status) else code


def _written(status: status_pb2.Status, content_type: str) -> bytes:
    said = json_format.MessageToJson(status, indent=None).encode() if content_type == _JSON else None
    return bytes(status.SerializeToString()) if said is None else said
