"""The way to the process that searches memories (`memory_searcher.py`): started with the first question, and again when
it is gone."""

import asyncio
import contextlib
import sys
from collections import deque
from pathlib import Path

import msgspec

from sidemirror_server.storage.sqlite.memory_searcher import LENGTH_BYTES, Answer, Asked, Failed, Found, framed
from sidemirror_server.vocabulary.errors import StoreUnavailable

_PROGRAM = "sidemirror_server.storage.sqlite.memory_searcher"
# What waits for an answer; more are refused, so that a flood of questions does not fill the memory.
_MOST_WAITING = 1_000
_END_S = 2.0
_ENDED = "the search ended; ask again"

_read_answer = msgspec.msgpack.Decoder(Answer).decode


class SearchProcess:
    """Asks the process; questions are answered in their order. To be used from one event loop."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: deque[asyncio.Future[Answer]] = deque()
        self._starting = asyncio.Lock()
        self._closed = False

    async def ask(self, question: Asked) -> Found:
        """What it finds. Raises StoreUnavailable, also when the process goes away before it has answered."""
        if len(self._waiting) >= _MOST_WAITING:
            raise StoreUnavailable(store="sqlite", reason="too many searches wait")
        process = await self._started()
        assert process.stdin is not None
        if process.stdin.is_closing():  # it is on its way out, and `_read` not done with it
            raise StoreUnavailable(store="sqlite", reason=_ENDED)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        # No await between the two: the order of answers is that of questions.
        self._waiting.append(answer)
        process.stdin.write(framed(question))
        found = await answer
        if isinstance(found, Failed):
            raise StoreUnavailable(store="sqlite", reason=found.reason)
        return found

    async def close(self) -> None:
        """Ends the process; questions that wait are refused."""
        self._closed = True
        if self._process is None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(_END_S):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        if self._reading is not None:
            await self._reading

    async def _started(self) -> asyncio.subprocess.Process:
        async with self._starting:
            if self._closed:
                raise StoreUnavailable(store="sqlite", reason="closed")
            if self._process is None or self._reading is None or self._reading.done():
                # In a session of its own: a terminal's Ctrl-C ends the server, and the server ends this.
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", _PROGRAM, str(self._file)),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    start_new_session=True,
                )
                self._reading = asyncio.get_running_loop().create_task(self._read(self._process))
            return self._process

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Hands out answers until the process ends; then whoever waits hears of it."""
        assert process.stdout is not None
        try:
            while True:
                head = await process.stdout.readexactly(LENGTH_BYTES)
                body = await process.stdout.readexactly(int.from_bytes(head, "big"))
                answer = self._waiting.popleft()
                if not answer.done():  # whoever asked may have gone
                    answer.set_result(_read_answer(body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            if process.stdin is not None:
                process.stdin.close()
            await process.wait()
            while self._waiting:
                answer = self._waiting.popleft()
                if not answer.done():
                    answer.set_exception(StoreUnavailable(store="sqlite", reason=_ENDED))
