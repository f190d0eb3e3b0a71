"""One loop of our own, on a thread beside the agent: all of gRPC happens there.

So a client works from every loop, from several of them one after the other, and from none. The loop starts with its
first use. gRPC does not survive a fork: in a child of a process that has used it nothing can be sent, which `usable`
says. When the process ends, what is open is ended first (`exits.py`), and afterwards nothing can be sent either.
"""

import asyncio
import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import Context, copy_context
from typing import Any, Protocol, TypeVar

from sidemirror_client.exits import at_the_end_of_a_child

T = TypeVar("T")
_log = logging.getLogger("sidemirror_client")
FORKED = (
    "this process was forked from one that had used its Sidemirror client, which gRPC does not survive: use the client "
    "in the child only, or start workers by spawn"
)
ENDED = "this process ends, and its Sidemirror clients are closed: nothing is delivered any more"
# How long the end of the process waits for the thread. Chosen here: it has nothing left to do.
_END_S = 2.0


class Leaves(Protocol):
    """What does something before the process ends, and in a child after a fork."""

    def leave(self) -> None: ...

    def forked(self) -> None: ...


class Background:
    """The loop and its thread; one in a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        # Why nothing can be done there any more.
        self._why_not = ""
        self._has_told = False
        # Whether work has the caller's context, in which a span finds its parent. Otherwise it has one of its own: what
        # lives on here, such as a connection, would keep all that the agent has in its context, and destroy it here.
        self.is_traced = False
        # What is left when the process ends, while the loop still runs.
        self.open: weakref.WeakSet[Leaves] = weakref.WeakSet()

    def usable(self) -> bool:
        """Whether something can be done there; says once in the log why not."""
        if self._why_not and not self._has_told:
            self._has_told = True
            _log.error("%s", self._why_not)
        return not self._why_not

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop, which runs. Raises RuntimeError after a fork, and at the end of the process."""
        if self._why_not:
            raise RuntimeError(self._why_not)
        if self._loop is None:
            with self._lock:
                if self._loop is None:
                    loop = asyncio.new_event_loop()
                    self._thread = threading.Thread(target=_run, args=(loop,), name="sidemirror", daemon=True)
                    self._thread.start()
                    self._loop = loop
                    at_the_end_of_a_child(self.end)
        return self._loop

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Begins with the work on the loop. Raises RuntimeError as `loop` does."""
        try:
            loop = self.loop
        except RuntimeError:
            work.close()
            raise
        return self._context().run(asyncio.run_coroutine_threadsafe, work, loop)

    async def across(self, work: Coroutine[Any, Any, T]) -> T:
        """Does the work on the loop for a caller on another one, which may cancel it."""
        return await asyncio.wrap_future(self.start(work))

    def soon(self, what: Callable[..., object], *arguments: object) -> None:
        """Has a function called on the loop. After a fork, and at the end of the process, nothing happens."""
        if self.usable():
            self.loop.call_soon_threadsafe(what, *arguments, context=self._context())

    def let_go(self, box: list[Any]) -> None:
        """Empties the box on the loop."""
        if self._loop is not None and not self._why_not and self._loop.is_running():
            self._loop.call_soon_threadsafe(box.clear)

    def _context(self) -> Context:
        return copy_context() if self.is_traced else Context()

    def forked(self) -> None:
        """The process is a child now."""
        self._why_not = FORKED if self._loop is not None else ""
        self._lock = threading.Lock()
        for one in tuple(self.open):
            one.forked()
        self.open = weakref.WeakSet()

    def end(self) -> None:
        """Ends what is open, and the loop. Nothing is done there afterwards."""
        if self._why_not or self._loop is None or self._thread is None:
            return
        for one in tuple(self.open):
            one.leave()
        # Before the loop stops: who waits for one that has stopped waits for ever.
        self._why_not = ENDED
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_END_S)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    # Streams that the agent left open; a task that is pending when it is destroyed complains on stderr.
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))


BACKGROUND = Background()
os.register_at_fork(after_in_child=BACKGROUND.forked)
atexit.register(BACKGROUND.end)
