"""The rule that every store scores by, and which terms of a question are looked up."""

import math
import random

import pytest

from sidemirror_server.vocabulary.bm25 import (
    COMMON,
    MOST_ASKED,
    MOST_LED_TO,
    Field,
    chosen,
    part,
    score,
    scorer,
    telling,
)


def test_the_formula() -> None:
    """By hand: a term that 2 of 10 have, twice in a text of 8 terms where 4 are usual."""
    tells = math.log(1 + (10 - 2 + 0.5) / (2 + 0.5))
    assert telling(10, 2) == pytest.approx(tells)
    by_hand = 1.5 * tells * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 2))
    assert part(1.5, tells, 2, 8, 4.0) == pytest.approx(by_hand)
    assert score({"a": 1.5, "b": 1.0}, {"a": 2, "b": 3}, {"a": 2}, 8, Field(10, 40)) == pytest.approx(by_hand)


def test_what_all_have_tells_hardly_anything() -> None:
    assert 0 < telling(100, 100) < 0.01
    assert telling(100, 1) > telling(100, 50) > telling(100, 100)


def test_the_most_telling_terms_are_looked_up() -> None:
    assert chosen({"rare": 1, "common": 1, "unknown": 1}, {"rare": 1, "common": 50}, 100) == ("rare", "common")
    assert chosen({"the": 0.6, "join": 1}, {"the": 5, "join": 5}, 100) == ("join", "the")
    many = {f"t{number}": 1.0 for number in range(200)}
    assert len(chosen(many, dict.fromkeys(many, 3), 1000)) == MOST_ASKED == 64
    assert chosen({"a": 1}, {}, 10) == ()


def test_common_terms_lead_only_so_far() -> None:
    assert (COMMON, MOST_LED_TO) == (2_000, 6_000)
    having = {"rare": 10, "usual": 3_000, "common": 5_000, "seldom": 1_999}
    asked = dict.fromkeys(having, 1.0)
    assert chosen(asked, having, 100_000) == ("rare", "seldom", "usual")
    assert chosen({"common": 1.0}, {"common": 90_000}, 100_000) == ("common",), "but one is always looked up"
    # What half of all have leads nowhere.
    assert chosen({"rare": 1.0, "half": 1.0}, {"rare": 10, "half": 2_501}, 5_000) == ("rare",)
    assert chosen({"rare": 1.0, "half": 1.0}, {"rare": 10, "half": 2_500}, 5_000) == ("rare", "half")
    assert chosen({"half": 1.0}, {"half": 2_501}, 5_000) == ("half",)
    # Where no term is common none is left out.
    small = {f"t{number}": 1_500 for number in range(30)}
    assert len(chosen(dict.fromkeys(small, 1.0), small, 1_700)) == 30


def test_a_scope_without_texts_has_a_mean() -> None:
    assert Field(0, 0).mean_terms() == Field(3, 0).mean_terms() == 1.0
    assert Field(4, 10).mean_terms() == 2.5


def test_many_texts_are_scored_like_one() -> None:
    chance = random.Random(4)
    words = [f"w{number}" for number in range(30)]
    for many_asked in (6, 20):
        asked = {word: chance.random() for word in words[:many_asked]}
        having = {word: chance.randint(0, 40) for word in asked}
        field = Field(40, 300)
        scored = scorer(asked, having, field)
        for length in range(30):
            text = chance.choices([word for word in words if having.get(word, 1)], k=length)
            times = {word: text.count(word) for word in asked}
            assert scored(" ".join(text)) == pytest.approx(score(asked, having, times, len(text), field))
