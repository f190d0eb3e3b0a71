"""What a sidecar serves: what a list names, and what that covers."""

import pytest

from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Served, Serves, serves_listed, serves_only

SHOP, BLOG, OTHER = Scope("acme", "shop"), Scope("acme", "blog"), Scope("globex", "shop")


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("", {SHOP, BLOG, OTHER}),
        ("*", {SHOP, BLOG, OTHER}),
        ("acme/*", {SHOP, BLOG}),
        ("acme/shop", {SHOP}),
        ("acme/blog , globex/*", {BLOG, OTHER}),
        ("nobody/*", set()),
    ],
)
def test_what_a_list_covers(text: str, covered: set[Scope]) -> None:
    serves = serves_listed(text)
    assert {scope for scope in (SHOP, BLOG, OTHER) if serves.covers(scope)} == covered
    assert serves.said == bool(text)


@pytest.mark.parametrize(
    "text", ["  ", "acme", "acme/", "/shop", "*/shop", "ac*/shop", "acme/sh*", "acme/*,", "acme/*,,b/c"]
)
def test_an_entry_that_is_none_is_named(text: str) -> None:
    """Seen to fail with blanks alone, which opened a sidecar to every tenant."""
    with pytest.raises(ValueError, match="is expected"):
        serves_listed(text)


def test_entries_are_apart_and_in_order() -> None:
    serves = serves_listed("globex/shop, acme/shop, acme/*, acme/*, globex/blog")
    assert str(serves) == "acme/*, globex/blog, globex/shop"
    assert serves_listed("a/b, *").entries == SERVES_ALL.entries == (Served(),)
    assert not SERVES_ALL.said


def test_a_project_may_have_a_slash() -> None:
    assert serves_listed("acme/a/b").covers(Scope("acme", "a/b"))


def test_a_pinned_scope() -> None:
    assert serves_only(SHOP) == Serves((Served("acme", "shop"),), said=True)
