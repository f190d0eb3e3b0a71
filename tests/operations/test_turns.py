"""`sidemirror turns` and `watch` over a record: what happened, and why a lesson was shown."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import thinking_pb2 as thinking_pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.cli import main
from sidemirror_server.memory.recoveries import moves
from sidemirror_server.operations.moments import moment_in
from tests.faults.sidecars import Running, Stub, channel, connected, running
from tests.memory.recovering import SENTENCE, SIGNATURE, UNTOLD, live_through, session, until_observed
from tests.wire.calls import called, failed

LESSON = pb.ReflectionResult(
    reflection_text="The orders are in a table of each year.", strategy_text="Count orders with SHOW TABLES first."
)


async def said(capsys: pytest.CaptureFixture[str], served: Running, *arguments: str) -> tuple[int, list[str], str]:
    capsys.readouterr()
    code = await asyncio.to_thread(main, [*arguments, "--address", served.address])
    told = capsys.readouterr()
    return code, told.out.splitlines(), told.err


async def test_why_a_recovery_was_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    async with running(tmp_path) as served:
        await live_through(served.address, UNTOLD)
        async with connected(served.address) as stub:
            await session(stub, "s6", told=True)
        await until_observed(served.address, UNTOLD + 1)
        code, lines, _ = await said(capsys, served, "turns", "why", "s6")
        assert code == 0
        told = "\n".join(lines)
        assert "advice of turn s6 (session s6), finished, success" in lines[0]
        assert f"  recognised by: {SIGNATURE}" in lines
        assert any(line.startswith("    said: ") and line.endswith(SENTENCE) for line in lines)
        assert f"    what fitted: the call failed in the same way, {SIGNATURE}" in lines
        assert "it worked in 5 of 5 tries" in told
        # Not s6: what it did came after it was told.
        assert "learned from: 5 tries; it worked in turns s5, s4, s3, s2, s1" in told
        # The newest one, without a turn; and by the minute.
        assert (await said(capsys, served, "turns", "why"))[1][0] == lines[0]
        at = datetime.fromisoformat(lines[0][:19])
        minute = f"{at:%Y-%m-%dT%H:%M}"
        assert (await said(capsys, served, "turns", "why", "--at", minute))[1][0] == lines[0]
        code, lines, wrong = await said(
            capsys, served, "turns", "why", "--at", f"{at - timedelta(days=1):%Y-%m-%dT%H:%M}"
        )
        assert (code, lines) == (1, [])
        assert wrong == "sidemirror: no lesson and no recovery was shown there\n"
        # What was told is a line of the turn, and of a watch that ends with it.
        _, shown, _ = await said(capsys, served, "turns", "show", "s6")
        assert any("↳ advice: In 5 of 5" in line for line in shown)
        _, watched, _ = await said(capsys, served, "watch", "--turn", "s6")
        assert watched == shown[1:]
        _, failures, _ = await said(capsys, served, "turns", "list", "--outcome", "success", "-n", "2")
        assert [("  s6  finished, success  " in line, "1 lesson" in line) for line in failures] == [
            (True, True),
            (False, False),
        ]


async def test_a_turn_is_shown_in_the_order_of_time_with_what_was_held_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a client reports late has its own time. Seen to fail for lines in the order of the record."""
    monkeypatch.setattr(moves, "SILENT_FRACTION", 1.0)
    async with running(tmp_path) as served:
        await live_through(served.address, UNTOLD)
        async with connected(served.address) as stub:
            await session(stub, "s6", told=False)
        (move,) = (await until_observed(served.address, UNTOLD + 1)).moves
        late = called("sql", "SELECT 1", "a")
        late.time.GetCurrentTime()
        late.time.seconds -= 60
        await served.stub.StartTurn(thinking_pb.StartTurnRequest(turn_id="t", session_id="s"), timeout=60)
        await served.stub.ReportEvents(thinking_pb.ReportEventsRequest(turn_id="t", events=[late]), timeout=60)
        _, shown, _ = await said(capsys, served, "turns", "show", "s6")
        (held,) = [at for at, line in enumerate(shown) if "held back" in line]
        assert shown[held].endswith(f"  s6/s6  ↳ held back, not told: recovery {move.recovery_id}")
        assert any("tool failed" in line for line in shown[:held])
        _, shown, _ = await said(capsys, served, "turns", "show", "t")
        assert ["tool called" in line for line in shown[1:]] == [True, False, False]


