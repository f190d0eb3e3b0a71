"""`sidemirror turns` and `watch` over a record: what happened, and why a lesson was shown."""

import asyncio
import re
from datetime import datetime, timedelta
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import common_pb2, critique_pb2, critique_pb2_grpc
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import thinking_pb2 as thinking_pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.cli import main
from sidemirror_server.memory.recoveries import moves
from sidemirror_server.operations.moments import moment_in
from tests.faults.sidecars import Running, Stub, channel, connected, running
from tests.memory.recovering import FAILURE, SENTENCE, SIGNATURE, UNTOLD, live_through, session, until_observed
from tests.wire.access import ACME, EVERYWHERE, bearer, entry, write_access
from tests.wire.calls import called, failed, returned

LESSON = pb.ReflectionResult(
    reflection_text="The orders are in a table of each year.", strategy_text="Count orders with SHOW TABLES first."
)


async def said(capsys: pytest.CaptureFixture[str], served: Running, *arguments: str) -> tuple[int, list[str], str]:
    capsys.readouterr()
    code = await asyncio.to_thread(main, [*arguments, "--address", served.address])
    told = capsys.readouterr()
    return code, told.out.splitlines(), told.err


async def fails(served: Running, turn_id: str, *events: thinking_pb.TurnEvent) -> None:
    """Reports failing calls, and waits until the record has why nothing was told: that is looked up beside them."""
    report = thinking_pb.ReportEventsRequest(turn_id=turn_id, events=events)
    await served.stub.ReportEvents(report, timeout=60)
    async with asyncio.timeout(60):
        while True:
            found = await served.stub.GetTurn(thinking_pb.GetTurnRequest(turn_id=turn_id), timeout=60)
            if any(one.directive.HasField("silence") for one in found.entries):
                return
            await asyncio.sleep(0.02)


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
        # Seen to fail without a word of which tries each number is of.
        own = "without advice it worked in 5 of 5 tries, by the last 20 at least 57 % of the time; "
        assert f"    the gate, today: {own}" in told
        assert "; after it was told it worked in 1 of 1 try that agents made in this project, up to today; " in told
        # Seen to fail while the record's pages lost what followed.
        (after,) = [line for line in lines if line.startswith("  told at ")]
        assert after.endswith(" worked, done as told")
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
        # A watch tells of the plan before the agent could ask for anything.
        assert watched == [
            line.removesuffix("; what it asked for later, if anything, has a line of its own") for line in shown[1:]
        ]
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
        (move,) = (await until_observed(served.address, UNTOLD)).moves
        await served.stub.StartTurn(thinking_pb.StartTurnRequest(turn_id="s6", session_id="s6"), timeout=60)
        await fails(served, "s6", called("sql", "SELECT 1 FROM orders", "a"), failed(FAILURE, "a"))
        late = called("sql", "SELECT 1", "a")
        late.time.GetCurrentTime()
        late.time.seconds -= 60
        await served.stub.StartTurn(thinking_pb.StartTurnRequest(turn_id="t", session_id="s"), timeout=60)
        await served.stub.ReportEvents(thinking_pb.ReportEventsRequest(turn_id="t", events=[late]), timeout=60)
        _, shown, _ = await said(capsys, served, "turns", "show", "s6")
        (held,) = [at for at, line in enumerate(shown) if "held back" in line]
        why = (
            "what is known was held back by a draw, one in ten, to see what happens without it "
            "(without advice it had worked in 5 of 5 tries)"
        )
        assert shown[held].endswith(f"  s6/s6  · no repair told: {why}; {SIGNATURE}; recovery {move.recovery_id}")
        assert any("sql failed" in line for line in shown[:held])
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
        assert "what fitted then: by words; word stems count, order; score 0." in told
        assert "learned from: session earlier; learned 1 time, from 1 episode; first at " in told
        assert "its evidence today: not enough data" in told
        assert "  left out:" in lines
        assert f"    {stored.reflection_id} “{LESSON.reflection_text}”: " in told
        _, watched, _ = await said(capsys, served, "watch", "--no-follow", "--since", "1h")
        assert any(f"lesson {stored.strategy_id}: Count orders" in line for line in watched)
        code, lines, wrong = await said(capsys, served, "turns", "list", "--failed")
        assert (code, lines[0], wrong) == (0, "No turn fits.", "")
        assert lines[1] == "Looked in default/default; --scope names another project."
        code, lines, wrong = await said(capsys, served, "turns", "show", "none")
        assert (code, lines) == (1, [])
        assert wrong.startswith(
            "sidemirror: no turn has the id none, none of the newest 1 begins or ends with it, and it is no"
        )
        assert wrong.endswith("; --scope names another project\n")
        # Seen to fail with "so far; waiting for it" and 0.
        code, _, wrong = await said(capsys, served, "watch", "--session", "none", "--no-follow")
        assert (code, wrong) == (1, "sidemirror: nothing is recorded of session 'none'\n")
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
        ("10:42:03.9", (NOW.replace(hour=10, minute=42, second=3, microsecond=900_000), 0.1)),
        ("2026-11-20T10:42:03.250", (datetime(2026, 11, 20, 10, 42, 3, 250_000).astimezone(), 0.001)),
        ("2026-11-20T10:42:03.25Z", (datetime.fromisoformat("2026-11-20T10:42:03.25+00:00"), 0.01)),
    ],
)
def test_times_as_people_give_them(text: str, moment: tuple[datetime, float]) -> None:
    at, width_s = moment
    assert moment_in(text, int(NOW.timestamp() * 1e6)) == (round(at.timestamp() * 1e6), width_s * 1_000_000)


