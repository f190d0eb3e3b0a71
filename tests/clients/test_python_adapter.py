"""What an adapter of an agent framework reports, whatever the framework hands over, by the sidecar's record."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client import Sidemirror, Turn, connect
from sidemirror_client.adapter import Added, Home, Run, Settings, as_text, first_to_watch
from tests.clients.harness import Sidecar, sidecar


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    with sidecar(tmp_path_factory.mktemp("sidecar")) as running:
        yield running


@pytest.fixture
async def client(beside: Sidecar) -> AsyncIterator[Sidemirror]:
    """In a project of the test's own."""
    async with connect(beside.address, project_id=uuid.uuid4().hex) as connected:
        yield connected


def run_on(client: Sidemirror, task: str = "task", *, agent: str = "", **settings: Any) -> Run:
    return Home(client, Settings(**settings)).begin(task, agent=agent)


async def on_record(client: Sidemirror) -> dict[str, list[pb.TurnEvent]]:
    """The events of each turn of the project, by its task."""
    assert await client.flush(60)
    turns: dict[str, list[pb.TurnEvent]] = {}
    async for seen in client.thinking.WatchTurns(pb.WatchTurnsRequest(follow=False)):
        if seen.entry.HasField("event"):
            turns.setdefault(seen.entry.turn_id, []).append(seen.entry.event)
    return {events[0].turn_started.task: events for events in turns.values()}


async def outcomes(client: Sidemirror) -> dict[str, int]:
    """How each turn of the project has ended, by its task."""
    return {task: events[-1].turn_finished.outcome for task, events in (await on_record(client)).items()}


async def test_what_is_set_for_a_run_is_said_at_its_start(client: Sidemirror) -> None:
    run_on(client, "plain")
    run_on(client, "quiet", advice=False)
    run_on(client, "shell", has_shell=True)
    started = {task: events[0].turn_started for task, events in (await on_record(client)).items()}
    assert {task: (one.without_advice, one.has_shell) for task, one in started.items()} == {
        "plain": (False, False),
        "quiet": (True, False),
        "shell": (False, True),
    }


async def test_half_characters_are_reported_as_question_marks(client: Sidemirror) -> None:
    run = run_on(client, "open a\udc80")
    run.of("b\udc80").tool_called("c", "cat\ud800", {"path": "a\udc80"})
    run.tool_returned("c", "no \udc80")
    _, called, returned = (await on_record(client))["open a?"]
    assert (called.agent, called.tool_called.name, called.tool_called.arguments) == ("b?", "cat?", '{"path": "a?"}')
    assert returned.tool_returned.content == "no ?"


async def test_a_call_without_an_id_is_reported(client: Sidemirror) -> None:
    nothing: Any = None
    run_on(client).tool_called(nothing, "cat", "")
    _, called = (await on_record(client))["task"]
    assert called.tool_called.name == "cat"


async def test_a_call_is_on_record_once_while_it_is_open_and_its_end_has_its_agent(client: Sidemirror) -> None:
    run = run_on(client)
    run.of("clerk").tool_called("c", "cat", "")
    run.of("clerk").tool_called("c", "cat", "")
    assert run.is_open("c")
    run.tool_returned("c", "meow")
    assert not run.is_open("c")
    _, called, returned = (await on_record(client))["task"]
    assert (called.agent, returned.agent) == ("clerk", "clerk")


async def test_a_run_in_a_tool_of_another_is_part_of_its_turn(client: Sidemirror) -> None:
    """Whichever adapter begins it. It has no end and no revision of its own."""
    run, wrong = run_on(client, agent="boss"), "There are 41 orders."
    with run.inside():
        inner = run_on(client, "inner", agent="clerk")
    inner.tool_called("c", "run_sql", "SELECT count(*) FROM order")
    inner.tool_returned("c", "no such table: order", is_error=True)
    assert await inner.revision(wrong) == ""
    inner.end(wrong)
    assert not run.is_over
    assert await run.revision(wrong) != ""
    run.end("I could not count them.")
    ((task, events),) = (await on_record(client)).items()
    assert task == "task"
    assert [(event.WhichOneof("kind"), event.agent) for event in events] == [
        ("turn_started", "boss"),
        ("tool_called", "clerk"),
        ("tool_returned", "clerk"),
        ("response_drafted", "boss"),
        ("turn_finished", "boss"),
    ]


async def test_a_run_that_begins_when_the_outer_one_is_over_is_a_turn_of_its_own(client: Sidemirror) -> None:
    run = run_on(client)
    with run.inside():
        run.end("17")
        run_on(client, "later")
    assert set(await on_record(client)) == {"task", "later"}


async def test_what_the_users_judge_says_is_the_outcome(client: Sidemirror, caplog: pytest.LogCaptureFixture) -> None:
    """That it does not know is no mistake. What is no outcome is one."""
    said: dict[str, Any] = {"17": True, "18": False, "some": common_pb2.TASK_OUTCOME_PARTIAL, "?": None}
    for answer in said:
        run_on(client, answer, outcome=said.get).end(answer)
    ended = await outcomes(client)
    assert caplog.records == []
    assert ended == {
        "17": common_pb2.TASK_OUTCOME_SUCCESS,
        "18": common_pb2.TASK_OUTCOME_FAILURE,
        "some": common_pb2.TASK_OUTCOME_PARTIAL,
        "?": common_pb2.TASK_OUTCOME_UNSPECIFIED,
    }


