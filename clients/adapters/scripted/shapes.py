"""Agents of different shape, drawn by number: steps with calls in parallel, failures, an error of the endpoint that the
provider's SDK tries again, a helper that is asked by a tool, a second agent that takes over, streamed or not."""

import random
from dataclasses import dataclass

from scripted.wire import Answer, Call, Fails

COUNT = 20


@dataclass(frozen=True)
class Shape:
    """What the models of one agent and its helper answer, in order."""

    number: int
    streamed: bool
    answers: tuple[Answer, ...]
    helper: tuple[Answer, ...]
    # Of the agent that takes over where the framework has handoffs; half of the agents hand over to nobody.
    second: tuple[Answer, ...]

    def handing_over(self, last: Answer) -> tuple[Answer, ...]:
        """What the first agent's model answers where this answer hands over to the second."""
        return (*self.answers[:-1], last) if self.second else self.answers

    @property
    def model(self) -> str:
        return f"agent-{self.number}"

    @property
    def helper_model(self) -> str:
        return f"helper-{self.number}"

    @property
    def second_model(self) -> str:
        return f"second-{self.number}"


def shape(number: int) -> Shape:
    """The agent of this number; the same in each run."""
    draw = random.Random(number)
    answers: list[Answer] = [_calls(draw) for _ in range(draw.randint(1, 4))]
    helper: list[Answer] = []
    if number % 3 == 0:
        helper = [*(_calls(draw) for _ in range(draw.randint(0, 2))), f"Helped {number}."]
        answers.insert(draw.randint(0, len(answers)), [Call("delegate", {"question": f"What is {number}?"})])
    if number % 5 == 1:
        answers.insert(draw.randint(0, len(answers)), Fails(500))
    second: list[Answer] = []
    if number % 4 in (1, 2):
        second = [*(_calls(draw) for _ in range(draw.randint(1, 2))), f"Done with {number}."]
    return Shape(number, number % 2 == 1, (*answers, f"Done with {number}."), tuple(helper), tuple(second))


def _calls(draw: random.Random) -> list[Call]:
    return [_call(draw) for _ in range(draw.choice((1, 1, 2, 3)))]


def _call(draw: random.Random) -> Call:
    name = draw.choice(("look_up", "add", "record_of", "flaky"))
    if name == "add":
        return Call("add", {"a": draw.randint(0, 99), "b": draw.randint(0, 99)})
    return Call(name, {"key": f"k{draw.randint(0, 999)}"})


def look_up(key: str) -> str:
    """Looks up a key."""
    return f"The value of {key} is “{key[::-1]}”."


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def record_of(key: str) -> dict[str, object]:
    """The record of a key."""
    return {"key": key, "parts": [1, 2.5, None], "ok": True}


class NoEntry(Exception):
    """What `flaky` fails with; a framework's own error is made of it where it has one."""
