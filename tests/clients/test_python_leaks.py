"""What 2,000 turns leave behind in the Python client: nothing."""

import asyncio
import gc
import threading
from pathlib import Path

import psutil
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.common_pb2 import TASK_OUTCOME_SUCCESS
from sidemirror_client import Sidemirror, connect
from sidemirror_client.background import BACKGROUND
from tests.clients.harness import sidecar
from tests.faults.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
TURNS, AT_ONCE, PATIENCE_S = 2_000, 100, 60.0
# Pools of memory that grow to their size in the first turns.
WARM = 400


async def turns(sidemirror: Sidemirror, count: int) -> None:
    """So many, `AT_ONCE` of them at once."""

    async def some() -> None:
        for _ in range(count // AT_ONCE):
            async with sidemirror.begin_turn(task="count") as turn:
                turn.report(tool_called=pb.ToolCalled(name="look"))
                await turn.recall(timeout_s=PATIENCE_S)
                await turn.advice(PATIENCE_S)
                turn.finish(TASK_OUTCOME_SUCCESS)
                assert await turn.summary(PATIENCE_S) is not None

    await asyncio.gather(*(some() for _ in range(AT_ONCE)))


async def test_nothing_grows(tmp_path: Path) -> None:
    """Seen to fail, by the memory, when a stream that has ended leaves the task that guards it behind."""
    process = psutil.Process()
    with sidecar(tmp_path) as beside:
        async with connect(beside.address) as sidemirror:
            await turns(sidemirror, WARM)
            gc.collect()
            before = process.memory_info().rss, process.num_threads(), process.num_fds()
            await turns(sidemirror, TURNS)
            gc.collect()
            after = process.memory_info().rss, process.num_threads(), process.num_fds()
            # The client's own thread ends a turn's stream a moment after the agent has its summary.
            await until(lambda: not sidemirror._core._turns, PATIENCE_S)
            assert sidemirror._core.link.waiting_bytes == 0
    assert after[0] - before[0] < 16 * 2**20
    assert after[1] <= before[1] + 1
    assert after[2] <= before[2] + 2
    assert len(asyncio.all_tasks(BACKGROUND.loop)) == 0
    assert [thread.name for thread in threading.enumerate()].count("sidemirror") == 1
