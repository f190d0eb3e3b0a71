"""An agent that meets the same failure in each session, and finds its way out by a look-up; it calls RunTurn alone."""

import asyncio
from collections.abc import Awaitable, Callable

from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.recoveries.finding import receipt_id_of
from sidemirror_server.memory.recoveries.moves import Recovery, Tally, is_silent
from sidemirror_server.memory.recoveries.observation import Move, MoveKind, recovery_id
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from tests.faults.sidecars import Stub, channel, connected
from tests.faults.talk import Talk
from tests.faults.waiting import until
from tests.wire.access import bearer
from tests.wire.calls import called, failed, finished, returned, started

SIGNATURE = "sql|not_found|missing_table"
FAILURE = "Table 'shop.orders' doesn't exist"
SENTENCE = "earlier tries the call worked after `SHOW TABLES`."
# The tries that the gate asks for; so what helped in five sessions is told in the sixth.
UNTOLD = 5
_MOVE = Move(MoveKind.LOOKED_UP, ("SHOW TABLES",))


async def session(
    stub: Stub, name: str, *, told: bool, meanwhile: Callable[[], Awaitable[None]] | None = None
) -> list[pb.TurnDirective]:
    """One session: a call fails, a look-up brings the name that works. `told`: at the failing call the agent waits for
    advice; `meanwhile`: what else it waits for there. Returns the advice that came in the turn."""
    talk = Talk(stub)
    begin = started(session_id=name, task="Count the orders")
    begin.turn_id = name
    await talk.say(
        begin,
        called("sql", "SELECT count(*) FROM orders", "a", f"{name}-call"),
        failed(FAILURE, "a", f"{name}-failure"),
    )
    if told:
        await until(lambda: bool(talk.said("advice")), within_s=20)
    else:
        await until(lambda: talk.received() == 3, within_s=20)
    if meanwhile is not None:
        await meanwhile()
    await talk.say(
        called("sql", "SHOW TABLES", "b"),
        returned("orders_2026, customers", "b"),
        called("sql", "SELECT count(*) FROM orders_2026", "c"),
        returned("17", "c"),
        finished(outcome=1),
    )
    await talk.ended()
    return talk.said("advice")


def is_held_back(name: str) -> bool:
    """Whether the session of this name is one of those that the recovery is held back from."""
    recovery = Recovery(recovery_id(SIGNATURE, _MOVE), SIGNATURE, _MOVE, Tally())
    return is_silent(receipt_id_of(DEFAULT_SCOPE, name, SIGNATURE), recovery)


async def until_held_back(address: str, name: str) -> None:
    """Waits until it is on record that the session of this name was told nothing."""
    async with channel(address) as connection, asyncio.timeout(60):
        stub: Stub = ReflectiveMemoryServiceStub(connection)
        request = memory_pb.ListReceiptsRequest(turn_id=name)
        while not (await stub.ListReceipts(request, timeout=60)).receipts:  # noqa: ASYNC110 - asked over the wire
            await asyncio.sleep(0.05)


async def observed(address: str, token: str = "", signature: str = SIGNATURE) -> memory_pb.SignatureRecoveries:
    """What is kept of the failure, as a person sees it."""
    request = memory_pb.ListRecoveriesRequest(signature=signature)
    async with channel(address) as connection:
        stub: Stub = ReflectiveMemoryServiceStub(connection)
        found = await stub.ListRecoveries(request, timeout=60, metadata=bearer(token) if token else ())
    return found.signatures[0] if found.signatures else memory_pb.SignatureRecoveries()


async def until_observed(address: str, count: int, signature: str = SIGNATURE) -> memory_pb.SignatureRecoveries:
    """Waits until there are so many observations, and fails when there are more."""
    async with asyncio.timeout(60):
        while (found := await observed(address, signature=signature)).observation_count < count:  # noqa: ASYNC110 - asked over the wire
            await asyncio.sleep(0.05)
    assert found.observation_count == count
    return found


async def found_by(address: str, token: str = "") -> memory_pb.FindRecoveriesResponse:
    """What anyone is told of the failure. Held back one time in ten."""
    request = memory_pb.FindRecoveriesRequest(tool="sql", error_text=FAILURE, arguments="SELECT 1 FROM orders")
    async with channel(address) as connection:
        stub: Stub = ReflectiveMemoryServiceStub(connection)
        metadata = bearer(token) if token else ()
        answer: memory_pb.FindRecoveriesResponse = await stub.FindRecoveries(request, timeout=60, metadata=metadata)
    return answer


async def until_found(address: str) -> None:
    """Waits until the recovery may be told at this sidecar."""
    async with asyncio.timeout(60):
        while not (await found_by(address)).block.receipt_id:  # noqa: ASYNC110 - asked over the wire
            await asyncio.sleep(0.05)


async def live_through(address: str, count: int) -> None:
    """So many sessions, one after the other, each of which is learned from before the next begins."""
    for number in range(1, count + 1):
        async with connected(address) as stub:
            assert await session(stub, f"s{number}", told=False) == []
        await until_observed(address, number)
