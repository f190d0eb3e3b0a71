"""What becomes of exports that are refused and sent again, of traces that never end, and of sidecars that are killed
while they record."""

import asyncio
import contextlib
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror_server.rpc.otlp import receiver
from sidemirror_server.storage.sqlite.journal import SqliteJournal
from sidemirror_server.telemetry_in import inbox, recording
from sidemirror_server.telemetry_in.inbox import TOPIC, SpanInbox, placed
from sidemirror_server.telemetry_in.spans import Span, SpanKind
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from sidemirror_server.work.queue import JobState, NewJob
from tests.faults.sidecars import Running, running
from tests.faults.stores import Fault, Switch
from tests.faults.waiting import until, until_found
from tests.telemetry_in.made import MadeCall, SpanMessage, request_of, run_of, span
from tests.telemetry_in.received import TAKES_SPANS, RecordedTurn, export, recorded

SETTINGS = {name: value for name, value in TAKES_SPANS.items() if name != "http_address"}
CALLS = tuple(MadeCall("sql", f"SELECT {number}", str(number)) for number in range(14))
HOUR_US, DAY_US = 3_600 * 1_000_000, 24 * 3_600 * 1_000_000


class Counted:
    """The metric of spans, as it is counted."""

    def __init__(self) -> None:
        self.became: Counter[str] = Counter()

    def add(self, count: int, attributes: dict[str, str]) -> None:
        self.became[attributes["became"]] += count


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    found = Counted()
    for module in (receiver, recording):
        monkeypatch.setattr(module, "SPANS", found)
    return found.became


@contextlib.asynccontextmanager
async def receiving(folder: Path, **settings: Any) -> AsyncIterator[Running]:
    """A sidecar that takes spans; `settings` and a switch before its store."""
    async with running(folder, **{**SETTINGS, **settings}) as server:
        yield server


def journal_of(server: Running) -> Any:
    return server.sidecar._telemetry._recorder._journal  # type: ignore[union-attr]  # it takes spans


def tool(trace: str, name: str, parent: str = "", **more: Any) -> SpanMessage:
    more |= {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": name}
    return span(trace, name, parent, **more)


async def sent(server: Running, spans: Sequence[SpanMessage]) -> int:
    """How many spans of an export were rejected. Raises grpc.RpcError."""
    told = await asyncio.to_thread(export, server.address, request_of(spans))
    return told.partial_success.rejected_spans


async def ended(server: Running, count: int) -> list[RecordedTurn]:
    return await asyncio.to_thread(lambda: recorded(server.address, ended=count))


async def refused(server: Running, spans: Sequence[SpanMessage]) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as error:
        await sent(server, spans)
    return error.value.code()


async def is_taken(server: Running, spans: Sequence[SpanMessage]) -> bool:
    try:
        return await sent(server, spans) == 0
    except grpc.RpcError:
        return False


async def notes(server: Running) -> int:
    return len(await journal_of(server).tail(DEFAULT_SCOPE, TOPIC, None, 0, 1000, 1 << 30))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "MOST_SPANS", 40)


@pytest.mark.usefixtures("small")
async def test_what_is_refused_uses_up_no_room(tmp_path: Path) -> None:
    """Seen to fail when spans are counted before they are kept: after some retries the exporter was told that it was
    well, and that all of its spans were too many."""
    switch, run = Switch(), run_of("t", CALLS, conversation="c")
    async with receiving(tmp_path, switch=switch, telemetry__settle_s="5") as server:
        switch.turn(Fault.AWAY)
        for _ in range(5):
            assert await refused(server, run) is grpc.StatusCode.UNAVAILABLE
        switch.turn(Fault.NONE)
        for _ in range(5):
            # An answer may be lost, so that what was kept is sent again.
            assert await sent(server, run) == 0
        (turn,) = await ended(server, 1)
    assert len(turn.calls) == len(CALLS)


