"""The Python client while its sidecar is killed, stopped, or swapped for one that accepts and never answers, 20 times
each: no use of it goes beyond its bound, and everything arrives afterwards."""

import sys
import time
from pathlib import Path

import pytest

from bench.figures import share
from sidemirror.v1 import goal_reflection_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.common_pb2 import TASK_OUTCOME_FAILURE
from sidemirror_client import Sidemirror, connect
from tests.clients.faults import killed, paused, swapped
from tests.clients.harness import Sidecar, sidecar
from tests.faults.waiting import until
from tests.wire.calls import MEDIUM

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
ROUNDS, PATIENCE_S = 20, 60.0
# What a use may take beyond its own bound, on a machine that others use as well.
SLACK_S = 0.5


async def one_round(sidemirror: Sidemirror, beside: Sidecar, fault: object, name: str, report_s: list[float]) -> None:
    """A turn with the fault in its middle."""
    turn = sidemirror.begin_turn(name, task="count", config=MEDIUM)
    assert await turn.plan(PATIENCE_S) is not None

    def report() -> None:
        for place in range(50):
            began_s = time.perf_counter()
            turn.report(tool_called=pb.ToolCalled(name="look", arguments=str(place)))
            report_s.append(time.perf_counter() - began_s)

    report()
    with fault(beside):  # type: ignore[operator]  # one of the three above
        report()
        # Before it is known, and after.
        for _ in range(2):
            for use, bound_s in (
                (turn.advice(1.0), 1.0),
                (turn.recall(timeout_s=1.0), 1.0),
                (turn.critique("41", timeout_s=1.0), 1.0),
            ):
                began_s = time.perf_counter()
                assert not await use
                assert time.perf_counter() - began_s < bound_s + SLACK_S
            await until(lambda: sidemirror.away, within_s=PATIENCE_S)
        turn.finish(TASK_OUTCOME_FAILURE, goal={"goal_id": name, "objective": "count"})
        began_s = time.perf_counter()
        assert await turn.summary(1.0) is None
        assert time.perf_counter() - began_s < SLACK_S
    assert await sidemirror.flush(PATIENCE_S)


@pytest.mark.parametrize("fault", [killed, paused, swapped])
async def test_a_sidecar_in_trouble(fault: object, tmp_path: Path) -> None:
    """Seen to fail, when stopped, if nothing looks for silence: it is never away."""
    report_s: list[float] = []
    with sidecar(tmp_path) as beside:
        async with connect(beside.address, on_away=lambda _: None) as sidemirror:
            for number in range(ROUNDS):
                await one_round(sidemirror, beside, fault, f"turn-{number}", report_s)
            turns = await sidemirror.thinking.ListTurns(pb.ListTurnsRequest(page_size=100), timeout=PATIENCE_S)
            asked = goal_reflection_pb2.ListGoalReportsRequest(page_size=100)
            goals = await sidemirror.goals.ListGoalReports(asked, timeout=PATIENCE_S)
            left = await sidemirror.close()
    assert [turn.event_count for turn in turns.turns] == [102] * ROUNDS
    assert {report.goal_id for report in goals.reports} == {f"turn-{number}" for number in range(ROUNDS)}
    assert not left
    # By the clock: on an idle machine this is below 1 ms.
    sys.stdout.write(f"\nreport: p50 {share(report_s, 0.5) * 1000:.3f} ms, p99 {share(report_s, 0.99) * 1000:.3f} ms\n")
    assert share(report_s, 0.5) < 0.001
