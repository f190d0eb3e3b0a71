"""Starts and asks the processes that search memories (`memory_searcher.py`). `prepare` or the first question starts a
process; after it has ended, the next one starts another."""

import asyncio
import logging
import subprocess
import sys
from collections import deque
from pathlib import Path

import msgspec

from sidemirror_server.storage.sqlite.memory_searcher import (
    LENGTH_BYTES,
    Answer,
    Asked,
    ByVector,
    Failed,
    Found,
    framed,
)
from sidemirror_server.vocabulary.errors import StoreUnavailable

_log = logging.getLogger(__name__)

_PROGRAM = "sidemirror_server.storage.sqlite.memory_searcher"
# How many questions may wait for an answer. More are refused, so that a flood does not fill the memory.
_MOST_WAITING = 1_000
_END_S = 2.0


class _Searcher(msgspec.Struct, frozen=True):
    """A search process and the transports of its two pipes."""

    process: subprocess.Popen[bytes]
    questions: asyncio.WriteTransport
    answers: asyncio.StreamReader
    answering: asyncio.ReadTransport


_read_answer = msgspec.msgpack.Decoder(Answer).decode


class SearchProcess:
    """One search process. It answers questions in their order. Use it from one event loop only."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._begun: asyncio.Task[_Searcher] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: deque[asyncio.Future[Answer]] = deque()
        self._closed = False

    async def ask(self, question: Asked) -> Found:
        """The answer. Raises StoreUnavailable, even if the process ends before it has answered."""
        if len(self._waiting) >= _MOST_WAITING:
            raise StoreUnavailable(store="sqlite", reason="too many searches wait")
        searcher = await self._started()
        if searcher.questions.is_closing():
            raise _ended()  # the process has just ended; `_read` has not noticed yet
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        # No await between these lines: answers are matched to questions by their order.
        self._waiting.append(answer)
        searcher.questions.write(framed(question))
        found = await answer
        if isinstance(found, Failed):
            raise StoreUnavailable(store="sqlite", reason=found.reason)
        return found

    def prepare(self) -> None:
        """Starts the process in the background, unless it runs: the first question need not wait for that. What
        hinders it the next question is told."""
        if not self._closed and (self._begun is None or _never_began(self._begun)):
            self._begun = asyncio.get_running_loop().create_task(self._begin())
            self._begun.add_done_callback(_never_began)

    async def close(self) -> None:
        """Ends the process; waiting questions fail."""
        self._closed = True
        if self._begun is not None:
            try:
                searcher = await self._begun
            except StoreUnavailable:  # it never started
                return
            searcher.questions.close()
            await asyncio.to_thread(_end, searcher.process)
        if self._reading is not None:
            await self._reading

    async def _started(self) -> _Searcher:
        self.prepare()
        if self._closed or self._begun is None:
            raise StoreUnavailable(store="sqlite", reason="closed")
        # Shielded: the first caller may be cancelled while others wait for the same start.
        return await asyncio.shield(self._begun)

    async def _begin(self) -> _Searcher:
        try:
            searcher = await _connected(_popen(self._file))
        except OSError as exc:
            raise StoreUnavailable(store="sqlite", reason=f"the search could not be started: {exc.strerror}") from exc
        self._reading = asyncio.get_running_loop().create_task(self._read(searcher))
        return searcher

    async def _read(self, searcher: _Searcher) -> None:
        """Passes answers to their callers until the process ends; then the waiting questions fail."""
        try:
            while True:
                head = await searcher.answers.readexactly(LENGTH_BYTES)
                body = await searcher.answers.readexactly(int.from_bytes(head, "big"))
                answer = self._waiting.popleft()
                if not answer.done():  # its caller may have been cancelled
                    answer.set_result(_read_answer(body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            # Done before any await: the old questions must be gone when the next question starts another process.
            if not self._closed:
                self._begun = None
            while self._waiting:
                answer = self._waiting.popleft()
                if not answer.done():
                    answer.set_exception(_ended())
            searcher.questions.close()
            if not searcher.answering.is_closing():  # uvloop does not close it
                searcher.answering.close()
            await asyncio.to_thread(_end, searcher.process)
            if not self._closed:
                _log.warning("memory_search_ended", extra={"exit_code": searcher.process.returncode})


class SearchProcesses:
    """Two search processes: one for vectors, one for all other questions. The other questions need not wait while
    vectors are compared, or loaded for the first time (seconds for a million)."""

    def __init__(self, file: Path) -> None:
        self.words = SearchProcess(file)
        self.vectors = SearchProcess(file)

    async def ask(self, question: Asked) -> Found:
        """Like `SearchProcess.ask`."""
        return await (self.vectors if isinstance(question, ByVector) else self.words).ask(question)

    def prepare(self) -> None:
        """Starts the process for words in the background: an agent waits for it after a failed call."""
        self.words.prepare()

    async def close(self) -> None:
        """Ends both processes."""
        await asyncio.gather(self.words.close(), self.vectors.close())


def _ended() -> StoreUnavailable:
    return StoreUnavailable(store="sqlite", reason="the search ended; ask again")


def _popen(file: Path) -> "subprocess.Popen[bytes]":
    """Starts the process with Popen, which uses vfork. uvloop would fork, and gRPC's fork handlers write to the
    server's output and may crash the child."""
    return subprocess.Popen(
        (sys.executable, "-m", _PROGRAM, str(file)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        # A separate session: a terminal's Ctrl-C ends only the server, and the server ends this process.
        start_new_session=True,
    )


async def _connected(process: "subprocess.Popen[bytes]") -> _Searcher:
    loop = asyncio.get_running_loop()
    answers = asyncio.StreamReader()
    answering, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(answers), process.stdout)
    questions, _ = await loop.connect_write_pipe(asyncio.Protocol, process.stdin)
    return _Searcher(process, questions, answers, answering)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Waits for the process, whose input is closed, and kills it after _END_S."""
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _never_began(begun: "asyncio.Task[_Searcher]") -> bool:
    return begun.done() and (begun.cancelled() or begun.exception() is not None)
