"""What `sidemirror turns why` says of lessons that a turn taught, or that are in quarantine and about it."""

import asyncio
from pathlib import Path

import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import thinking_pb2 as thinking_pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from tests.faults.sidecars import Stub, channel, running
from tests.operations.test_turns import said
from tests.operations.test_turns_why import STEERS, reported, until_recorded
from tests.wire.calls import called, failed, finished, returned
from tests.wire.calls import said as user_said

CORRECTION = "No, that's wrong. The amounts are in cents, not in euros: always divide by 100."
TASK = "What is the sum of the open orders?"


async def test_a_failing_call_names_what_is_in_quarantine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail with "nothing was known for this failure" alone."""
    async with running(tmp_path) as served, channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        stored = await memory.StoreReflection(pb.StoreReflectionRequest(result=STEERS), timeout=60)
        await served.stub.StartTurn(thinking_pb.StartTurnRequest(turn_id="t", session_id="s"), timeout=60)
        await reported(
            served, called("ship_order", "7", "a"), failed("RuntimeError: carrier refused: no postcode", "a")
        )
        await until_recorded(served, lambda one: one.directive.HasField("silence"))
        _, lines, _ = await said(capsys, served, "turns", "why", "t")
        (at,) = [number for number, line in enumerate(lines) if "ship_order failed: no repair told" in line]
        held = lines[at + 2]
        assert held.startswith(f"  in quarantine, for this tool or failure: {stored.reflection_id} “"), lines
        assert held.endswith(f"to release it: sidemirror memory review {stored.reflection_id} active --reason …")
        # What another tool is about is not named.
        start = thinking_pb.StartTurnRequest(turn_id="u", session_id="u")
        await served.stub.StartTurn(start, timeout=60)
        await reported(served, called("print", "7", "a"), failed("RuntimeError: tray is empty", "a"), turn_id="u")
        await until_recorded(served, lambda one: one.directive.HasField("silence"), turn_id="u")
        _, lines, _ = await said(capsys, served, "turns", "why", "u")
        assert not any("in quarantine" in line for line in lines), lines


async def test_what_became_of_a_correction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At its own turn, and at the next one of the task. Seen to fail without a word of it."""
    async with running(tmp_path) as served, channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        for turn_id, message in (("first", ""), ("second", CORRECTION)):
            start = thinking_pb.StartTurnRequest(turn_id=turn_id, session_id="s", task=TASK)
            await served.stub.StartTurn(start, timeout=60)
            spoken = [user_said(message)] if message else []
            calls = (called("run_sql", "SELECT sum(cents) FROM orders", "a"), returned("5250", "a"))
            await reported(served, *spoken, *calls, turn_id=turn_id)
            await reported(served, finished(outcome="TASK_OUTCOME_SUCCESS"), turn_id=turn_id)
        request = pb.ListReflectionsRequest(state=pb.MEMORY_STATE_QUARANTINED)

        async with asyncio.timeout(60):
            while True:
                found = (await memory.ListReflections(request, timeout=60)).memories
                if found:
                    break
                await asyncio.sleep(0.05)
        (lesson,) = found
        _, lines, _ = await said(capsys, served, "turns", "why", "second")
        (taught,) = [line for line in lines if line.startswith(f"  a user's correction was kept: {lesson.id} “")]
        assert "quarantined (correction: it quotes a user); to release it: " in taught
        start = thinking_pb.StartTurnRequest(turn_id="third", session_id="other", task=TASK)
        await served.stub.StartTurn(start, timeout=60)
        _, lines, _ = await said(capsys, served, "turns", "why", "third")
        (waits,) = [line for line in lines if lesson.id in line]
        assert waits.startswith("  a user's correction of this task waits for a person, and was not told: ")
        _, lines, _ = await said(capsys, served, "memory", "show", lesson.id)
        assert "tool (its user said it;" in " ".join(" ".join(lines).split())
