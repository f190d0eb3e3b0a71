"""Requests that no client of ours would send: the messages of tests/faults/malformed.py as protobuf and as JSON, cut
and changed, in frames and without, and HTTP that is none."""

import asyncio
import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from bench.http_beside import door_of
from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.agents import failing_calls
from tests.faults.figures import show
from tests.faults.malformed import Maker
from tests.faults.process import Process
from tests.faults.sidecars import connected
from tests.http.callers import bearing, framed, frames, path_of
from tests.wire.test_other_tenants import METHODS

pytestmark = pytest.mark.slow("thousands of requests")

SERVED = [method for method in METHODS if not method.client_streaming]
AT_ONCE = 16
HTTP = {"http_address": "127.0.0.1:0", "limits__http_requests_per_second": "5000"}


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(2_000, id="2-thousand"),
        pytest.param(20_000, id="20-thousand", marks=[pytest.mark.long, pytest.mark.timeout(600)]),
    ],
)
async def test_never_internal_nor_unknown(count: int, tmp_path: Path) -> None:
    """Spread over every RPC, in JSON and in protobuf. Seen to fail when `from_json` catches ParseError alone, and when
    an unknown enum number is not refused."""
    sent = _Sent(seed=11)
    codes: Counter[str] = Counter()
    bad: list[str] = []
    async with Process(tmp_path, HTTP) as process:
        async with connected(process.address) as stub:
            for turn_id in ("t", "t0"):
                await stub.StartTurn(pb.StartTurnRequest(turn_id=turn_id, session_id="s"))
                await stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=failing_calls(turn_id, 5)))
        port, token = door_of(process), (tmp_path / "data" / "http-token").read_text().strip()

        async def send(number: int) -> None:
            method = SERVED[number % len(SERVED)]
            codec = "json" if number % 2 else "proto"
            body = sent.body(method, codec)
            status, answer = await _answer(port, path_of(method), body, bearing(token, _kind(method, codec)))
            code = _code(status, answer, streams=method.server_streaming)
            codes[code] += 1
            late = code == "deadline_exceeded" and not method.server_streaming
            if late or code in ("internal", "unknown", "unavailable", "data_loss") or (status >= 500 and status != 504):
                bad.append(f"{method.name} {codec}: {code}: {body!r:.500}: {answer!r:.300}")

        for first in range(0, count, AT_ONCE):
            await asyncio.gather(*[send(number) for number in range(first, min(count, first + AT_ONCE))])
        assert bad == []
        assert process.running
    show(f"{count} requests to {len(SERVED)} methods: {dict(codes)}")
    # Half of them at least must be wrong, and some right, or the test shows nothing.
    assert codes["invalid_argument"] > count * 0.4
    assert codes["ok"] > count * 0.02
    assert "call_failed" not in process.text()
    assert "Traceback" not in process.text()
    assert "Exception in ASGI" not in process.text()


async def test_bytes_that_are_no_http(tmp_path: Path) -> None:
    """They are refused or cut off, and the next one is served."""
    chance = random.Random(3)
    head = b"POST /sidemirror.v1.ThinkingService/ListTurns HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\n\r\n{}"
    bodies = [
        *(chance.randbytes(chance.choice((1, 50, 5_000))) for _ in range(30)),
        *(head[: chance.randrange(1, len(head))] + chance.randbytes(20) for _ in range(60)),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"POST /\xff\xfe HTTP/1.1\r\nhost: \xff\r\nauthorization: \xff\r\n\r\n",
        b"x: " + b"y" * 100_000,
        b"OPTIONS * HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
    ]
    async with Process(tmp_path, HTTP) as process:
        port = door_of(process)
        for body in bodies:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(body)
            writer.write_eof()
            try:
                said = await asyncio.wait_for(reader.read(), 30)
            except ConnectionError:
                said = b""
            assert re.match(rb"HTTP/1.1 (4\d\d) ", said) or not said, (body, said)
            writer.close()
        headers = bearing((tmp_path / "data" / "http-token").read_text().strip())
        status, _ = await _answer(port, "/sidemirror.v1.ThinkingService/ListTurns", b"{}", headers)
        assert status == 200
        assert "Traceback" not in process.text()


class _Sent:
    """Makes bodies; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self._maker = Maker(seed)
        self._chance = random.Random(seed)

    def body(self, method: MethodDescriptor, codec: str) -> bytes:
        raw = self._maker.message(method.input_type)
        if codec == "json":
            raw = self._json(method, raw)
        if not method.server_streaming:
            return raw
        # Not 1, compressed: without an encoding the protocol's own word for that is `internal`.
        flags = self._chance.choice((0, 0, 0, 0, 2, 255))
        return self._chance.choice((framed(raw, flags),) * 6 + (raw, framed(raw) * 2, framed(raw)[:-1], b""))

    def _json(self, method: MethodDescriptor, raw: bytes) -> bytes:
        try:
            message = GetMessageClass(method.input_type).FromString(raw)
            text = bytearray(json_format.MessageToJson(message).encode("utf-8", "surrogatepass"))
        except (DecodeError, json_format.Error, ValueError, TypeError):
            return raw
        if self._chance.random() < 0.6:
            return bytes(text)
        words = (b"null", b"{}", b"[]", b"-1", b"1e999", b'"\\ud800"', b"true", b",", b'"', b"NaN", b'{"@type":"x"}')
        for _ in range(self._chance.randint(1, 3)):
            place = self._chance.randrange(len(text) + 1)
            text[place : place + self._chance.choice((0, 1, 5))] = self._chance.choice(words)
        return bytes(text)


def _kind(method: MethodDescriptor, codec: str) -> str:
    return f"application/{'connect+' if method.server_streaming else ''}{codec}"


def _code(status: int, answer: bytes, *, streams: bool) -> str:
    """The code of an answer: of its JSON, or of a stream's last frame."""
    if streams and status == 200:
        error = json.loads(frames(answer)[-1][1]).get("error", {})
        return str(error.get("code", "ok"))
    return "ok" if status == 200 else str(json.loads(answer)["code"])


async def _answer(port: int, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    """An answer to the end of its connection. A stream gets a short deadline: a watch that follows has no end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    given = {**headers, "host": f"127.0.0.1:{port}", "connection": "close", "content-length": str(len(body))}
    if "connect+" in headers["content-type"]:
        given["connect-timeout-ms"] = "50"
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items()), "", ""]
    writer.write("\r\n".join(lines).encode() + body)
    said = await reader.read()
    writer.close()
    head, _, answer = said.partition(b"\r\n\r\n")
    if b"chunked" in head.lower():
        answer = _unchunked(answer)
    return int(head[9:12]), answer


def _unchunked(body: bytes) -> bytes:
    found = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size, 16)
        found, body = found + body[:length], body[length + 2 :]
    return found
