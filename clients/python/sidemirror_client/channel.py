"""A channel whose calls are made on the loop of `background.py`, for callers on any loop.

The contract's stubs take it for one of grpc.aio. Beyond that a call's `result` waits for a caller without a loop.
"""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from queue import SimpleQueue
from typing import Any, TypeVar

import grpc
from grpc import aio

from sidemirror_client.background import BACKGROUND
from sidemirror_client.problem import problem_of

# The methods of a call that wait.
_WAITING = frozenset(
    {"code", "details", "initial_metadata", "trailing_metadata", "wait_for_connection", "write", "done_writing"}
)

# What an iterator of requests gives when it has ended.
_NO_MORE = object()
# A call that is longer in progress on a connection that was left ends with it.
_LINGER_S = 300.0


class Call:
    """One call, as grpc.aio has them."""

    def __init__(self, begin: Callable[[], Any], heard: Callable[[], None]) -> None:
        """`begin` makes the call of grpc.aio, on its own loop. `heard`: called there when the sidecar has answered."""
        self._heard = heard
        self._begun: Future[Any] = BACKGROUND.start(_begin(begin))

    def __del__(self) -> None:
        # The call of grpc.aio ends with its last reference, which must not go on another thread than its loop's.
        box = [self.__dict__.pop("_begun", None)]
        BACKGROUND.let_go(box)

    def __await__(self) -> Any:
        return self._across(self._answer()).__await__()

    async def __aiter__(self) -> AsyncIterator[Any]:
        while (response := await self.read()) is not aio.EOF:
            yield response

    def __iter__(self) -> Iterator[Any]:
        """The responses, for a caller without a loop."""
        while (response := BACKGROUND.start(self._read()).result()) is not aio.EOF:
            yield response

    def result(self) -> Any:
        """The answer, for a caller without a loop. Raises AioRpcError."""
        return BACKGROUND.start(self._answer()).result()

    async def read(self) -> Any:
        """The next response, or `grpc.aio.EOF`."""
        return await self._across(self._read())

    def cancel(self) -> bool:
        """Ends the call."""
        self._begun.add_done_callback(lambda begun: BACKGROUND.soon(_cancel, begun))
        return not self.done()

    def done(self) -> bool:
        return self._begun.done() and (self._begun.exception() is not None or self._begun.result().done())

    def cancelled(self) -> bool:
        return self._begun.done() and self._begun.exception() is None and bool(self._begun.result().cancelled())

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        """Has `callback` called when the call is done, on the thread of our loop."""
        self._begun.add_done_callback(lambda begun: BACKGROUND.soon(_tell, begun, callback))

    def time_remaining(self) -> float | None:
        """Seconds until the deadline."""
        remaining: float | None = self._begun.result().time_remaining()
        return remaining

    def __getattr__(self, name: str) -> Any:
        if name not in _WAITING:
            raise AttributeError(name)

        def wait(*arguments: Any) -> Coroutine[Any, Any, Any]:
            return self._across(self._do(name, *arguments))

        return wait

    async def _across(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return await BACKGROUND.across(work)
        except asyncio.CancelledError:
            self.cancel()
            raise

    async def _answer(self) -> Any:
        return await self._hear(await asyncio.wrap_future(self._begun))

    async def _read(self) -> Any:
        return await self._hear((await asyncio.wrap_future(self._begun)).read())

    async def _hear(self, answer: Awaitable[Any]) -> Any:
        try:
            said = await answer
        except aio.AioRpcError as error:
            if problem_of(error).reason:
                self._heard()
            raise
        self._heard()
        return said

    async def _do(self, name: str, *arguments: Any) -> Any:
        return await getattr(await asyncio.wrap_future(self._begun), name)(*arguments)


class SyncCall(Call):
    """The same as grpc has it, for a caller without a loop: a future, or an iterator of responses, whose methods wait
    themselves."""

    def __next__(self) -> Any:
        if (response := BACKGROUND.start(self._read()).result()) is aio.EOF:
            raise StopIteration
        return response

    def result(self, timeout: float | None = None) -> Any:
        """The answer. Raises AioRpcError, and as grpc's futures do FutureTimeoutError and FutureCancelledError."""
        try:
            return BACKGROUND.start(self._answer()).result(timeout)
        except TimeoutError:
            raise grpc.FutureTimeoutError from None
        except CancelledError:
            raise grpc.FutureCancelledError from None

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The error of the call; None when it has an answer. Raises as `result`, but for that."""
        try:
            self.result(timeout)
        except grpc.RpcError as error:
            return error
        return None

    def running(self) -> bool:
        return not self.done()

    is_active = running

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        """Has `callback` called with this call when it is done, on a thread of its own: it may wait."""

        def tell() -> None:
            with contextlib.suppress(grpc.RpcError):
                self.code()
            callback(self)

        threading.Thread(target=tell, name="sidemirror-callback", daemon=True).start()

    def __getattr__(self, name: str) -> Any:
        if name not in _WAITING:
            raise AttributeError(name)
        return lambda *arguments: BACKGROUND.start(self._do(name, *arguments)).result()


async def _begin(begin: Callable[[], Any]) -> Any:
    return begin()


def _cancel(begun: "Future[Any]") -> None:
    if begun.exception() is None:
        begun.result().cancel()


def _tell(begun: "Future[Any]", callback: Callable[[Any], None]) -> None:
    if begun.exception() is None:
        begun.result().add_done_callback(callback)


AnyCall = TypeVar("AnyCall", bound=Call)


class Method:
    """What a stub calls. `streams`: the client sends several requests."""

    def __init__(self, begin: Callable[..., Any], heard: Callable[[], None], *, streams: bool) -> None:
        self._begin = begin
        self._heard = heard
        self._streams = streams

    def __call__(self, request: Any = None, **options: Any) -> Call:
        return self.begin(Call, request, **options)

    def begin(self, kind: type[AnyCall], request: Any, **options: Any) -> AnyCall:
        """A call of that kind."""
        given = _given(request) if self._streams and request is not None else request
        return kind(lambda: self._begin(given, **options), self._heard)


def _given(requests: Any) -> AsyncIterator[Any]:
    """The caller's requests, read where they come from: an async iterator on the caller's loop, any other one on a
    thread of its own, since it may block."""
    if not hasattr(requests, "__aiter__"):
        return _read_aside(iter(requests))
    home, reader = asyncio.get_running_loop(), aiter(requests)

    async def across() -> AsyncIterator[Any]:
        while True:
            try:
                yield await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_next(reader), home))
            except StopAsyncIteration:
                return

    return across()


async def _next(reader: AsyncIterator[Any]) -> Any:
    return await anext(reader)


async def _read_aside(requests: Iterator[Any]) -> AsyncIterator[Any]:
    """One after the other, as they are asked for. The thread is a daemon: one that blocks for ever holds up nothing,
    neither other calls nor the end of the process."""
    asked: SimpleQueue[Future[Any] | None] = SimpleQueue()
    threading.Thread(target=_read, args=(requests, asked), name="sidemirror-requests", daemon=True).start()
    try:
        while True:
            request: Future[Any] = Future()
            asked.put(request)
            if (read := await asyncio.wrap_future(request)) is _NO_MORE:
                return
            yield read
    finally:
        asked.put(None)


def _read(requests: Iterator[Any], asked: "SimpleQueue[Future[Any] | None]") -> None:
    while (request := asked.get()) is not None and request.set_running_or_notify_cancel():
        try:
            request.set_result(next(requests, _NO_MORE))
        except BaseException as error:  # noqa: BLE001  # the caller's own iterator; the call ends with what it raises
            request.set_exception(error)


class SyncStream:
    """What a stub of the front without a loop calls where the sidecar sends several responses."""

    def __init__(self, method: Method) -> None:
        self._method = method

    def __call__(self, request: Any, **options: Any) -> SyncCall:
        return self._method.begin(SyncCall, request, **options)


class SyncUnary:
    """What it calls where there is one response."""

    def __init__(self, method: Method) -> None:
        self._method = method

    def __call__(self, request: Any, **options: Any) -> Any:
        return self.future(request, **options).result()

    def with_call(self, request: Any, **options: Any) -> tuple[Any, SyncCall]:
        """The answer, and the call that has its metadata."""
        call = self.future(request, **options)
        return call.result(), call

    def future(self, request: Any, **options: Any) -> SyncCall:
        """The call, which goes on meanwhile."""
        return self._method.begin(SyncCall, request, **options)


class Channel(aio.Channel):
    """A channel of grpc.aio, made and used on our loop only. It is made with its first use."""

    def __init__(self, make: Callable[[], aio.Channel], heard: Callable[[], None]) -> None:
        """`heard`: called when the sidecar has answered a call of a stub, on our loop."""
        self._make = make
        self._heard = heard
        self._made: aio.Channel | None = None
        # Those that calls in progress may still be on.
        self._left: list[aio.Channel] = []
        self._is_closed = False

    def itself(self) -> aio.Channel:
        """The channel. Call it on our loop. Raises AioRpcError when it is closed."""
        if self._is_closed:
            raise aio.AioRpcError(grpc.StatusCode.CANCELLED, aio.Metadata(), aio.Metadata(), "the client is closed")
        if self._made is None:
            self._made = self._make()
        return self._made

    def renew(self) -> None:
        """Every call from now on has a new connection; those in progress have a while on the old one. On our loop."""
        if self._made is not None:
            self._left.append(self._made)
            self._made = None
            asyncio.get_running_loop().call_later(_LINGER_S, self._end_oldest)

    def _end_oldest(self) -> None:
        if self._left:
            BACKGROUND.start(self._left.pop(0).close())

    def unary_unary(self, *arguments: Any, **options: Any) -> Any:
        return self._method("unary_unary", arguments, options, streams=False)

    def unary_stream(self, *arguments: Any, **options: Any) -> Any:
        return self._method("unary_stream", arguments, options, streams=False)

    def stream_unary(self, *arguments: Any, **options: Any) -> Any:
        return self._method("stream_unary", arguments, options, streams=True)

    def stream_stream(self, *arguments: Any, **options: Any) -> Any:
        return self._method("stream_stream", arguments, options, streams=True)

    def _method(self, kind: str, arguments: Any, options: Any, *, streams: bool) -> Method:
        made: list[Any] = [None, None]

        def begin(request: Any, **given: Any) -> Any:
            channel = self.itself()
            if made[0] is not channel:
                made[:] = channel, getattr(channel, kind)(*arguments, **options)
            return made[1](request, **given)

        return Method(begin, self._heard, streams=streams)

    async def close(self, grace: float | None = None) -> None:
        """Ends every call on it."""
        if BACKGROUND.usable():
            await BACKGROUND.across(self.close_itself(grace))

    async def close_itself(self, grace: float | None = None) -> None:
        """The same, on our loop."""
        self._is_closed = True
        for channel in (self._made, *self._left):
            if channel is not None:
                await channel.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        """The state of its connection."""

        async def look() -> grpc.ChannelConnectivity:
            return self.itself().get_state(try_to_connect)

        return BACKGROUND.start(look()).result()

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Returns when the connection is in another state."""

        async def wait() -> None:
            await self.itself().wait_for_state_change(last_observed_state)

        await BACKGROUND.across(wait())

    async def channel_ready(self) -> None:
        """Returns when it is connected."""

        async def wait() -> None:
            await self.itself().channel_ready()

        await BACKGROUND.across(wait())

    async def __aenter__(self) -> "Channel":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class SyncChannel(grpc.Channel):
    """The same channel for the stubs of a caller without a loop."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def unary_unary(self, *arguments: Any, **options: Any) -> Any:
        return SyncUnary(self._channel.unary_unary(*arguments, **options))

    def unary_stream(self, *arguments: Any, **options: Any) -> Any:
        return SyncStream(self._channel.unary_stream(*arguments, **options))

    def stream_unary(self, *arguments: Any, **options: Any) -> Any:
        return SyncUnary(self._channel.stream_unary(*arguments, **options))

    def stream_stream(self, *arguments: Any, **options: Any) -> Any:
        return SyncStream(self._channel.stream_stream(*arguments, **options))

    def subscribe(self, callback: Any, try_to_connect: bool | None = False) -> None:
        """Not offered: ask `get_state` of the channel."""
        raise NotImplementedError

    def unsubscribe(self, callback: Any) -> None:
        """Not offered."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends every call on it."""
        BACKGROUND.start(self._channel.close()).result()

    def __enter__(self) -> "SyncChannel":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
