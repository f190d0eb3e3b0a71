"""How close candidates are to a question, beyond the words that they share with it."""

import pytest

from sidemirror_server.vocabulary import closeness as rule
from sidemirror_server.vocabulary.closeness import closeness
from sidemirror_server.vocabulary.corpus import Corpus, Near
from sidemirror_server.vocabulary.terms import asked_terms, terms_of


def close(question: str, texts: list[str], words: list[float]) -> list[float]:
    return closeness(asked_terms(question), terms_of(question).split(), [terms_of(text) for text in texts], words)


def test_the_weights() -> None:
    """Chosen with `bench.retrieval`; a change needs its figures."""
    assert (rule.WORDS, rule.LETTERS, rule.PAIRS, rule.SHARE) == (0.6, 0.6, 0.5, 0.7)
    assert (rule.CANDIDATES, rule.COMPARED, rule.NEIGHBOURS) == (200, 50, 5)


def test_the_closest_has_one() -> None:
    found = close("join tables", ["join tables", "join on columns", "tables and chairs"], [2.0, 1.0, 0.9])
    assert found[0] == 1.0
    assert all(0 < one < 1 for one in found[1:])
    assert close("join", [], []) == []
    assert close("join", ["other words"], [0.0]) == [0.0]


def test_an_identifier_that_is_written_otherwise_counts() -> None:
    """Of two texts with the same words of the question the one with a part of its name is closer."""
    first, second = close("reindexing customers", ["customers reindexed", "customers elsewhere"], [1.0, 1.0])
    assert first > second
    # Nothing of the letters: both are as close.
    first, second = close("customers", ["customers reindexed", "customers elsewhere"], [1.0, 1.0])
    assert first == pytest.approx(second)


def test_words_side_by_side_count() -> None:
    first, second = close("order history", ["the order history is long", "the history is in order"], [1.0, 1.0])
    assert first > second


def test_neighbours_of_what_is_close_come_closer() -> None:
    """Two texts fit a question equally; one of them says what the closest one says."""
    texts = ["join on large tables without an index", "index the large tables first", "index of the quarterly report"]
    first, second, third = close("join tables without an index", texts, [3.0, 1.0, 1.0])
    assert first > second > third
    alone = close("index", [texts[1], texts[2]], [1.0, 1.0])
    assert second - third > alone[0] - alone[1]


def test_a_corpus_is_searched_by_the_same_rule() -> None:
    texts = ["join on large tables", "an index on the join", "wash the dishes"]
    found = Corpus(texts).search("large join")
    assert found[0].closeness == 1.0
    assert found[0].share > found[1].share > 0
    assert found[2] == Near()
    # A question of foreign words is answered by little of what it is worth.
    (foreign, *_) = Corpus(texts).search("large zebras graze in the savannah at night")
    assert foreign.share < 0.4 < found[0].share
    assert Corpus([]).search("join") == []


def test_few_candidates_stay_read_and_none_that_is_long() -> None:
    """They are as close when they are met again. Seen to fail with a bound of length that is not looked at."""
    assert (rule._REMEMBERED, rule._REMEMBERED_CHARS) == (1_000, 2_000)
    rule._remembered.cache_clear()
    texts = ["join on large tables", "an index on the join " * 100]
    first, again = close("large join", texts, [2.0, 1.0]), close("large join", texts, [2.0, 1.0])
    assert first == again
    assert rule._remembered.cache_info().currsize == 1