@pytest.mark.usefixtures("small")
async def test_what_is_refused_for_want_of_jobs_leaves_nothing(tmp_path: Path) -> None:
    """Seen to fail when the note goes before the job: each refused export left one for a day."""
    async with receiving(tmp_path, limits__queued_jobs="1", telemetry__settle_s="60") as server:
        await sent(server, run_of("first", CALLS[:1]))
        await asyncio.sleep(1.1)  # the count of what waits is a second old at most
        for number in range(10):
            assert await refused(server, run_of("other", CALLS)) is grpc.StatusCode.RESOURCE_EXHAUSTED, number
        assert await notes(server) == 1


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The notes that are written side by side are durable one after the other."""
    add, numbers = SqliteJournal.add, itertools.count()

    async def added(*given: Any, **named: Any) -> bool:
        is_new = await add(*given, **named)
        await asyncio.sleep(0.02 * next(numbers))
        return is_new

    monkeypatch.setattr(SqliteJournal, "add", added)


@pytest.mark.usefixtures("one_by_one")
async def test_of_a_refused_export_whole_traces_are_kept(tmp_path: Path) -> None:
    """Each with its job, as many as are kept side by side. Seen to fail when leave is asked for again after the note is
    written: traces had notes for a day, and no job."""
    runs = [run_of(f"run {number}", CALLS[:1], conversation=f"c{number}") for number in range(20)]
    everything = [one for run in runs for one in run]
    async with receiving(tmp_path, limits__queued_jobs="5", telemetry__settle_s="2") as server:
        assert await refused(server, everything) is grpc.StatusCode.RESOURCE_EXHAUSTED
        jobs = await server.sidecar._queue.list(DEFAULT_SCOPE, inbox.KIND, (JobState.QUEUED,), None, 100)
        kept = await notes(server)
        assert (kept, len(jobs)) == (16, 16)
        turns = await ended(server, 16)
        # Of those that were refused nothing is there, until they are sent again.
        await until_found(lambda: is_taken(server, [one for run in runs[16:] for one in run]))
        assert {turn.session for turn in turns} == {f"otlp:c{number}" for number in range(16)}
        assert len(await ended(server, 20)) == 20


def request_above(trace: str) -> tuple[list[SpanMessage], SpanMessage]:
    """An agent's run within a request, and the request's own span, which names the conversation and ends last."""
    above = span(trace, "root", end_s=9, http__method="POST", session__id="named above")
    *calls, agent = run_of(trace, CALLS[:2])
    agent.parent_span_id = above.span_id
    return [*calls, agent], above


async def test_what_lies_above_an_agent_is_known_after_a_restart(tmp_path: Path) -> None:
    """Seen to fail when only memory knows in which traces an agent works: the turn came after a minute, in a session of
    its own."""
    run, above = request_above("t")
    async with receiving(tmp_path) as server:
        await sent(server, run)
    async with receiving(tmp_path) as server:
        await sent(server, [span("web", "GET", http__method="GET"), above])
        assert await notes(server) == 2
        (turn,) = await ended(server, 1)
    assert (turn.session, [call.name for call in turn.calls]) == ("otlp:named above", ["sql", "sql"])


async def test_traces_without_a_top_keep_out_no_others(tmp_path: Path) -> None:
    """Seen to fail when each of them holds a job for half an hour: all exports of the project were refused."""
    async with receiving(tmp_path, limits__queued_jobs="10") as server:
        for number in range(10):
            await sent(server, [tool(f"orphan {number}", "look", "never sent")])
        await until_found(lambda: is_taken(server, run_of("good", CALLS[:1], conversation="good")))
        await until_found(lambda: ended(server, 1), lambda turns: "otlp:good" in {turn.session for turn in turns})
        # Those that wait on do so without attempts meanwhile.
        jobs = await server.sidecar._queue.list(DEFAULT_SCOPE, inbox.KIND, (JobState.QUEUED,), None, 100)
        assert len(jobs) <= 6
        assert not any(job.attempts for job in jobs)


async def test_a_second_run_in_a_trace_without_an_agent_is_a_turn(tmp_path: Path, counted: Counter[str]) -> None:
    """Seen to fail when the turns of a whole trace have one id: the second one was gone, and nobody counted it."""
    async with receiving(tmp_path) as server:
        for number in range(3):
            await sent(server, [tool("t", f"look {number}")])
            await ended(server, number + 1)
        turns = await ended(server, 3)
    assert [[call.name for call in turn.calls] for turn in turns] == [["look 0"], ["look 1"], ["look 2"]]
    assert [turn.turn_id.rpartition("-trace")[2] for turn in turns] == ["", "-2", "-3"]
    assert counted == {"kept": 3}


async def test_a_look_whose_job_has_begun_is_another_job(tmp_path: Path) -> None:
    """By another sidecar's clock. Seen to fail when the job that is there counts, whatever its state: what was kept
    after it had run waited for a day."""
    del tmp_path
    states = {0: JobState.DONE, 10: JobState.RUNNING, 20: JobState.QUEUED}
    asked: list[int] = []

    class Jobs:
        async def follow(self, _scope: Any, job: NewJob, _now_us: int) -> Any:
            asked.append(job.run_at_us or 0)

            class Kept:
                state = states[job.run_at_us or 0]

            return Kept

    jobs: Any = Jobs()
    nothing: Any = None
    await SpanInbox(nothing, jobs, 10).look_again(DEFAULT_SCOPE, "t", 0, 0)
    assert asked == [0, 10, 20]


# --- times ------------------------------------------------------------------------------------------------------------


def at(start_us: int, end_us: int) -> Span:
    return Span("s", "", SpanKind.TOOL, start_us, end_us)


def test_a_trace_is_moved_as_a_whole() -> None:
    """Seen to fail when each export is moved by itself: the order of its spans was that of their arrival."""
    now_us = 100 * DAY_US
    for ahead_us in (HOUR_US, -50 * DAY_US, 40 * DAY_US):
        # The second span came first, and an hour passed until the other one did.
        sent_us = [(now_us + HOUR_US, now_us + 5), (now_us + 20, now_us + 10)]
        moved = placed([(came, (at(end + ahead_us - 3, end + ahead_us),)) for came, end in sent_us])
        assert [(one.start_us, one.end_us) for one in moved] == [(now_us + 12, now_us + 15), (now_us + 17, now_us + 20)]


def test_times_that_are_believed_stay() -> None:
    now_us = 100 * DAY_US
    sound = (at(now_us - DAY_US, now_us - 5), at(now_us - 10, now_us))
    assert placed([(now_us, sound)]) == list(sound)
    # One without times came when it came, and moves no other.
    assert placed([(now_us, (*sound, at(0, 0)))]) == [*sound, at(now_us, now_us)]
    assert placed([(now_us, (at(0, now_us - 7),))]) == [at(now_us - 7, now_us - 7)]
    assert placed([]) == []


def test_forged_times_end_at_the_edges_of_a_day() -> None:
    now_us = 100 * DAY_US
    moved = placed([(now_us, (at(1, 2), at(now_us - 5, 200 * DAY_US)))])
    assert all(now_us - DAY_US <= one.start_us <= one.end_us <= now_us for one in moved)


@pytest.mark.slow("traces have to be quiet")
@pytest.mark.parametrize("shift_s", [3_600.0, -3_600.0, -172_800.0, 9e8])
async def test_spans_of_wrong_clocks_in_exports_of_their_own_keep_their_order(shift_s: float, tmp_path: Path) -> None:
    """An hour ahead or behind, two days late, and years ahead; one export has spans without times too. Seen to fail
    when each export is moved by itself."""
    run = run_of("t", CALLS[:4], conversation="c")
    for one in run:
        one.start_time_unix_nano += int(shift_s * 1e9)
        one.end_time_unix_nano += int(shift_s * 1e9)
    unset = tool("t", "unset", "agent")
    unset.start_time_unix_nano = unset.end_time_unix_nano = 0
    order = random.Random(shift_s)
    async with receiving(tmp_path, telemetry__settle_s="1.5") as server:
        for one in order.sample(run, len(run)):
            await sent(server, [one])
        await sent(server, [unset, run[0]])
        (turn,) = await ended(server, 1)
    assert [call.arguments for call in turn.calls if call.name == "sql"] == [call.arguments for call in CALLS[:4]]
    assert sum(call.name == "unset" for call in turn.calls) == 1


# --- killed while a turn is recorded ---------------------------------------------------------------------------------


def interrupted(server: Running, may_go_on: asyncio.Event) -> Callable[[], int]:
    """The recording of turns fails after the first events of a turn until `may_go_on`, as if the sidecar ended there;
    returns how often it did."""
    conductor = server.sidecar.conductor
    report, failures = conductor.report, Counter[str]()

    def failing(turn: Any, events: Any) -> Any:
        if turn.state.event_count > 1 and not may_go_on.is_set():
            failures["all"] += 1
            raise StoreUnavailable(store="test", reason="told so")
        return report(turn, events)

    conductor.report = failing  # type: ignore[method-assign]
    return lambda: failures["all"]


async def test_a_conversation_that_is_named_while_a_turn_is_recorded(tmp_path: Path, counted: Counter[str]) -> None:
    """What was begun is finished, with the spans that came meanwhile, in the session that it has. Seen to fail when the
    turn has to be in the new one: it was left open, and its spans were counted as refused."""
    run = run_of("t", CALLS)
    late = tool("t", "late", "agent", start_s=1.5, end_s=1.7)
    named = span("t", "named", "agent", gen_ai__operation__name="embeddings", gen_ai__conversation__id="late")
    async with receiving(tmp_path) as server:
        may_go_on = asyncio.Event()
        failures = interrupted(server, may_go_on)
        await sent(server, run)
        await until(lambda: failures() > 0)
        await sent(server, [late, named])
        may_go_on.set()
        (turn,) = await ended(server, 1)
    assert sorted(call.name for call in turn.calls) == sorted(["sql"] * len(CALLS) + ["late"])
    assert turn.session != "otlp:late"
    assert turn.session.startswith("otlp:")
    assert counted == {"kept": len(run) + 2}


async def test_what_comes_after_a_turn_that_was_not_noted_is_late(tmp_path: Path, counted: Counter[str]) -> None:
    """The sidecar ended between the turn's end and the note that it is made. Seen to fail when spans of a turn that is
    over count as recorded."""
    run = run_of("t", CALLS[:2], conversation="c")
    late = tool("t", "late", "agent", start_s=1.5, end_s=1.7)
    async with receiving(tmp_path) as server:
        journal, may_go_on = journal_of(server), asyncio.Event()
        add = journal.add

        async def failing(*given: Any, **named: Any) -> bool:
            if "/recorded/" in given[2].key and not may_go_on.is_set():
                raise StoreUnavailable(store="test", reason="told so")
            return bool(await add(*given, **named))

        journal.add = failing
        await sent(server, run)
        await ended(server, 1)
        await sent(server, [late])
        may_go_on.set()
        await until(lambda: counted["late"] > 0)
        (turn,) = await ended(server, 1)
    assert len(turn.calls) == 2
    assert counted == {"kept": len(run) + 1, "late": 1}


async def test_events_for_which_a_turn_has_no_room_are_counted(tmp_path: Path, counted: Counter[str]) -> None:
    """Seen to fail when a turn's limit of events cuts its spans without a word."""
    async with receiving(tmp_path, limits__events_per_turn="12") as server:
        await sent(server, run_of("t", CALLS, conversation="c"))
        (turn,) = await ended(server, 1)
        await until(lambda: counted["dropped"] > 0)
    assert 0 < len(turn.calls) < len(CALLS)
    assert counted["dropped"] == len(CALLS) - len(turn.calls)
