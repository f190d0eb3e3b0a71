"""A stream that is taken up again misses nothing without being told."""

import signal
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from tests.faults.agents import failing_calls, record_of, started
from tests.faults.process import Process
from tests.faults.sidecars import connected, running
from tests.faults.talk import Talk
from tests.faults.waiting import until


def same_call(number: int) -> list[pb.TurnEvent]:
    called = pb.ToolCalled(name="sql", arguments="select 1")
    return [
        pb.TurnEvent(event_id=f"c{number}", tool_called=called),
        pb.TurnEvent(event_id=f"r{number}", tool_returned=pb.ToolReturned(content="one")),
    ]


@pytest.mark.slow("processes are killed")
async def test_places_that_a_crash_took_back_are_told_again(tmp_path: Path) -> None:
    """The agent is told a nudge that is not durable, then the sidecar dies, and what stands in the nudge's place
    afterwards is something else: the failed reflection.

    Seen to fail when a resumed stream takes `after_sequence` as it comes.
    """
    async with Process(tmp_path, arguments=("--model", "never", "--switch")) as process:
        async with connected(process.address) as stub:
            talk = Talk(stub)
            await talk.say(started("t", "s"), *failing_calls("t", 6))
            await until(lambda: talk.durable() == 7)
            process.signal(signal.SIGUSR1)
            events = [event for number in range(3) for event in same_call(number)]
            await talk.say(*events)
            await until(lambda: bool(talk.said("nudge")))
            seen = talk.said("nudge")[0].sequence
            assert talk.durable() == 7
            process.kill()
            assert await talk.broken() is grpc.StatusCode.UNAVAILABLE
        await process.start()
        async with connected(process.address) as stub:
            again = Talk(stub)
            await again.say(*events, resume=pb.TurnResume(turn_id="t", after_sequence=seen))
            await until(lambda: again.durable() == len(events))
            _, entries = await record_of(stub, "t")
            told = {directive.directive_id for directive in (*talk.heard, *again.heard)}
            directives = [entry.directive for entry in entries if entry.HasField("directive")]
            recorded = [directive for directive in directives if not directive.HasField("silence")]
            assert [directive.WhichOneof("kind") for directive in recorded if directive.sequence <= seen][-1] == (
                "reflection"
            )
            assert [directive for directive in recorded if directive.directive_id not in told] == []


async def test_a_number_beyond_the_record_counts_as_its_end(tmp_path: Path) -> None:
    """Seen to fail when a turn that was never read from the log takes `after_sequence` as it comes: the stream is
    told nothing until the record has grown that far."""
    async with running(tmp_path) as served:
        talk = Talk(served.stub)
        await talk.say(started("t", "s"))
        await until(lambda: talk.durable() == 1)
        again = Talk(served.stub)
        await again.say(resume=pb.TurnResume(turn_id="t", after_sequence=2**40))
        await until(lambda: bool(again.said("ack")))
        await again.say(*[event for number in range(3) for event in same_call(number)])
        await until(lambda: bool(again.said("nudge")))


async def test_a_refused_resume_leaves_nothing_behind(tmp_path: Path) -> None:
    """Seen to fail when `_open` of `rpc/thinking/run_turn.py` does not close a stream that it could not begin with."""
    async with running(tmp_path) as served:
        talk = Talk(served.stub)
        await talk.say(started("t", "s"), pb.TurnEvent(turn_finished=pb.TurnFinished()))
        await talk.ended()
        late = Talk(served.stub)
        await late.say(*failing_calls("t", 1), resume=pb.TurnResume(turn_id="t"))
        assert await late.broken() is grpc.StatusCode.FAILED_PRECONDITION
        turn = served.sidecar.conductor.in_memory(DEFAULT_SCOPE, TurnId("t"))
        assert turn is not None
        await until(lambda: turn.idle)


async def test_a_stream_on_a_turn_that_is_over_says_how_it_ended(tmp_path: Path) -> None:
    """Seen to fail when `_TurnStream.compose` gives the summary only to the stream that started the turn."""
    async with running(tmp_path) as served:
        talk = Talk(served.stub)
        await talk.say(started("t", "s"), pb.TurnEvent(turn_finished=pb.TurnFinished()))
        await talk.ended()
        again = Talk(served.stub)
        await again.say(resume=pb.TurnResume(turn_id="t", after_sequence=2))
        await again.ended()
        assert [directive.WhichOneof("kind") for directive in again.heard][-1] == "turn_summary"
        assert again.heard[-1] == talk.heard[-1]


async def test_events_that_the_turn_has_are_acknowledged_at_once(tmp_path: Path) -> None:
    """An agent that was not told of them sends them again, and waits for that. Seen to fail when a stream is woken by
    new events only: the acknowledgement then came with the next heartbeat, after 20 s."""
    events = failing_calls("t", 40)
    async with running(tmp_path) as served:
        talk = Talk(served.stub)
        await talk.say(started("t", "s"), *events)
        await until(lambda: talk.durable() == 41)
        again = Talk(served.stub)
        await again.say(resume=pb.TurnResume(turn_id="t"))
        for first in range(0, 40, 10):
            await again.say(*events[first : first + 10])
            await until(lambda first=first: again.durable() == first + 10, within_s=60)  # type: ignore[misc]
        talk.stream.cancel()
        again.stream.cancel()
