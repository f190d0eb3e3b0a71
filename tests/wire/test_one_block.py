"""At a failing call recoveries and lessons are one block, a loop's nudge says what repeating came to, and the prompt
before all of it stays as it is."""

from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import thinking_pb2 as thinking_pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.recoveries import moves
from tests.faults.sidecars import Running, Stub, channel, running
from tests.memory.recovering import FAILURE, SIGNATURE, UNTOLD, live_through, until_observed
from tests.wire.calls import MEDIUM, called, failed, finished, returned

LESSON = "The tables of this shop end with their year."
BASE_PROMPT = "You are a careful analyst.\nAnswer in one line."


@pytest.fixture(autouse=True)
def nothing_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)


async def begin(stub: Stub, name: str, config: Any = MEDIUM) -> thinking_pb.TurnPlan:
    start = thinking_pb.StartTurnRequest(
        turn_id=name,
        session_id=f"session of {name}",
        config=config,
        base_prompt=BASE_PROMPT,
        reflection_mode=thinking_pb.REFLECTION_MODE_AUTO,
        budget=thinking_pb.TurnBudget(max_reflections=10),
    )
    plan: thinking_pb.TurnPlan = (await stub.StartTurn(start, timeout=60)).plan
    return plan


async def fails(stub: Stub, name: str, number: int, query: str = "") -> list[thinking_pb.TurnDirective]:
    """What the turn is told when its call fails."""
    call_id = f"c{number}"
    events = [called("sql", query or f"SELECT {number} FROM orders", call_id), failed(FAILURE, call_id)]
    report = thinking_pb.ReportEventsRequest(turn_id=name, events=events)
    report.wait.seconds = 20
    return list((await stub.ReportEvents(report, timeout=60)).directives)


async def ends(stub: Stub, name: str) -> None:
    await stub.ReportEvents(thinking_pb.ReportEventsRequest(turn_id=name, events=[finished(outcome=2)]), timeout=60)


def blocks(said: list[thinking_pb.TurnDirective]) -> list[Any]:
    both = (block for one in said for block in (one.advice.block, one.reflection.lessons))
    return [block for block in both if block.items]


async def teach(served: Running, text: str = LESSON) -> str:
    async with channel(served.address) as connection:
        stub: Stub = ReflectiveMemoryServiceStub(connection)
        told = pb.ReflectionResult(
            reflection_text=text,
            error_category=pb.ERROR_CATEGORY_NOT_FOUND_ERROR,
            error_signature=SIGNATURE,
            importance=1.0,
            applies_when=pb.AppliesWhen(tools=["sql"], error_categories=[pb.ERROR_CATEGORY_NOT_FOUND_ERROR]),
        )
        answer = await stub.StoreReflection(pb.StoreReflectionRequest(result=told), timeout=60)
    reflection_id: str = answer.reflection_id
    return reflection_id


async def test_recoveries_and_lessons_are_one_block_with_one_receipt(tmp_path: Path) -> None:
    async with running(tmp_path, defaults__learning="false") as served:
        await live_through(served.address, UNTOLD)
        kept = await teach(served)
        await begin(served.stub, "t")
        (block,) = blocks(await fails(served.stub, "t", 1))
        assert [item.kind for item in block.items] == ["recovery", "reflection"]
        assert kept == block.items[1].id
        assert block.token_count <= 200
        assert block.text.count("[LESSONS FROM EARLIER WORK]") == 1
        # The same lesson does not come again with the next failure.
        assert blocks(await fails(served.stub, "t", 2)) == []


async def test_a_turn_that_does_not_think_is_told_the_recovery_alone(tmp_path: Path) -> None:
    async with running(tmp_path) as served:
        await teach(served)
        await live_through(served.address, UNTOLD)
        await begin(served.stub, "t", thinking_pb.ThinkingConfig(level=thinking_pb.THINK_LEVEL_OFF))
        (block,) = blocks(await fails(served.stub, "t", 1))
        assert [item.kind for item in block.items] == ["recovery"]


async def test_the_nudge_about_a_loop_says_what_repeating_came_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "FEWEST_REPEATS", 4)
    monkeypatch.setattr(moves, "MOST_REPEAT_RATE", 0.5)  # 0 of 4 is below it, by Wilson's interval
    async with running(tmp_path) as served:
        for number in range(2):
            name = f"loop {number}"
            await begin(served.stub, name)
            assert (await nudged(served.stub, name)).endswith("Change the arguments or the approach.")
            await ends(served.stub, name)
            await until_observed(served.address, 2 * number + 2)
        await begin(served.stub, "again")
        message = await nudged(served.stub, "again")
        assert message.endswith("Change the arguments or the approach. Unchanged it worked in 0 of 4.")


async def nudged(stub: Stub, name: str) -> str:
    """The nudge of a turn that makes the same failing call three times."""
    said = [one for again in range(3) for one in await fails(stub, name, again, "SELECT 1 FROM orders")]
    (message,) = [one.nudge.message for one in said if one.HasField("nudge")]
    return message


async def test_the_prompt_before_a_block_does_not_change_over_a_turn(tmp_path: Path) -> None:
    """Byte by byte: with advice and without, before failures and after them."""
    async with running(tmp_path) as served:
        alone = (await begin(served.stub, "before")).system_prompt
        await teach(served)
        await live_through(served.address, UNTOLD)
        plan = await begin(served.stub, "t")
        assert blocks(await fails(served.stub, "t", 1))
        await fails(served.stub, "t", 2)
        recorded = await served.stub.GetTurn(thinking_pb.GetTurnRequest(turn_id="t"), timeout=60)
        prompts = {
            one.directive.turn_plan.system_prompt for one in recorded.entries if one.directive.HasField("turn_plan")
        }
        assert prompts == {alone} == {plan.system_prompt}
        assert plan.system_prompt.startswith(BASE_PROMPT)
        assert "LESSONS FROM EARLIER WORK" not in plan.system_prompt


async def test_what_is_delivered_when_the_turn_has_ended_was_not_told(tmp_path: Path) -> None:
    """As after an outage. Seen to fail with a receipt, a try that counts as told, and one lesson that the turn has."""
    async with running(tmp_path) as served, channel(served.address) as connection:
        await live_through(served.address, UNTOLD)
        await until_observed(served.address, UNTOLD)
        start = thinking_pb.StartTurnRequest(turn_id="t", session_id="t", config=MEDIUM)
        await served.stub.StartTurn(start, timeout=60)
        events = [
            *(called("sql", "SELECT 1 FROM orders", "a"), failed(FAILURE, "a")),
            *(called("sql", "SHOW TABLES", "b"), returned("orders_2026, customers", "b")),
            *(called("sql", "SELECT 1 FROM orders_2026", "c"), returned("17", "c")),
            finished(outcome=1),
        ]
        await served.stub.ReportEvents(thinking_pb.ReportEventsRequest(turn_id="t", events=events), timeout=60)
        (move, *_) = (await until_observed(served.address, UNTOLD + 1)).moves
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        receipts = (await memory.ListReceipts(pb.ListReceiptsRequest(turn_id="t"), timeout=60)).receipts
        (turn, *_) = (await served.stub.ListTurns(thinking_pb.ListTurnsRequest(), timeout=60)).turns
    assert not [one for one in receipts if one.place == pb.RECEIPT_PLACE_ADVICE]
    assert (turn.lesson_count, turn.reflection_count) == (0, 0)
    assert not move.shown.assigned_count
    assert move.tries == UNTOLD + 1
