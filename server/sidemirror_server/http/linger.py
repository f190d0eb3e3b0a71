"""Reads on for a moment before an answer that ends its connection.

A refusal does not wait for the body that it refuses. If the connection were closed while the body is on its way, the
kernel would reset it, and the caller would see that in place of the answer.
"""

import asyncio
import contextlib

from sidemirror_server.http.asgi import CLOSE, App, Message, Receive, Scope, Send

# How much is read and thrown away, and for how long. Chosen here: several times what the longest request, a hook, may
# have, and as long as loopback takes for it while other connections have their turns.
_MOST_BYTES = 48 * 1024 * 1024
_LONGEST_S = 2.0


def lingering(app: App) -> App:
    """The application, whose answers with `connection: close` wait for the rest of the request."""

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        has_more = True

        async def received() -> Message:
            nonlocal has_more
            message = await receive()
            has_more = message["type"] == "http.request" and message["more_body"]
            return message

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and CLOSE in message["headers"]:
                size = 0
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LONGEST_S):
                        while has_more and size < _MOST_BYTES:
                            size += len((await received()).get("body", b""))
            await send(message)

        await app(scope, received, sent)

    return served
