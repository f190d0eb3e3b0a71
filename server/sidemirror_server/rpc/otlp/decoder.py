"""The process that decodes exports of spans beside the event loop, and the questions that it is asked.

512 spans with their messages take Python tens of milliseconds, in which no call would be answered.
"""

from collections.abc import Callable

import msgspec

from sidemirror_server.rpc.boundary.child_process import ChildEnded, ChildProcess, FatalQuestion, serve
from sidemirror_server.rpc.otlp.decoding import Decoded, decode
from sidemirror_server.vocabulary.errors import LimitReached, StoreUnavailable

# Exporters can wait, and whoever calls beside them should not. Chosen here.
_NICER_BY = 15


class _Question(msgspec.Struct, array_like=True):
    body: bytes
    is_json: bool
    with_content: bool


class SpanDecoder:
    """Decodes exports, one after the other."""

    def __init__(self, waiting: int) -> None:
        """`waiting`: how many exports may wait or be decoded; more are refused. One that is being decoded is decoded to
        its end, also when its sender has left, and counts no more then."""
        self._most = waiting
        self._waiting = 0
        self._process = ChildProcess(__name__)

    async def decode(self, body: bytes, *, is_json: bool, with_content: bool) -> Decoded:
        """As `decode`; what ends the process cannot be read. Raises LimitReached when too many exports wait,
        StoreUnavailable when there is no process."""
        if self._waiting >= self._most:
            raise LimitReached("telemetry_exports", self._most, "exports of spans that wait", passes=True)
        self._waiting += 1
        try:
            question = msgspec.msgpack.encode(_Question(body, is_json, with_content))
            return msgspec.msgpack.decode(await self._process.ask(question), type=Decoded)
        except msgspec.MsgspecError:
            return Decoded(wrong="it cannot be read")
        except FatalQuestion:
            return Decoded(wrong="it cannot be read: the process that decodes it ends each time")
        except ChildEnded as error:
            raise StoreUnavailable(reason="the process that decodes spans has ended; send them again") from error
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """Ends the process."""
        await self._process.close()


def _begin(_: bytes) -> Callable[[bytes], bytes]:
    def answer(asked: bytes) -> bytes:
        question = msgspec.msgpack.decode(asked, type=_Question)
        found = decode(question.body, is_json=question.is_json, with_content=question.with_content)
        return msgspec.msgpack.encode(found)

    return answer


if __name__ == "__main__":
    serve(_begin, nicer_by=_NICER_BY)
