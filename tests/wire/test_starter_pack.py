"""The starter pack is told on the first day, labelled; it is measured, gives way, and is off by one setting."""

from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as thinking_pb
from sidemirror_server.memory.recoveries import moves
from sidemirror_server.memory.recoveries.starter import LABEL
from tests.faults.sidecars import Stub, running
from tests.memory.recovering import UNTOLD, live_through, observed, until_observed
from tests.wire.calls import called, failed, finished, returned
from tests.wire.test_one_block import fails

SENTENCE = f"{LABEL} `SHOW TABLES` shows the tables (in MySQL)."
ON = "true"


@pytest.fixture(autouse=True)
def nothing_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)


async def told(stub: Stub, name: str, *, look_up: bool, works: bool) -> list[str]:
    """What a session is told at its failing call; then it looks up or sends again, which works or not."""
    await stub.StartTurn(thinking_pb.StartTurnRequest(turn_id=name, session_id=name, has_shell=True), timeout=60)
    said = await fails(stub, name, 1)
    events = [called("sql", "SHOW TABLES", "b"), returned("orders_2026", "b")] if look_up else []
    again = called("sql", "SELECT 1 FROM orders_2026", "c")
    events += [again, returned("17", "c") if works else failed("Lost connection to server", "c"), finished(outcome=1)]
    await stub.ReportEvents(thinking_pb.ReportEventsRequest(turn_id=name, events=events), timeout=60)
    blocks = [one.advice.block for one in said if one.advice.block.items]
    # What is from the documentation is from no earlier work.
    assert all(block.text.startswith("[ABOUT THIS FAILURE]\n") == (LABEL in block.text) for block in blocks)
    return [item.text for block in blocks for item in block.items]


async def test_it_is_told_at_the_first_failure_and_measured(tmp_path: Path) -> None:
    async with running(tmp_path, advice__starter_pack=ON) as served:
        assert await told(served.stub, "s1", look_up=True, works=True) == [SENTENCE]
        (move,) = (await until_observed(served.address, 1)).moves
        assert (move.is_starter, move.is_told, move.sentence) == (True, True, SENTENCE)
        assert (move.tries, move.advised_tries, move.advised_worked) == (0, 1, 1)
        assert (move.shown.assigned_count, move.shown.success_count) == (1, 1)


async def test_what_an_agent_does_in_its_place_is_learned_and_goes_before_it(tmp_path: Path) -> None:
    async with running(tmp_path, advice__starter_pack=ON) as served:
        for number in range(UNTOLD):
            assert await told(served.stub, f"s{number}", look_up=False, works=True) == [SENTENCE]
            await until_observed(served.address, number + 1)
        seen = await observed(served.address)
        assert [(one.tries, one.advised_tries) for one in seen.moves if not one.is_starter] == [(UNTOLD, 0)]


async def test_it_is_silent_after_it_failed_twice(tmp_path: Path) -> None:
    async with running(tmp_path, advice__starter_pack=ON) as served:
        for number in range(2):
            assert await told(served.stub, f"s{number}", look_up=True, works=False) == [SENTENCE]
            await until_observed(served.address, number + 1)
        assert await told(served.stub, "s2", look_up=True, works=True) == []
        (move,) = (await observed(served.address)).moves
        assert not move.is_told


async def test_what_was_learned_is_told_in_its_place(tmp_path: Path) -> None:
    """And the setting turns it off: nothing is told until then."""
    async with running(tmp_path) as served:
        await live_through(served.address, UNTOLD)
    async with running(tmp_path, advice__starter_pack=ON) as served:
        (text,) = await told(served.stub, "s9", look_up=True, works=True)
        assert text.startswith("In 5 of 5 earlier tries")
