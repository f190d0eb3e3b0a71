"""What competes for a block, and what wins."""

import pytest

from sidemirror_server.vocabulary.arbiter import AS_DESIGNED, HEADING, Offers, arbitrated
from sidemirror_server.vocabulary.block import BlockItem, BlockLesson, count_tokens
from sidemirror_server.vocabulary.origin import Origin


def lesson(name: str, text: str = "") -> BlockLesson:
    return BlockLesson(BlockItem(name, 1, "kind", text or f"This is lesson {name}.", 0.5, Origin.AGENT))


def ids(offers: Offers, max_items: int = 10, max_tokens: int = 400) -> list[str]:
    return [item.id for item in arbitrated(offers, max_items, max_tokens, "r").items]


EVERY = Offers(
    recoveries=[lesson("recovery")],
    failure=[lesson("failure")],
    goal=[lesson("goal")],
    memory=[lesson("memory 1"), lesson("memory 2")],
    alike=[lesson("alike")],
)


def test_the_budgets_are_those_of_the_design() -> None:
    assert (AS_DESIGNED.failure_tokens, AS_DESIGNED.start_tokens) == (200, 400)


def test_what_was_counted_goes_first_and_what_is_alike_last() -> None:
    assert ids(EVERY) == ["recovery", "failure", "goal", "memory 1", "alike", "memory 2"]
    assert ids(EVERY, max_items=2) == ["recovery", "failure"]


def test_there_is_one_heading_and_one_receipt() -> None:
    block = arbitrated(EVERY, 10, 400, "r")
    assert block.text.count("[") == 1
    assert block.text.startswith(f"[{HEADING}]\n")
    assert block.receipt_id == "r"


@pytest.mark.parametrize("most", [30, 60, 120, 200])
def test_all_of_them_share_the_tokens(most: int) -> None:
    offers = Offers([lesson("r", "five words of a recovery")], [lesson("f", "failure " * 30), lesson("g", "short one")])
    block = arbitrated(offers, 10, most, "r")
    assert count_tokens(block.text) == block.token_count <= most
    assert block.items[0].id == "r"
    assert {one.id for one in block.omitted} | {item.id for item in block.items} == {"r", "f", "g"}


def test_goals_have_their_share_of_a_plan() -> None:
    offers = Offers(goal=[lesson(f"g{n}") for n in range(3)], memory=[lesson("m")], alike=[lesson("a")])
    block = arbitrated(offers, 5, 400, "r")
    assert [item.id for item in block.items] == ["g0", "g1", "m"]
    assert [one.id for one in block.omitted] == ["g2", "a"]


def test_a_goals_lesson_that_is_a_memory_too_is_shown_once() -> None:
    offers = Offers(goal=[lesson("g", "The same words.")], memory=[lesson("m", "The same words.")])
    assert ids(offers) == ["g"]
