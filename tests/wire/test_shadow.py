"""In shadow mode nothing is told, and what would have been told is kept with what happened then."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration

from sidemirror.v1 import common_pb2, sidecar_pb2, sidecar_pb2_grpc
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import thinking_pb2 as thinking_pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.rpc.thinking.directives import is_sent
from sidemirror_server.thinking.detectors import Pattern
from sidemirror_server.thinking.record import Advised, Directive, Nudge, Reflection, Said
from sidemirror_server.turns.shadow import kept
from sidemirror_server.vocabulary.block import ContextBlock
from sidemirror_server.vocabulary.ids import DirectiveId
from sidemirror_server.vocabulary.status import ResultStatus
from tests.faults.sidecars import Running, Stub, channel, running
from tests.memory.recovering import SENTENCE, UNTOLD, live_through, observed, until_observed
from tests.wire.calls import MEDIUM, called, finished, returned
from tests.wire.test_one_block import LESSON, fails, teach


@pytest.fixture
async def lived(tmp_path: Path) -> AsyncIterator[Running]:
    """A sidecar in shadow mode that has seen the failure in as many sessions as the gate asks for."""
    async with running(tmp_path, advice__mode="shadow") as served:
        await live_through(served.address, UNTOLD)
        yield served


async def repairs(stub: Stub, name: str) -> list[thinking_pb.TurnDirective]:
    """A session whose call fails, and which finds its way out by itself. Returns what it was told at the failure."""
    await stub.StartTurn(thinking_pb.StartTurnRequest(turn_id=name, session_id=name), timeout=60)
    said = await fails(stub, name, 1)
    events = [
        called("sql", "SHOW TABLES", "b"),
        returned("orders_2026, customers", "b"),
        called("sql", "SELECT 1 FROM orders_2026", "c"),
        returned("17", "c"),
        finished(outcome=1),
    ]
    await stub.ReportEvents(thinking_pb.ReportEventsRequest(turn_id=name, events=events), timeout=60)
    return said


async def recorded(served: Running, turn_id: str) -> list[thinking_pb.TurnDirective]:
    """What the turn's record has."""
    found = await served.stub.GetTurn(thinking_pb.GetTurnRequest(turn_id=turn_id), timeout=60)
    return [one.directive for one in found.entries if one.HasField("directive")]


async def test_a_recovery_is_kept_with_what_happened_then(lived: Running) -> None:
    assert await repairs(lived.stub, "s6") == []
    (advice,) = [one for one in await recorded(lived, "s6") if one.HasField("advice")]
    assert advice.is_shadow
    assert f"In 5 of 5 {SENTENCE}" in advice.advice.block.text
    await until_observed(lived.address, UNTOLD + 1)
    # The trial ends in a write of its own.
    async with asyncio.timeout(60):
        while not (move := (await observed(lived.address)).moves[0]).held_back.success_count:  # noqa: ASYNC110 - asked over the wire
            await asyncio.sleep(0.05)
    shadow = move.shadow
    assert (shadow.said_count, shadow.followed_count, shadow.followed_worked_count) == (1, 1, 1)
    assert shadow.otherwise_worked_count == 0
    assert shadow.token_count == advice.advice.block.token_count > 0
    # What the agent did counts as a try without advice, and the trial as one that was held back.
    assert (move.tries, move.advised_tries) == (UNTOLD + 1, 0)
    assert (move.shown.assigned_count, move.held_back.assigned_count, move.held_back.success_count) == (0, 1, 1)