def slips(_: str) -> Any:
    raise RuntimeError("a slip")


@pytest.mark.parametrize("judge", [lambda _: "yes", lambda _: 99, slips])
async def test_a_judge_that_fails_is_named_in_the_log(
    judge: Any, client: Sidemirror, caplog: pytest.LogCaptureFixture
) -> None:
    run_on(client, outcome=judge).end("17")
    assert await outcomes(client) == {"task": common_pb2.TASK_OUTCOME_UNSPECIFIED}
    (told,) = caplog.records
    assert "`outcome`" in told.getMessage()
    assert told.exc_info is not None


@pytest.mark.parametrize("redact", [lambda _: None, slips])
async def test_a_redactor_that_fails_tells_nothing_and_is_named_in_the_log(
    redact: Any, client: Sidemirror, caplog: pytest.LogCaptureFixture
) -> None:
    run_on(client, "secret", redact=redact)
    assert set(await on_record(client)) == {"[not reported: the redactor failed]"}
    assert ["`redact`" in told.getMessage() for told in caplog.records] == [True] * (redact is slips)


async def test_how_a_run_ends_without_an_answer(client: Sidemirror) -> None:
    """Seen to end as ERROR, against its lessons, when somebody interrupts it."""
    stopped = (TimeoutError(), asyncio.CancelledError(), GeneratorExit(), KeyboardInterrupt(), SystemExit(1))
    for error in (*stopped, RuntimeError("disk on fire")):
        run_on(client, repr(error)).end(error=error)
    timeouts = {repr(error): common_pb2.TASK_OUTCOME_TIMEOUT for error in stopped}
    assert await outcomes(client) == {**timeouts, "RuntimeError('disk on fire')": common_pb2.TASK_OUTCOME_ERROR}


@pytest.mark.parametrize(
    ("content", "says", "waits"),
    [
        ("Error: no such table: orders", {}, 1),
        ("no orders", {"is_error": True}, 1),
        ({"ok": False}, {}, 1),
        ("17", {}, 0),
        ("Error: no such table: orders", {"has_worked": True}, 0),
    ],
)
async def test_advice_is_waited_for_once_behind_what_may_have_failed(
    content: Any, says: dict[str, bool], waits: int, client: Sidemirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a tool or its framework has marked the failure or not; but not where it says that the call has worked,
    whatever its text says. Seen to fail without `has_worked`."""
    asked, advice = list[float](), Turn.advice

    async def spied(turn: Turn, timeout_s: float) -> list[pb.TurnDirective]:
        asked.append(timeout_s)
        return await advice(turn, timeout_s)

    monkeypatch.setattr(Turn, "advice", spied)
    run = run_on(client)
    run.tool_called("c", "run_sql", "")
    run.tool_returned("c", content, **says)
    await run.advice()
    await run.advice()
    assert len(asked) == waits


async def test_a_run_is_watched_once_while_it_is_not_over(client: Sidemirror) -> None:
    """By its id; an empty one is nobody's."""
    begin = partial(run_on, client)
    run, nobodys = first_to_watch("r", begin), first_to_watch("", begin)
    assert run is not None
    assert nobodys is not None
    watched = [first_to_watch(run_id, begin) is not None for run_id in ("r", "other", "")]
    assert watched == [False, True, True]
    run.end("17")
    assert first_to_watch("r", begin) is not None


def test_what_was_added_is_added_again_at_its_place() -> None:
    added = Added()
    first = added.to(["task"], ["lessons"], str.upper)
    assert first == ["task", "LESSONS"]
    assert added.to(["task", "call", "result"], [], str.upper) == [*first, "call", "result"]
    later = added.to(["task", "call", "result"], ["one", "two"], str.upper)
    assert later == [*first, "call", "result", "ONE", "TWO"]


def test_what_stood_behind_a_message_that_is_gone_is_left_out() -> None:
    """Seen to stand between a call and its result."""
    added = Added()
    before: list[Any] = [{"said": "task"}, {"said": "call"}, {"said": "failure"}]
    assert added.to(before, ["advice"], str)[3:] == ["advice"]
    assert added.to([before[0], "call", "call", "result", "result"], [], str)[2:] == ["call", "result", "result"]
    before[2]["said"] = "changed by others behind us"
    assert added.to([*before[:2], {"said": "failure"}, "call"], [], str)[3:] == ["advice", "call"]


class Model:
    """As pydantic has them."""

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        return {"mode": mode, "sunny": True}


@dataclass
class Count:
    orders: int


circle: list[Any] = []
circle.append(circle)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("17", "17"),
        (Model(), '{"mode": "json", "sunny": true}'),
        ([Count(17)], '[{"orders": 17}]'),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        (circle, "[[...]]"),
        ([Model], f"[{Model!r}]"),
    ],
)
def test_an_object_is_json_and_a_text_or_what_json_cannot_say_as_it_is(value: object, said: str) -> None:
    assert as_text(value) == said
