"""A provider on loopback: the Messages API and Chat Completions, spoken well enough for the unmodified SDKs.

    async with Endpoint() as endpoint:
        model = AnthropicModel(CLAUDE, KEY, endpoint.anthropic_url)
        endpoint.faults = [Fault.ERROR_500]      # of the next calls, in this order; then `endpoint.fault`, if any

It is as strict as the providers are (parameters, schemas, keys), counts calls and tokens by purpose, and misbehaves on
request in every way that a provider was seen to. It answers without streaming, as that is how the adapters ask; a
fault of streams shows itself as what such an answer looks like then.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from enum import StrEnum
from types import TracebackType
from typing import Any, Self

import msgspec

from sidemirror_server.models.answers import MidTurnAnswer
from tests.models import provider_answers
from tests.models.provider_answers import CLAUDE, EMBEDDING, GPT, KEY, LOCAL, Refusal

__all__ = ["CLAUDE", "EMBEDDING", "EXPECTED", "GPT", "KEY", "LOCAL", "Call", "Endpoint", "Fault", "Slow", "unused_url"]


class Fault(StrEnum):
    """How a provider misbehaves."""

    RATE_LIMITED = "429"
    RATE_LIMITED_1 = "429, retry-after 1"
    RATE_LIMITED_3600 = "429, retry-after 3600"
    OUT_OF_MONEY = "429, no quota"
    ERROR_500 = "500"
    HUGE_500 = "500 with 10 MB"
    HTML_502 = "502 with a web page"
    UNAVAILABLE_503 = "503"
    OVERLOADED_529 = "529"
    ECHOING_400 = "400 that repeats the prompt and the key"
    REDIRECT = "307 to elsewhere"
    BLACK_HOLE = "no answer"
    HTML_200 = "200 with a web page"
    CUT_JSON = "200 with half of the JSON"
    EMPTY_BODY = "200 with nothing"
    EMPTY_CONTENT = "no text"
    NULL_STOP = "no stop reason"
    NUL_AND_SURROGATE = "NUL and half of a pair"
    ERROR_EVENT = "200 with an error event of a stream"
    ERROR_OBJECT = "200 with an error object"
    CLEAN_TRUNCATION = "chunks that end in the middle"
    RESET = "reset in the middle"
    SLOW_DRIP = "a byte now and then"
    TEN_MEGABYTES = "10 MB"
    PACKED = "a compressed answer that grows to 20 MB"
    NOT_JSON = "prose instead of JSON"
    WRONG_SCHEMA = "another schema"
    OUT_OF_RANGE = "a score of 7"
    NAN_SCORE = "a score of NaN"
    INFINITE_SCORE = "a score of 1e999"
    DEEP = "100,000 brackets"
    REFUSED = "refusal"
    MAX_TOKENS = "cut off by max_tokens"
    PROMPT_ECHO = "the prompt as the answer"
    PROMPT_ECHO_IN_JSON = "the prompt inside an answer"


class Slow(StrEnum):
    """How a provider takes more time than its caller has."""

    HANGS = "nothing comes"
    HEADERS = "a byte of the headers now and then"
    BODY = "a byte of the body now and then"
    LATE = "the whole answer, too late"


# What an adapter makes of each: `ok` is an answer, otherwise the status of its failure and whether to ask again.
EXPECTED: Mapping[Fault, tuple[str, bool]] = {
    Fault.RATE_LIMITED: ("failed_model", True),
    Fault.RATE_LIMITED_1: ("failed_model", True),
    Fault.RATE_LIMITED_3600: ("failed_model", True),
    Fault.OUT_OF_MONEY: ("failed_model", False),
    Fault.ERROR_500: ("failed_model", True),
    Fault.HUGE_500: ("failed_model", False),
    Fault.HTML_502: ("failed_model", True),
    Fault.UNAVAILABLE_503: ("failed_model", True),
    Fault.OVERLOADED_529: ("failed_model", True),
    Fault.ECHOING_400: ("failed_model", False),
    Fault.REDIRECT: ("failed_model", False),
    Fault.BLACK_HOLE: ("failed_model", False),
    Fault.HTML_200: ("failed_model", False),
    Fault.CUT_JSON: ("failed_model", True),
    Fault.EMPTY_BODY: ("failed_model", False),
    Fault.EMPTY_CONTENT: ("failed_model", True),
    Fault.NULL_STOP: ("failed_model", True),
    Fault.NUL_AND_SURROGATE: ("ok", False),
    Fault.ERROR_EVENT: ("failed_model", False),
    Fault.ERROR_OBJECT: ("failed_model", True),
    Fault.CLEAN_TRUNCATION: ("failed_model", True),
    Fault.RESET: ("failed_model", True),
    Fault.SLOW_DRIP: ("failed_model", False),
    Fault.TEN_MEGABYTES: ("failed_model", False),
    Fault.PACKED: ("failed_model", False),
    Fault.NOT_JSON: ("failed_parse", True),
    Fault.WRONG_SCHEMA: ("failed_parse", True),
    Fault.OUT_OF_RANGE: ("failed_parse", True),
    Fault.NAN_SCORE: ("failed_parse", True),
    Fault.INFINITE_SCORE: ("failed_parse", True),
    Fault.DEEP: ("failed_parse", True),
    Fault.REFUSED: ("refused", False),
    Fault.MAX_TOKENS: ("truncated", False),
    Fault.PROMPT_ECHO: ("failed_parse", True),
    Fault.PROMPT_ECHO_IN_JSON: ("failed_parse", True),
}

# An answer that says nothing of its usage.
LEFT_OUT = object()

_PAGE = b"<!doctype html><html><body><h1>Bad gateway</h1></body></html>"
# (status, headers, body) where that is all that is wrong.
_STATUSES: Mapping[Fault, tuple[int, Mapping[str, str], bytes]] = {
    Fault.RATE_LIMITED: (429, {}, b'{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}'),
    Fault.RATE_LIMITED_1: (429, {"retry-after": "1"}, b'{"error":{"type":"rate_limit_error","message":"slow down"}}'),
    Fault.RATE_LIMITED_3600: (429, {"retry-after": "3600"}, b'{"error":{"type":"rate_limit_error","message":"no"}}'),
    Fault.OUT_OF_MONEY: (429, {}, b'{"error":{"type":"insufficient_quota","code":"insufficient_quota","message":""}}'),
    Fault.ERROR_500: (500, {}, b'{"type":"error","error":{"type":"api_error","message":"Internal server error"}}'),
    Fault.HUGE_500: (500, {}, b"x" * 10_000_000),
    Fault.HTML_502: (502, {"content-type": "text/html"}, _PAGE),
    Fault.UNAVAILABLE_503: (503, {}, b""),
    Fault.OVERLOADED_529: (529, {}, b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
    Fault.REDIRECT: (307, {"location": "http://127.0.0.1:9/elsewhere"}, b""),
    Fault.HTML_200: (200, {"content-type": "text/html"}, _PAGE),
    Fault.EMPTY_BODY: (200, {}, b""),
    Fault.ERROR_EVENT: (
        200,
        {"content-type": "text/event-stream"},
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    ),
    Fault.ERROR_OBJECT: (200, {}, b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
}

# The purpose of a call, by the fields of the answer that it asks for.
_PURPOSES = {frozenset(MidTurnAnswer.__struct_fields__): "mid_turn_reflection"}


class Call(msgspec.Struct):
    """One request, and what it took: zeros where it was not answered."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    purpose: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    fault: Fault | None = None


