"""Which retention holds for which scope: every scope has one, that of the closest policy."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidemirror_server.policy.record import KEPT_FOR_EVER, RetentionPeriods, retention_in_force
from sidemirror_server.policy.retention import KeptAlike, kept_alike
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Served, Serves, serves_listed, serves_only

ACME, SHOP, BLOG = Served("acme"), Served("acme", "shop"), Served("acme", "blog")
NOTHING = RetentionPeriods()


def days(trace_days: int, **more: int) -> RetentionPeriods:
    return RetentionPeriods(trace_days=trace_days, **more)


def told(found: tuple[KeptAlike, ...]) -> list[tuple[str, list[str], int | None]]:
    """The scopes, those excepted, and their days of traces."""
    return [(str(one.serves), [str(entry) for entry in one.but], one.periods.trace_days) for one in found]


@pytest.mark.parametrize(
    ("stored", "proposed", "serves", "expected"),
    [
        # Nobody has decided: a shared store keeps everything.
        ({}, False, SERVES_ALL, []),
        ({}, False, serves_listed("acme/*, globex/shop"), []),
        ({}, True, SERVES_ALL, [("*", [], 90)]),
        ({}, True, serves_only(Scope("acme", "shop")), [("acme/shop", [], 90)]),
        # A policy goes before the settings, whether it is longer or shorter.
        ({SHOP: days(365)}, True, serves_only(Scope("acme", "shop")), [("acme/shop", [], 365)]),
        ({SHOP: days(0)}, True, serves_only(Scope("acme", "shop")), []),
        ({ACME: days(1)}, True, serves_only(Scope("acme", "shop")), [("acme/shop", [], 1)]),
        ({ACME: days(1), SHOP: days(2)}, True, serves_only(Scope("acme", "shop")), [("acme/shop", [], 2)]),
        # What is not served is left alone.
        ({ACME: days(1), BLOG: days(2)}, True, serves_only(Scope("acme", "shop")), [("acme/shop", [], 1)]),
        ({ACME: days(1)}, False, serves_listed("globex/*"), []),
        ({ACME: days(1), BLOG: days(2)}, False, SERVES_ALL, [("acme/*", ["acme/blog"], 1), ("acme/blog", [], 2)]),
        ({ACME: days(1), BLOG: days(0)}, False, SERVES_ALL, [("acme/*", ["acme/blog"], 1)]),
        ({ACME: days(1), BLOG: days(1)}, False, SERVES_ALL, [("acme/*", [], 1)]),
        (
            {ACME: days(365), BLOG: days(90)},
            *(True, SERVES_ALL),
            [("*", ["acme/*"], 90), ("acme/*", ["acme/blog"], 365), ("acme/blog", [], 90)],
        ),
        # Alike, and so together.
        ({ACME: days(7), Served("globex"): days(7)}, False, SERVES_ALL, [("acme/*, globex/*", [], 7)]),
    ],
)
def test_the_closest_goes_first(
    stored: dict[Served, RetentionPeriods],
    proposed: bool,
    serves: Serves,
    expected: list[tuple[str, list[str], int | None]],
) -> None:
    assert told(kept_alike(stored, days(90) if proposed else NOTHING, serves)) == expected


def test_each_value_goes_by_itself() -> None:
    stored = {ACME: days(365, spend_days=7), SHOP: RetentionPeriods(trace_days=30)}
    proposed = RetentionPeriods(1, 2, 3, 0.1, 4, 5)
    (found,) = kept_alike(stored, proposed, serves_only(Scope("acme", "shop")))
    assert found.periods == RetentionPeriods(7, 2, 3, 0.1, 4, 30)
    (found,) = kept_alike({ACME: RetentionPeriods(memory_days=9)}, NOTHING, SERVES_ALL)
    assert found.periods == RetentionPeriods(0, 0, 9, 0.5, 0, 0)


@pytest.mark.parametrize(
    ("tenant", "project", "expected"),
    [
        ({}, {"memory_days": 0}, (0, 0.5, 0)),
        ({}, {"memory_days": 30}, (30, 0.5, 0)),
        ({}, {"memory_count": 7}, (0, 0.5, 7)),
        ({}, {"memory_importance": 0.9}, (0, 0.9, 0)),
        ({"memory_days": 9, "memory_importance": 0.9}, {"memory_count": 7}, (9, 0.9, 7)),
        ({"memory_days": 0}, {"trace_days": 7}, (0, 0.5, 0)),
        ({}, {"trace_days": 7}, (3, 0.1, 4)),
    ],
)
def test_settings_say_nothing_of_memories_once_a_policy_does(
    tenant: dict[str, Any], project: dict[str, Any], expected: tuple[int, float, int]
) -> None:
    """Seen to fail where each value goes by itself: `memory_days=0` let the settings' number remove memories."""
    proposed = RetentionPeriods(1, 2, 3, 0.1, 4, 5)
    found = retention_in_force(RetentionPeriods(**project), RetentionPeriods(**tenant), proposed)
    assert (found.memory_days, found.memory_importance, found.memory_count) == expected
    assert found.spend_days == 1


PARTS = st.sampled_from([Served(t, p) for t in ("a", "b") for p in (None, "x", "y")])
STORED = st.dictionaries(PARTS, st.sampled_from([days(n) for n in (0, 1, 2)]))
SERVED = st.sampled_from(["*", "a/*", "a/*, b/x", "a/x, b/y", "a/x"]).map(serves_listed)


@given(STORED, SERVED, st.booleans())
def test_every_scope_has_its_own_once(stored: dict[Served, RetentionPeriods], serves: Serves, proposed: bool) -> None:
    """A scope that is served, and whose records are not all kept for ever, is in one group, with what the closest
    policy says. Seen to fail when a group does not except what lies within it."""
    kept = kept_alike(stored, days(90) if proposed else NOTHING, serves)
    for scope in (Scope(t, p) for t in ("a", "b", "c") for p in ("x", "y", "z")):
        within = [one for one in kept if one.serves.covers(scope) and not any(e.covers(scope) for e in one.but)]
        closest = (Served(scope.tenant_id, scope.project_id), Served(scope.tenant_id))
        wanted = next((stored[one] for one in closest if one in stored), days(90) if proposed else days(0))
        periods = wanted.over(KEPT_FOR_EVER)
        assert [one.periods for one in within] == ([periods] if serves.covers(scope) and periods.removes else [])
