"""Another tenant's ids open nothing: every RPC of the contract is called with them, and none answers what is that
tenant's.

The calls are made from the contract's descriptors, so that one that is added later is called too.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary import services
from tests.postgres.databases import Databases
from tests.wire.calls import MEDIUM, called, failed, refusal_of, stored
from tests.wire.sidecar import sidecar, thinking

CANARY = "canary of acme"
METHODS = [
    method
    for service in vars(services).values()
    if isinstance(service, ServiceDescriptor)
    for method in service.methods
]
# What shows the canary to its own tenant: without it the walk would prove nothing.
SHOWN = {
    *("GetTurn", "ListTurns", "WatchTurns", "GetReflectionPrompt"),
}
REQUEST_ID = "a request of acme"


class Owned:
    """What acme has: the ids that another tenant will try, by the names of fields."""

    def __init__(self, address: str, metadata: Any = None) -> None:
        with grpc.insecure_channel(address) as plain:
            channel = plain if metadata is None else grpc.intercept_channel(plain, Carries(metadata))
            stub = rpc_stub(channel)
            stub.CreateSession(pb.CreateSessionRequest(tenant_id="acme", session_id="s", config=MEDIUM), timeout=60)
            start = pb.StartTurnRequest(
                tenant_id="acme", session_id="s", turn_id="t", task=CANARY, config=MEDIUM, request_id=REQUEST_ID
            )
            stub.StartTurn(start, timeout=60)
            events = [called("look up", CANARY), failed(CANARY, event_id="e")]
            stub.ReportEvents(pb.ReportEventsRequest(tenant_id="acme", turn_id="t", events=events), timeout=60)
            page = stub.GetTurn(pb.GetTurnRequest(tenant_id="acme", turn_id="t", page_size=1), timeout=60)
            watched = next(stub.WatchTurns(pb.WatchTurnsRequest(tenant_id="acme", follow=False), timeout=60))
        self.values = {
            "session_id": "s",
            "turn_id": "t",
            "request_id": REQUEST_ID,
            "page_token": page.next_page_token,
            "cursor": watched.entry.cursor,
        }


class Carries(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    """Adds metadata to each call."""

    def __init__(self, metadata: Any) -> None:
        self._metadata = metadata

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return continuation(client_call_details._replace(metadata=self._metadata), request)

    intercept_unary_stream = intercept_unary_unary


def rpc_stub(channel: grpc.Channel) -> Any:
    from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub

    return ThinkingServiceStub(channel)


def requests(method: MethodDescriptor, tenant_id: str, owned: Owned) -> Iterator[Message]:
    """Requests of the method with every id that it takes; those that may be absent, once with and once without."""
    fields = method.input_type.fields_by_name
    ids = {name: value for name, value in owned.values.items() if name in fields}
    optional: list[str] = [name for name in ("page_token", "cursor", "request_id") if name in ids]
    # A turn may be named by its session alone.
    optional += ["turn_id"] if {"turn_id", "session_id"} <= ids.keys() else []
    for left_out in [(), *((name,) for name in optional), tuple(optional)]:
        given = {name: value for name, value in ids.items() if name not in left_out}
        request = GetMessageClass(method.input_type)(tenant_id=tenant_id, **given)
        if "follow" in fields:
            request.follow = False  # type: ignore[attr-defined]
        if "resume" in fields:
            request.resume.turn_id = owned.values["turn_id"]  # type: ignore[attr-defined]
        yield request


def answers(
    channel: grpc.Channel, method: MethodDescriptor, request: Message, metadata: Any = None
) -> list[Message] | grpc.StatusCode:
    """What the call answers, or how it is refused."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    coding: Any = {
        "request_serializer": lambda message: message.SerializeToString(),
        "response_deserializer": GetMessageClass(method.output_type).FromString,
    }
    try:
        if method.client_streaming:
            return list(channel.stream_stream(path, **coding)(iter([request]), timeout=60, metadata=metadata))
        if method.server_streaming:
            return list(channel.unary_stream(path, **coding)(request, timeout=60, metadata=metadata))
        return [channel.unary_unary(path, **coding)(request, timeout=60, metadata=metadata)]
    except grpc.RpcError as error:
        return refusal_of(error).code


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """A store of either kind."""
    if request.param == "sqlite":
        yield {}
        return
    databases: Databases = request.getfixturevalue("databases")
    name = asyncio.run(databases.create())
    yield {"database_url": databases.cluster.url("sidecar", name)}
    asyncio.run(databases.drop(name))


@pytest.mark.parametrize("restart", [False, True], ids=["in memory", "from the store"])
def test_another_tenants_ids_open_nothing(restart: bool, settings: dict[str, str], tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(sidecar(tmp_path, settings=settings))
        owned = Owned(server.address)
        if restart:
            stack.pop_all().close()
            server = stack.enter_context(sidecar(tmp_path, settings=settings))
        channel = stack.enter_context(grpc.insecure_channel(server.address))
        stub = stack.enter_context(thinking(server))
        before = stored(stub, "acme")
        for method in METHODS:
            for request in requests(method, "intruder", owned):
                found = answers(channel, method, request)
                if isinstance(found, list):
                    assert CANARY not in "".join(map(str, found)), f"{method.name} {request}"
                else:
                    assert found in (
                        *(grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT),
                        *(grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.ALREADY_EXISTS),
                    ), f"{method.name} {request}"
        assert stored(stub, "acme") == before
        shown = {
            method.name
            for method in METHODS
            for request in requests(method, "acme", owned)
            if isinstance(found := answers(channel, method, request), list) and CANARY in "".join(map(str, found))
        }
        assert shown >= SHOWN
