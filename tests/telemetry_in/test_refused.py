"""What an exporter is told when its spans are not taken, over gRPC and over HTTP: a code and a body that the protocol
has, and whether to send again."""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
from google.protobuf import json_format
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from sidemirror_server.rpc.boundary.child_process import ChildProcess
from tests.faults.sidecars import Running, running
from tests.faults.stores import Fault, Switch
from tests.faults.waiting import until
from tests.telemetry_in.captures import export_of
from tests.telemetry_in.made import MadeCall, request_of, run_of
from tests.telemetry_in.received import TAKES_SPANS, Door, as_json, export, post, recorded, takes_spans
from tests.telemetry_in.test_received import check

RUN = run_of("t", (MadeCall("sql", "SELECT 1", "1"),), conversation="s")
OTHER = run_of("other", (MadeCall("sql", "SELECT 1", "1"),), conversation="s")
PROTOBUF, JSON = "application/x-protobuf", "application/json"


def status_in(content_type: str, body: bytes) -> status_pb2.Status:
    """The body as the protocol has it. Raises ParseError and DecodeError."""
    if content_type == JSON:
        return json_format.Parse(body, status_pb2.Status())
    return status_pb2.Status.FromString(body)


def comes_again(status: Any) -> bool:
    return any(detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR) for detail in status.details)


class Refusal(NamedTuple):
    """`begin` brings it about that the next export is refused; what it returns goes on meanwhile. The codes of gRPC and
    of HTTP."""

    name: str
    begin: Callable[[Running, Switch, pytest.MonkeyPatch], Awaitable[asyncio.Task[None] | None]]
    code: grpc.StatusCode
    status: int


async def away(_: Running, switch: Switch, __: pytest.MonkeyPatch) -> None:
    switch.turn(Fault.AWAY)


async def full(_: Running, switch: Switch, __: pytest.MonkeyPatch) -> None:
    switch.turn(Fault.FULL)


async def drains(server: Running, _: Switch, __: pytest.MonkeyPatch) -> None:
    server.sidecar._boundary.refuse()
    assert server.sidecar.door is not None
    server.sidecar.door.refuse()


async def exports_wait(server: Running, _: Switch, patch: pytest.MonkeyPatch) -> asyncio.Task[None]:
    """One export is being decoded for as long as the test lasts, and no second one may wait."""
    asked = asyncio.Event()

    async def hangs(*_: Any) -> bytes:
        asked.set()
        await asyncio.sleep(60)
        return b""

    patch.setattr(ChildProcess, "ask", hangs)
    first = asyncio.create_task(asyncio.to_thread(_sent_in_vain, server.address))
    await asked.wait()
    return first


def _sent_in_vain(address: str) -> None:
    with pytest.raises(grpc.RpcError):
        export(address, request_of(RUN), timeout_s=5)


async def jobs_wait(server: Running, _: Switch, __: pytest.MonkeyPatch) -> None:
    await asyncio.to_thread(export, server.address, request_of(OTHER))
    await until(lambda: server.sidecar._queue.waiting.get("assemble_trace", 0) > 0)


REFUSALS = (
    Refusal("store away", away, grpc.StatusCode.UNAVAILABLE, 503),
    Refusal("store full", full, grpc.StatusCode.RESOURCE_EXHAUSTED, 429),
    Refusal("draining", drains, grpc.StatusCode.UNAVAILABLE, 503),
    Refusal("telemetry_exports", exports_wait, grpc.StatusCode.RESOURCE_EXHAUSTED, 429),
    Refusal("queued_jobs", jobs_wait, grpc.StatusCode.RESOURCE_EXHAUSTED, 429),
)


