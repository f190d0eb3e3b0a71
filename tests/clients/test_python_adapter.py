"""What an adapter of an agent framework reports, whatever the framework hands over."""

from typing import Any

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client.adapter import Added, Run, Settings


class Recorded:
    """Stands for a client, and for its turn."""

    def __init__(self) -> None:
        self.started: dict[str, Any] = {}
        self.events: list[pb.TurnEvent] = []

    def begin_turn(self, **started: Any) -> "Recorded":
        self.started = started
        return self

    def report(self, event: pb.TurnEvent) -> None:
        self.events.append(event)


def run_on(client: Any, task: str = "task", *, advice: bool = True) -> Run:
    return Run(client, Settings(advice=advice), task, "", "", ("", ""))


def test_a_run_without_advice_says_so_at_its_start() -> None:
    quiet, client = Recorded(), Recorded()
    run_on(quiet, advice=False)
    run_on(client)
    assert quiet.started["without_advice"]
    assert not client.started.get("without_advice")


def test_half_characters_are_reported_as_question_marks() -> None:
    client = Recorded()
    run = run_on(client, "open a\udc80")
    run.tool_called("c", "cat\ud800", {"path": "a\udc80"}, agent="b\udc80")
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
    run.tool_called("c", "cat", "", agent="clerk")
    run.tool_called("c", "cat", "", agent="clerk")
    assert run.is_open("c")
    run.tool_returned("c", "meow")
    assert not run.is_open("c")
    called, returned = client.events
    assert (called.agent, returned.agent) == ("clerk", "clerk")


def test_what_was_added_is_added_again_at_its_place() -> None:
    added = Added()
    first = added.to(["task"], ["lessons"], str.upper)
    assert first == ["task", "LESSONS"]
    assert added.to(["task", "call", "result"], [], str.upper) == [*first, "call", "result"]
    later = added.to(["task", "call", "result"], ["one", "two"], str.upper)
    assert later == [*first, "call", "result", "ONE", "TWO"]


circle: list[Any] = []
circle.append(circle)


@pytest.mark.parametrize(("value", "said"), [({(1, 2): 3}, "{(1, 2): 3}"), (circle, "[[...]]")])
def test_what_json_cannot_say_is_reported_as_python_shows_it(value: object, said: str) -> None:
    client = Recorded()
    run_on(client).tool_returned("c", value)
    assert [event.tool_returned.content for event in client.events] == [said]
