"""What every adapter of the port `Policies` does, clause by clause.

Each test is given a function that opens the port on one empty store; called again, it gives another object on it.
"""

import asyncio
from collections.abc import Callable

import pytest

from sidemirror_server.policy.record import (
    Advice,
    AdviceKind,
    Cap,
    DataPolicy,
    PolicyLevel,
    RetentionPeriods,
    ScopePolicies,
    StoredPolicy,
)
from sidemirror_server.policy.store import Policies, PolicyChange
from sidemirror_server.vocabulary.errors import LimitReached, WrongState
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Served
from tests.conformance.served import ACME, REST, SHOP

OpenPolicies = Callable[[], Policies]

ONE, OTHER, THIRD = Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop")
T0 = 1_700_000_000_000_000
PROJECT, TENANT = PolicyLevel.PROJECT, PolicyLevel.TENANT
WHOLE = DataPolicy(
    RetentionPeriods(90, 0, 36_500, 0.55, 1_000_000_000, 1),
    {"": Cap(1_000_000_000_000, 0), "dreaming": Cap(None, 500_000_000), "Grüße \U0001f642": Cap(1, None)},
    Advice((AdviceKind.ALL, AdviceKind.RECOVERIES), ("m \U0001f642", "s")),
)


def days(trace_days: int) -> DataPolicy:
    return DataPolicy(RetentionPeriods(trace_days=trace_days))


def change(
    policy: DataPolicy, level: PolicyLevel = PROJECT, if_version: int | None = None, most: int = 10, by: str = "ops"
) -> PolicyChange:
    return PolicyChange(level, policy, by, if_version, most)


async def po1_a_scope_has_two_policies(open_policies: OpenPolicies) -> None:
    policies = open_policies()
    assert await policies.get(ONE) == ScopePolicies()
    await policies.set(ONE, change(WHOLE, by="Grüße \U0001f642"), T0)
    of_project = StoredPolicy(WHOLE, T0, "Grüße \U0001f642", T0)
    assert await open_policies().get(ONE) == ScopePolicies(project=of_project)
    await policies.set(ONE, change(days(1), TENANT), T0 + 1)
    of_tenant = StoredPolicy(days(1), T0 + 1, "ops", T0 + 1)
    assert await open_policies().get(ONE) == ScopePolicies(of_project, of_tenant)
    await policies.set(OTHER, change(DataPolicy(), TENANT), T0 + 2)
    assert await policies.get(ONE) == ScopePolicies(project=of_project)


async def po2_set_replaces_and_counts(open_policies: OpenPolicies) -> None:
    policies = open_policies()
    for number, level in enumerate((PROJECT, PROJECT, TENANT, PROJECT, TENANT)):
        made = await policies.set(ONE, change(days(number + 1), level, by=f"by{number}"), T0 - number)
        # By the store's clock, and higher also where that goes back.
        version = (T0, T0 + 1, T0 - 2, T0 + 2, T0 - 1)[number]
        assert made == StoredPolicy(days(number + 1), version, f"by{number}", T0 - number)
    found = await open_policies().get(ONE)
    assert found == ScopePolicies(
        StoredPolicy(days(4), T0 + 2, "by3", T0 - 3), StoredPolicy(days(5), T0 - 1, "by4", T0 - 4)
    )


async def po3_an_empty_policy_removes(open_policies: OpenPolicies) -> None:
    policies = open_policies()
    assert await policies.set(ONE, change(DataPolicy()), T0) is None
    for level in (PROJECT, TENANT):
        await policies.set(ONE, change(days(1), level), T0)
        await policies.set(ONE, change(days(2), level), T0)
    assert await policies.set(ONE, change(DataPolicy()), T0) is None
    assert await open_policies().get(ONE) == ScopePolicies(tenant=StoredPolicy(days(2), T0 + 1, "ops", T0))
    # No version returns.
    made = await policies.set(ONE, change(days(3)), T0 + 2)
    assert made == StoredPolicy(days(3), T0 + 2, "ops", T0 + 2)


async def po4_another_version_is_refused(open_policies: OpenPolicies) -> None:
    policies = open_policies()
    with pytest.raises(WrongState):
        await policies.set(ONE, change(days(1), if_version=1), T0)
    # Where none is stored, too, one of them succeeds.
    first = await raced(open_policies, 0)
    assert (await policies.get(ONE)).project == first
    with pytest.raises(WrongState):
        await policies.set(ONE, change(days(99), if_version=0), T0)
    assert await policies.set(ONE, change(first.policy, if_version=0), T0 + 5) == first
    for version in (first.version - 1, first.version + 1):
        with pytest.raises(WrongState):
            await policies.set(ONE, change(days(99), if_version=version), T0)
    # The tenant's has a version of its own.
    with pytest.raises(WrongState):
        await policies.set(ONE, change(days(99), TENANT, if_version=first.version), T0)
    with pytest.raises(WrongState):
        await policies.set(ONE, change(DataPolicy(), if_version=first.version + 1), T0)
    assert await policies.get(ONE) == ScopePolicies(first)
    made = await raced(open_policies, first.version)
    assert (await policies.get(ONE)).project == made
    # As it was made, by the same: its answer was lost.
    assert await policies.set(ONE, change(made.policy, if_version=first.version), T0 + 5) == made
    with pytest.raises(WrongState):
        await policies.set(ONE, change(made.policy, if_version=first.version, by="somebody else"), T0 + 5)
    with pytest.raises(WrongState):
        await policies.set(ONE, change(DataPolicy(), if_version=0), T0)
    assert await policies.set(ONE, change(DataPolicy(), if_version=made.version), T0) is None
    assert await policies.set(ONE, change(DataPolicy(), if_version=made.version), T0) is None
    assert await policies.set(ONE, change(DataPolicy(), if_version=0), T0) is None


