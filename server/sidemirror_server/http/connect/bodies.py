"""Reads the body of a request, within a length and a time, and notices a caller that has left."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import grpc

from sidemirror_server.http.asgi import Receive, Scope, only
from sidemirror_server.http.connect.errors import refusal
from sidemirror_server.http.connect.forms import too_long
from sidemirror_server.http.context import Ended

T = TypeVar("T")

# Seconds in which the whole body must be here. Chosen here: 4 MiB over a slow line within a data centre.
_BODY_S = 10.0


class Left(Exception):
    """The caller has closed the connection."""


async def read_body(scope: Scope, receive: Receive, most_bytes: int) -> bytes:
    """The whole body. Raises Ended when it is longer than `most_bytes` or too slow; Left."""
    told = only(scope, b"content-length")
    if told.isdigit() and int(told) > most_bytes:
        raise too_long(most_bytes)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_BODY_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Left
                parts.append(message["body"])
                size += len(message["body"])
                if size > most_bytes:
                    raise too_long(most_bytes)
                if not message["more_body"]:
                    return b"".join(parts)
    except TimeoutError as error:
        text = f"the request's body was not here within {_BODY_S:g} s"
        raise Ended(refusal(grpc.StatusCode.DEADLINE_EXCEEDED, text)) from error


async def while_there(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns. A caller that leaves cancels it, as over gRPC: raises Left. Comes after `read_body`."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(_left(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Left
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
