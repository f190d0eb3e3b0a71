"""Protobuf's JSON to its bytes and back: the pure functions, and a worker process for long messages.

Protobuf's own JSON for Python takes some 100 ms for 256 KiB of small fields (decision 060), in which no other call
would be answered. So messages from _LONG_BYTES on are converted in a process of their own, one after the other.

Run as a program, this module is that process.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.message import DecodeError

from sidemirror_server.rpc.boundary.child_process import ChildEnded, ChildProcess, FatalQuestion, serve

# From here on a message is converted in the worker. Chosen here: shorter ones take about 3 ms at most.
_LONG_BYTES = 8 * 1024
_LONGEST_ERROR = 300
_JSON_SPACE = b" \t\r\n"
# A caller waits for it.
_NICER_BY = 5


class BadJson(Exception):
    """A text is no JSON of this message, or the message cannot be JSON; the error's text says what is wrong."""


class WorkerEnded(Exception):
    """There is no worker; the next message starts another."""


class _Question(msgspec.Struct, array_like=True):
    to_json: bool
    type_name: str
    body: bytes


class _Answer(msgspec.Struct, array_like=True):
    body: bytes
    wrong: str = ""


def from_json(descriptor: Descriptor, body: bytes) -> bytes:
    """The message as bytes. Raises BadJson, which names the field."""
    # The library takes an empty list or text for an object.
    if not body.lstrip(_JSON_SPACE).startswith(b"{"):
        raise BadJson("an object is expected, {…}")
    message = message_factory.GetMessageClass(descriptor)()
    try:
        json_format.Parse(body, message, descriptor_pool=descriptor.file.pool)
        return message.SerializeToString()
    except json_format.ParseError as error:
        raise BadJson(str(error)[:_LONGEST_ERROR]) from error
    # What the library lets through for odd texts and numbers.
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        raise BadJson("a value does not fit its field") from error


def as_json(descriptor: Descriptor, body: bytes) -> bytes:
    """The message as JSON on one line, without fields that are not set. Raises BadJson for a value that JSON cannot
    hold, such as a time before the year 1."""
    message = message_factory.GetMessageClass(descriptor).FromString(body)
    try:
        return json_format.MessageToJson(message, indent=None, descriptor_pool=descriptor.file.pool).encode()
    except json_format.Error as error:
        raise BadJson(str(error)[:_LONGEST_ERROR]) from error


class JsonMessages:
    """Converts messages of the types that `files` define. Use it from one event loop only."""

    def __init__(self, files: Iterable[FileDescriptor]) -> None:
        self._process = ChildProcess(__name__, _with_imports(files))

    async def read(self, descriptor: Descriptor, body: bytes) -> bytes:
        """As `from_json`. Raises WorkerEnded too."""
        if len(body) < _LONG_BYTES:
            return from_json(descriptor, body)
        answer = await self._ask(_Question(False, descriptor.full_name, body))
        if answer.wrong:
            raise BadJson(answer.wrong)
        return answer.body

    async def write(self, descriptor: Descriptor, body: bytes) -> bytes:
        """As `as_json`. Raises WorkerEnded too."""
        if len(body) < _LONG_BYTES:
            return as_json(descriptor, body)
        answer = await self._ask(_Question(True, descriptor.full_name, body))
        if answer.wrong:
            raise BadJson(answer.wrong)
        return answer.body

    async def close(self) -> None:
        """Ends the worker."""
        await self._process.close()

    async def _ask(self, question: _Question) -> _Answer:
        try:
            answer = await self._process.ask(msgspec.msgpack.encode(question))
        except FatalQuestion as error:
            raise BadJson("it cannot be converted: the process that converts it ends each time") from error
        except ChildEnded as error:
            raise WorkerEnded from error
        return msgspec.msgpack.decode(answer, type=_Answer)


def _with_imports(files: Iterable[FileDescriptor]) -> bytes:
    """The files with all that they import, those first, as a FileDescriptorSet."""
    found: dict[str, Any] = {}

    def add(file: FileDescriptor) -> None:
        if file.name not in found:
            for imported in file.dependencies:
                add(imported)
            copy = descriptor_pb2.FileDescriptorProto()
            file.CopyToProto(copy)
            found[file.name] = copy

    for file in files:
        add(file)
    return descriptor_pb2.FileDescriptorSet(file=found.values()).SerializeToString()


def _answer_to(pool: descriptor_pool.DescriptorPool, question: _Question) -> _Answer:
    descriptor = pool.FindMessageTypeByName(question.type_name)
    try:
        return _Answer((as_json if question.to_json else from_json)(descriptor, question.body))
    except BadJson as error:
        return _Answer(b"", str(error))
    except DecodeError:
        return _Answer(b"", "the bytes are not a message of this type")


def _begin(files: bytes) -> Callable[[bytes], bytes]:
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(files).file:
        pool.Add(file)
    return lambda asked: msgspec.msgpack.encode(_answer_to(pool, msgspec.msgpack.decode(asked, type=_Question)))


if __name__ == "__main__":
    serve(_begin, nicer_by=_NICER_BY)