async def test_why_a_lesson_was_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path) as served, channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        stored = await memory.StoreReflection(
            pb.StoreReflectionRequest(result=LESSON, session_id="earlier"), timeout=60
        )
        start = thinking_pb.StartTurnRequest(
            turn_id="t", session_id="s", task="Count the orders", context=thinking_pb.ContextWish()
        )
        await served.stub.StartTurn(start, timeout=60)
        code, lines, _ = await said(capsys, served, "turns", "why", "t", "--lesson", stored.strategy_id)
        assert code == 0
        told = "\n".join(lines)
        assert "plan of turn t (session s), open" in lines[0]
        assert f"  strategy {stored.strategy_id} version 1, score" in told
        assert stored.reflection_id not in "".join(line for line in lines if line.startswith("  reflection"))
        assert "    said: Count orders with SHOW TABLES first." in lines
        assert "what fitted: by the task, as it is found today: place" in told
        assert "learned from: session earlier; 1 episodes, learned 1 times" in told
        assert "its evidence: not enough data" in told
        assert "  left out:" in lines
        assert f"    {stored.reflection_id}: " in told
        _, watched, _ = await said(capsys, served, "watch", "--no-follow", "--since", "1h")
        assert any(f"lesson {stored.strategy_id}: Count orders" in line for line in watched)
        assert await said(capsys, served, "turns", "list", "--failed") == (0, ["No turn fits."], "")
        code, _, wrong = await said(capsys, served, "turns", "show", "none")
        assert (code, "NOT_FOUND" in wrong) == (1, True)
        code, _, wrong = await said(capsys, served, "watch", "--turn", "none", "--no-follow")
        assert (code, wrong) == (1, "sidemirror: nothing is recorded of turn none\n")
        events = [called("sql", "SELECT 1", "a"), failed("no such table: x", "a")]
        await served.stub.ReportEvents(thinking_pb.ReportEventsRequest(turn_id="t", events=events), timeout=60)
        _, lines, _ = await said(capsys, served, "turns", "list", "--state", "open")
        assert "1 of 1 calls failed  1 lesson  session s  Count the orders" in lines[0]


NOW = datetime(2026, 11, 23, 12, 0).astimezone()


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("10:42", (NOW.replace(hour=10, minute=42), 60)),
        ("10:42:03", (NOW.replace(hour=10, minute=42, second=3), 1)),
        ("12:01", (NOW.replace(hour=12, minute=1) - timedelta(days=1), 60)),
        ("15m", (NOW - timedelta(minutes=15), 1)),
        ("3d", (NOW - timedelta(days=3), 1)),
        ("2026-11-20", (datetime(2026, 11, 20).astimezone(), 86_400)),
        ("2026-11-20T10:42", (datetime(2026, 11, 20, 10, 42).astimezone(), 60)),
        ("2026-11-20T10:42:03+00:00", (datetime.fromisoformat("2026-11-20T10:42:03+00:00"), 1)),
    ],
)
def test_times_as_people_give_them(text: str, moment: tuple[datetime, int]) -> None:
    at, width_s = moment
    assert moment_in(text, int(NOW.timestamp() * 1e6)) == (int(at.timestamp() * 1e6), width_s * 1_000_000)


@pytest.mark.parametrize(
    "text", ["", "now", "25:00", "10:42pm", "1969-12-31T00:00", "999999d", "2026-13-01", "9" * 400]
)
def test_what_is_no_time(text: str) -> None:
    assert moment_in(text, int(NOW.timestamp() * 1e6)) is None
