"""The shapes of ASGI, and one whole answer. Used by everything in `http/`."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias

# Pairs of a name in small letters and a value, as ASGI has them.
Headers: TypeAlias = list[tuple[bytes, bytes]]
Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

# On every answer: no cache keeps it, and no browser takes it for anything else than its type.
_ALWAYS: Headers = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
# Ends the connection after the answer. Needed where the request's body was not read: it may never end.
CLOSE = (b"connection", b"close")


def only(scope: Scope, name: bytes) -> str:
    """The value of a header; values of several are joined by ", ", as HTTP has it. Empty when there is none."""
    return ", ".join(value.decode("latin-1") for key, value in scope["headers"] if key == name)


def start(status: int, content_type: str, more: Iterable[tuple[bytes, bytes]] = ()) -> Message:
    """The message that begins an answer."""
    headers = [*_ALWAYS, (b"content-type", content_type.encode()), *more]
    return {"type": "http.response.start", "status": status, "headers": headers}


def part(body: bytes, *, more: bool) -> Message:
    """The message with a part of the answer's body; `more`: others follow."""
    return {"type": "http.response.body", "body": body, "more_body": more}


async def answer(
    send: Send, status: int, content_type: str, body: bytes, more: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Sends a whole answer."""
    await send(start(status, content_type, [*more, (b"content-length", str(len(body)).encode())]))
    await send(part(body, more=False))


async def tell(send: Send, status: int, text: str, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """Sends an answer that is a sentence."""
    await answer(send, status, "text/plain; charset=utf-8", f"{text}\n".encode(), more)


def guarded(send: Send) -> Send:
    """`send` for an application that is not ours: its answers have the headers that all have."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in _ALWAYS}
            kept = [pair for pair in message["headers"] if pair[0].lower() not in own]
            message = {**message, "headers": [*_ALWAYS, *kept]}
        await send(message)

    return sent