@pytest.mark.parametrize(
    "text", ["", "now", "25:00", "10:42pm", "1969-12-31T00:00", "999999d", "2026-13-01", "9" * 400]
)
def test_what_is_no_time(text: str) -> None:
    assert moment_in(text, int(NOW.timestamp() * 1e6)) is None


async def test_silence_and_critiques_and_recalls_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path) as served, channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        stored = await memory.StoreReflection(pb.StoreReflectionRequest(result=LESSON), timeout=60)
        start = thinking_pb.StartTurnRequest(turn_id="t", session_id="s", task="Count the orders")
        await served.stub.StartTurn(start, timeout=60)
        recall = pb.BuildMemoryContextRequest(task="Count the orders", session_id="s")
        await memory.BuildMemoryContext(recall, timeout=60)
        events = [
            *(called("sql", "SELECT 1 FROM orders", "a"), failed("Table 'shop.orders' doesn't exist", "a", "f1")),
            *(
                called("sql", "SELECT 2 FROM orders", "b"),
                returned("Table 'shop.orders' doesn't exist", "b", is_error=True),
            ),
        ]
        await fails(served, "t", *events)
        critics: Stub = critique_pb2_grpc.CritiqueServiceStub(connection)
        await critics.Critique(critique_pb2.CritiqueRequest(turn_id="t", response="There are 17 orders."), timeout=60)
        code, shown, _ = await said(capsys, served, "turns", "show", "t")
        assert code == 0
        told = "\n".join(shown)
        assert "plan: turn 1" in told
        none = "no lesson with it: its start did not ask for any; the agent asked later, and was given 1 lesson"
        assert none in told
        assert "  no calls" not in shown[0]
        assert "  1 lesson, recalled, 1 critique, 1 revise  " in shown[0]
        assert told.count("  sql failed: Table 'shop.orders' doesn't exist") == 2
        assert "· no repair told: no repair was known for this failure; sql|not_found|missing_table" in told
        assert f"↳ memory context: strategy {stored.strategy_id} (by words; word stems count, order; score 0." in told
        assert "Count orders with SHOW TABLES first." in told
        assert "↳ asked for a critique: " in told
        assert " (by rules)" in told
        code, lines, _ = await said(capsys, served, "turns", "why", "t")
        why = "\n".join(lines)
        assert code == 0
        assert "  The agent asked for it itself; no entry of the turn has it." in lines
        assert "    what fitted then: by words; word stems count, order; score 0." in why
        assert "at its start: no lesson, because its start did not ask for any; the agent asked later" in why
        assert "sql failed: no repair told, because no repair was known for this failure\n" in why
        assert "because no repair was known for this failure, at the first such failure of the turn" in why
        assert "  recognised by: sql|not_found|missing_table" in lines
        assert "critique: " in why
        _, whole, _ = await said(capsys, served, "turns", "show", "t", "--json")
        assert any('"critiques"' in line for line in whole)


