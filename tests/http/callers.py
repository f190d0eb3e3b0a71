"""Callers of the HTTP door: one request and its answer, and RPCs in Connect's forms."""

import base64
import http.client
import json
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from google.protobuf import json_format
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2

from tests.wire.sidecar import PATIENCE_S

JSON = "application/json"


class Answer(NamedTuple):
    """An answer of HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Refused(NamedTuple):
    """An error of Connect: its code, and the reason of its ErrorInfo; empty without one."""

    code: str
    reason: str = ""


def request(
    port: int,
    path: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "POST",
    host: str = "127.0.0.1",
) -> Answer:
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE_S)
    try:
        connection.request(method, path, body, dict(headers or {}))
        answer = connection.getresponse()
        return Answer(answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def bearing(token: str, content_type: str = JSON) -> dict[str, str]:
    """The headers of a call with this token."""
    return {"authorization": f"Bearer {token}", "content-type": content_type}


def path_of(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def answers(
    port: int, method: MethodDescriptor, message: Message, token: str = "", codec: str = "json"
) -> list[Message] | Refused:
    """What an RPC answers, or how it is refused."""
    streams = method.client_streaming or method.server_streaming
    body = json_format.MessageToJson(message).encode() if codec == "json" else message.SerializeToString()
    kind = f"application/{'connect+' if streams else ''}{codec}"
    headers = {**(bearing(token) if token else {}), "content-type": kind}
    answer = request(port, path_of(method), framed(body) if streams else body, headers)
    if answer.headers["content-type"] == JSON and (answer.status != 200):
        return refused(answer.json)
    if not streams:
        return [_read(method, answer.body, codec)]
    *messages, end = frames(answer.body)
    assert end[0] == 2
    if "error" in (ended := json.loads(end[1])):
        return refused(ended["error"])
    return [_read(method, message, codec) for _, message in messages]


def framed(body: bytes, flags: int = 0) -> bytes:
    return struct.pack(">BI", flags, len(body)) + body


def frames(body: bytes) -> list[tuple[int, bytes]]:
    """The frames of a stream: flags and contents."""
    found = []
    while body:
        flags, length = struct.unpack(">BI", body[:5])
        found.append((flags, body[5 : 5 + length]))
        body = body[5 + length :]
    return found


def refused(error: Any) -> Refused:
    """The refusal that an error's JSON tells."""
    info = error_details_pb2.ErrorInfo()
    for detail in error.get("details", []):
        if detail["type"] == info.DESCRIPTOR.full_name:
            info.ParseFromString(base64.b64decode(detail["value"] + "=="))
            assert detail["debug"]["reason"] == info.reason
    return Refused(error["code"], info.reason)


def _read(method: MethodDescriptor, body: bytes, codec: str) -> Message:
    kind = GetMessageClass(method.output_type)
    return json_format.Parse(body, kind()) if codec == "json" else kind.FromString(body)
