"""What tells nothing is known as that, and what tells something is left alone."""

import pytest

from sidemirror_server.vocabulary.correction import corrects
from sidemirror_server.vocabulary.telling import (
    says_no_lesson,
    says_only_outcome,
    says_why,
    without_references,
    without_values,
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The task failed.",
        "The task was done. 1 of 1 tool calls worked, the last of them `find` [0198a7c2-0000-7000-8000-00000000000a].",
        "The task ended with an error. None of the 3 tool calls so far has worked.",
        "The goal was completed; no tasks were reported, so there is nothing to repeat or to avoid.",
        "The task ran out of time. No tool has returned anything yet.",
    ],
)
def test_a_bare_outcome(text: str) -> None:
    assert says_only_outcome(text)


@pytest.mark.parametrize(
    "text",
    [
        "It broke.",
        "The task failed because the date was read as a month.",
        "`search` failed: its error says “no such table: users”, a not found failure.",
        "The task was done. Take the address from the order.",
        "Done is better than perfect.",
    ],
)
def test_what_says_more_than_an_outcome(text: str) -> None:
    assert not says_only_outcome(text)


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        ("The goal failed: no reason was reported.", True),
        ("The goal failed at `search`, the first of 2 failures in 3 tasks: no reason was reported.", True),
        ("The task failed.", True),
        ("The goal failed: “no seats left”.", False),
        ("The goal failed: no reason was reported. Ask for the date first.", False),
    ],
)
def test_a_goal_that_failed_without_a_cause_gives_no_lesson(text: str, nothing: bool) -> None:
    assert says_no_lesson(text) is nothing


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ("An error occurred while running the tool.", False),
        ("Error: execution failed with exit code 1", False),
        ("Something went wrong. Please try again later.", False),
        ("", False),
        ("not enough seats on the flight", True),
        ("EADDRINUSE: address already in use", True),
        ("timed out", True),
    ],
)
def test_a_stock_error_gives_no_reason(error: str, says: bool) -> None:
    assert says_why(error) is says


def test_ids_of_events_are_taken_out_and_other_brackets_stay() -> None:
    told = "`a` failed [0198a7c2-1111-7000-8000-00000000000a] [event-3] with [1, 2] and [redacted:token]."
    assert without_references(told) == "`a` failed with [1, 2] and [redacted:token]."


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Order #W5866402 not found", "Order (…) not found"),
        ("user mia_garcia_4516 has no payment credit_card_3124723", "user (…) has no payment (…)"),
        ("write to a.b@example.com", "write to (…)"),
        ("HTTP 404: no column `user_id` in line 12", "HTTP 404: no column `user_id` in line 12"),
    ],
)
def test_values_of_one_episode_are_taken_out(said: str, shown: str) -> None:
    assert without_values(said) == shown


@pytest.mark.parametrize(
    "message",
    [
        "No, that's the wrong file.",
        "That is not what I asked for: use the other branch.",
        "That's wrong, the total is net.",
        "Sorry, but you forgot the second address.",
        "I said the blue one",
        "no. I meant the order of March",
        "Hmm, that isn't right.",
        "You should have asked me first.",
        "Wrong order!",
    ],
)
def test_a_correction(message: str) -> None:
    assert corrects(message)


@pytest.mark.parametrize(
    "message",
    [
        "No, that's all. Thank you!",
        "That's right, thanks.",
        "That is what I asked for.",
        "no thanks",
        "Yes, please go on.",
        "Where is my order? The tracking page says something is wrong with it.",
        "No problem, take your time",
        "Please cancel order W17.",
        "",
    ],
)
def test_no_correction(message: str) -> None:
    assert not corrects(message)
