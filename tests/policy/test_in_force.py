"""Policies are read when work needs them: once for all who ask, again when they are old, and never without work."""

import asyncio

import pytest

from sidemirror_server.policy.in_force import FRESH_S, PoliciesInForce
from sidemirror_server.policy.record import (
    Advice,
    AdviceKind,
    DataPolicy,
    RetentionPeriods,
    ScopePolicies,
    StoredPolicy,
)
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from tests.policy.made import change

ONE, OTHER = Scope("acme", "shop"), Scope("acme", "blog")
OFF = DataPolicy(advice=Advice((AdviceKind.LESSONS,)))


class HandClock(SystemClock):
    """A clock in the test's hand."""

    s = 0.0

    def monotonic_s(self) -> float:
        return self.s


class Counted:
    """A store in memory that counts its reads and may be away."""

    def __init__(self) -> None:
        self.policy = DataPolicy()
        self.reads = 0
        self.is_away = False

    async def get(self, scope: Scope) -> ScopePolicies:
        self.reads += 1
        found = ScopePolicies(StoredPolicy(self.policy, 1, "", 0))
        await asyncio.sleep(0)
        if self.is_away:
            raise StoreUnavailable(store="test", reason="away")
        return found

    async def set(self, scope: Scope, changed: object, now_us: int) -> None:
        self.policy = OFF


@pytest.fixture
def store() -> Counted:
    return Counted()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def policies(store: Counted, clock: HandClock) -> PoliciesInForce:
    return PoliciesInForce(store, RetentionPeriods(), SERVES_ALL, clock, 10)  # type: ignore[arg-type]


async def test_one_read_serves_everybody_for_a_while(
    store: Counted, clock: HandClock, policies: PoliciesInForce
) -> None:
    await asyncio.gather(*(policies.of(ONE) for _ in range(100)))
    clock.s = FRESH_S
    await policies.advice(ONE)
    assert store.reads == 1
    await policies.advice(OTHER)
    assert store.reads == 2


async def test_what_changes_elsewhere_holds_within_ten_seconds(
    store: Counted, clock: HandClock, policies: PoliciesInForce
) -> None:
    """Counted from when the read began: what is set while it is under way is not missed for longer."""
    assert FRESH_S <= 9
    assert (await policies.advice(ONE)).gives(AdviceKind.LESSONS)
    store.policy = OFF
    clock.s = FRESH_S + 0.001
    assert not (await policies.advice(ONE)).gives(AdviceKind.LESSONS)


async def test_a_store_that_is_away_is_asked_again_at_once(
    store: Counted, clock: HandClock, policies: PoliciesInForce
) -> None:
    """Nothing old is used in its place: what was turned off meanwhile would go on. A failure is not kept."""
    await policies.of(ONE)
    store.is_away, clock.s = True, FRESH_S + 1
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await policies.of(ONE)
    store.is_away = False
    await policies.of(ONE)
    assert store.reads == 4


async def test_whoever_leaves_ends_nobody_elses_read(store: Counted, policies: PoliciesInForce) -> None:
    leaving = asyncio.create_task(policies.of(ONE))
    staying = asyncio.create_task(policies.of(ONE))
    await asyncio.sleep(0)
    leaving.cancel()
    assert (await staying).project is not None
    assert store.reads == 1


async def test_what_is_set_here_holds_at_once(store: Counted, policies: PoliciesInForce) -> None:
    assert (await policies.advice(ONE)).gives(AdviceKind.LESSONS)
    await policies.set(OTHER, change(OFF), 0)
    assert not (await policies.advice(ONE)).gives(AdviceKind.LESSONS)


@pytest.mark.parametrize(
    ("off", "given"),
    [
        ((), {AdviceKind.LESSONS, AdviceKind.RECOVERIES}),
        ((AdviceKind.LESSONS,), {AdviceKind.RECOVERIES}),
        ((AdviceKind.RECOVERIES,), {AdviceKind.LESSONS}),
        ((AdviceKind.ALL,), set()),
    ],
)
def test_which_kinds_are_given(off: tuple[AdviceKind, ...], given: set[AdviceKind]) -> None:
    kinds = {AdviceKind.LESSONS, AdviceKind.RECOVERIES}
    assert {kind for kind in kinds if Advice(off).gives(kind)} == given


def test_what_is_off_at_either_level_is_off() -> None:
    of = StoredPolicy(DataPolicy(advice=Advice((AdviceKind.RECOVERIES,), ("a",))), 1, "", 0)
    of_tenant = StoredPolicy(DataPolicy(advice=Advice((AdviceKind.LESSONS,), ("b", "a"))), 1, "", 0)
    assert ScopePolicies(of, of_tenant).advice == Advice((AdviceKind.LESSONS, AdviceKind.RECOVERIES), ("b", "a"))


def test_a_silenced_reflection_silences_its_strategies() -> None:
    advice = Advice(silenced=("r", "s2"))
    shown = [("r", ""), ("s1", "r"), ("s2", "r2"), ("r2", ""), ("s3", "r2"), ("x", "")]
    assert [one for one in shown if advice.shows(*one)] == [("r2", ""), ("s3", "r2"), ("x", "")]