async def test_a_turn_and_a_lesson_by_a_part_of_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path) as served, channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        stored = await memory.StoreReflection(pb.StoreReflectionRequest(result=LESSON), timeout=60)
        for turn_id, session_id in (("turn-1", "alice"), ("turn-2", "alice"), ("other", "bob")):
            start = thinking_pb.StartTurnRequest(
                turn_id=turn_id, session_id=session_id, task="Count the orders", context=thinking_pb.ContextWish()
            )
            await served.stub.StartTurn(start, timeout=60)
        assert (await said(capsys, served, "turns", "show", "oth"))[1][0].split("  ")[1] == "other"
        # By its end, which `watch` and `show` print. Seen to fail with beginnings alone.
        assert (await said(capsys, served, "turns", "show", "ther"))[1][0].split("  ")[1] == "other"
        code, lines, wrong = await said(capsys, served, "turns", "why", "turn-")
        assert (code, lines) == (1, [])
        assert "2 turns begin or end with turn-; name more of the id:" in wrong
        assert "  turn-1  " in wrong
        code, _, wrong = await said(capsys, served, "turns", "show", "alice")
        assert (code, "alice is a session; name one of its turns:" in wrong, "  turn-2  " in wrong) == (1, True, True)
        code, lines, _ = await said(capsys, served, "turns", "why", "turn-1", "--lesson", "show  tables FIRST")
        assert (code, any(stored.strategy_id in line for line in lines)) == (0, True)
        # By the beginning of its id, with a turn and without one.
        for turn in (("turn-1",), ()):
            some = stored.strategy_id[:12]
            code, lines, _ = await said(capsys, served, "turns", "why", *turn, "--lesson", some)
            assert (code, any(stored.strategy_id in line for line in lines)) == (0, True)
        code, lines, wrong = await said(capsys, served, "turns", "why", "--lesson", "no such words")
        assert (code, lines) == (1, [])
        assert "none was found with this in its text" in wrong
        code, _, wrong = await said(capsys, served, "turns", "why", "turn-1", "--lesson", "orders")
        assert (code, "2 lessons have this in their text or begin their id so" in wrong) == (1, True)


