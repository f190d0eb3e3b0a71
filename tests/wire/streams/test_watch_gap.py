"""A watch that comes back after what it had not seen yet was removed, because it is old."""

from pathlib import Path

from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.agents import a_turn
from tests.faults.clocks import SetClock
from tests.faults.sidecars import Stub, running

DAY_S = 24 * 3600.0


async def recorded(stub: Stub, turn_id: str) -> None:
    """A turn from its start to its end."""
    await stub.StartTurn(pb.StartTurnRequest(turn_id=turn_id, session_id=f"s-{turn_id}"))
    events = a_turn(turn_id, f"s-{turn_id}", 6)[1:]
    await stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events), timeout=60)


async def watched(stub: Stub, cursor: str = "", session_id: str = "") -> list[pb.TurnEntry]:
    """What a watch says up to the present."""
    request = pb.WatchTurnsRequest(cursor=cursor, session_id=session_id, follow=False)
    return [response.entry async for response in stub.WatchTurns(request, timeout=60)]


def gaps(entries: list[pb.TurnEntry]) -> list[bool]:
    return [entry.directive.HasField("gap") for entry in entries]


async def test_what_was_removed_unseen_is_announced(tmp_path: Path) -> None:
    """Before all else, with the cursor that was given, so that a watch that breaks is told again. Seen to fail when
    `WatchTurns` does not ask how far the record has holes: the next entry came as if nothing had been between."""
    clock = SetClock()
    async with running(tmp_path, clock=clock) as served:
        await recorded(served.stub, "old")
        seen = await watched(served.stub)
        half, whole = seen[2].cursor, seen[-1].cursor
        assert not any(gaps(seen))
        clock.advance(91 * DAY_S)
        await recorded(served.stub, "new")
        await served.sidecar.conductor.evictions.sweep()
        await served.sidecar.retention.forget()

        told = await watched(served.stub, half)
        assert gaps(told) == [True, *[False] * (len(told) - 1)]
        assert (told[0].cursor, told[0].sequence) == (half, 0)
        assert "removed" in told[0].directive.gap.reason
        assert {entry.turn_id for entry in told[1:]} == {"new"}
        assert gaps(await watched(served.stub, half, "s-new"))[0]
        # Who had seen all of it misses nothing, and who begins at the oldest that is kept does not either.
        for cursor in (whole, "", told[1].cursor):
            again = await watched(served.stub, cursor)
            assert again
            assert not any(gaps(again))
