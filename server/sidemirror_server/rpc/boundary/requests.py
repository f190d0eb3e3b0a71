"""Makes writes idempotent: a request_id with the same content gets the same answer for 24 hours (decision 004).

A repeated call finds the first one in one of three states. In progress: it waits for that answer. Answered: it gets the
stored answer. Lost in a crash before the answer was stored: it is served again, and creates nothing twice because the
ids of records derive from request_id and content.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from hashlib import blake2b
from typing import TypeAlias
from weakref import WeakValueDictionary

import msgspec

from sidemirror_server.trace.requests import KEPT_FOR_US, Answered, Requests
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import RequestIdReused
from sidemirror_server.vocabulary.ids import RequestId
from sidemirror_server.vocabulary.scope import Scope


def digest_of(content: bytes) -> bytes:
    """The hash of a request's content, 16 bytes."""
    return blake2b(content, digest_size=16).digest()


# An answer, whether it binds its request_id, and what it came from (keys of `trace/sources.py`). A failed model call or
# another attempt without a result binds none.
Served: TypeAlias = tuple[bytes, bool, tuple[str, ...]]


class Once:
    """Serves each request_id of a scope and a method once."""

    def __init__(self, requests: Requests, clock: Clock) -> None:
        self._requests = requests
        self._clock = clock
        self._serving: dict[tuple[Scope, str, str], tuple[bytes, asyncio.Task[bytes]]] = {}
        self._streaming: WeakValueDictionary[tuple[Scope, str, str], asyncio.Lock] = WeakValueDictionary()

    async def answer(
        self, scope: Scope, method: str, request_id: str, digest: bytes, serve: Callable[[], Awaitable[Served]]
    ) -> bytes:
        """The answer to this request: the stored one, the one in progress, or a new one from `serve`.

        A cancelled caller does not stop `serve`, which may already have had its effect. Raises RequestIdReused for
        other content under a known id, and the errors of `serve`. An error leaves the id free, as does an answer that
        does not bind. `digest`: from `digest_of`.
        """
        key = (scope, method, request_id)
        serving = self._serving.get(key)
        if serving is not None:
            if serving[0] != digest:
                raise RequestIdReused
            try:
                return await asyncio.shield(serving[1])
            except TimeoutError:
                # The first caller's deadline, and not this one's: it is served anew, or joins whoever is.
                return await self.answer(scope, method, request_id, digest, serve)
        task = asyncio.create_task(self._serve(scope, method, RequestId(request_id), digest, serve))
        self._serving[key] = (digest, task)
        task.add_done_callback(lambda done: self._done(key, done))
        return await asyncio.shield(task)

    async def stream(
        self, scope: Scope, method: str, request_id: str, digest: bytes, serve: Callable[[], AsyncIterator[Served]]
    ) -> AsyncGenerator[bytes, None]:
        """The answers of a server stream: the stored ones, or new ones from `serve`.

        New answers are stored when the stream has ended, if all of them bind. A caller that leaves ends `serve`; a
        waiting call with the same id then starts again. Raises as `answer` does.
        """
        key = (scope, method, request_id)
        lock = self._streaming.setdefault(key, asyncio.Lock())
        async with lock:
            now_us = self._clock.now_us()
            known = await self._requests.recall(scope, method, RequestId(request_id), now_us)
            if known is None:
                made: list[bytes] = []
                bound = True
                named: dict[str, None] = {}
                async with aclosing(serve()) as answers:  # type: ignore[type-var]  # every handler returns a generator
                    async for answer, binds, sources in answers:
                        made.append(answer)
                        bound = bound and binds
                        named |= dict.fromkeys(sources)
                        yield answer
                if bound:
                    answered = Answered(digest, msgspec.msgpack.encode(made))
                    await self._requests.remember(
                        scope, method, RequestId(request_id), answered, now_us, now_us + KEPT_FOR_US, tuple(named)
                    )
                return
        if known.digest != digest:
            raise RequestIdReused
        for answer in msgspec.msgpack.decode(known.answer, type=list[bytes]):
            yield answer

    def _done(self, key: tuple[Scope, str, str], task: asyncio.Task[bytes]) -> None:
        del self._serving[key]
        if not task.cancelled():
            task.exception()  # marks the exception as retrieved; the callers raise it

    async def _serve(
        self, scope: Scope, method: str, request_id: RequestId, digest: bytes, serve: Callable[[], Awaitable[Served]]
    ) -> bytes:
        now_us = self._clock.now_us()
        known = await self._requests.recall(scope, method, request_id, now_us)
        if known is None:
            answer, binds, sources = await serve()
            if not binds:
                return answer
            known = await self._requests.remember(
                scope, method, request_id, Answered(digest, answer), now_us, now_us + KEPT_FOR_US, sources
            )
        if known.digest != digest:
            raise RequestIdReused
        return known.answer
