"""STATE-Bench's adapter: what a sidecar learns of trajectories in the benchmark's format, and what the agent is told.

The trajectories here are made. Where SIDEMIRROR_TEST_STATE_BENCH names a checkout of the benchmark, its own runner
plays a task as well.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.state_bench.learnings import Failure, Learnings, error_of
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.recoveries import moves
from tests.architecture.repository import ROOT
from tests.faults.sidecars import Stub, channel, running
from tests.memory.recovering import FAILURE, SENTENCE, SIGNATURE, UNTOLD

DOMAIN = "made"


def called(name: str, arguments: dict[str, Any], result: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "result": result}


def write(folder: Path, number: int) -> None:
    """A conversation in which a call fails, a look-up follows, and the call works."""
    calls = [
        called("sql", {"query": f"SELECT {number} FROM orders"}, {"error": FAILURE}),
        called("sql", {"query": "SHOW TABLES"}, {"rows": ["orders_2026", "customers"]}),
        called("sql", {"query": f"SELECT {number} FROM orders_2026"}, {"rows": [17]}),
    ]
    conversation = [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "Count the orders."},
        {"role": "assistant", "content": "There are 17.", "tool_calls": calls},
        {"role": "user", "content": "Thanks."},
    ]
    (folder / f"{number}-count.json").write_text(json.dumps({"conversation": conversation}))


async def observed(stub: Stub) -> int:
    asked = pb.ListRecoveriesRequest(project_id=DOMAIN, signature=SIGNATURE)
    found = (await stub.ListRecoveries(asked, timeout=60)).signatures
    return found[0].observation_count if found else 0


async def test_what_repaired_a_failure_is_told_and_what_fits_the_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    folder = tmp_path / "trajectories"
    folder.mkdir()
    for number in range(UNTOLD):
        write(folder, number)
    failure = Failure("sql", '{"query": "SELECT 9 FROM orders"}', FAILURE)
    async with running(tmp_path) as served, channel(served.address) as connection:
        stub: Stub = ReflectiveMemoryServiceStub(connection)
        learnings = Learnings(DOMAIN, served.address)
        assert await asyncio.to_thread(learnings.learn, folder) == UNTOLD
        async with asyncio.timeout(60):
            while await observed(stub) < UNTOLD:  # noqa: ASYNC110 - asked over the wire
                await asyncio.sleep(0.05)
        lesson = "Refunds are previewed before they are confirmed."
        result = pb.ReflectionResult(reflection_text=lesson)
        await stub.StoreReflection(pb.StoreReflectionRequest(project_id=DOMAIN, result=result), timeout=60)
        query = "The customer wants a refund that was previewed."
        assert await asyncio.to_thread(learnings.told, query, 3, failure) == [f"In 5 of 5 {SENTENCE}", lesson]
        assert await asyncio.to_thread(learnings.told, query, 1, failure) == [f"In 5 of 5 {SENTENCE}"]
        assert await asyncio.to_thread(learnings.told, query, 3) == [lesson]
        # It was asked three times, and nothing was learned of that.
        assert await observed(stub) == UNTOLD
        other = Learnings("another", served.address)
        assert await asyncio.to_thread(other.told, query, 3, failure) == []
        await asyncio.to_thread(other.close)
        await asyncio.to_thread(learnings.close)


def test_without_a_sidecar_the_agent_goes_on() -> None:
    learnings = Learnings(DOMAIN, "127.0.0.1:1")
    assert learnings.told("anything", 3) == []
    learnings.close()


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ({"error": "no such item"}, "no such item"),
        ({"error": ""}, ""),
        ({"items": []}, ""),
        ([{"error": "inside"}], ""),
        (None, ""),
        ({"error": {"code": 3}}, "{'code': 3}"),
    ],
)
def test_a_failing_call_has_an_error_in_its_result(result: object, error: str) -> None:
    assert error_of(result) == error


@pytest.mark.slow("the benchmark's environment is made, and its runner plays tasks")
def test_the_benchmarks_own_runner_asks() -> None:
    checkout = os.environ.get("SIDEMIRROR_TEST_STATE_BENCH")
    if not checkout:
        pytest.skip("SIDEMIRROR_TEST_STATE_BENCH names no checkout of STATE-Bench")
    command = [sys.executable, "-m", "bench.state_bench", checkout, "--domain", "travel", "--tasks", "1"]
    ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=170)
    (row,) = re.findall(r"^\| travel .*$", ran.stdout, re.MULTILINE)
    *_, tasks, asked, _ = (int(one) for one in re.findall(r"\d+", row))
    assert (tasks, asked) == (1, 1)
