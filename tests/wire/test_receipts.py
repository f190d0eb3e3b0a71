"""What a person asks of the record: turns by outcome and time, and where a lesson was shown."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from sidemirror.v1 import common_pb2, sidecar_pb2, sidecar_pb2_grpc
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import thinking_pb2 as thinking_pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.recoveries import moves
from sidemirror_server.trace.erasure import JOB_KIND
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from sidemirror_server.work.queue import NewJob
from tests.faults.sidecars import Running, Stub, channel, connected, running
from tests.memory.recovering import SIGNATURE, UNTOLD, live_through, session, until_observed
from tests.wire.calls import called, failed, refusal_of

LESSON = pb.ReflectionResult(
    reflection_text="The orders are in a table of each year.", strategy_text="Count orders with SHOW TABLES first."
)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[tuple[Running, Stub]]:
    async with running(tmp_path) as served, channel(served.address) as connection:
        yield served, ReflectiveMemoryServiceStub(connection)


async def receipts(stub: Stub, **asked: Any) -> list[pb.Receipt]:
    return list((await stub.ListReceipts(pb.ListReceiptsRequest(**asked), timeout=60)).receipts)


async def fields_of_refusal(answer: Awaitable[object]) -> tuple[str, ...]:
    """The fields that a call is refused for."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await answer
    refused = refusal_of(caught.value)
    assert (refused.code, refused.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    return refused.fields


def later(time: Timestamp, us: int) -> Timestamp:
    moved = Timestamp()
    moved.FromMicroseconds(time.ToMicroseconds() + us)
    return moved


async def test_where_a_recovery_was_told_and_what_followed(
    memory: tuple[Running, Stub], monkeypatch: pytest.MonkeyPatch
) -> None:
    served, stub = memory
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    await live_through(served.address, UNTOLD)
    async with connected(served.address) as turns:
        (advice,) = await session(turns, "s6", told=True)
    await until_observed(served.address, UNTOLD + 1)
    (found,) = await receipts(stub, turn_id="s6")
    assert found.receipt_id == advice.advice.block.receipt_id
    assert (found.place, found.turn_id, found.session_id) == (pb.RECEIPT_PLACE_ADVICE, "s6", "s6")
    assert (found.turn_state, found.turn_outcome) == (thinking_pb.TURN_STATE_FINISHED, common_pb2.TASK_OUTCOME_SUCCESS)
    (item,) = found.items
    assert (item.kind, item.is_held_back, item.id) == ("recovery", False, advice.advice.block.items[0].id)
    async with asyncio.timeout(60):
        while not found.items[0].HasField("succeeded"):  # its outcome comes after the observation
            await asyncio.sleep(0.05)
            (found,) = await receipts(stub, lesson_id=item.id)
    assert found.items[0].succeeded
    # The failures themselves, oldest first.
    asked = pb.ListRecoveriesRequest(signature=SIGNATURE, include_observations=True)
    (known,) = (await stub.ListRecoveries(asked, timeout=60)).signatures
    assert [one.turn_id for one in known.observations] == [f"s{number}" for number in range(1, 7)]
    last = known.observations[-1]
    assert (last.turn_id, last.session_id, last.failure_event_id) == ("s6", "s6", "s6-call")
    assert (last.recovery_id, last.advised_recovery_id, last.worked, last.followed) == (item.id, item.id, True, True)
    assert last.HasField("pause")
    assert not last.is_from_telemetry
    plain = pb.ListRecoveriesRequest(signature=SIGNATURE)
    assert not (await stub.ListRecoveries(plain, timeout=60)).signatures[0].observations
    request = pb.ListRecoveriesRequest(include_observations=True)
    assert await fields_of_refusal(stub.ListRecoveries(request, timeout=60)) == ("include_observations",)


async def test_where_a_lesson_was_shown(memory: tuple[Running, Stub]) -> None:
    served, stub = memory
    stored = await stub.StoreReflection(pb.StoreReflectionRequest(result=LESSON), timeout=60)
    wish = thinking_pb.ContextWish(max_items=2)
    start = thinking_pb.StartTurnRequest(turn_id="t", session_id="s", task="Count the orders", context=wish)
    block = (await served.stub.StartTurn(start, timeout=60)).plan.context
    build = pb.BuildMemoryContextRequest(task="Count the orders", session_id="s", holdout_fraction=0.9)
    built = [(await stub.BuildMemoryContext(build, timeout=60)).block for _ in range(6)]
    shown_in = {one.receipt_id: one for one in await receipts(stub)}
    assert shown_in.keys() == {block.receipt_id, *(one.receipt_id for one in built)}
    plan = shown_in[block.receipt_id]
    assert (plan.place, plan.turn_id, plan.turn_state) == (pb.RECEIPT_PLACE_PLAN, "t", thinking_pb.TURN_STATE_OPEN)
    assert [(one.id, one.version) for one in plan.items] == [(one.id, one.version) for one in block.items]
    for one in built:
        found = shown_in[one.receipt_id]
        assert found.place == pb.RECEIPT_PLACE_MEMORY_CONTEXT
        held = {each.id for each in found.items if each.is_held_back}
        assert held <= {each.id for each in one.omitted}
        assert {each.id for each in found.items} - held == {each.id for each in one.items}
    of_lesson = await receipts(stub, lesson_id=stored.strategy_id)
    assert {one.receipt_id for one in of_lesson} == shown_in.keys(), "held back as well as shown"
    # By time and by page, each once and the newest first.
    times = [one.time.ToMicroseconds() for one in of_lesson]
    assert times == sorted(times, reverse=True)
    until = await receipts(stub, lesson_id=stored.strategy_id, until_time=of_lesson[0].time)
    assert [one.receipt_id for one in until] == [one.receipt_id for one in of_lesson[1:]]
    since = await receipts(stub, from_time=of_lesson[2].time)
    assert [one.receipt_id for one in since] == [one.receipt_id for one in of_lesson[:3]]
    paged, token = [], ""
    while True:
        asked = pb.ListReceiptsRequest(lesson_id=stored.strategy_id, page_size=3, page_token=token)
        page = await stub.ListReceipts(asked, timeout=60)
        paged += page.receipts
        if not (token := page.next_page_token):
            break
    assert paged == of_lesson
    # Others have none of this.
    first = await stub.ListReceipts(pb.ListReceiptsRequest(page_size=3), timeout=60)
    for tenant_id, project_id in (("other", ""), ("", "other")):
        scope: dict[str, Any] = {"tenant_id": tenant_id, "project_id": project_id}
        assert await receipts(stub, **scope) == await receipts(stub, turn_id="t", **scope) == []
        assert await receipts(stub, lesson_id=stored.strategy_id, **scope) == []
        asked = pb.ListReceiptsRequest(page_size=3, page_token=first.next_page_token, **scope)
        assert await fields_of_refusal(stub.ListReceipts(asked, timeout=60)) == ("page_token",)


async def test_a_report_says_what_followed(memory: tuple[Running, Stub]) -> None:
    served, stub = memory
    await stub.StoreReflection(pb.StoreReflectionRequest(result=LESSON), timeout=60)
    start = thinking_pb.StartTurnRequest(turn_id="t", task="Count the orders", context=thinking_pb.ContextWish())
    block = (await served.stub.StartTurn(start, timeout=60)).plan.context
    (plan,) = await receipts(stub, turn_id="t")
    assert not any(one.HasField("succeeded") for one in plan.items)
    report = pb.ReportOutcomeRequest(receipt_id=block.receipt_id, outcome=common_pb2.TASK_OUTCOME_FAILURE)
    await stub.ReportOutcome(report, timeout=60)
    (plan,) = await receipts(stub, turn_id="t")
    assert [(one.HasField("succeeded"), one.succeeded) for one in plan.items] == [(True, False)] * len(plan.items)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"lesson_id": "l", "turn_id": "t"}, "turn_id"),
        ({"from_time": Timestamp(seconds=9), "until_time": Timestamp(seconds=9)}, "until_time"),
        ({"lesson_id": "l" * 129}, "lesson_id"),
        ({"turn_id": "a\nb"}, "turn_id"),
        ({"from_time": Timestamp(seconds=-1)}, "from_time"),
        ({"page_size": -1}, "page_size"),
        ({"page_token": "x"}, "page_token"),
    ],
)
async def test_what_receipts_cannot_be_asked_for(
    asked: dict[str, Any], field: str, memory: tuple[Running, Stub]
) -> None:
    answer = memory[1].ListReceipts(pb.ListReceiptsRequest(**asked), timeout=60)
    assert await fields_of_refusal(answer) == (field,)


