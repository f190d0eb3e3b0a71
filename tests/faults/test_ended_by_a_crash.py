"""The sidecar is killed after a turn was finished and before it has its summary."""

from pathlib import Path

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.agents import record_of
from tests.faults.process import Process
from tests.faults.sidecars import connected
from tests.wire.calls import MEDIUM, failed

FINISHED = pb.TurnEvent(turn_finished=pb.TurnFinished(outcome=common_pb2.TASK_OUTCOME_SUCCESS))


async def test_whoever_reads_the_turn_finds_its_summary(tmp_path: Path) -> None:
    """Its end was durable, and a reflection was waited for that never came. Seen to fail when GetTurn does not ask for
    `Conductor.completed`."""
    process = Process(tmp_path, arguments=("--model", "never", "--grace", "3600"))
    async with process:
        async with connected(process.address) as stub:
            await stub.StartTurn(
                pb.StartTurnRequest(turn_id="t", config=MEDIUM, reflection_mode=pb.REFLECTION_MODE_AUTO)
            )
            answer = await stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=[failed(), FINISHED]))
            assert (answer.ack.durable, len(answer.ack.pending_ids)) == (2, 1)
        process.kill()
        await process.start()
        async with connected(process.address) as stub:
            turn, entries = await record_of(stub, "t")
            again, same = await record_of(stub, "t")
    assert (turn.state, turn.outcome) == (pb.TURN_STATE_FINISHED, common_pb2.TASK_OUTCOME_SUCCESS)
    assert [entry.directive.WhichOneof("kind") for entry in entries[-2:]] == ["reflection", "turn_summary"]
    assert entries[-1].sequence == turn.last_sequence
    assert (again, same) == (turn, entries)
