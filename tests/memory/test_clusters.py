"""Which memories belong together: the rules, and what they do not depend on."""

import random
from typing import Any

import msgspec

from sidemirror_server.memory.kin.clusters import (
    Cluster,
    ClusterFacts,
    ClusterKind,
    clusters,
    facts_of,
)
from sidemirror_server.memory.record import AppliesWhen, MemoryKind
from sidemirror_server.vocabulary.terms import telling_terms
from tests.conformance.memories import T0, memory

INDEX = "Queries on large tables time out without an index on the join column."
INDEX_TOO = "A query on large tables timed out: the join column had no index."
EMAIL = "Ask the customer for the email address before looking up an account."
EMAIL_TOO = "Before looking up the account, ask the customer for an email address."


def fact(number: int, text: str, **given: Any) -> ClusterFacts:
    facts = ClusterFacts(
        *(f"m{number}", MemoryKind.REFLECTION, T0 + number, 0.5, f"m{number}"),
        terms=telling_terms(text),
        episodes=(f"e{number}",),
    )
    return msgspec.structs.replace(facts, **given)


def told(found: tuple[Cluster, ...]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.kind.value, one.key, one.memory_ids) for one in found]


def test_the_same_signature_groups_whatever_the_words() -> None:
    facts = [fact(1, INDEX, signature="s"), fact(2, EMAIL, signature="s"), fact(3, EMAIL_TOO)]
    assert told(clusters(facts)) == [("error_signature", "s", ("m1", "m2"))]


def test_the_same_tool_groups_what_is_half_alike() -> None:
    """The words that they share are too few without the tool."""
    one = "Queries on large tables time out for want of an index."
    other = "Before large joins add an index and refresh the statistics of both tables every night."
    same_tool = [fact(1, one, tools=("sql",)), fact(2, other, tools=("sql",)), fact(3, EMAIL, tools=("sql",))]
    assert told(clusters(same_tool)) == [("tool", "sql", ("m1", "m2"))]
    assert not clusters([fact(1, one, tools=("sql",)), fact(2, other, tools=("bash",))])


def test_the_same_words_group_whatever_the_tool() -> None:
    facts = [fact(1, INDEX, tools=("a",)), fact(2, INDEX_TOO, tools=("b",)), fact(3, EMAIL), fact(4, EMAIL_TOO)]
    assert told(clusters(facts)) == [("similarity", "", ("m1", "m2")), ("similarity", "", ("m3", "m4"))]
    assert "index" in clusters(facts)[0].terms


def test_only_the_kinds_that_are_asked_for() -> None:
    facts = [fact(1, INDEX, signature="s"), fact(2, INDEX_TOO, signature="s")]
    assert told(clusters(facts, [ClusterKind.SIMILARITY])) == [("similarity", "", ("m1", "m2"))]
    assert not clusters(facts, [ClusterKind.TOOL])


def test_a_reflection_and_its_strategy_are_no_cluster() -> None:
    strategy = {"kind": MemoryKind.STRATEGY, "lesson_id": "m1"}
    facts = [fact(1, INDEX, signature="s"), fact(2, INDEX_TOO, signature="s", **strategy)]
    assert not clusters(facts)
    assert told(clusters([*facts, fact(3, EMAIL, signature="s")])) == [("error_signature", "s", ("m1", "m2", "m3"))]


def test_texts_of_a_few_words_are_alike_by_chance() -> None:
    assert not clusters([fact(1, "ask first"), fact(2, "ask first")])


def test_the_order_and_the_support() -> None:
    alone = [fact(1, INDEX, importance=0.9, episodes=("e",)), fact(2, INDEX_TOO, episodes=("e",))]
    found = clusters([*alone, fact(3, EMAIL), fact(4, EMAIL_TOO)])
    assert [one.episodes for one in found] == [("e3", "e4"), ("e",)]
    assert [one.importance for one in found] == [0.5, 0.9]


def test_neither_the_order_of_the_facts_nor_a_later_memory_changes_a_cluster_id() -> None:
    facts = [fact(1, INDEX), fact(2, INDEX_TOO), fact(3, EMAIL, signature="s"), fact(4, EMAIL_TOO, signature="s")]
    shuffled = random.Random(7).sample(facts, k=4)
    found = clusters(shuffled)
    assert found == clusters(facts)
    later = clusters([*facts, fact(5, INDEX), fact(6, INDEX, signature="s")])
    assert {one.cluster_id for one in later} == {one.cluster_id for one in found}


def test_words_that_most_memories_have_join_none() -> None:
    """Of a hundred lessons that begin alike, the two that say the same are a cluster, not all of them."""
    names = random.Random(3).sample(range(10_000), 300)
    texts = [f"When asked for a report always: w{a} w{b} w{c}" for a, b, c in zip(*[iter(names)] * 3, strict=True)]
    texts[50] = texts[20] + " w1x"
    facts = [fact(number, f"{text} zebra{number % 2} qux{number}") for number, text in enumerate(texts)]
    assert told(clusters(facts)) == [("similarity", "", ("m20", "m50"))]


def test_the_facts_of_a_memory() -> None:
    one = memory("m", INDEX, error_signature="sql|timeout|timed_out", episodes=("e",))
    facts = facts_of(one)
    assert (facts.signature, facts.tools, facts.lesson_id) == ("sql|timeout|timed_out", ("sql",), "m")
    assert "index" in facts.terms
    assert facts_of(memory("m", applies_when=AppliesWhen(tools=("x",)), error_signature="y|a|b")).tools == ("x",)


def test_long_texts_are_compared_by_some_of_their_terms() -> None:
    """And those that are alike still are. Seen to fail when all terms counted: 2,000 memories that share a fifth of
    thousands of terms took minutes to group."""
    chance = random.Random(8)
    words = [f"word{number}" for number in range(6_000)]
    facts = [facts_of(memory(f"m{number}", text=" ".join(chance.sample(words, 1_500)))) for number in range(50)]
    assert max(len(one.terms) for one in facts) <= 128
    text = chance.sample(words, 400)
    others = [" ".join((*text[:320], *chance.sample(words, 80))) for _ in range(2)]
    alike = [facts_of(memory(f"a{number}", other)) for number, other in enumerate(others)]
    (found,) = clusters([*facts, *alike])
    assert found.memory_ids == ("a0", "a1")
