"""Messages that no client of ours would send."""

import asyncio
import contextlib
import random
from collections import Counter
from pathlib import Path
from typing import Any

import grpc
import hpack
import pytest
from google.protobuf.descriptor import MethodDescriptor
from hyperframe.frame import DataFrame, RstStreamFrame

from sidemirror.v1 import (
    critique_pb2,
    goal_reflection_pb2,
    reflective_memory_pb2,
    reflective_memory_pb2_grpc,
    sidecar_pb2,
    thinking_pb2,
)
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from tests.faults import floods
from tests.faults.agents import failing_calls, started
from tests.faults.figures import show
from tests.faults.malformed import Maker
from tests.faults.process import Process
from tests.faults.sidecars import channel, connected

pytestmark = pytest.mark.slow("thousands of messages")

METHODS: list[MethodDescriptor] = [
    method
    for file in (thinking_pb2, critique_pb2, goal_reflection_pb2, reflective_memory_pb2, sidecar_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]
CLIENT_STREAMS = [method for method in METHODS if method.client_streaming]
AT_ONCE = 32
# A watch that follows has no end of its own, and a stream may wait for what is not coming.
STREAM_S = 0.05
UNARY_S = 60.0


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(3_000, id="3-thousand"),
        pytest.param(20_000, id="20-thousand", marks=[pytest.mark.long, pytest.mark.timeout(600)]),
    ],
)
async def test_never_internal_nor_unknown(count: int, tmp_path: Path) -> None:
    """Spread over every RPC. Seen to fail when an unknown enum number is not refused, and when `_reader` does not
    catch DecodeError."""
    maker = Maker(seed=5)
    codes: Counter[tuple[str, str]] = Counter()
    bad: list[str] = []
    async with Process(tmp_path) as process, channel(process.address) as connection:
        async with connected(process.address) as stub:
            for turn_id in ("t", "t0"):
                await stub.StartTurn(pb.StartTurnRequest(turn_id=turn_id, session_id="s"))
                events = failing_calls(turn_id, 5)
                await stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events))

        async def send(number: int) -> None:
            method = METHODS[number % len(METHODS)]
            raw = maker.message(method.input_type)
            code = await _code_of(connection, method, raw)
            codes[method.name, code.name] += 1
            streams = method.server_streaming or method.client_streaming
            late = code is grpc.StatusCode.DEADLINE_EXCEEDED and not streams
            if late or code in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNAVAILABLE):
                bad.append(f"{method.name}: {code.name}: {raw!r:.500}")

        for first in range(0, count, AT_ONCE):
            await asyncio.gather(*[send(number) for number in range(first, min(count, first + AT_ONCE))])
        assert bad == []
        assert process.running
        async with connected(process.address) as stub:
            await stub.ListTurns(pb.ListTurnsRequest(), timeout=60)
    by_code = Counter[str]()
    for (_, name), times in codes.items():
        by_code[name] += times
    show(f"{count} messages to {len(METHODS)} methods: {dict(by_code)}")
    assert {name for name, _ in codes} == {method.name for method in METHODS}
    # Half of them at least must be wrong, and some right, or the test shows nothing.
    assert by_code["INVALID_ARGUMENT"] > count * 0.4
    assert by_code["OK"] > count * 0.02
    assert "call_failed" not in process.text()
    assert "Traceback" not in process.text()


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(300, id="3-hundred"),
        pytest.param(5_000, id="5-thousand", marks=[pytest.mark.long, pytest.mark.timeout(600)]),
    ],
)
async def test_later_messages_of_a_stream(count: int, tmp_path: Path) -> None:
    """Streams that begin well: what follows is malformed, several times in a row or between sound messages, and then
    the client ends, waits, or cancels. Seen to fail when `_reader` does not catch DecodeError, and when `_requests`
    does not check the later requests of a stream."""
    maker, chance = Maker(seed=7), random.Random(7)
    codes: Counter[tuple[str, str]] = Counter()
    bad: list[str] = []
    async with Process(tmp_path) as process, channel(process.address) as connection:
        lines = await _a_memory(connection)

        def sound(method: MethodDescriptor, number: int, place: int) -> bytes:
            if method.name == "ImportReflections":
                return memory_pb.ImportReflectionsRequest(lines=lines).SerializeToString()
            turn_id = f"t{number}"
            events = failing_calls(turn_id, 3, first=1 + 3 * place) if place else [started(turn_id, "s")]
            return pb.RunTurnRequest(events=events).SerializeToString()

        async def send(number: int) -> None:
            method = CLIENT_STREAMS[number % len(CLIENT_STREAMS)]
            way = chance.choice(("end", "end", "wait", "cancel"))
            raws = [
                maker.message(method.input_type) if place and chance.random() < 0.6 else sound(method, number, place)
                for place in range(chance.randint(2, 6))
            ]
            code = await _code_of_stream(connection, method, raws, way)
            codes[way, code.name] += 1
            late = way == "end" and code is grpc.StatusCode.DEADLINE_EXCEEDED
            if late or code in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNAVAILABLE):
                bad.append(f"{method.name}, {way}: {code.name}: {raws!r:.1000}")

        for first in range(0, count, AT_ONCE):
            await asyncio.gather(*[send(number) for number in range(first, min(count, first + AT_ONCE))])
        assert bad == []
        assert process.running
        async with connected(process.address) as stub:
            # The sound beginning of each turn is kept.
            turn = (await stub.GetTurn(pb.GetTurnRequest(turn_id="t0"), timeout=10)).turn
            assert turn.event_count >= 1
    show(f"{count} streams whose later messages are malformed: {dict(codes)}")
    # Enough of each, or the test shows nothing.
    assert codes["end", "INVALID_ARGUMENT"] > count * 0.2
    assert codes["end", "OK"] > 0
    assert codes["cancel", "CANCELLED"] > 0
    assert "call_failed" not in process.text()
    assert "Traceback" not in process.text()