async def test_turns_by_outcome_and_time(memory: tuple[Running, Stub]) -> None:
    stub = memory[0].stub
    outcomes = [1, 2, 4, 0]
    for number, outcome in enumerate(outcomes):
        start = thinking_pb.StartTurnRequest(turn_id=f"t{number}", session_id=f"s{number % 2}", task="x")
        await stub.StartTurn(start, timeout=60)
        events = [called("sql", "SELECT 1", "a"), failed("no such table: x", "a")] * (number + 1)
        await stub.ReportEvents(thinking_pb.ReportEventsRequest(turn_id=f"t{number}", events=events), timeout=60)
        finish = thinking_pb.FinishTurnRequest(turn_id=f"t{number}", outcome=outcome)  # type: ignore[arg-type]
        await stub.FinishTurn(finish, timeout=60)
    await stub.StartTurn(thinking_pb.StartTurnRequest(turn_id="open", session_id="s1", task="x"), timeout=60)

    async def listed(**asked: Any) -> list[str]:
        found = (await stub.ListTurns(thinking_pb.ListTurnsRequest(**asked), timeout=60)).turns
        return [turn.turn_id for turn in found]

    every = (await stub.ListTurns(thinking_pb.ListTurnsRequest(), timeout=60)).turns
    assert [turn.turn_id for turn in every] == ["open", "t3", "t2", "t1", "t0"]
    assert [(turn.tool_call_count, turn.tool_error_count) for turn in every[1:]] == [(4, 4), (3, 3), (2, 2), (1, 1)]
    assert await listed(outcomes=[2, 4]) == ["t2", "t1"]
    assert await listed(outcomes=[0]) == ["open", "t3"]
    assert await listed(outcomes=[0], state=thinking_pb.TURN_STATE_FINISHED) == ["t3"]
    assert await listed(outcomes=[1, 2], session_id="s1") == ["t1"]
    assert await listed(outcomes=[1], tenant_id="other") == []
    assert await listed(from_time=every[2].start_time) == ["open", "t3", "t2"]
    assert await listed(until_time=every[2].start_time) == ["t1", "t0"]
    assert await listed(outcomes=[1, 2], from_time=every[3].start_time) == ["t1"]
    ended: Any = [1, 2, 4]
    first = await stub.ListTurns(thinking_pb.ListTurnsRequest(outcomes=ended, page_size=2), timeout=60)
    assert await listed(outcomes=[4, 2, 1, 1], page_size=2, page_token=first.next_page_token) == ["t0"]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"outcomes": [9]}, "outcomes[0]"),
        ({"outcomes": [1] * 7}, "outcomes"),
        ({"from_time": later(every[0].start_time, 1), "until_time": every[0].start_time}, "until_time"),
        ({"outcomes": [1], "page_token": first.next_page_token}, "page_token"),
    ]
    for asked, field in wrong:
        answer = stub.ListTurns(thinking_pb.ListTurnsRequest(**asked), timeout=60)
        assert await fields_of_refusal(answer) == (field,)


