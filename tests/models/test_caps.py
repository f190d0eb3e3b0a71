"""Whose caps hold, whose spending they count, what a caller is told of them, and what the log says."""

import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidemirror_server.assembly.models import caps_of
from sidemirror_server.models.caps import NO_CAP, CapOwner, Caps, in_words, owner_of, tightest
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.models.ledger import Level, Refusal
from sidemirror_server.models.spending import CapState
from sidemirror_server.policy.record import Cap, DataPolicy, PolicyLevel, RetentionPeriods, ScopePolicies, StoredPolicy
from sidemirror_server.settings import load
from sidemirror_server.storage.sqlite.ledger import SqliteLedger
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope, serves_listed
from tests.models.gateways import SCOPE, desk, question, usd
from tests.policy.made import change

REFLECTION, DREAMING = Purpose.MID_TURN_REFLECTION, Purpose.DREAMING
UNTIL_US = 20_001 * 86_400_000_000
SIBLING, FOREIGN = Scope(SCOPE.tenant_id, "sibling"), Scope("foreign", "p")


def stored(**caps: Cap) -> StoredPolicy:
    return StoredPolicy(DataPolicy(caps={name.replace("all", ""): cap for name, cap in caps.items()}), 1, "ops", 0)


def test_every_cap_counts_for_its_owner() -> None:
    policies = ScopePolicies(stored(all=Cap(1), dreaming=Cap(2)), stored(all=Cap(3), mid_turn_reflection=Cap(4)))
    caps = Caps(Cap(5), Cap(6), Cap(7), {REFLECTION: Cap(8)}, counted=Level.TENANT)
    told = [(one.owner.value, one.level, one.cap.tokens) for one in caps.of(REFLECTION, policies)]
    assert told == [
        ("project", Level.PROJECT, 1),
        *(("tenant", Level.TENANT, 3), ("tenant", Level.TENANT_PURPOSE, 4)),
        *(("sidecar", Level.PROJECT, 7), ("sidecar", Level.TENANT, 6)),
        *(("sidecar", Level.TENANT, 5), ("sidecar", Level.TENANT_PURPOSE, 8)),
    ]
    assert tightest(caps.of(REFLECTION, policies)) == {
        Level.PROJECT: Cap(1),
        Level.TENANT: Cap(3),
        Level.TENANT_PURPOSE: Cap(4),
    }
    assert Caps().of(DREAMING, ScopePolicies()) == ()


def test_the_tightest_of_each_unit() -> None:
    policies = ScopePolicies(project=stored(all=Cap(tokens=10, nano_usd=9)))
    caps = Caps(project=Cap(nano_usd=5)).of(REFLECTION, policies)
    assert tightest(caps) == {Level.PROJECT: Cap(10, 5)}
    for unit, limit, owner in (("tokens", 10, CapOwner.PROJECT), ("nano_usd", 5, CapOwner.SIDECAR)):
        assert owner_of(Refusal(Level.PROJECT, unit, limit, 0, 99, UNTIL_US), caps) is owner
    assert owner_of(Refusal(Level.TENANT, "tokens", 3, 0, 99, UNTIL_US), Caps(tenant=Cap(3)).of(REFLECTION, policies))


@pytest.mark.parametrize(
    ("serves", "counted"),
    [
        ("", Level.TOTAL),
        ("*", Level.TOTAL),
        ("acme/*, globex/shop", Level.TOTAL),
        ("acme/*", Level.TENANT),
        ("acme/shop", Level.PROJECT),
    ],
)
def test_whose_spending_the_settings_count(serves: str, counted: Level) -> None:
    """A sidecar of one team counts what this team spends, and not what others do in the same store."""
    assert caps_of(load({}, {}), serves_listed(serves)).counted is counted


