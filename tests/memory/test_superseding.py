"""Which memories others hold in the place of."""

import random

from sidemirror_server.memory.kin.superseding import hidden


def test_a_chain_hides_all_but_its_last() -> None:
    newer = {"a": {"b"}, "b": {"c"}}
    assert hidden("abc", newer, "abc") == {"a": "b", "b": "c"}
    assert hidden("abc", newer, "ac") == {"b": "c"}, "what is retired hides nothing"


def test_a_ring_hides_none_of_its_own_and_what_hangs_on_it() -> None:
    ring = {"a": {"c"}, "b": {"a"}, "c": {"b"}}
    assert hidden("abc", ring, "abc") == {}
    assert hidden("abcd", {**ring, "d": {"b"}}, "abcd") == {"d": "b"}
    assert hidden("abcd", {**ring, "a": {"c", "d"}}, "abcd") == {"a": "d"}, "what stands above a ring hides"


def test_at_random_it_is_what_can_be_reached() -> None:
    """A memory is hidden exactly when one that supersedes it cannot be reached from it."""
    chance = random.Random(5)
    for _ in range(300):
        names = "abcdefg"[: chance.randint(2, 7)]
        pairs = {(chance.choice(names), chance.choice(names)) for _ in range(chance.randint(1, 9))}
        newer: dict[str, set[str]] = {}
        for one, other in pairs:
            if one != other:
                newer.setdefault(one, set()).add(other)
        older = {(one, other) for other, some in newer.items() for one in some}  # one supersedes other
        reached = set(older)
        for middle in names:
            reached |= {(a, b) for a in names for b in names if (a, middle) in reached and (middle, b) in reached}
        active = {name for name in names if chance.random() < 0.8}
        expected = {b for a, b in older if a in active and (b, a) not in reached}
        assert set(hidden(names, newer, active)) == expected