class Endpoint:
    """The server. `calls`: all requests to a model, oldest first; `lookups`: questions about models and tokens."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.lookups: list[Call] = []
        self.fault: Fault | None = None
        self.faults: list[Fault] = []
        # Answered to every call instead of anything else.
        self.status: int | None = None
        self.status_headers: dict[str, str] = {}
        # Instead of the answer that it makes up from the schema.
        self.answer: Mapping[str, Any] | None = None
        # What stands in the place of an answer's usage, or `LEFT_OUT`.
        self.usage_of: Callable[[dict[str, Any]], Any] | None = None
        # Which calls get their answer slowly, and how; None: at once.
        self.slow_of: Callable[[Call], Slow | None] | None = None
        # Seconds after which an answer comes that is late.
        self.late_s = 3.0
        # Parameters of Chat Completions that the server does not take; answered as OpenAI does, or as others do.
        self.unsupported: set[str] = set()
        # No question about a model is answered any more.
        self.lookups_hang = False
        # Calls wait for it before they are answered.
        self.gate = asyncio.Event()
        self.gate.set()
        self.arrived = asyncio.Event()
        self.sent_bytes = 0
        self.port = 0
        self._cached: set[str] = set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def anthropic_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def tokens(self) -> dict[str, tuple[int, int, int]]:
        """By purpose: calls, input tokens, output tokens."""
        found: dict[str, tuple[int, int, int]] = {}
        for call in self.calls:
            calls, given, made = found.get(call.purpose, (0, 0, 0))
            found[call.purpose] = (calls + 1, given + call.input_tokens, made + call.output_tokens)
        return found

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Small, so that what is counted as sent is not much more than what was read.
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A client that is gone is no fault of the endpoint's.
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            try:
                async for path, headers, body in _requests(reader):
                    await self._respond(path, headers, body, writer)
            finally:
                writer.close()

    async def _respond(self, path: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter) -> None:
        call = Call(path, headers, json.loads(body) if body else {})
        if path not in ("/v1/messages", "/v1/chat/completions", "/v1/embeddings"):
            self.lookups.append(call)
            if self.lookups_hang:
                await asyncio.Event().wait()
            await self._send(writer, *self._made(call))
            return
        if path == "/v1/embeddings":
            call.purpose = "memory_embedding"
        else:
            call.purpose = _PURPOSES.get(provider_answers.fields_asked_for(call.body), "unknown")
        call.fault = self.faults.pop(0) if self.faults else self.fault
        self.calls.append(call)
        self.arrived.set()
        await self.gate.wait()
        slow = self.slow_of(call) if self.slow_of is not None else None
        if slow is not None:
            await self._dawdle(writer, call, slow)
        elif self.status is not None:
            await self._send(writer, self.status, self.status_headers, b"")
        elif call.fault is not None and call.fault in _STATUSES:
            await self._send(writer, *_STATUSES[call.fault])
        elif call.fault is Fault.BLACK_HOLE:
            await asyncio.Event().wait()
        elif call.fault is Fault.ECHOING_400:
            told = f"{body.decode()} {headers.get('authorization')}"
            error = {"type": told, "code": headers.get("authorization", "")[7:], "param": None, "message": told}
            await self._send(writer, 400, {}, json.dumps({"type": "error", "error": error}).encode())
        else:
            await self._transmit(writer, call)

    def _made(self, call: Call) -> tuple[int, Mapping[str, str], bytes]:
        """The answer to a call, as the provider would give it."""
        try:
            made, given, tokens = provider_answers.respond(
                call.path, call.headers, call.body, self.answer, self.unsupported, self._cached
            )
        except Refusal as refusal:
            return refusal.status, {}, refusal.body
        call.input_tokens, call.output_tokens = given, tokens
        if self.usage_of is not None and given:
            answer = json.loads(made)
            answer["usage"] = self.usage_of(answer["usage"])
            if answer["usage"] is LEFT_OUT:
                del answer["usage"]
            made = json.dumps(answer).encode()
        return 200, {}, made

    async def _dawdle(self, writer: asyncio.StreamWriter, call: Call, slow: Slow) -> None:
        """The right answer, slowly."""
        status, headers, made = self._made(call)
        head = _head(status, {"content-length": str(len(made)), **headers})
        match slow:
            case Slow.HANGS:
                await asyncio.Event().wait()
            case Slow.HEADERS:
                await _drip(writer, head)
            case Slow.BODY:
                writer.write(head)
                await _drip(writer, made)
            case Slow.LATE:
                await asyncio.sleep(self.late_s)
                await self._send(writer, status, headers, made)

    async def _transmit(self, writer: asyncio.StreamWriter, call: Call) -> None:
        status, headers, made = self._made(call)
        if status == 200 and call.path == "/v1/embeddings":
            made = _SPOILT_VECTORS.get(call.fault, made)
        elif status == 200 and call.fault is not None:
            made, call.output_tokens = provider_answers.spoilt(call.fault.name, call.path, call.body, made)
        match call.fault:
            case Fault.CUT_JSON:
                await self._send(writer, status, headers, made[: len(made) // 2])
            case Fault.CLEAN_TRUNCATION:
                half = made[: len(made) // 2]
                writer.write(
                    _head(200, {"transfer-encoding": "chunked"}) + b"%x\r\n%s\r\n0\r\n\r\n" % (len(half), half)
                )
                await writer.drain()
            case Fault.RESET:
                writer.write(_head(200, {"content-length": str(len(made))}) + made[: len(made) // 2])
                await writer.drain()
                _reset(writer)
            case Fault.SLOW_DRIP:
                writer.write(_head(200, {"content-length": str(len(made))}))
                await _drip(writer, made)
            case Fault.PACKED:
                await self._send(writer, 200, {"content-encoding": "gzip"}, made)
            case _:
                await self._send(writer, status, headers, made)

    async def _send(self, writer: asyncio.StreamWriter, status: int, headers: Mapping[str, str], body: bytes) -> None:
        writer.write(_head(status, {"content-length": str(len(body)), **headers}))
        for start in range(0, len(body), 65536):
            writer.write(body[start : start + 65536])
            await writer.drain()
            self.sent_bytes += len(body[start : start + 65536])


# What stands in the place of vectors.
_SPOILT_VECTORS: Mapping[Fault | None, bytes] = {
    Fault.HTML_200: b"<html>Sign in</html>",
    Fault.EMPTY_BODY: b"",
    Fault.TEN_MEGABYTES: b" " * 10_000_000,
}


def unused_url() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    return f"http://127.0.0.1:{port}"


async def _requests(reader: asyncio.StreamReader) -> AsyncIterator[tuple[str, dict[str, str], bytes]]:
    """(path, headers with small letters, body), until the client closes the connection."""
    while True:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        yield first.split(" ")[1].partition("?")[0], headers, body


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    shown = {"content-type": "application/json", "request-id": "req_1", **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in shown.items())
    return f"HTTP/1.1 {status} -\r\n{lines}\r\n".encode()


async def _drip(writer: asyncio.StreamWriter, data: bytes) -> None:
    for byte in data:
        writer.write(bytes((byte,)))
        await writer.drain()
        await asyncio.sleep(0.05)  # it is the fault, not a wait for something


def _reset(writer: asyncio.StreamWriter) -> None:
    """Ends the connection with a TCP reset instead of a goodbye."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    writer.transport.abort()