@pytest.mark.parametrize(
    ("level", "owner", "told"),
    [
        (Level.TOTAL, CapOwner.SIDECAR, "the cap of this sidecar is reached for a call that may take up to 30 tokens"),
        (
            *(Level.PURPOSE, CapOwner.SIDECAR),
            "the cap of this sidecar for dreaming is reached for a call that may take up to 30 tokens",
        ),
        (Level.TENANT, CapOwner.SIDECAR, "the cap of this sidecar on tenant acme is 20 tokens a day, 10 tokens are"),
        (Level.TENANT, CapOwner.TENANT, "the cap of tenant acme is 20 tokens a day, 10 tokens are"),
        (Level.TENANT_PURPOSE, CapOwner.TENANT, "the cap of tenant acme for dreaming is 20 tokens a day"),
        (Level.PROJECT, CapOwner.PROJECT, "the cap of project shop is 20 tokens a day"),
        (Level.PROJECT_PURPOSE, CapOwner.PROJECT, "the cap of project shop for dreaming is 20 tokens a day"),
    ],
)
def test_a_cap_on_everybody_tells_nothing_of_others(level: Level, owner: CapOwner, told: str) -> None:
    said = in_words(Refusal(level, "tokens", 20, 10, 30, UNTIL_US), owner, Scope("acme", "shop"), DREAMING)
    assert said.startswith(told)
    assert said.endswith("; until 2024-10-05T00:00:00Z")
    assert ("10 tokens" in said) is (level not in (Level.TOTAL, Level.PURPOSE))


