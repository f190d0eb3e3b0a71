"""Where a turn is told nothing, its record has why; and no agent is sent that."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import common_pb2, sidecar_pb2, sidecar_pb2_grpc
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.recoveries import moves
from tests.faults.sidecars import Running, Stub, channel, connected, running
from tests.faults.talk import Talk
from tests.memory.recovering import FAILURE, SIGNATURE, UNTOLD, live_through, observed
from tests.wire.calls import called, failed, finished, started

LESSON = memory_pb.ReflectionResult(reflection_text="The monthly report is copied with its date.")


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Running]:
    async with running(tmp_path) as one:
        yield one


async def fails(served: Running, turn_id: str, count: int = 1, **more: Any) -> list[pb.TurnEntry]:
    """A turn whose call fails so often, in one way; returns its record. Nothing is told in its answers."""
    await served.stub.StartTurn(pb.StartTurnRequest(turn_id=turn_id, session_id=turn_id, **more), timeout=60)
    for number in range(count):
        events = [called("sql", "SELECT 1 FROM orders", f"{number}"), failed(FAILURE, f"{number}", f"f{number}")]
        report = pb.ReportEventsRequest(turn_id=turn_id, events=events)
        answer = await served.stub.ReportEvents(report, timeout=60)
        assert {one.WhichOneof("kind") for one in answer.directives} <= {"nudge", "reflection"}
    async with asyncio.timeout(60):
        while not silences(found := await record(served, turn_id)):  # noqa: ASYNC110 - asked over the wire
            await asyncio.sleep(0.02)
    return found


async def record(served: Running, turn_id: str) -> list[pb.TurnEntry]:
    return list((await served.stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id), timeout=60)).entries)


def silences(entries: list[pb.TurnEntry]) -> list[pb.TurnDirective]:
    return [one.directive for one in entries if one.directive.HasField("silence")]


async def turn_off(served: Running, kind: Any = None, silenced: str = "") -> None:
    advice = sidecar_pb2.AdvicePolicy(off=[kind] if kind else [], silenced_ids=[silenced] if silenced else [])
    async with channel(served.address) as connection:
        stub: Stub = sidecar_pb2_grpc.SidecarServiceStub(connection)
        await stub.SetPolicy(sidecar_pb2.SetPolicyRequest(policy=sidecar_pb2.Policy(advice=advice)), timeout=60)


async def test_nothing_was_known_and_it_is_said_once(served: Running) -> None:
    (silence,) = silences(await fails(served, "t", count=2))
    assert silence.silence == pb.Silence(reason=pb.SILENCE_REASON_NOTHING_KNOWN, signature=SIGNATURE)
    assert list(silence.caused_by) == ["f0"]
    assert not silence.is_shadow


async def test_no_stream_gets_it(served: Running) -> None:
    async with connected(served.address) as stub:
        talk = Talk(stub)
        begin = started(session_id="s")
        begin.turn_id = "t"
        await talk.say(begin, called("sql", "SELECT 1 FROM orders", "a"), failed(FAILURE, "a"))
        async with asyncio.timeout(60):
            while not silences(await record(served, "t")):  # noqa: ASYNC110 - asked over the wire
                await asyncio.sleep(0.02)
        await talk.say(finished(outcome=common_pb2.TASK_OUTCOME_SUCCESS))
        await talk.ended()
    assert talk.said("turn_summary")
    assert not talk.said("silence")
    assert not talk.said("advice")


async def test_what_is_known_does_not_pass_the_gate(served: Running) -> None:
    await live_through(served.address, UNTOLD - 2)
    (silence,) = silences(await fails(served, "t"))
    tried = silence.silence
    assert (tried.reason, tried.worked, tried.tries) == (pb.SILENCE_REASON_GATE, UNTOLD - 2, UNTOLD - 2)
    assert tried.recovery_id == (await observed(served.address)).moves[0].recovery_id


async def test_what_is_known_was_held_back_silenced_or_turned_off(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 1.0)
    await live_through(served.address, UNTOLD)
    (move,) = (await observed(served.address)).moves
    known: dict[str, Any] = {"signature": SIGNATURE, "recovery_id": move.recovery_id, "tries": UNTOLD, "worked": UNTOLD}
    (held,) = silences(await fails(served, "held"))
    assert held.silence == pb.Silence(reason=pb.SILENCE_REASON_HELD_BACK, **known)
    await turn_off(served, silenced=move.recovery_id)
    (silenced,) = silences(await fails(served, "silenced"))
    assert silenced.silence == pb.Silence(reason=pb.SILENCE_REASON_SILENCED, **known)
    await turn_off(served, sidecar_pb2.ADVICE_KIND_RECOVERIES)
    (off,) = silences(await fails(served, "off"))
    assert off.silence == pb.Silence(reason=pb.SILENCE_REASON_OFF_BY_POLICY, signature=SIGNATURE)


async def test_a_start_says_why_it_has_no_lesson(served: Running) -> None:
    async def why(**more: Any) -> Any:
        start = pb.StartTurnRequest(task="Copy the report of the month", **more)
        plan = (await served.stub.StartTurn(start, timeout=60)).plan
        assert bool(plan.context.items) == (plan.silence == pb.SILENCE_REASON_UNSPECIFIED)
        return plan.silence

    wish = pb.ContextWish()
    assert await why() == pb.SILENCE_REASON_NOT_ASKED
    assert await why(context=wish) == pb.SILENCE_REASON_NOTHING_KNOWN
    async with channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        stored = await memory.StoreReflection(memory_pb.StoreReflectionRequest(result=LESSON), timeout=60)
    assert await why(context=wish) == pb.SILENCE_REASON_UNSPECIFIED
    assert await why(context=pb.ContextWish(task="Water the plants")) == pb.SILENCE_REASON_NOTHING_FITS
    assert await why(context=wish, has_shell=True) == pb.SILENCE_REASON_SHELL
    await turn_off(served, silenced=stored.reflection_id)
    assert await why(context=wish) == pb.SILENCE_REASON_SILENCED
    await turn_off(served, sidecar_pb2.ADVICE_KIND_LESSONS)
    assert await why(context=wish) == pb.SILENCE_REASON_OFF_BY_POLICY


async def test_in_shadow_mode_and_without_memory(tmp_path: Path) -> None:
    wish = pb.ContextWish()
    async with running(tmp_path / "shadow", advice__mode="shadow") as served:
        async with channel(served.address) as connection:
            memory: Stub = ReflectiveMemoryServiceStub(connection)
            await memory.StoreReflection(memory_pb.StoreReflectionRequest(result=LESSON), timeout=60)
        start = pb.StartTurnRequest(turn_id="t", task="Copy the report of the month", context=wish)
        plan = (await served.stub.StartTurn(start, timeout=60)).plan
        assert plan.silence == pb.SILENCE_REASON_SHADOW
        assert [one.directive.is_shadow for one in await record(served, "t") if one.directive.HasField("advice")] == [
            True
        ]
    async with running(tmp_path / "off", memory__enabled="false") as served:
        plan = (await served.stub.StartTurn(pb.StartTurnRequest(task="Copy it", context=wish), timeout=60)).plan
        assert plan.silence == pb.SILENCE_REASON_OFF_BY_SETTING
