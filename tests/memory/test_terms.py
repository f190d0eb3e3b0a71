"""What texts are found by."""

import pytest

from sidemirror_server.vocabulary.terms import MOST_TERMS, asked_terms, telling_terms, terms_of


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Queries, query; QUERY!", "queri queri queri"),
        ("joins joined joining join", "join join join join"),
        ("find_user_id findUserId", "finduserid find user id finduserid find user id"),
        ("classes pass status analysis", "class pass status analysis"),
        ("stopped stopping falls", "stop stop fall"),
        ("is a 2b or not", "is a 2b or not"),
        ("日本語 テキスト", "日本 本語 テキ キス スト"),
        ("go🚀now", "go 🚀 now"),
        ("ﬁle ＦＩＬＥ", "fil fil"),
        ("שלום עולם", "שלום עולם"),
        ('"quoted" — (dash)', "quot dash"),
        ("", ""),
        ("… !?", ""),
    ],
)
def test_terms(text: str, terms: str) -> None:
    assert terms_of(text) == terms


def test_no_term_can_break_an_index() -> None:
    hostile = "a\"b' OR 1=1 -- NEAR(x) {content}: * ^ \x00 \ud800 " + "x" * 500
    terms = terms_of(hostile).split(" ")
    assert all(term and not set(term) & set("\"'(){}:*^-_ \x00") for term in terms)
    assert max(map(len, terms)) <= 64


def test_a_long_text_has_so_many_terms_and_no_more() -> None:
    assert len(terms_of("word " * 300_000).split(" ")) == MOST_TERMS == 4000


def test_what_a_question_asks_for() -> None:
    asked = asked_terms("the join of the join")
    assert list(asked) == ["the", "join", "of"]
    assert asked["of"] == pytest.approx(0.6)
    assert asked["join"] == pytest.approx(2 * 2.2 / 3.2)
    assert asked["the"] == pytest.approx(0.6 * 2 * 2.2 / 3.2)
    assert telling_terms("How do I join the tables?") == {"join", "tabl"}
