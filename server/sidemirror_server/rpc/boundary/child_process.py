"""A process beside the server that answers questions of bytes, one after the other, while the event loop goes on.

It starts with the first question, is nicer to the machine than the server is, and ends with it. The module that it runs
calls `serve`.
"""

import asyncio
import contextlib
import os
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO

_END_S = 2.0
# A question that takes longer ends the process. Chosen here: a hundred times what the longest message takes.
_LONGEST_S = 30.0
_LENGTH = struct.Struct(">I")


class ChildEnded(Exception):
    """No process could be started; the next question tries again."""


class FatalQuestion(Exception):
    """The question has ended two processes, or took longer than any that is sent in good faith."""


class ChildProcess:
    """Asks a module that runs as a process. Use it from one event loop only."""

    def __init__(self, module: str, first: bytes = b"") -> None:
        """`first` is what the process is told when it starts."""
        self._module = module
        self._first = first
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = asyncio.Lock()

    async def ask(self, question: bytes) -> bytes:
        """The answer. A process that ends may have been ended from outside, so that another one is asked once more. The
        question of a caller that leaves while others are answered is not asked. Raises ChildEnded, FatalQuestion."""
        await self._lock.acquire()
        # A task of its own: a caller that leaves must not leave half an exchange in the pipes.
        exchange = asyncio.create_task(self._exchange(question))
        exchange.add_done_callback(self._exchanged)
        return await asyncio.shield(exchange)

    def _exchanged(self, exchange: "asyncio.Task[bytes]") -> None:
        self._lock.release()
        if not exchange.cancelled():
            exchange.exception()  # whoever has left does not fetch it

    async def close(self) -> None:
        """Ends the process."""
        async with self._lock:
            if self._process is not None:
                await asyncio.to_thread(_end, self._process)
                self._process = None

    async def _exchange(self, question: bytes) -> bytes:
        for _ in range(2):
            try:
                if self._process is None:
                    self._process = await asyncio.to_thread(_begun, self._module, self._first)
            except OSError as error:
                raise ChildEnded from error
            process, loop = self._process, asyncio.get_running_loop()
            ends_s = loop.time() + _LONGEST_S
            ending = loop.call_at(ends_s, process.kill)
            try:
                return await asyncio.to_thread(_asked, process, question)
            except OSError:
                self._process = None
                await asyncio.to_thread(_end, process)
                if loop.time() >= ends_s:
                    break
            finally:
                ending.cancel()
        raise FatalQuestion


def serve(begin: Callable[[bytes], Callable[[bytes], bytes]], nicer_by: int) -> None:
    """Answers questions until they end, as the process. `begin` takes what the process is told first, and returns the
    function that answers. `nicer_by` is added to its niceness."""
    os.nice(nicer_by)
    sys.excepthook = _told
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    first = _got(questions)
    if first is None:
        return
    answer_of = begin(first)
    while (asked := _got(questions)) is not None:
        _put(answers, answer_of(asked))


def _told(kind: type[BaseException], _: BaseException, trace: TracebackType | None) -> None:
    """What ended the process, without the error's text: it may quote what was asked."""
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(trace, limit=-3)]
    sys.stderr.write(f"a process beside the server ended: {kind.__name__} at {', '.join(places)}\n")


def _begun(module: str, first: bytes) -> "subprocess.Popen[bytes]":
    """Starts the process with Popen, which uses vfork: gRPC's fork handlers may crash a forked child."""
    process = subprocess.Popen(
        (sys.executable, "-m", module),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # A terminal's Ctrl-C ends only the server, and the server ends this process.
        start_new_session=True,
    )
    assert process.stdin is not None
    _put(process.stdin, first)
    return process


def _asked(process: "subprocess.Popen[bytes]", question: bytes) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    _put(process.stdin, question)
    found = _got(process.stdout)
    if found is None:
        raise BrokenPipeError("the process has ended")
    return found


def _end(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def _put(pipe: IO[bytes], body: bytes) -> None:
    pipe.write(_LENGTH.pack(len(body)))
    pipe.write(body)
    pipe.flush()


def _got(pipe: IO[bytes]) -> bytes | None:
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = pipe.read(length)
    return body if len(body) == length else None
