"""A turn that was started while the store was away, under an id that the store has: the log is right."""

from pathlib import Path

from tests.faults.agents import failing_calls, record_of, started
from tests.faults.sidecars import running
from tests.faults.stores import Fault, Switch
from tests.faults.talk import Talk
from tests.faults.waiting import until

EVENTS = failing_calls("t", 20)


async def test_a_turn_that_the_log_has_otherwise_is_read_from_it(tmp_path: Path) -> None:
    """As when a sidecar was killed before it could acknowledge the start, and the next one found the store away.
    Seen to fail when `Conductor.in_memory` does not let go of a turn that is lost."""
    async with running(tmp_path) as served:
        talk = Talk(served.stub)
        await talk.say(started("t", "s"), *EVENTS[:10])
        await until(lambda: talk.durable() == 11)
        talk.stream.cancel()
    switch = Switch()
    async with running(tmp_path, switch=switch) as served:
        switch.turn(Fault.AWAY)
        unaware = Talk(served.stub)
        await unaware.say(started("t", "s"), *EVENTS[:5])
        await until(lambda: unaware.received() == 6)
        switch.turn(Fault.NONE)
        await unaware.broken()
        # At once, not when the sweep has let the turn go.
        again = Talk(served.stub)
        await again.say(started("t", "s"), *EVENTS)
        await until(lambda: again.durable() == 21, within_s=2)
        again.stream.cancel()
        _, entries = await record_of(served.stub, "t")
    ids = [entry.event.event_id for entry in entries if entry.HasField("event")]
    assert ids == ["t/0", *(event.event_id for event in EVENTS)]
