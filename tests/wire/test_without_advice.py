"""A turn without advice: the sidecar says nothing by itself, counts nothing as told, and answers what it is asked."""

from pathlib import Path

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.recoveries import moves
from tests.faults.sidecars import Running, Stub, channel, running
from tests.memory.recovering import FAILURE, SENTENCE, UNTOLD, live_through, until_observed
from tests.wire.calls import MEDIUM, called, finished, returned
from tests.wire.test_one_block import LESSON, fails, teach

TASK = "What do the tables of this shop end with?"
# A wrong sum of what the turn has on record: pointing finds it.
WRONG = "The total is 12, which is the sum of 5 and 6 by the result."


@pytest.fixture(autouse=True)
def nothing_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)


async def begin(served: Running, name: str, *, without_advice: bool, wants: bool = False) -> pb.TurnPlan:
    start = pb.StartTurnRequest(
        turn_id=name,
        session_id=name,
        task=TASK,
        config=MEDIUM,
        reflection_mode=pb.REFLECTION_MODE_AUTO,
        critique_mode=common_pb2.CRITIQUE_MODE_ALWAYS,
        without_advice=without_advice,
        context=pb.ContextWish(tools=["sql"]) if wants else None,
    )
    plan: pb.TurnPlan = (await served.stub.StartTurn(start, timeout=60)).plan
    return plan


async def recorded(stub: Stub, turn_id: str) -> list[str | None]:
    """The kinds of all directives of the turn's record."""
    found = await stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id), timeout=60)
    return [one.directive.WhichOneof("kind") for one in found.entries if one.HasField("directive")]


async def works_on(served: Running, name: str) -> set[str | None]:
    """A turn that fails three times in the same way, finds its way out, and drafts an answer; what it was told."""
    for number in range(3):
        await fails(served.stub, name, number, "SELECT 1 FROM orders")
    events = [
        called("sql", "SHOW TABLES", "b"),
        returned("orders_2026, customers", "b"),
        called("sql", "SELECT 1 FROM orders_2026", "c"),
        returned("17", "c"),
        pb.TurnEvent(response_drafted=pb.ResponseDrafted(text=WRONG)),
    ]
    report = pb.ReportEventsRequest(turn_id=name, events=events)
    report.wait.seconds = 20
    await served.stub.ReportEvents(report, timeout=60)
    return set(await recorded(served.stub, name))


async def test_nothing_is_said_and_nothing_counts_as_told(tmp_path: Path) -> None:
    """Beside it stands what is said in a turn that does not say so."""
    async with running(tmp_path, defaults__context="true", defaults__learning="false") as served:
        await teach(served)
        await live_through(served.address, UNTOLD)
        plan = await begin(served, "quiet", without_advice=True)
        assert not plan.HasField("context")
        assert plan.reflection_mode == pb.REFLECTION_MODE_ON_REQUEST
        assert plan.critique_mode == common_pb2.CRITIQUE_MODE_OFF
        assert await works_on(served, "quiet") == {"turn_plan"}
        await served.stub.ReportEvents(
            pb.ReportEventsRequest(turn_id="quiet", events=[finished(outcome=1)]), timeout=60
        )
        seen = await until_observed(served.address, UNTOLD + 3)
        assert sum(move.advised_tries for move in seen.moves) == 0
        assert sum(move.shown.assigned_count + move.held_back.assigned_count for move in seen.moves) == 0
        plan = await begin(served, "loud", without_advice=False)
        assert LESSON in plan.context.text
        assert {"advice", "nudge", "reflection", "critique"} <= await works_on(served, "loud")


async def test_what_it_asks_for_is_answered(tmp_path: Path) -> None:
    async with running(tmp_path) as served:
        await teach(served)
        await live_through(served.address, UNTOLD)
        plan = await begin(served, "t", without_advice=True, wants=True)
        assert LESSON in plan.context.text
        await fails(served.stub, "t", 1)
        answer = await served.stub.Reflect(pb.ReflectRequest(turn_id="t"), timeout=60)
        assert answer.result.reflection
        async with channel(served.address) as connection:
            memory: Stub = ReflectiveMemoryServiceStub(connection)
            ask = memory_pb.FindRecoveriesRequest(tool="sql", error_text=FAILURE, turn_id="t")
            assert SENTENCE in (await memory.FindRecoveries(ask, timeout=60)).block.text


async def test_it_stays_so_after_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path) as served:
        await live_through(served.address, UNTOLD)
        await begin(served, "t", without_advice=True)
    async with running(tmp_path) as served:
        assert await works_on(served, "t") == {"turn_plan"}
        found = await served.stub.GetTurn(pb.GetTurnRequest(turn_id="t"), timeout=60)
        assert found.entries[0].event.turn_started.without_advice
