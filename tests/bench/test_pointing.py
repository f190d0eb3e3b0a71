"""What `bench.pointing` calls caught, and what it may flag of recorded right messages."""

import pytest

from bench.pointing import MOST_EACH, MOST_IN_ALL, alarms, quotes_are_right, right_messages
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.points import MECHANISMS
from tests.critique.recorded_pairs import Pair, Tool
from tests.recorded import recordings

PAIR = Pair(
    id="example-01",
    kind="count",
    request="How many open tickets are there?",
    tools=[Tool("search_tickets", {"count": 41, "state": "open"})],
    wrong="There are 42 open tickets.",
    right="There are 41 open tickets.",
    answer_quote="42 open tickets",
    record_quote='"count": 41',
)


@pytest.mark.parametrize(
    ("quote", "against", "right"),
    [
        ("42 open", '"count": 41', True),
        ("There are 42", '"count": 41, "state": "open"', True),
        ("There are", '"count": 41', False),
        ("42 open", '"state": "open"', False),
        ("42 open", "", False),
        ("", '"count": 41', False),
    ],
)
def test_quotes_are_right_when_both_overlap(quote: str, against: str, right: bool) -> None:
    assert quotes_are_right(PAIR, Point("wrong_fact", quote, against, "It is another.")) is right


def test_what_the_limits_are() -> None:
    assert (MOST_EACH, MOST_IN_ALL) == (0.003, 0.01)


@pytest.mark.slow("each recorded message is judged twice")
def test_recorded_right_messages_are_left_alone() -> None:
    """Each mechanism by itself, and all together, on the part for tuning."""
    recordings()
    told = alarms(right_messages())
    assert told.messages > 900
    shares = {name: len(told.flagged.get(name, ())) / told.messages for name in (*MECHANISMS, "all")}
    assert {name: share for name, share in shares.items() if share > MOST_EACH and name != "all"} == {}
    assert shares["all"] <= MOST_IN_ALL