@pytest.mark.parametrize("refusal", REFUSALS, ids=[one.name for one in REFUSALS])
async def test_what_passes_is_to_be_sent_again(
    refusal: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RetryInfo over gRPC; 429 or 503 with Retry-After over HTTP."""
    switch = Switch()
    limits = {"limits__telemetry_exports": "1", "limits__queued_jobs": "1", "telemetry__settle_s": "60"}
    settings: dict[str, Any] = {**TAKES_SPANS, **limits}
    async with running(tmp_path, switch=switch, **settings) as server:
        assert server.sidecar.door is not None
        door = Door(tmp_path, server.sidecar.door.port)
        going_on = await refusal.begin(server, switch, monkeypatch)
        with pytest.raises(grpc.RpcError) as refused:
            await asyncio.to_thread(export, server.address, request_of(RUN))
        assert refused.value.code() is refusal.code
        told = rpc_status.from_call(refused.value)  # type: ignore[arg-type]  # the error of a call is one
        assert told is not None
        assert comes_again(told)
        for content_type, body in ((PROTOBUF, request_of(RUN).SerializeToString()), (JSON, as_json(request_of(RUN)))):
            status, headers, answer = await asyncio.to_thread(post, door, body, content_type)
            assert (status, headers["retry-after"], headers["content-type"]) == (refusal.status, "1", content_type)
            assert status_in(content_type, answer).code == refusal.code.value[0]
        switch.turn(Fault.NONE)
        if going_on is not None:
            await going_on


GOOD = export_of("pydantic-ai")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with takes_spans(tmp_path_factory.mktemp("refused")) as running_server:
        yield running_server


@pytest.mark.parametrize(
    ("status", "body", "content_type", "more"),
    [
        (400, b"\xff" * 9, PROTOBUF, {}),
        (400, b"{", JSON, {}),
        (400, b"no gzip", PROTOBUF, {"content-encoding": "gzip"}),
        (401, b"", PROTOBUF, {"authorization": "Bearer nobody"}),
        (401, b"{}", JSON, {"authorization": "Bearer nobody"}),
        (403, b"", PROTOBUF, {"host": "elsewhere"}),
        (403, b"{}", JSON, {"origin": "http://elsewhere"}),
        (413, bytes(5 * 1024 * 1024), PROTOBUF, {}),
        (415, b"", PROTOBUF, {"content-encoding": "br"}),
        (415, b"", "text/plain", {}),
    ],
)
def test_what_is_wrong_is_said_as_the_protocol_says(
    server: Any, status: int, body: bytes, content_type: str, more: dict[str, str]
) -> None:
    """A google.rpc.Status in the request's form, and no Retry-After. Seen to fail with Connect's JSON for what the door
    refuses, and with a sentence."""
    found, headers, answer = post(server, body, content_type, **more)
    form = content_type if content_type == JSON else PROTOBUF
    assert (found, headers["content-type"], "retry-after" in headers) == (status, form, False)
    said = status_in(form, answer)
    assert said.code
    assert said.message


def test_another_method_is_refused_as_the_protocol_says(server: Any) -> None:
    found, headers, answer = post(server, None, PROTOBUF)
    assert (found, headers["allow"], status_in(PROTOBUF, answer).message) == (405, "POST", "POST is expected")


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip"])
@pytest.mark.parametrize("form", ["protobuf", "JSON"])
def test_a_gzip_of_several_members_is_read_to_its_end(form: str, encoding: str, tmp_path: Path) -> None:
    """As RFC 1952 has it. Seen to fail when only the first member is read: the rest was lost, with 200."""
    body = as_json(GOOD) if form == "JSON" else GOOD.SerializeToString()
    parts = [gzip.compress(body[start : start + 700]) for start in range(0, len(body), 700)]
    assert len(parts) > 3
    with takes_spans(tmp_path) as one:
        content_type = JSON if form == "JSON" else PROTOBUF
        assert post(one, b"".join(parts), content_type, **{"content-encoding": encoding})[0] == 200
        (turn,) = recorded(one.address, ended=1)
    check("pydantic-ai", turn)


def test_gzip_over_grpc(tmp_path: Path) -> None:
    with takes_spans(tmp_path) as one:
        export(one.address, GOOD, compression=grpc.Compression.Gzip)
        (turn,) = recorded(one.address, ended=1)
    check("pydantic-ai", turn)


def test_json_that_says_only_null_beside_its_values(tmp_path: Path) -> None:
    """As a serialiser writes it that knows every member of a value."""
    made = json.loads(as_json(GOOD))
    unset = dict.fromkeys(("stringValue", "boolValue", "intValue", "doubleValue", "arrayValue", "kvlistValue"))
    for resource in made["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for one in span.get("attributes", []):
                    one["value"] = {**unset, **one["value"]}
    with takes_spans(tmp_path) as one_server:
        assert post(one_server, json.dumps(made).encode(), JSON)[0] == 200
        (turn,) = recorded(one_server.address, ended=1)
    check("pydantic-ai", turn)
