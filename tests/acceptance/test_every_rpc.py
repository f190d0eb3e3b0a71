"""The call that the site shows for each RPC is made, in the order of the list, on one sidecar."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import json_format
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from sidemirror.v1 import critique_pb2, goal_reflection_pb2, reflective_memory_pb2, sidecar_pb2, thinking_pb2
from tests.architecture.repository import ROOT
from tests.wire.sidecar import PATIENCE_S, sidecar

CALLS = [json.loads(line) for line in (ROOT / "docs/site/calls.jsonl").read_text().splitlines()]
FILES = (critique_pb2, goal_reflection_pb2, reflective_memory_pb2, sidecar_pb2, thinking_pb2)
METHODS: Mapping[str, MethodDescriptor] = {
    f"{service.name}/{method.name}": method
    for file in FILES
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}

# How a call is refused that needs something that a fresh sidecar has not.
_REFUSED = (grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.NOT_FOUND)


def messages(method: MethodDescriptor, call: Mapping[str, Any], known: Mapping[str, str]) -> list[Message]:
    """The requests of a call. Raises json_format.ParseError for a field that the contract does not have."""
    made = []
    for body in call.get("stream", [call.get("body")]):
        text = json.dumps(body)
        for name, value in known.items():
            text = text.replace(f'"{name}"', json.dumps(value))
        made.append(json_format.Parse(text, GetMessageClass(method.input_type)()))
    return made


def answers(channel: grpc.Channel, call: Mapping[str, Any], known: Mapping[str, str]) -> Iterator[Message]:
    """What comes of a call; the first alone of one that does not end by itself. Raises grpc.RpcError."""
    method = METHODS[call["rpc"]]
    requests = messages(method, call, known)
    kinds = {(False, False): "unary_unary", (False, True): "unary_stream", (True, False): "stream_unary"}
    kind = kinds.get((method.client_streaming, method.server_streaming), "stream_stream")
    rpc = getattr(channel, kind)(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=type(requests[0]).SerializeToString,
        response_deserializer=GetMessageClass(method.output_type).FromString,
    )
    answer = rpc(iter(requests) if method.client_streaming else requests[0], timeout=PATIENCE_S)
    if not method.server_streaming:
        yield answer
    elif call.get("endless"):
        yield next(answer)
        answer.cancel()
    else:
        yield from answer


def value_at(answer: Message, path: str) -> object:
    """The field at this path of the answer's JSON. Raises KeyError."""
    value: Any = json_format.MessageToDict(answer)
    for part in path.split("."):
        value = value[part]
    return value


def test_every_rpc_is_shown_once() -> None:
    assert sorted(call["rpc"] for call in CALLS) == sorted(METHODS)


def test_each_call_is_answered(tmp_path: Path) -> None:
    """Those that need something that a fresh sidecar has not are refused for that. Seen to fail for a call with a
    field that is no more."""
    known: dict[str, str] = {}
    wrong = []
    with sidecar(tmp_path) as server, grpc.insecure_channel(server.address) as channel:
        for call in CALLS:
            try:
                answered = list(answers(channel, call, known))
            except (grpc.RpcError, json_format.ParseError) as error:
                if not isinstance(error, grpc.Call) or error.code() not in _REFUSED or "needs" not in call:
                    wrong.append(f"{call['rpc']}: {error.details() if isinstance(error, grpc.Call) else error}")
                continue
            if "needs" in call:
                wrong.append(f"{call['rpc']} needs nothing")
            for name, path in call.get("keep", {}).items():
                known[name] = str(value_at(answered[0], path))
    assert wrong == [], "\n".join(wrong)