async def test_caps_of_policies_hold_for_whom_they_are_set(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A tenant's cap counts all its projects, and no others'. One line a day, cap and purpose says that it is
    reached."""
    caplog.set_level(logging.WARNING)
    once = Cap(tokens=2_500)
    async with desk(tmp_path) as made:
        of_tenant = change(DataPolicy(caps={"": once}), PolicyLevel.TENANT)
        await made.policies.set(SCOPE, of_tenant, made.clock.now_us())
        await made.gateway.ask(SCOPE, question(), 10.0)
        for scope in (SCOPE, SIBLING, SCOPE):
            with pytest.raises(ModelFailed, match=f"the cap of tenant {SCOPE.tenant_id} is"):
                await made.gateway.ask(scope, question(1), 10.0)
        await made.gateway.ask(FOREIGN, question(), 10.0)
        with pytest.raises(ModelFailed):
            await made.gateway.ask(SCOPE, msgspec.structs.replace(question(), purpose=DREAMING), 10.0)
        (state,) = await made.spending.caps(SIBLING)
        assert (state.owner, state.level, state.purpose, state.cap) == (CapOwner.TENANT, Level.TENANT, "", once)
        assert state.used.tokens > 0
        assert await made.spending.caps(FOREIGN) == ()
    lines = [vars(record) for record in caplog.records if record.message == "spend_cap_reached"]
    assert [(line["tenant_id"], line["purpose"], line["owner"]) for line in lines] == [
        (SCOPE.tenant_id, purpose.value, "tenant") for purpose in (REFLECTION, DREAMING)
    ]
    assert {line["levelname"] for line in lines} == {"WARNING"}
    assert [lines[0][name] for name in ("limit", "used")] == ["2500 tokens", "1100 tokens"]


async def test_the_ledger_is_asked_once_about_a_cap_on_all_purposes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And once about a purpose that has a cap of its own. Seen to fail when it is asked for each purpose."""
    asked: list[str] = []
    used = SqliteLedger.used

    async def counted(ledger: SqliteLedger, scope: Scope, purpose: str, *more: Any) -> Any:
        asked.append(purpose)
        return await used(ledger, scope, purpose, *more)

    monkeypatch.setattr(SqliteLedger, "used", counted)
    async with desk(tmp_path) as made:
        policy = change(DataPolicy(caps={"": Cap(5), DREAMING.value: Cap(6)}), PolicyLevel.TENANT)
        await made.policies.set(SCOPE, policy, made.clock.now_us())
        assert [state.purpose for state in await made.spending.caps(SCOPE)] == ["", DREAMING.value]
    assert len(asked) == 2
    assert asked.count(DREAMING.value) == 1


async def test_a_cap_that_is_too_small_for_one_more_question(tmp_path: Path) -> None:
    """It is told while it prevents questions, although it is not used up, and no more once one fits. Seen to fail when
    nobody is told of refusals, and when a question that fits changes nothing."""
    async with desk(tmp_path) as made:

        async def state() -> CapState:
            (one,) = [one for one in await made.spending.caps(SCOPE) if one.owner is CapOwner.TENANT]
            return one

        async def capped(tokens: int) -> None:
            of_tenant = change(DataPolicy(caps={"": Cap(tokens=tokens)}), PolicyLevel.TENANT)
            await made.policies.set(SCOPE, of_tenant, made.clock.now_us())

        await capped(2_500)
        await made.gateway.ask(SCOPE, question(), 10.0)
        assert (await state()).refused == 0
        for number in (1, 2):
            with pytest.raises(ModelFailed):
                await made.gateway.ask(SCOPE, question(number), 10.0)
        dream = msgspec.structs.replace(question(3), purpose=DREAMING)
        with pytest.raises(ModelFailed):
            await made.gateway.ask(SIBLING, dream, 10.0)
        told = await state()
        assert (told.refused, told.wanted.nano_usd) == (3, 0)
        assert told.used.tokens < 2_500 < told.used.tokens + told.wanted.tokens
        await capped(20_000)
        await made.gateway.ask(SCOPE, question(4), 10.0)
        assert (await state()).refused == 1, "the dream has not been asked for again"
        await made.gateway.ask(SIBLING, dream, 10.0)
        assert (await state()).refused == 0


async def test_of_two_caps_on_the_same_the_tighter_is_told(tmp_path: Path) -> None:
    """Seen to fail: where the cap in total counts the tenant, that on each tenant was not told beside it."""
    for total, tenant in ((2_000, 1_000), (1_000, 2_000)):
        caps = Caps(Cap(tokens=total, nano_usd=7), Cap(tokens=tenant), counted=Level.TENANT)
        async with desk(tmp_path / str(total), caps=caps) as made:
            (state,) = await made.spending.caps(SCOPE)
            assert state.cap == Cap(1_000, 7)


@pytest.mark.parametrize(
    ("serves", "counted"),
    [("", Level.TENANT), ("*", Level.TENANT), ("acme/*, globex/*", Level.TOTAL), ("acme/shop", Level.PROJECT)],
)
def test_whose_spending_the_settings_count_where_a_store_adds_up_no_tenants(serves: str, counted: Level) -> None:
    assert caps_of(load({}, {}), serves_listed(serves)).apart().counted is counted


async def test_caps_of_other_scopes_that_prevent_questions(tmp_path: Path) -> None:
    """The one that prevents most first, and none that was raised since. Seen to fail when caps in force are not asked
    for, and when purposes of one cap are two caps."""
    async with desk(tmp_path) as made:

        async def capped(scope: Scope, tokens: int, level: PolicyLevel) -> None:
            policy = change(DataPolicy(caps={"": Cap(tokens=tokens)}), level)
            await made.policies.set(scope, policy, made.clock.now_us())

        async def refused(scope: Scope, purpose: Purpose) -> None:
            with pytest.raises(ModelFailed):
                await made.gateway.ask(scope, msgspec.structs.replace(question(), purpose=purpose), 10.0)

        async def told(most: int = 9) -> list[tuple[str, CapOwner, int, int]]:
            found = await made.spending.refusing(lambda level, scope: scope != SIBLING, most)
            return [(scope.tenant_id, state.owner, state.refused, state.cap.tokens or 0) for scope, state in found]

        assert await told() == []
        await capped(SCOPE, 1_000, PolicyLevel.PROJECT)
        await capped(FOREIGN, 2_000, PolicyLevel.TENANT)
        await refused(SCOPE, REFLECTION)
        for purpose in (REFLECTION, DREAMING):
            await refused(FOREIGN, purpose)
        await capped(SIBLING, 1_000, PolicyLevel.PROJECT)
        await refused(SIBLING, REFLECTION)
        both = [(FOREIGN.tenant_id, CapOwner.TENANT, 2, 2_000), (SCOPE.tenant_id, CapOwner.PROJECT, 1, 1_000)]
        assert await told() == both
        assert await told(most=1) == both[:1]
        ((_, state),) = await made.spending.refusing(lambda _, scope: scope == SCOPE, 9)
        assert state.used.tokens == 0 < state.wanted.tokens
        await capped(FOREIGN, 20_000, PolicyLevel.TENANT)
        assert await told() == both[1:]


async def test_what_a_policy_says_of_one_purpose(tmp_path: Path) -> None:
    async with desk(tmp_path, caps=Caps(total=usd(5.0))) as made:
        nothing = DataPolicy(RetentionPeriods(), {"dreaming": Cap(nano_usd=0)})
        await made.policies.set(SCOPE, change(nothing), made.clock.now_us())
        await made.gateway.ask(SCOPE, question(), 10.0)
        dream = msgspec.structs.replace(question(), purpose=DREAMING)
        with pytest.raises(
            ModelFailed, match=f"the cap of project {SCOPE.project_id} for dreaming is 0.0000 USD a day"
        ):
            await made.gateway.ask(SCOPE, dream, 10.0)
        await made.gateway.ask(SIBLING, dream, 10.0)
    assert Cap() == NO_CAP
