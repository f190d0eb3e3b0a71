"""The way to the processes that search memories (`memory_searcher.py`): each is started with its first question, and
again when it is gone."""

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
# What waits for an answer; more are refused, so that a flood of questions does not fill the memory.
_MOST_WAITING = 1_000
_END_S = 2.0


class _Searcher(msgspec.Struct, frozen=True):
    """The process, and both ends of the way to it."""

    process: subprocess.Popen[bytes]
    questions: asyncio.WriteTransport
    answers: asyncio.StreamReader
    answering: asyncio.ReadTransport


_read_answer = msgspec.msgpack.Decoder(Answer).decode


class SearchProcess:
    """Asks the process; questions are answered in their order. To be used from one event loop."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._begun: asyncio.Task[_Searcher] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: deque[asyncio.Future[Answer]] = deque()
        self._closed = False

    async def ask(self, question: Asked) -> Found:
        """What it finds. Raises StoreUnavailable, also when the process goes away before it has answered."""
        if len(self._waiting) >= _MOST_WAITING:
            raise StoreUnavailable(store="sqlite", reason="too many searches wait")
        searcher = await self._started()
        if searcher.questions.is_closing():
            raise _ended()  # it has just gone, and its reader is about to see that
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        # No await between the two: the order of answers is that of questions.
        self._waiting.append(answer)
        searcher.questions.write(framed(question))
        found = await answer
        if isinstance(found, Failed):
            raise StoreUnavailable(store="sqlite", reason=found.reason)
        return found

    async def close(self) -> None:
        """Ends the process; questions that wait are refused."""
        self._closed = True
        if self._begun is not None:
            try:
                searcher = await self._begun
            except StoreUnavailable:  # it never began
                return
            searcher.questions.close()
            await asyncio.to_thread(_end, searcher.process)
        if self._reading is not None:
            await self._reading

    async def _started(self) -> _Searcher:
        if self._closed:
            raise StoreUnavailable(store="sqlite", reason="closed")
        if self._begun is None or _never_began(self._begun):
            self._begun = asyncio.get_running_loop().create_task(self._begin())
        # Whoever asks first may leave; what was begun is there for the others.
        return await asyncio.shield(self._begun)

    async def _begin(self) -> _Searcher:
        try:
            searcher = await _connected(_popen(self._file))
        except OSError as exc:
            raise StoreUnavailable(store="sqlite", reason=f"the search could not be started: {exc.strerror}") from exc
        self._reading = asyncio.get_running_loop().create_task(self._read(searcher))
        return searcher

    async def _read(self, searcher: _Searcher) -> None:
        """Hands out answers until the process ends; then whoever waits hears of it."""
        try:
            while True:
                head = await searcher.answers.readexactly(LENGTH_BYTES)
                body = await searcher.answers.readexactly(int.from_bytes(head, "big"))
                answer = self._waiting.popleft()
                if not answer.done():  # whoever asked may have gone
                    answer.set_result(_read_answer(body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            # Before anything is awaited: the next question starts another process, whose answers are its own.
            if not self._closed:
                self._begun = None
            while self._waiting:
                answer = self._waiting.popleft()
                if not answer.done():
                    answer.set_exception(_ended())
            searcher.questions.close()
            if not searcher.answering.is_closing():  # uvloop leaves that to us
                searcher.answering.close()
            await asyncio.to_thread(_end, searcher.process)
            if not self._closed:
                _log.warning("memory_search_ended", extra={"exit_code": searcher.process.returncode})


class SearchProcesses:
    """Two: one compares vectors, the other does the rest. A question by words does not wait while vectors are compared,
    or read for the first time, which takes seconds with a million."""

    def __init__(self, file: Path) -> None:
        self.words = SearchProcess(file)
        self.vectors = SearchProcess(file)

    async def ask(self, question: Asked) -> Found:
        """As `SearchProcess.ask`."""
        return await (self.vectors if isinstance(question, ByVector) else self.words).ask(question)

    async def close(self) -> None:
        """Ends both."""
        await asyncio.gather(self.words.close(), self.vectors.close())


def _ended() -> StoreUnavailable:
    return StoreUnavailable(store="sqlite", reason="the search ended; ask again")


def _popen(file: Path) -> "subprocess.Popen[bytes]":
    """Starts the process. Not by the event loop: uvloop's would fork, and gRPC's handlers for forks write to the
    server's output and may crash the child; Popen does it by vfork, which has none."""
    return subprocess.Popen(
        (sys.executable, "-m", _PROGRAM, str(file)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        # In a session of its own: a terminal's Ctrl-C ends the server, and the server ends this.
        start_new_session=True,
    )


async def _connected(process: "subprocess.Popen[bytes]") -> _Searcher:
    loop = asyncio.get_running_loop()
    answers = asyncio.StreamReader()
    answering, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(answers), process.stdout)
    questions, _ = await loop.connect_write_pipe(asyncio.Protocol, process.stdin)
    return _Searcher(process, questions, answers, answering)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Waits for the process, whose input has ended, and kills it when it does not go by itself."""
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _never_began(begun: "asyncio.Task[_Searcher]") -> bool:
    return begun.done() and (begun.cancelled() or begun.exception() is not None)