async def raced(open_policies: OpenPolicies, version: int) -> StoredPolicy:
    """What is stored of eight changes at once that know the same version; the others are refused."""
    results = await asyncio.gather(
        *(open_policies().set(ONE, change(days(2 + number), if_version=version), T0) for number in range(8)),
        return_exceptions=True,
    )
    assert sorted(type(one).__name__ for one in results) == ["StoredPolicy", *["WrongState"] * 7]
    (made,) = (one for one in results if isinstance(one, StoredPolicy))
    return made


async def po5_whose_policy_it_is(open_policies: OpenPolicies) -> None:
    policies = open_policies()
    for number, scope in enumerate((ONE, OTHER, THIRD), start=1):
        await policies.set(scope, change(days(number)), T0)
    await policies.set(ONE, change(days(10), TENANT), T0)
    await policies.set(THIRD, change(days(30), TENANT), T0)
    unused = Scope("acme", "unused")
    found = [await policies.get(scope) for scope in (ONE, OTHER, THIRD, unused, Scope("nobody", "shop"))]
    assert [(one.of_project.retention.trace_days, one.of_tenant.retention.trace_days) for one in found] == [
        *((1, 10), (2, 10), (3, 30), (None, 10), (None, None)),
    ]
    await policies.set(OTHER, change(DataPolicy()), T0)
    await policies.set(THIRD, change(DataPolicy(), TENANT), T0)
    assert await policies.get(ONE) == found[0]
    assert (await policies.get(THIRD)).project == found[2].project


async def po6_projects_are_counted(open_policies: OpenPolicies) -> None:
    policies = open_policies()
    with pytest.raises(LimitReached):
        await policies.set(ONE, change(days(1), most=0), T0)
    for name in ("a", "b"):
        await policies.set(Scope("acme", name), change(days(1), most=2), T0)
    with pytest.raises(LimitReached) as caught:
        await policies.set(Scope("acme", "c"), change(days(1), most=2), T0)
    assert (caught.value.limit, caught.value.value, caught.value.subject) == ("project_policies", 2, "acme")
    assert await policies.get(Scope("acme", "c")) == ScopePolicies()
    # Not those of other tenants, nor the tenant's own.
    await policies.set(THIRD, change(days(1), most=2), T0)
    await policies.set(ONE, change(days(1), TENANT, most=0), T0)
    await policies.set(Scope("acme", "a"), change(days(2), most=1), T0)
    await policies.set(Scope("acme", "a"), change(DataPolicy(), most=1), T0)
    await policies.set(Scope("acme", "c"), change(days(1), most=2), T0)


async def po7_retention_of_what_is_served(open_policies: OpenPolicies) -> None:
    policies = open_policies()
    for number, scope in enumerate((ONE, OTHER, THIRD), start=1):
        await policies.set(scope, change(days(number)), T0)
    await policies.set(ONE, change(DataPolicy(WHOLE.retention), TENANT), T0)
    # A policy of something else sets no retention.
    await policies.set(THIRD, change(DataPolicy(advice=Advice((AdviceKind.ALL,))), TENANT), T0)
    await policies.set(Scope("acme", "caps"), change(DataPolicy(caps=WHOLE.caps)), T0)
    shop, blog, acme, other = Served("acme", "shop"), Served("acme", "blog"), Served("acme"), Served("other", "shop")
    kept = {acme: WHOLE.retention, shop: RetentionPeriods(trace_days=1), blog: RetentionPeriods(trace_days=2)}
    assert await policies.retained(SERVES_ALL) == {**kept, other: RetentionPeriods(trace_days=3)}
    assert await policies.retained(ACME) == kept
    assert await policies.retained(SHOP) == {acme: WHOLE.retention, shop: kept[shop]}
    assert await policies.retained(REST) == {
        acme: WHOLE.retention,
        blog: kept[blog],
        other: RetentionPeriods(trace_days=3),
    }
    # It follows each change.
    await policies.set(ONE, change(days(5)), T0)
    await policies.set(OTHER, change(DataPolicy(caps=WHOLE.caps)), T0)
    await policies.set(ONE, change(DataPolicy(), TENANT), T0)
    assert await open_policies().retained(ACME) == {shop: RetentionPeriods(trace_days=5)}


async def po8_who_has_a_policy(open_policies: OpenPolicies) -> None:
    policies = open_policies()
    assert await policies.deciding(SERVES_ALL) == frozenset()
    for scope in (ONE, OTHER, THIRD):
        await policies.set(scope, change(DataPolicy(caps=WHOLE.caps)), T0)
    await policies.set(ONE, change(days(1), TENANT), T0)
    shop, blog, acme, other = Served("acme", "shop"), Served("acme", "blog"), Served("acme"), Served("other", "shop")
    assert await policies.deciding(SERVES_ALL) == {shop, blog, acme, other}
    assert await policies.deciding(ACME) == {shop, blog, acme}
    assert await policies.deciding(SHOP) == {shop, acme}
    assert await policies.deciding(REST) == {acme, blog, other}
    await policies.set(ONE, change(DataPolicy()), T0)
    assert await open_policies().deciding(SHOP) == {acme}
