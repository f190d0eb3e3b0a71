"""What wire tests say often: events, refusals with all that they promise, and what a scope holds."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub

TIMEOUT_S = 60.0
MEDIUM = pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM)


def started(**fields: Any) -> pb.TurnEvent:
    return pb.TurnEvent(turn_started=pb.TurnStarted(**fields))


def called(name: str, arguments: str = "", call_id: str = "", event_id: str = "", **more: Any) -> pb.TurnEvent:
    what = pb.ToolCalled(call_id=call_id, name=name, arguments=arguments, polling=more.pop("polling", False))
    return pb.TurnEvent(event_id=event_id, tool_called=what, **more)


def returned(content: str = "", call_id: str = "", event_id: str = "", **more: Any) -> pb.TurnEvent:
    what = pb.ToolReturned(call_id=call_id, content=content, is_error=more.pop("is_error", False))
    return pb.TurnEvent(event_id=event_id, tool_returned=what, **more)


def failed(error: str = "no such table: x", call_id: str = "", event_id: str = "", **more: Any) -> pb.TurnEvent:
    return pb.TurnEvent(event_id=event_id, tool_failed=pb.ToolFailed(call_id=call_id, error=error), **more)


def said(text: str, event_id: str = "") -> pb.TurnEvent:
    return pb.TurnEvent(event_id=event_id, user_message=pb.UserMessage(text=text))


def finished(**fields: Any) -> pb.TurnEvent:
    return pb.TurnEvent(turn_finished=pb.TurnFinished(**fields))


class Refusal(NamedTuple):
    """How a call was refused: its code, the reason of its ErrorInfo, and the fields of its BadRequest."""

    code: grpc.StatusCode
    reason: str
    fields: tuple[str, ...] = ()


def refusal_of(error: Any) -> Refusal:
    """The refusal in an RpcError; fails when its details are not what every error of this API carries."""
    status = rpc_status.from_call(error)
    assert status is not None, f"no details: {error}"
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    infos = [detail for detail in status.details if detail.Is(info.DESCRIPTOR)]
    assert len(infos) == 1
    infos[0].Unpack(info)
    assert info.domain == "sidemirror.dev"
    for detail in status.details:
        if detail.Is(bad.DESCRIPTOR):
            detail.Unpack(bad)
    assert all(violation.description for violation in bad.field_violations)
    return Refusal(error.code(), info.reason, tuple(violation.field for violation in bad.field_violations))


def refused(call: Callable[..., object], *arguments: object) -> Refusal:
    """How `call(*arguments)` is refused; a call that streams is read to its end."""
    try:
        answer = call(*arguments)
        if isinstance(answer, Iterator):
            list(answer)
    except grpc.RpcError as error:
        return refusal_of(error)
    pytest.fail("the call was not refused")


def code_of(call: Callable[..., object], *arguments: object) -> grpc.StatusCode:
    """The code of a call that gRPC itself refuses, so without our details."""
    try:
        answer = call(*arguments)
        if isinstance(answer, Iterator):
            list(answer)
    except grpc.RpcError as error:
        return error.code()
    pytest.fail("the call was not refused")


def bad_field(*fields: str) -> Refusal:
    return Refusal(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", fields)


NOT_FOUND = Refusal(grpc.StatusCode.NOT_FOUND, "NOT_FOUND")
WRONG_STATE = Refusal(grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
ALREADY_EXISTS = Refusal(grpc.StatusCode.ALREADY_EXISTS, "ALREADY_EXISTS")
MALFORMED = Refusal(grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED_MESSAGE")
LIMIT_REACHED = Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
REUSED = Refusal(grpc.StatusCode.INVALID_ARGUMENT, "REQUEST_ID_REUSED", ("request_id",))


def entries(stub: ThinkingServiceStub, turn_id: str, tenant_id: str = "") -> list[pb.TurnEntry]:
    """All that is recorded of a turn, page by page."""
    found: list[pb.TurnEntry] = []
    token = ""
    while True:
        request = pb.GetTurnRequest(tenant_id=tenant_id, turn_id=turn_id, page_token=token)
        page = stub.GetTurn(request, timeout=TIMEOUT_S)
        found += page.entries
        token = page.next_page_token
        if not token:
            return found


def stored(stub: ThinkingServiceStub, tenant_id: str) -> tuple[bytes, ...]:
    """Everything that a tenant's calls can see of what is stored: sessions, turns, and the whole record."""
    # What was taken into memory before this turn is on the disk before it.
    stub.StartTurn(pb.StartTurnRequest(tenant_id=f"{tenant_id} settles"), timeout=TIMEOUT_S)
    sessions = stub.ListSessions(pb.ListSessionsRequest(tenant_id=tenant_id, page_size=1000), timeout=TIMEOUT_S)
    turns = stub.ListTurns(pb.ListTurnsRequest(tenant_id=tenant_id, page_size=1000), timeout=TIMEOUT_S)
    record = stub.WatchTurns(pb.WatchTurnsRequest(tenant_id=tenant_id, follow=False), timeout=TIMEOUT_S)
    seen = [*sessions.sessions, *turns.turns, *(response.entry for response in record)]
    return tuple(message.SerializeToString() for message in seen)


def kinds(found: list[pb.TurnEntry]) -> list[str]:
    """The kind of each entry: an event's, a directive's, or `claim`."""
    names = []
    for entry in found:
        arm = entry.WhichOneof("entry") or ""
        inner = getattr(entry, arm)
        names.append(arm if arm == "claim" else inner.WhichOneof("kind"))
    return names
