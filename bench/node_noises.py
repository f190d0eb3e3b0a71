"""The agent of a node that misbehaves, for `bench.node`: a process of its own, which says what it did in the end."""

import asyncio
import contextlib
import hashlib
import json
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

import grpc

from bench import calls
from sidemirror.v1 import common_pb2, sidecar_pb2, sidecar_pb2_grpc, thinking_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.agents import is_break

TENANT = "node"
OPTIONS = (
    *(("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)),
    *(("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 200)),
)
# What it can do, in the order of the table. The first is no noise of ours.
NOISES = ("computes", "floods", "batches", "calls", "opens", "connects", "large", "oversized", "cap", "dead")
# The agent may have 16 calls and 32 streams at once (`LIMITS` of bench/node.py).
_STREAMS = 32
_ASKS = 16
_TOO_MANY = 64
_BATCH = 500
_LONGEST = "row 12; " * 32_000
_FAILURES = (grpc.aio.AioRpcError, grpc.aio.UsageError, asyncio.InvalidStateError)


def token_of(name: str) -> str:
    """The agent's token, which its process derives too."""
    return hashlib.sha256(f"bench {name}".encode()).hexdigest()


def bearer(name: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token_of(name)}"),)


# One thing that an agent does, over and over; whether it has counted that itself.
Make = Callable[[Any, int], Awaitable[bool]]


class Noise:
    """One noisy agent. `done`: what it did by now, by the word for it."""

    def __init__(self, kind: str, address: str, project: str) -> None:
        self.done: Counter[str] = Counter()
        self._kind = kind
        self._address = address
        self._scope: dict[str, Any] = {"tenant_id": TENANT, "project_id": project}
        self._metadata = bearer(kind)

    async def make(self) -> None:
        """Until it is cancelled."""
        makes: Mapping[str, tuple[int, Make]] = {
            "computes": (1, self._compute),
            "floods": (_STREAMS, self._flood),
            "batches": (_STREAMS, self._send_batches),
            "calls": (_TOO_MANY, self._call),
            "opens": (_TOO_MANY, self._open),
            "connects": (_ASKS, self._connect),
            "large": (_STREAMS, self._send_large),
            "oversized": (_STREAMS, self._send_oversized),
            "cap": (_ASKS, self._reflect),
            "dead": (_ASKS, self._reflect),
        }
        at_once, make = makes[self._kind]
        async with grpc.aio.insecure_channel(self._address, options=OPTIONS) as channel:
            stub: Any = thinking_pb2_grpc.ThinkingServiceStub(channel)
            await channel.channel_ready()
            print("begins", flush=True)
            await asyncio.gather(*[self._again(make, stub, number) for number in range(at_once)])

    async def _again(self, make: Make, stub: Any, number: int) -> None:
        while True:
            try:
                if not await make(stub, number):
                    self.done["done"] += 1
            except _FAILURES as error:
                self.done[_end_of(error)] += 1
                await asyncio.sleep(0)

    async def _compute(self, _stub: Any, _number: int) -> bool:
        sum(range(10_000))
        await asyncio.sleep(0)
        return False

    def _turn(self, stub: Any) -> Any:
        return stub.RunTurn(metadata=self._metadata)

    async def _flood(self, stub: Any, _number: int) -> bool:
        stream = self._turn(stub)
        with _ended(stream):
            await stream.write(pb.RunTurnRequest(**self._scope, events=[_started()]))
            for _ in range(9_000):  # a turn takes 10,000
                await stream.write(pb.RunTurnRequest(events=[calls.event(1)]))
                self.done["messages"] += 1
        return False

    async def _send_batches(self, stub: Any, _number: int) -> bool:
        stream = self._turn(stub)
        with _ended(stream):
            await stream.write(pb.RunTurnRequest(**self._scope, events=[_started()]))
            for _ in range(9_000 // _BATCH):
                await stream.write(pb.RunTurnRequest(events=[calls.event(1)] * _BATCH))
                self.done["messages"] += 1
        return False

    async def _call(self, stub: Any, number: int) -> bool:
        turn_id = f"calls{number}"
        with contextlib.suppress(grpc.aio.AioRpcError):
            await stub.StartTurn(pb.StartTurnRequest(turn_id=turn_id, **self._scope), metadata=self._metadata)
        while True:
            request = pb.ReportEventsRequest(turn_id=turn_id, events=[calls.event(1)], **self._scope)
            try:
                await stub.ReportEvents(request, metadata=self._metadata)
                self.done["done"] += 1
            except grpc.aio.AioRpcError as error:
                self.done[error.code().name] += 1
                if error.code() is grpc.StatusCode.NOT_FOUND:
                    return True

    async def _open(self, stub: Any, _number: int) -> bool:
        stream = self._turn(stub)
        with _ended(stream):
            await stream.write(pb.RunTurnRequest(**self._scope, events=[_started()]))
            if isinstance(await stream.read(), pb.RunTurnResponse):
                return False
            self.done[(await stream.code()).name] += 1
        return True

    async def _connect(self, _stub: Any, _number: int) -> bool:
        async with grpc.aio.insecure_channel(self._address, options=OPTIONS) as channel:
            own: Any = sidecar_pb2_grpc.SidecarServiceStub(channel)
            await own.GetServerInfo(sidecar_pb2.GetServerInfoRequest(**self._scope), metadata=self._metadata)
        return False

    async def _send_large(self, stub: Any, _number: int) -> bool:
        start = _started()
        start.turn_started.messages.extend([common_pb2.Message(role="MESSAGE_ROLE_USER", content=_LONGEST)] * 4)
        stream = self._turn(stub)
        with _ended(stream):
            await stream.write(pb.RunTurnRequest(**self._scope, events=[start]))
            for _ in range(60):
                await stream.write(pb.RunTurnRequest(events=[_returned(_LONGEST)] * 4))
                self.done["messages"] += 1
        return False

    async def _send_oversized(self, stub: Any, _number: int) -> bool:
        stream = self._turn(stub)
        with _ended(stream):
            await stream.write(pb.RunTurnRequest(**self._scope, events=[_started(), _returned(_LONGEST * 4)]))
            while isinstance(await stream.read(), pb.RunTurnResponse):
                pass
            self.done[(await stream.code()).name] += 1
        return True

    async def _reflect(self, stub: Any, number: int) -> bool:
        # A turn has a budget of its own, which is used up before the cap is.
        turn_id = f"{self._kind}{number}-{self.done['turns']}"
        self.done["turns"] += 1
        config = pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM)
        with contextlib.suppress(grpc.aio.AioRpcError):
            request = pb.StartTurnRequest(turn_id=turn_id, task="t", config=config, **self._scope)
            await stub.StartTurn(request, metadata=self._metadata)
        while True:
            try:
                asked = pb.ReflectRequest(turn_id=turn_id, **self._scope)
                answer = await stub.Reflect(asked, metadata=self._metadata, timeout=20)
                self.done[common_pb2.ResultStatus.Name(answer.result.status)] += 1
                if answer.result.status == common_pb2.RESULT_STATUS_SKIPPED_BUDGET:
                    return True
            except grpc.aio.AioRpcError as error:
                self.done[error.code().name] += 1
                await asyncio.sleep(0.05)


def _end_of(error: BaseException) -> str:
    """The status of a call; "ended" where the client itself broke off, because the stream had ended while it wrote."""
    if not isinstance(error, grpc.aio.AioRpcError):
        return "ended"
    is_own = error.code() is grpc.StatusCode.INTERNAL and is_break(error)
    return "ended" if is_own else error.code().name


def _started() -> pb.TurnEvent:
    return pb.TurnEvent(turn_started=pb.TurnStarted(task="be loud"))


def _returned(text: str) -> pb.TurnEvent:
    return pb.TurnEvent(tool_returned=pb.ToolReturned(content=text))


@contextlib.contextmanager
def _ended(stream: Any) -> Iterator[None]:
    try:
        yield
    finally:
        stream.cancel()


async def _made(kind: str, address: str, project: str) -> None:
    noise = Noise(kind, address, project)
    ends = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ends.set)
    making = asyncio.create_task(noise.make())
    over = asyncio.create_task(ends.wait())
    await asyncio.wait((making, over), return_when=asyncio.FIRST_COMPLETED)
    if making.done():
        making.result()
    print(json.dumps(noise.done), flush=True)


@contextlib.asynccontextmanager
async def noise(kind: str, address: str, project: str, did: Counter[str]) -> AsyncIterator[None]:
    """The noisy agent, in a process of its own, which has begun. Adds to `did` what it did."""
    command = (sys.executable, "-m", "bench.node_noises", kind, address, project)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert await process.stdout.readline(), f"{kind} has ended before it began"
        yield
        process.terminate()
        did.update(json.loads(await process.stdout.readline() or b"{}"))
    finally:
        if process.returncode is None:
            process.kill()  # it would take longer to close what it has open
        await process.wait()


if __name__ == "__main__":
    asyncio.run(_made(*sys.argv[1:]))
