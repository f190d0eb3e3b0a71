"""What an adapter of an agent framework reports, whatever the framework hands over."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client import Sidemirror
from sidemirror_client.adapter import CURRENT, Added, Home, Run, Settings, as_text, first_to_watch


class Recorded(Sidemirror):
    """Stands for a client, and for its turn."""

    def __init__(self) -> None:
        self.waits = 0
        self.started: dict[str, Any] = {}
        self.events: list[pb.TurnEvent] = []
        self.ended = 0
        self.outcome: int | None = None

    def begin_turn(self, turn_id: str = "", agent: str = "", **started: Any) -> Any:
        self.started = started
        return self

    async def advice(self, _: float) -> list[pb.TurnDirective]:
        self.waits += 1
        return []

    def take(self) -> list[pb.TurnDirective]:
        return []

    def report(self, event: pb.TurnEvent) -> None:
        self.events.append(event)

    def report_in_passing(self, event: pb.TurnEvent) -> None:
        self.events.append(event)

    def finish(self, outcome: int, goal: object = None) -> None:
        self.ended += 1
        self.outcome = outcome


def run_on(client: Any, task: str = "task", *, advice: bool = True, agent: str = "") -> Run:
    return Home(client, Settings(advice=advice)).begin(task, agent=agent)


def test_a_run_without_advice_says_so_at_its_start() -> None:
    quiet, client = Recorded(), Recorded()
    run_on(quiet, advice=False)
    run_on(client)
    assert quiet.started["without_advice"]
    assert not client.started.get("without_advice")


def test_a_run_of_an_agent_with_a_shell_says_so_at_its_start() -> None:
    shell, client = Recorded(), Recorded()
    Home(shell, Settings(has_shell=True)).begin("task")
    run_on(client)
    assert shell.started["has_shell"]
    assert not client.started.get("has_shell")


def test_half_characters_are_reported_as_question_marks() -> None:
    client = Recorded()
    run = run_on(client, "open a\udc80")
    run.of("b\udc80").tool_called("c", "cat\ud800", {"path": "a\udc80"})
    run.tool_returned("c", "no \udc80")
    called, returned = client.events
    assert client.started["task"] == "open a?"
    assert (called.agent, called.tool_called.name, called.tool_called.arguments) == ("b?", "cat?", '{"path": "a?"}')
    assert returned.tool_returned.content == "no ?"


def test_a_call_without_an_id_is_reported() -> None:
    client = Recorded()
    nothing: Any = None
    run_on(client).tool_called(nothing, "cat", "")
    assert [event.tool_called.name for event in client.events] == ["cat"]


def test_a_call_is_on_record_once_while_it_is_open_and_its_end_has_its_agent() -> None:
    client = Recorded()
    run = run_on(client)
    run.of("clerk").tool_called("c", "cat", "")
    run.of("clerk").tool_called("c", "cat", "")
    assert run.is_open("c")
    run.tool_returned("c", "meow")
    assert not run.is_open("c")
    called, returned = client.events
    assert (called.agent, returned.agent) == ("clerk", "clerk")


async def test_a_run_in_a_tool_of_another_is_part_of_its_turn() -> None:
    """Whichever adapter begins it. It has no end and no revision of its own."""
    client, other = Recorded(), Recorded()
    run = run_on(client, agent="boss")
    outer = CURRENT.set(run)
    inner = run_on(other, agent="clerk")
    CURRENT.reset(outer)
    inner.model_started()
    assert await inner.revision("17") == ""
    inner.end("17")
    assert client.ended == 0
    run.end("There are 17.")
    assert [event.agent for event in client.events] == ["clerk", ""]
    assert client.ended == 1
    assert (other.started, other.events) == ({}, [])


def test_a_run_that_begins_when_the_outer_one_is_over_is_a_turn_of_its_own() -> None:
    client, other = Recorded(), Recorded()
    run = run_on(client)
    outer = CURRENT.set(run)
    run.end("17")
    run_on(other, "later")
    CURRENT.reset(outer)
    assert other.started["task"] == "later"


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (True, common_pb2.TASK_OUTCOME_SUCCESS),
        (False, common_pb2.TASK_OUTCOME_FAILURE),
        (common_pb2.TASK_OUTCOME_PARTIAL, common_pb2.TASK_OUTCOME_PARTIAL),
        ("yes", common_pb2.TASK_OUTCOME_UNSPECIFIED),
        (99, common_pb2.TASK_OUTCOME_UNSPECIFIED),
    ],
)
def test_what_the_users_judge_says_is_the_outcome(said: Any, outcome: int) -> None:
    client: Any = Recorded()
    Home(client, Settings(outcome=lambda _: said)).begin("task").end("17")
    assert client.outcome == outcome


def test_a_judge_that_does_not_know_is_no_mistake(caplog: pytest.LogCaptureFixture) -> None:
    client = Recorded()
    Home(client, Settings(outcome=lambda _: None)).begin("task").end("17")
    assert client.outcome == common_pb2.TASK_OUTCOME_UNSPECIFIED
    assert caplog.records == []


@pytest.mark.parametrize("setting", ["outcome", "redact"])
def test_the_log_names_the_function_that_has_failed(setting: str, caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: str) -> Any:
        raise RuntimeError("a slip")

    given: dict[str, Any] = {setting: broken}
    with caplog.at_level(logging.ERROR):
        Home(Recorded(), Settings(**given)).begin("task").end("17")
    told = caplog.records[0]
    assert f"`{setting}`" in told.getMessage()
    assert told.exc_info is not None


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (TimeoutError(), common_pb2.TASK_OUTCOME_TIMEOUT),
        (asyncio.CancelledError(), common_pb2.TASK_OUTCOME_TIMEOUT),
        (GeneratorExit(), common_pb2.TASK_OUTCOME_TIMEOUT),
        (KeyboardInterrupt(), common_pb2.TASK_OUTCOME_TIMEOUT),
        (SystemExit(1), common_pb2.TASK_OUTCOME_TIMEOUT),
        (RuntimeError("disk on fire"), common_pb2.TASK_OUTCOME_ERROR),
    ],
)
def test_how_a_run_ends_without_an_answer(error: BaseException, outcome: int) -> None:
    """Seen to end as ERROR, against its lessons, when somebody interrupts it."""
    client = Recorded()
    run_on(client).end(error=error)
    assert client.outcome == outcome


@pytest.mark.parametrize(
    ("content", "is_error", "waits"),
    [("Error: no such table: orders", False, 1), ("no orders", True, 1), ({"ok": False}, False, 1), ("17", False, 0)],
)
async def test_advice_is_waited_for_behind_what_may_have_failed(content: Any, is_error: bool, waits: int) -> None:
    """Once; whether a tool or its framework has marked the failure or not."""
    client = Recorded()
    run = run_on(client)
    run.tool_called("c", "run_sql", "")
    run.tool_returned("c", content, is_error=is_error)
    await run.advice()
    await run.advice()
    assert client.waits == waits


async def test_advice_is_not_waited_for_behind_a_call_that_has_worked() -> None:
    """Whatever its text says. Seen to fail without `has_worked`."""
    client = Recorded()
    run = run_on(client)
    run.tool_called("c", "read_log", "")
    run.tool_returned("c", "Error: no such table: orders", has_worked=True)
    await run.advice()
    assert client.waits == 0


def test_a_run_is_watched_once_while_it_is_not_over() -> None:
    first, second = Recorded(), Recorded()
    run = first_to_watch("r", lambda: run_on(first))
    assert run is not None
    assert first_to_watch("r", lambda: run_on(second)) is None
    assert first_to_watch("other", lambda: run_on(second)) is not None
    run.end("17")
    assert first_to_watch("r", lambda: run_on(second)) is not None


def test_a_run_without_an_id_is_always_watched() -> None:
    client = Recorded()
    kept = first_to_watch("", lambda: run_on(client))
    assert kept is not None
    assert first_to_watch("", lambda: run_on(client)) is not None


def test_a_redactor_that_returns_no_text_tells_nothing() -> None:
    client: Any = Recorded()
    returns_nothing: Any = {}.get
    Home(client, Settings(redact=returns_nothing)).begin("secret")
    assert client.started["task"] == "[not reported: the redactor failed]"


def test_what_was_added_is_added_again_at_its_place() -> None:
    added = Added()
    first = added.to(["task"], ["lessons"], str.upper)
    assert first == ["task", "LESSONS"]
    assert added.to(["task", "call", "result"], [], str.upper) == [*first, "call", "result"]
    later = added.to(["task", "call", "result"], ["one", "two"], str.upper)
    assert later == [*first, "call", "result", "ONE", "TWO"]


class Model:
    """As pydantic has them."""

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        return {"mode": mode, "sunny": True}


@dataclass
class Count:
    orders: int


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("17", "17"),
        (Model(), '{"mode": "json", "sunny": true}'),
        ([Count(17)], '[{"orders": 17}]'),
    ],
)
def test_an_object_is_json_and_a_text_as_it_is(answer: Any, said: str) -> None:
    assert as_text(answer) == said


circle: list[Any] = []
circle.append(circle)


@pytest.mark.parametrize(
    ("value", "said"), [({(1, 2): 3}, "{(1, 2): 3}"), (circle, "[[...]]"), ([Model], f"[{Model!r}]")]
)
def test_what_json_cannot_say_is_reported_as_python_shows_it(value: object, said: str) -> None:
    client = Recorded()
    run_on(client).tool_returned("c", value)
    assert [event.tool_returned.content for event in client.events] == [said]