async def test_a_watch_begins_at_a_time(memory: tuple[Running, Stub]) -> None:
    stub = memory[0].stub
    starts = []
    for number in range(5):
        start = thinking_pb.StartTurnRequest(turn_id=f"t{number}", session_id="s", task="x")
        await stub.StartTurn(start, timeout=60)
        starts.append((await stub.GetTurn(thinking_pb.GetTurnRequest(turn_id=f"t{number}"), timeout=60)).turn)

    async def seen(**asked: Any) -> list[str]:
        request = thinking_pb.WatchTurnsRequest(follow=False, **asked)
        told = [one.entry.turn_id async for one in stub.WatchTurns(request, timeout=60) if one.entry.sequence]
        return list(dict.fromkeys(told))

    assert await seen() == [f"t{number}" for number in range(5)]
    assert await seen(from_time=starts[3].start_time) == ["t3", "t4"]
    assert await seen(from_time=Timestamp(seconds=1)) == [f"t{number}" for number in range(5)]
    assert await seen(from_time=later(starts[4].update_time, 60_000_000)) == []
    request = thinking_pb.WatchTurnsRequest(from_time=starts[3].start_time, follow=False, new_only=True)
    assert await fields_of_refusal(stub.WatchTurns(request, timeout=60).read()) == ("from_time",)


async def test_the_backlog(memory: tuple[Running, Stub]) -> None:
    served, _ = memory
    async with channel(served.address) as connection:
        stub: Any = sidecar_pb2_grpc.SidecarServiceStub(connection)
        assert not (await stub.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=60)).backlog
        in_a_year_us = 2_000_000_000_000_000
        job = NewJob(JobId("j"), JOB_KIND, b"{}", 3, in_a_year_us)
        await served.sidecar._stores.work.put(DEFAULT_SCOPE, job, in_a_year_us)
        (waiting,) = (await stub.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=60)).backlog
        assert (waiting.kind, waiting.waiting_count) == ("erasure", 1)
        other = sidecar_pb2.GetServerInfoRequest(project_id="other")
        assert not (await stub.GetServerInfo(other, timeout=60)).backlog


@pytest.mark.parametrize(("mode", "reason"), [("on", pb.HELD_BACK_REASON_DRAW), ("shadow", pb.HELD_BACK_REASON_SHADOW)])
async def test_what_an_agent_asks_for_says_why_it_was_held_back(
    tmp_path: Path, mode: str, reason: pb.HeldBackReason
) -> None:
    """By the draw or the mode of the sidecar that answered. Seen to fail when only the turn's mode was looked at."""
    async with running(tmp_path, advice__mode=mode) as served, channel(served.address) as connection:
        stub: Stub = ReflectiveMemoryServiceStub(connection)
        await stub.StoreReflection(pb.StoreReflectionRequest(result=LESSON), timeout=60)
        for number in range(12):
            build = pb.BuildMemoryContextRequest(
                task="Count the orders", request_id=f"r{number}", holdout_fraction=0.9 if mode == "on" else 0
            )
            await stub.BuildMemoryContext(build, timeout=60)
        items = [item for one in await receipts(stub) for item in one.items]
    assert {item.held_back_reason for item in items if item.is_held_back} == {reason}
    assert not any(item.held_back_reason for item in items if not item.is_held_back)