async def test_its_receipts_say_that_nothing_was_shown(lived: Running) -> None:
    """Lessons of a start too. Seen to fail while these were listed as shown."""
    await teach(lived)
    wish = thinking_pb.ContextWish()
    start = thinking_pb.StartTurnRequest(turn_id="s6", session_id="s6", task="Count the orders", context=wish)
    await lived.stub.StartTurn(start, timeout=60)
    await fails(lived.stub, "s6", 1)
    async with channel(lived.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        listed = await memory.ListReceipts(pb.ListReceiptsRequest(turn_id="s6"), timeout=60)
    places = {one.place for one in listed.receipts}
    assert places == {pb.RECEIPT_PLACE_PLAN, pb.RECEIPT_PLACE_ADVICE}
    for receipt in listed.receipts:
        assert {item.is_held_back for item in receipt.items} == {True}
        assert {item.held_back_reason for item in receipt.items} == {pb.HELD_BACK_REASON_SHADOW}
        ids = [item.id for item in receipt.items]
        assert len(set(ids)) == len(ids)


async def test_it_goes_with_its_session_and_no_other_tenant_sees_it(lived: Running) -> None:
    await repairs(lived.stub, "s6")
    (move,) = (await until_observed(lived.address, UNTOLD + 1)).moves
    assert move.HasField("shadow")
    async with channel(lived.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        other = pb.ListRecoveriesRequest(tenant_id="other")
        assert not (await memory.ListRecoveries(other, timeout=60)).signatures
    await lived.stub.DeleteSession(thinking_pb.DeleteSessionRequest(session_id="s6"), timeout=60)
    (move,) = (await observed(lived.address)).moves
    assert not move.HasField("shadow")


async def test_nothing_is_told_by_any_door(tmp_path: Path) -> None:
    """Nudges, lessons and recoveries are in the record, and in no answer. Beside it stands what is told without."""
    without = await told(tmp_path / "on", "on")
    assert {"advice", "nudge"} <= set(without.kinds)
    assert without.texts
    inside = await told(tmp_path / "shadow", "shadow")
    assert set(inside.kinds) <= {"turn_plan"}
    assert inside.texts == []
    assert {"advice", "nudge"} <= {one.WhichOneof("kind") for one in inside.record if one.is_shadow}
    assert (inside.is_shadow, without.is_shadow) == (True, False)


class Told:
    """What a turn was told: kinds of directives, texts of blocks, and what its record has."""

    def __init__(self, kinds: list[str], texts: list[str], record: list[Any], *, is_shadow: bool) -> None:
        self.kinds, self.texts, self.record, self.is_shadow = kinds, texts, record, is_shadow


async def told(folder: Path, mode: str) -> Told:
    async with running(folder, advice__mode=mode) as served:
        await live_through(served.address, UNTOLD)
        await teach(served)
        start = thinking_pb.StartTurnRequest(
            turn_id="t",
            session_id="s",
            task="What do the tables of this shop end with?",
            config=MEDIUM,
            reflection_mode=thinking_pb.REFLECTION_MODE_AUTO,
            context=thinking_pb.ContextWish(tools=["sql"]),
        )
        plan = (await served.stub.StartTurn(start, timeout=60)).plan
        said = [one for again in range(3) for one in await fails(served.stub, "t", again, "SELECT 1 FROM orders")]
        async with channel(served.address) as connection:
            memory: Stub = ReflectiveMemoryServiceStub(connection)
            ask = pb.BuildMemoryContextRequest(task=start.task, tools=["sql"])
            block = (await memory.BuildMemoryContext(ask, timeout=60)).block
            info = sidecar_pb2_grpc.SidecarServiceStub(connection)
            server: Any = await info.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=60)
        blocks = [plan.context, block, *(one.advice.block for one in said), *(one.reflection.lessons for one in said)]
        kinds = [one.WhichOneof("kind") or "" for one in said]
        record = await recorded(served, "t")
        return Told(kinds, [one.text for one in blocks if one.text], record, is_shadow=server.advice_is_shadow)


async def test_a_reflection_that_the_agent_asks_for_is_answered_without_lessons(tmp_path: Path) -> None:
    async with running(tmp_path, advice__mode="shadow") as served:
        await teach(served)
        start = thinking_pb.StartTurnRequest(turn_id="t", session_id="s", config=MEDIUM)
        await served.stub.StartTurn(start, timeout=60)
        assert await fails(served.stub, "t", 1) == []
        answer = await served.stub.Reflect(thinking_pb.ReflectRequest(turn_id="t"), timeout=60)
        assert answer.result.reflection
        assert LESSON not in str(answer)


@pytest.mark.parametrize(
    "what",
    [Nudge(Pattern.ERROR_STREAK, "m"), Advised(ContextBlock("x"), "s"), Reflection(ResultStatus.OK)],
)
def test_what_is_kept_goes_on_no_stream(what: Said) -> None:
    directive = kept(Directive(DirectiveId("d"), 0, what))
    assert directive.is_shadow
    assert not is_sent(directive)


async def test_the_list_of_turns_says_which_began_in_shadow_mode(tmp_path: Path) -> None:
    """Also when the mode is another one by then."""
    async with running(tmp_path, advice__mode="shadow") as served:
        await served.stub.StartTurn(thinking_pb.StartTurnRequest(turn_id="shadowed"), timeout=60)
    async with running(tmp_path) as served:
        await served.stub.StartTurn(thinking_pb.StartTurnRequest(turn_id="told"), timeout=60)
        listed = await served.stub.ListTurns(thinking_pb.ListTurnsRequest(), timeout=60)
    assert {turn.turn_id: turn.is_shadow for turn in listed.turns} == {"shadowed": True, "told": False}


async def test_what_a_recall_kept_stays_among_what_would_be_told(tmp_path: Path) -> None:
    """Seen to fail while shadow mode took it for held back from the rest of the turn."""
    async with running(tmp_path, advice__mode="shadow", defaults__learning="false") as served:
        await live_through(served.address, UNTOLD)
        lesson = await teach(served)
        await served.stub.StartTurn(
            thinking_pb.StartTurnRequest(turn_id="t", session_id="t", config=MEDIUM), timeout=60
        )
        async with channel(served.address) as connection:
            memory: Stub = ReflectiveMemoryServiceStub(connection)
            recall = pb.BuildMemoryContextRequest(task=LESSON, tools=["sql"], turn_id="t", session_id="t")
            for _ in range(2):
                assert not (await memory.BuildMemoryContext(recall, timeout=60)).block.items
        assert await fails(served.stub, "t", 1) == []
        (advice,) = [one.advice for one in await recorded(served, "t") if one.HasField("advice")]
    assert [item.kind for item in advice.block.items] == ["recovery", "reflection"]
    assert advice.block.items[1].id == lesson


@pytest.mark.parametrize("mode", ["on", "shadow"])
async def test_what_a_turn_was_told_beside_lessons_is_counted(tmp_path: Path, mode: str) -> None:
    """Nudges, reflections and critiques that were told, and none that shadow mode kept. Seen to fail while lessons
    alone were counted."""
    async with running(tmp_path, advice__mode=mode) as served:
        start = thinking_pb.StartTurnRequest(
            turn_id="t",
            session_id="s",
            task="Count the orders",
            config=MEDIUM,
            reflection_mode=thinking_pb.REFLECTION_MODE_AUTO,
            critique_mode=common_pb2.CRITIQUE_MODE_ALWAYS,
        )
        await served.stub.StartTurn(start, timeout=60)
        for again in range(4):
            await fails(served.stub, "t", again, "SELECT 1 FROM orders")
        drafted = thinking_pb.TurnEvent(response_drafted=thinking_pb.ResponseDrafted(text="There are 3 open orders."))
        report = thinking_pb.ReportEventsRequest(turn_id="t", events=[drafted], wait=Duration(seconds=20))
        await served.stub.ReportEvents(report, timeout=60)
        record = await recorded(served, "t")
        (turn,) = (await served.stub.ListTurns(thinking_pb.ListTurnsRequest(), timeout=60)).turns
    kinds = Counter(one.WhichOneof("kind") for one in record if not one.is_shadow)
    kept = {one.WhichOneof("kind") for one in record if one.is_shadow}
    reflected = sum(one.reflection.status == common_pb2.RESULT_STATUS_OK for one in record if not one.is_shadow)
    judged = sum(one.critique.status == common_pb2.RESULT_STATUS_OK for one in record if not one.is_shadow)
    assert (turn.nudge_count, turn.reflection_count, turn.critique_count) == (kinds["nudge"], reflected, judged)
    if mode == "on":
        assert min(turn.nudge_count, turn.reflection_count, turn.critique_count) > 0
    else:
        assert {"nudge", "reflection", "critique"} <= kept
        assert (turn.nudge_count, turn.reflection_count, turn.critique_count) == (0, 0, 0)