async def test_a_recall_that_found_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The start alone does not tell why the agent has no lesson; that it asked in vain stands by itself."""
    async with running(tmp_path) as served, channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        start = thinking_pb.StartTurnRequest(turn_id="t", session_id="s", task="Count the orders")
        await served.stub.StartTurn(start, timeout=60)
        recall = pb.BuildMemoryContextRequest(task="Count the orders", session_id="s")
        assert not (await memory.BuildMemoryContext(recall, timeout=60)).block.items
        none = "its start did not ask for any; what it asked for later, if anything, has a line of its own"
        _, lines, _ = await said(capsys, served, "turns", "why", "t")
        assert lines[-1].endswith(f"  at its start: no lesson, because {none}")
        given = "the agent asked for it itself, and was given nothing: the project had no lesson"
        assert any(line.strip() == given for line in lines), lines
        _, lines, _ = await said(capsys, served, "turns", "show", "t")
        assert any(line.endswith(f"; no lesson with it: {none}") for line in lines)
        assert lines[-1].endswith("asked for, and nothing given: the project had no lesson")
        await begin(served, "t2")
        _, lines, _ = await said(capsys, served, "turns", "why", "t2")
        assert lines[-1].endswith("  at its start: no lesson, because the project had no lesson")


async def test_how_a_turn_ended_is_said_of_its_lessons_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path) as served, channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        await memory.StoreReflection(pb.StoreReflectionRequest(result=LESSON), timeout=60)
        await begin(served, "t")
        _, lines, _ = await said(capsys, served, "turns", "why", "t")
        assert lines[0].endswith("  plan of turn t (session s), finished, success")
        ended = "    what followed: its turn ended with success; nothing is reported of the strategy itself"
        assert ended in lines
        assert not any("not reported" in line for line in lines)


async def begin(served: Running, turn_id: str) -> None:
    """A turn that asks for lessons, and ends."""
    wish = thinking_pb.ContextWish()
    start = thinking_pb.StartTurnRequest(turn_id=turn_id, session_id="s", task="Count the orders", context=wish)
    await served.stub.StartTurn(start, timeout=60)
    finish = thinking_pb.FinishTurnRequest(turn_id=turn_id, outcome=common_pb2.TASK_OUTCOME_SUCCESS)
    await served.stub.FinishTurn(finish, timeout=60)


async def test_since_when_a_turn_was_in_shadow_mode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path, advice__mode="shadow") as served, channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        stored = await memory.StoreReflection(pb.StoreReflectionRequest(result=LESSON), timeout=60)
        await begin(served, "t")
        _, lines, _ = await said(capsys, served, "turns", "why", "t")
        assert "at its start: no lesson, because the sidecar was in shadow mode" in "\n".join(lines)
        assert lines[-1].startswith("  in shadow mode from ")
        assert lines[-1].endswith("; it still is")
    async with running(tmp_path) as served:
        # Before any turn of this sidecar, and after it: shadow ends when the sidecar starts.
        _, before, _ = await said(capsys, served, "turns", "why", "t")
        assert before[-1].endswith(", when one started whose advice__mode was not")
        await begin(served, "t2")
        await begin(served, "t3")
        # A turn of shadow mode was not shown it.
        _, lines, _ = await said(capsys, served, "turns", "why", "t", "--lesson", stored.strategy_id)
        assert f"  strategy {stored.strategy_id} version 1, kept: shadow mode tells nothing" in "\n".join(lines)
        _, lines, _ = await said(capsys, served, "turns", "why", "t")
        assert lines[-1] == before[-1]
        _, lines, _ = await said(capsys, served, "memory", "show", stored.strategy_id)
        modes = [line for line in lines if " from here on, by the sidecar's setting" in line]
        assert [" the mode is shadow " in line for line in modes] == [True, False]


async def test_who_changed_a_lesson_and_what_counted_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path) as served, channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        stored = await memory.StoreReflection(pb.StoreReflectionRequest(result=LESSON), timeout=60)
        built = await memory.BuildMemoryContext(pb.BuildMemoryContextRequest(task="Count the orders"), timeout=60)
        succeeded = common_pb2.TASK_OUTCOME_SUCCESS
        report = pb.ReportOutcomeRequest(receipt_id=built.block.receipt_id, outcome=succeeded)
        await memory.ReportOutcome(report, timeout=60)
        await said(capsys, served, "memory", "review", stored.strategy_id, "retired", "--reason", "it is old")
        await begin(served, "t")
        code, lines, wrong = await said(capsys, served, "turns", "why", "t", "--lesson", stored.strategy_id)
        assert (code, wrong) == (1, "sidemirror: the turn was not shown this lesson\n")
        assert "  when the turn began it was retired, version 2 (reviewed at " in lines[0]
        assert lines[0].endswith(": it is old)")
        # A state that was changed does not hide what counted before.
        await said(capsys, served, "memory", "review", stored.strategy_id, "active", "--reason", "tried")
        await said(capsys, served, "advice", "off", stored.strategy_id)
        code, lines, _ = await said(capsys, served, "memory", "show", stored.strategy_id)
        told = "\n".join(lines)
        assert code == 0
        assert "Evidence from version 3 on: no task was compared" in told
        assert "of versions before 3, which count no more: " in told
        assert "succeeded with it, not compared 1 of 1" in told
        assert "  silenced by a caller without a name in the policy" in told
        await said(capsys, served, "advice", "off", "recoveries")
        await said(capsys, served, "advice", "on", "recoveries")
        _, lines, _ = await said(capsys, served, "advice", "show")
        whose = "by a caller without a name in the policy of the project: "
        # Seen to fail: the last change was told as one that turned the lesson off.
        ends = (
            f"  turned off {whose}{stored.strategy_id}",
            f"  turned off {whose}recoveries",
            f"  turned on {whose}recoveries",
        )
        assert all(line.endswith(end) for line, end in zip(lines[-3:], ends, strict=True)), lines


async def test_where_a_turn_may_be_that_is_not_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path) as served:
        start = thinking_pb.StartTurnRequest(project_id="shop", turn_id="t", session_id="s", task="Restock the shelves")
        await served.stub.StartTurn(start, timeout=60)
        code, lines, _ = await said(capsys, served, "turns", "list", "--session", "s")
        assert (code, lines[:2]) == (0, ["No turn fits.", "Looked in default/default; --scope names another project."])
        assert lines[2].startswith("In the last ")
        assert lines[2].endswith(" s calls came for: default/shop")
        _, lines, _ = await said(capsys, served, "turns", "list", "--scope", "default/shop")
        assert lines[0].endswith("  session s  Restock the shelves")
        # Seen to fail with three names, as if there were no other project.
        for number in range(4):
            start.project_id = f"shop{number}"
            await served.stub.StartTurn(start, timeout=60)
        _, lines, _ = await said(capsys, served, "turns", "list", "--session", "s")
        assert re.search(r"came for: default/shop\d?, default/shop\d?, default/shop\d?, and 2 more$", lines[2]), lines


async def test_who_looks_for_a_turn_somewhere_has_sent_nothing_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen to fail: calls came for the project whose name was misspelt, and it had sent of late."""
    async with running(tmp_path) as served:
        code, _, wrong = await said(capsys, served, "turns", "why", "none", "--scope", "default/shpo")
        assert (code, wrong.split(",")[0]) == (1, "sidemirror: no turn has the id none")
        code, lines, _ = await said(capsys, served, "turns", "list")
        assert (code, lines) == (0, ["No turn fits.", "Looked in default/default; --scope names another project."])
        _, lines, _ = await said(capsys, served, "usage")
        assert not any("shpo" in line for line in lines if "Others sent" in line)