async def test_halves_of_messages(tmp_path: Path) -> None:
    """A whole message and half of another, on the wire, before the stream is ended, taken back, or its connection is
    gone. Seen to fail when the boundary calls what ends a stream from outside an error of its own."""
    async with Process(tmp_path) as process, contextlib.AsyncExitStack() as stack:
        async with channel(process.address) as connection:
            lines = await _a_memory(connection)
        begun = []
        for number in range(30):
            if number % 2:
                path = "/sidemirror.v1.ReflectiveMemoryService/ImportReflections"
                raw = memory_pb.ImportReflectionsRequest(lines=lines).SerializeToString()
            else:
                path = "/sidemirror.v1.ThinkingService/RunTurn"
                raw = pb.RunTurnRequest(events=[started(f"half{number}", "s")]).SerializeToString()
            whole, opened = floods.message(raw), stack.enter_context(floods.connection(process.port))
            begins = floods.begun(1, floods.head(path, hpack.Encoder())).serialize()
            opened.sendall(begins + DataFrame(1, whole).serialize())
            begun.append((opened, whole))
        async with connected(process.address) as stub, asyncio.timeout(30):
            waiting = {f"half{number}" for number in range(0, 30, 2)}
            async for response in stub.WatchTurns(pb.WatchTurnsRequest()):
                waiting.discard(response.entry.turn_id)
                if not waiting:
                    break
            for number, (opened, whole) in enumerate(begun):
                half = DataFrame(1, whole[: len(whole) // 2])
                if number % 3 == 0:
                    half.flags.add("END_STREAM")
                taken_back = RstStreamFrame(1, error_code=8).serialize() if number % 3 == 1 else b""
                opened.sendall(half.serialize() + taken_back)
                opened.close()
            await stub.ListTurns(pb.ListTurnsRequest(), timeout=10)
        assert process.running
    assert "call_failed" not in process.text()
    assert "Traceback" not in process.text()


async def _a_memory(connection: grpc.aio.Channel) -> list[str]:
    """The lines of an export of one memory."""
    stub: Any = reflective_memory_pb2_grpc.ReflectiveMemoryServiceStub(connection)
    result = memory_pb.ReflectionResult(reflection_text="The index was missing.", importance=0.9)
    await stub.StoreReflection(memory_pb.StoreReflectionRequest(result=result), timeout=10)
    return [line async for part in stub.ExportReflections(memory_pb.ExportReflectionsRequest()) for line in part.lines]


class _Said:
    """Messages, and then the end of the stream, or nothing more."""

    def __init__(self, raws: list[bytes], *, ends: bool) -> None:
        self._raws = iter(raws)
        self._ends = ends
        self.all_sent = asyncio.Event()

    def __aiter__(self) -> "_Said":
        return self

    async def __anext__(self) -> bytes:
        for raw in self._raws:
            return raw
        self.all_sent.set()
        if not self._ends:
            await asyncio.Event().wait()
        raise StopAsyncIteration


async def _code_of_stream(
    connection: grpc.aio.Channel, method: MethodDescriptor, raws: list[bytes], way: str
) -> grpc.StatusCode:
    """What a stream of these messages ends with, after which the client ends it, waits for its deadline, or cancels."""
    said = _Said(raws, ends=way == "end")
    open_call: Any = connection
    path = f"/{method.containing_service.full_name}/{method.name}"
    call = open_call.stream_stream(path)(said, timeout=3 * UNARY_S if way == "end" else 20 * STREAM_S)
    done = asyncio.ensure_future(call.code())
    try:
        if way == "cancel":
            sent = asyncio.ensure_future(said.all_sent.wait())
            await asyncio.wait([done, sent], return_when=asyncio.FIRST_COMPLETED)
            sent.cancel()
            call.cancel()
        while await call.read() is not grpc.aio.EOF:
            pass
    except (grpc.aio.AioRpcError, grpc.aio.BaseError, asyncio.CancelledError, asyncio.InvalidStateError):
        pass
    await done
    return await _code_of_server(call)


async def _code_of(connection: grpc.aio.Channel, method: MethodDescriptor, raw: bytes) -> grpc.StatusCode:
    path = f"/{method.containing_service.full_name}/{method.name}"
    call: Any
    open_call: Any = connection  # the stubs do not know calls whose messages are bytes
    if method.client_streaming:
        call = open_call.stream_stream(path)(timeout=STREAM_S)
    elif method.server_streaming:
        call = open_call.unary_stream(path)(raw, timeout=STREAM_S)
    else:
        call = open_call.unary_unary(path)(raw, timeout=UNARY_S)
        code: grpc.StatusCode = await call.code()
        return code
    try:
        if method.client_streaming:
            await call.write(raw)
            await call.done_writing()
        while await call.read() is not grpc.aio.EOF:
            pass
    except (grpc.aio.AioRpcError, grpc.aio.BaseError, asyncio.InvalidStateError):
        pass  # BaseError: the stream has ended between its message and the end of writing
    return await _code_of_server(call)


async def _code_of_server(call: Any) -> grpc.StatusCode:
    """gRPC's client makes INTERNAL of a write on a stream that the server has just ended: OK here. An error of the
    server's is in its log too, which is looked at."""
    code: grpc.StatusCode = await call.code()
    return grpc.StatusCode.OK if await call.details() == "Internal error from Core" else code
