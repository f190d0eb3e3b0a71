"""Of an agent's streams whose next message may be large one is read from at a time."""

import asyncio
import time
from pathlib import Path

import grpc

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.common_pb2 import Message
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.rpc.boundary.shares import AgentLimits, Shares
from sidemirror_server.vocabulary.clock import SystemClock
from tests.faults.sidecars import running
from tests.faults.waiting import until
from tests.wire.access import ACME, bearer
from tests.wire.calls import started
from tests.wire.test_shares import TOKEN, settings, traffic


async def test_streams_begin_one_after_the_other_where_they_begin_with_much(tmp_path: Path) -> None:
    """Eight turns that begin with a MB each, one of which may wait in memory: nothing is refused, because the others
    are not read from meanwhile. Seen to fail when all streams are read from at once."""
    given = settings(tmp_path, agent_bytes_per_second=4_000_000, agent_waiting_bytes=1_000_000)
    start = pb.TurnEvent(turn_started=pb.TurnStarted(task="much"))
    start.turn_started.messages.extend([Message(role="MESSAGE_ROLE_USER", content="x" * 250_000)] * 4)
    async with running(tmp_path, **given) as served, grpc.aio.insecure_channel(served.address) as channel:
        stub = ThinkingServiceStub(channel)

        async def begins() -> bool:
            stream = stub.RunTurn(metadata=bearer(ACME))
            await stream.write(pb.RunTurnRequest(tenant_id="acme", events=[start]))
            answered = isinstance(await stream.read(), pb.RunTurnResponse)
            stream.cancel()
            return answered

        began_s = time.monotonic()
        assert all(await asyncio.gather(*[begins() for _ in range(8)]))
        took_s = time.monotonic() - began_s
    # The first one uses up what is there at once.
    assert took_s > 1.4


async def test_streams_on_which_nothing_comes_hold_up_no_other(tmp_path: Path) -> None:
    """Ten of them, opened before another one begins. Seen to fail when a stream is read from alone until a message
    comes."""
    given = settings(tmp_path, agent_bytes_per_second=2**20)
    async with running(tmp_path, **given) as served, grpc.aio.insecure_channel(served.address) as channel:
        stub = ThinkingServiceStub(channel)
        silent = [stub.RunTurn(metadata=bearer(ACME)) for _ in range(10)]
        await until(lambda: served.sidecar.admission.streams == 10)
        stream = stub.RunTurn(metadata=bearer(ACME), timeout=10)
        await stream.write(pb.RunTurnRequest(tenant_id="acme", events=[started()]))
        assert isinstance(await stream.read(), pb.RunTurnResponse)
        for one in (*silent, stream):
            one.cancel()


async def test_who_waits_for_its_share_to_be_read_from_counts_as_waiting() -> None:
    """Not who waits for another stream. Whoever gives up lets the next one go on. Seen to fail when a cancelled wait
    keeps its place, and when the wait for another stream counts."""
    account = traffic()
    share = Shares(AgentLimits(agent_bytes_per_second=1_000_000), SystemClock(), account).of(TOKEN)
    assert share is not None
    await share.read_alone("S/M")  # nothing comes on it
    (await share.read_alone("S/M"))()
    assert account.told().held_back == ()
    release = await share.read_alone("S/M")
    await share.pace(1_200_000, "S/M")
    release()
    release()  # as the timer may do too
    gone = asyncio.create_task(share.read_alone("S/M"))
    next_one = asyncio.create_task(share.read_alone("S/M"))
    await asyncio.sleep(0.01)
    gone.cancel()
    (await asyncio.wait_for(next_one, 5))()
    ((name, waited_s),) = account.told().held_back
    assert name == "checkout"
    assert 0.1 < waited_s < 5


async def test_without_a_rate_no_stream_waits_for_another() -> None:
    """Seen to fail when the agent's number of streams alone makes them wait."""
    share = Shares(AgentLimits(agent_streams=8), SystemClock(), traffic()).of(TOKEN)
    assert share is not None
    await asyncio.wait_for(asyncio.gather(*[share.read_alone("S/M") for _ in range(100)]), 0.5)


async def test_what_waits_in_memory_keeps_a_large_message_from_being_read() -> None:
    """Also where it came while the stream waited to be read from. Seen to fail when room is looked for before."""
    limits = AgentLimits(agent_bytes_per_second=1_000_000, agent_waiting_bytes=600_000)
    share = Shares(limits, SystemClock(), traffic()).of(TOKEN)
    assert share is not None
    await share.pace(1_100_000, "S/M")
    next_one = asyncio.create_task(share.read_alone("S/M"))
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(share.pace(200_000, "S/M")) for _ in range(3)]
    await asyncio.wait((*waiting, next_one), return_when=asyncio.FIRST_COMPLETED)
    await asyncio.sleep(0.05)
    assert not next_one.done()
    await asyncio.gather(*waiting)
    (await asyncio.wait_for(next_one, 5))()