async def test_whose_calls_were_refused_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail with the address alone: three tokens from one machine were three lines alike."""
    (file := tmp_path / "token").write_text(EVERYWHERE)
    file.chmod(0o600)
    monkeypatch.setenv("SIDEMIRROR_TOKEN_FILE", str(file))
    access = write_access(tmp_path / "access.json", [entry("platform", EVERYWHERE, ("*", "*")), entry("acme", ACME)])
    async with running(tmp_path, access_file=str(access)) as served:
        listing = thinking_pb.ListTurnsRequest(tenant_id="globex")
        with pytest.raises(grpc.aio.AioRpcError):
            await served.stub.ListTurns(listing, timeout=60, metadata=bearer(ACME))
        _, lines, _ = await said(capsys, served, "turns", "list", "--session", "s")
        assert any("(the token is not good for this tenant and project: acme), the last one" in line for line in lines)


async def test_how_deep_a_turn_was_to_think_and_why_it_was_nudged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path) as served:
        config = thinking_pb.ThinkingConfig(level=thinking_pb.THINK_LEVEL_HIGH)
        for turn_id, asked in (("asks", config), ("follows", None)):
            start = thinking_pb.StartTurnRequest(turn_id=turn_id, session_id="s", task="Wait", config=asked)
            await served.stub.StartTurn(start, timeout=60)
        for number in map(str, range(3)):
            events = [called("status", '{"build": 7}', number), returned("pending", number)]
            report = thinking_pb.ReportEventsRequest(turn_id="asks", events=events)
            await served.stub.ReportEvents(report, timeout=60)
        _, lines, _ = await said(capsys, served, "turns", "why", "asks")
        assert lines[0].endswith("  its level was high, 5,000 tokens, as its start asked")
        (nudge,) = [line for line in lines if "  nudge: repeated call, because of " in line]
        assert "You have called status with the same arguments 3 times in a row" in nudge
        _, lines, _ = await said(capsys, served, "turns", "why", "follows")
        assert lines[0].endswith(", of its session or by default: its start asked for none")


async def test_a_critique_names_each_thing_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path) as served, channel(served.address) as connection:
        await served.stub.StartTurn(thinking_pb.StartTurnRequest(turn_id="t", session_id="s", task="Count"), timeout=60)
        events = [called("count", "", "a"), returned("The count took 17 ms", "a")]
        await served.stub.ReportEvents(thinking_pb.ReportEventsRequest(turn_id="t", events=events), timeout=60)
        critics: Stub = critique_pb2_grpc.CritiqueServiceStub(connection)
        await critics.Critique(
            critique_pb2.CritiqueRequest(turn_id="t", response="The count took 17 seconds."), timeout=60
        )
        _, lines, _ = await said(capsys, served, "turns", "why", "t")
        told = "critique: revise; wrong fact “17 seconds” of the response: The record has this number in another unit."
        assert any(f"{told} On record: “17 ms”; rests on event " in line for line in lines), lines


async def test_a_memory_says_where_it_comes_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path) as served, channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        request = pb.StoreReflectionRequest(result=LESSON, session_id="earlier")
        stored = await memory.StoreReflection(request, timeout=60)
        _, lines, _ = await said(capsys, served, "memory", "search", "table of each year")
        assert any(
            line.startswith("  From session earlier; learned 1 time, from 1 episode; first at ") for line in lines
        )
        _, lines, _ = await said(capsys, served, "memory", "show", stored.strategy_id)
        assert any("learned from" in line and "session earlier" in line for line in lines)
