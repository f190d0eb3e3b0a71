"""What every adapter of the port `Ledger` does, clause by clause.

Each test is given a function that opens the port on one empty store; called again, it gives another object on it.
"""

import asyncio
from collections.abc import Callable, Mapping

from sidemirror_server.models.ledger import Amount, Ledger, Level, Refusal, Reservation, ScopeCost, Spend
from sidemirror_server.policy.record import Cap
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Served, Serves, serves_listed
from tests.conformance.served import ACME, REST, SHOP

OpenLedger = Callable[[], Ledger]

ONE, OTHER, THIRD = Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop")
DAY = 19_675
DAY_US = 86_400_000_000
T0 = DAY * DAY_US + 5_000_000
USD = 1_000_000_000
TEN_CENTS = Amount(1_000, USD // 10)
NO_CAPS: Mapping[Level, Cap] = {}
ONE_DOLLAR = {Level.TOTAL: Cap(nano_usd=USD)}


async def reserve(
    ledger: Ledger,
    caps: Mapping[Level, Cap] = NO_CAPS,
    scope: Scope = ONE,
    purpose: str = "reflect",
    most: Amount = TEN_CENTS,
    now_us: int = T0,
) -> Reservation | Refusal:
    return await ledger.reserve(scope, purpose, most, caps, 30.0, now_us)


async def reserved(ledger: Ledger, scope: Scope = ONE, purpose: str = "reflect", now_us: int = T0) -> Reservation:
    given = await reserve(ledger, scope=scope, purpose=purpose, now_us=now_us)
    assert isinstance(given, Reservation)
    return given


async def le1_what_is_reserved_is_spent(open_ledger: OpenLedger) -> None:
    given = await reserve(open_ledger(), ONE_DOLLAR)
    assert isinstance(given, Reservation)
    assert (given.scope, given.purpose, given.day, given.most) == (ONE, "reflect", DAY, TEN_CENTS)
    used = await open_ledger().used(ONE, "reflect", DAY)
    assert used == dict.fromkeys(Level, TEN_CENTS)
    assert await open_ledger().spent(ONE, DAY, T0) == (
        Spend(DAY, "reflect", 1, settled=Amount(), in_flight=TEN_CENTS, orphaned=Amount()),
    )


async def le2_callers_at_once_stay_within_the_cap(open_ledger: OpenLedger) -> None:
    ledgers = open_ledger(), open_ledger()
    calls = [reserve(ledgers[number % 2], ONE_DOLLAR) for number in range(200)]
    given = await asyncio.gather(*calls)
    assert sum(isinstance(one, Reservation) for one in given) == 10
    assert (await ledgers[0].used(ONE, "reflect", DAY))[Level.TOTAL].nano_usd == USD


async def le3_a_refusal_takes_nothing_and_names_the_cap(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    await reserved(ledger)
    until_us = (DAY + 1) * DAY_US
    tight = Cap(tokens=1_999, nano_usd=USD // 10)
    for level in reversed(Level):
        given = await reserve(ledger, {Level.PROJECT_PURPOSE: tight, level: tight})
        assert given == Refusal(level, "tokens", 1_999, 1_000, 1_000, until_us)
    given = await reserve(ledger, {Level.TENANT: Cap(2_000, USD // 5 - 1)})
    assert given == Refusal(Level.TENANT, "nano_usd", USD // 5 - 1, USD // 10, USD // 10, until_us)
    assert (await ledger.used(ONE, "reflect", DAY))[Level.TOTAL] == TEN_CENTS
    assert (await ledger.spent(ONE, DAY, T0))[0].calls == 1
    assert isinstance(await reserve(ledger, {Level.TENANT: Cap(2_000, USD // 5)}), Reservation)


async def le4_each_level_counts_what_is_its_own(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    for scope, purpose in ((ONE, "reflect"), (ONE, "dream"), (OTHER, "reflect"), (THIRD, "reflect"), (THIRD, "dream")):
        await reserved(ledger, scope, purpose)
    used = await ledger.used(ONE, "reflect", DAY)
    tokens = {level: used[level].tokens for level in Level}
    assert tokens == {
        Level.TOTAL: 5_000,
        Level.TENANT: 3_000,
        Level.PROJECT: 2_000,
        Level.PURPOSE: 3_000,
        Level.TENANT_PURPOSE: 2_000,
        Level.PROJECT_PURPOSE: 1_000,
    }
    for level, limit in tokens.items():
        assert isinstance(await reserve(ledger, {level: Cap(tokens=limit + 999)}), Refusal)
    assert isinstance(await reserve(ledger, {Level.PROJECT: Cap(tokens=3_000)}), Reservation)


async def le5_settling_puts_what_it_took_in_its_place(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    less, more = await reserved(ledger), await reserved(ledger)
    assert await open_ledger().settle(less, Amount(300, 7))
    assert await ledger.settle(more, Amount(1_500, USD))
    assert await ledger.used(ONE, "reflect", DAY) == dict.fromkeys(Level, Amount(1_800, USD + 7))
    await reserved(ledger)
    (spend,) = await ledger.spent(ONE, DAY, T0)
    assert (spend.calls, spend.settled, spend.in_flight) == (3, Amount(1_800, USD + 7), TEN_CENTS)


async def le6_a_reservation_is_settled_once(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    one = await reserved(ledger)
    both = await asyncio.gather(ledger.settle(one, Amount(1, 1)), open_ledger().settle(one, Amount(2, 2)))
    assert sorted(both) == [False, True]
    before = await ledger.used(ONE, "reflect", DAY)
    unknown = Reservation("unknown", ONE, "reflect", DAY, TEN_CENTS)
    assert await ledger.settle(unknown, Amount()) is False
    another = await reserved(ledger)
    elsewhere = Reservation(another.reservation_id, OTHER, "reflect", DAY, TEN_CENTS)
    assert await ledger.settle(elsewhere, Amount()) is False
    assert (await ledger.used(ONE, "reflect", DAY))[Level.TOTAL].tokens == before[Level.TOTAL].tokens + 1_000


async def le7_what_is_never_settled_stays_spent(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    await reserved(ledger)
    lease_us = 30_000_000
    (spend,) = await open_ledger().spent(ONE, DAY, T0 + lease_us - 1)
    assert (spend.in_flight, spend.orphaned) == (TEN_CENTS, Amount())
    (spend,) = await open_ledger().spent(ONE, DAY, T0 + lease_us)
    assert (spend.in_flight, spend.orphaned) == (Amount(), TEN_CENTS)
    tight = {Level.TOTAL: Cap(tokens=1_000)}
    assert isinstance(await reserve(open_ledger(), tight, now_us=T0 + 3_600_000_000), Refusal)


async def le8_a_day_ends_at_midnight(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    midnight_us = (DAY + 1) * DAY_US
    one = {Level.TOTAL: Cap(tokens=1_000)}
    first = await reserve(ledger, one)
    assert isinstance(first, Reservation)
    assert isinstance(await reserve(ledger, one, now_us=midnight_us - 1), Refusal)
    second = await reserve(ledger, one, now_us=midnight_us)
    assert isinstance(second, Reservation)
    assert second.day == DAY + 1
    await ledger.settle(first, Amount(10, 10))
    assert (await ledger.used(ONE, "reflect", DAY))[Level.TOTAL] == Amount(10, 10)
    assert (await ledger.used(ONE, "reflect", DAY + 1))[Level.TOTAL] == TEN_CENTS


async def le9_spent_has_one_entry_per_day_and_purpose(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    assert await ledger.spent(ONE, 0, T0) == ()
    for days, purpose in ((0, "b"), (1, "b"), (1, "a"), (2, "a"), (2, "b"), (2, "b")):
        await reserved(ledger, ONE, purpose, T0 + days * DAY_US)
    for scope in (OTHER, THIRD):
        await reserved(ledger, scope, "c", T0 + DAY_US)
    later_us = T0 + 2 * DAY_US
    found = [(spend.day - DAY, spend.purpose, spend.calls) for spend in await ledger.spent(ONE, DAY + 1, later_us)]
    assert found == [(2, "a", 1), (2, "b", 2), (1, "a", 1), (1, "b", 1)]
    assert [spend.purpose for spend in await ledger.spent(THIRD, 0, later_us)] == ["c"]


async def le10_old_days_are_forgotten(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    assert await ledger.forget(SERVES_ALL, DAY, 10, T0) == 0
    places = ((0, ONE, "a"), (0, OTHER, "a"), (1, THIRD, "a"), (1, ONE, "b"), (2, ONE, "a"), (3, ONE, "a"))
    given = [await reserved(ledger, scope, purpose, T0 + days * DAY_US) for days, scope, purpose in places]
    later_us = T0 + 3 * DAY_US

    async def days_of(scope: Scope) -> list[int]:
        return [spend.day - DAY for spend in await open_ledger().spent(scope, 0, later_us)]

    # The oldest first, whosever they are.
    assert await ledger.forget(SERVES_ALL, DAY + 2, 3, later_us) == 3
    assert await days_of(OTHER) == []
    assert sorted(await days_of(ONE) + await days_of(THIRD)) == [1, 2, 3]
    assert await ledger.forget(SERVES_ALL, DAY + 2, 3, later_us) == 1
    assert (await days_of(ONE), await days_of(THIRD)) == ([3, 2], [])
    # Nothing is left of those days, also not what was never settled.
    for day in (DAY, DAY + 1):
        assert await ledger.used(ONE, "a", day) == dict.fromkeys(Level, Amount())
    assert await ledger.settle(given[0], Amount()) is False
    # Neither the day from which on they are kept nor today, whatever is asked for.
    assert await ledger.forget(SERVES_ALL, DAY + 2, 3, later_us) == 0
    assert await ledger.forget(SERVES_ALL, DAY + 9, 3, later_us) == 1
    assert await days_of(ONE) == [3]
    assert await ledger.used(ONE, "a", DAY + 3) == dict.fromkeys(Level, TEN_CENTS)
    assert await ledger.settle(given[-1], Amount(1, 1))
    # Nothing is left of the project's day, though another project still has that day.
    own, others = [await reserved(ledger, scope, "a", T0 + 2 * DAY_US) for scope in (ONE, OTHER)]
    assert await ledger.forget(SHOP, DAY + 3, 9, later_us) == 1
    left = await ledger.used(ONE, "a", DAY + 2)
    assert (left[Level.PROJECT], left[Level.PROJECT_PURPOSE]) == (Amount(), Amount())
    assert await ledger.settle(own, Amount()) is False
    assert await ledger.settle(others, Amount(1, 1))


async def le11_what_others_spent_stays(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    for days, scope in enumerate((OTHER, THIRD, ONE, ONE)):
        await reserved(ledger, scope, "a", T0 + days * DAY_US)
    await reserved(ledger, ONE, "a", T0)
    later_us = T0 + 9 * DAY_US

    async def days_of(scope: Scope) -> list[int]:
        return [spend.day - DAY for spend in await open_ledger().spent(scope, 0, later_us)]

    # Others' days are as old, and there is no room for them in the limit.
    assert await ledger.forget(SHOP, DAY + 9, 2, later_us) == 2
    assert (await days_of(ONE), await days_of(OTHER), await days_of(THIRD)) == ([3], [0], [1])
    assert await ledger.forget(SHOP, DAY + 9, 2, later_us) == 1
    # A day that another has spent on is still summed up.
    assert (await ledger.used(OTHER, "a", DAY))[Level.TENANT].tokens > 0
    assert (await ledger.used(THIRD, "a", DAY + 1))[Level.PURPOSE].tokens > 0
    assert await ledger.used(ONE, "a", DAY + 3) == dict.fromkeys(Level, Amount())
    assert await ledger.forget(ACME, DAY + 9, 9, later_us) == 1
    assert (await days_of(OTHER), await days_of(THIRD)) == ([], [1])
    assert await ledger.forget(REST, DAY + 9, 9, later_us) == 1


async def le12_what_is_excepted_stays(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    for days, scope in enumerate((OTHER, THIRD, ONE)):
        await reserved(ledger, scope, "a", T0 + days * DAY_US)
    later_us, before = T0 + 9 * DAY_US, DAY + 9

    async def days_of(scope: Scope) -> list[int]:
        return [spend.day - DAY for spend in await open_ledger().spent(scope, 0, later_us)]

    # What is excepted is older, and there is no room for it in the limit.
    assert await ledger.forget(SERVES_ALL, before, 1, later_us, (Served("acme", "blog"), Served("other"))) == 1
    assert [await days_of(scope) for scope in (ONE, OTHER, THIRD)] == [[], [0], [1]]
    assert await ledger.forget(ACME, before, 9, later_us, (Served("acme", "blog"),)) == 0
    assert await ledger.forget(SERVES_ALL, before, 9, later_us, (Served("acme"),)) == 1
    assert [await days_of(scope) for scope in (OTHER, THIRD)] == [[0], []]
    assert (await ledger.used(OTHER, "a", DAY))[Level.TENANT].tokens > 0
    assert await ledger.forget(ACME, before, 9, later_us, (Served("acme", "shop"), Served("other", "blog"))) == 1


async def le13_a_list_of_scopes_counts_its_own(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    for scope, purpose in ((ONE, "reflect"), (ONE, "dream"), (OTHER, "reflect"), (THIRD, "reflect"), (THIRD, "dream")):
        await reserved(ledger, scope, purpose)
    both = serves_listed("acme/*, other/blog, other/shop")
    for serves, of_all, of_one in (
        (REST, 3_000, 2_000),
        (SHOP, 2_000, 1_000),
        (ACME, 3_000, 2_000),
        (both, 5_000, 3_000),
    ):
        used = await ledger.used(OTHER, "reflect", DAY, serves)
        assert (used[Level.TOTAL].tokens, used[Level.PURPOSE].tokens) == (of_all, of_one), serves
        assert (used[Level.TENANT].tokens, used[Level.PROJECT].tokens) == (3_000, 1_000)
    for limit, kind in ((3_999, Refusal), (4_000, Reservation)):
        caps = {Level.TOTAL: Cap(tokens=limit)}
        assert isinstance(await ledger.reserve(OTHER, "reflect", TEN_CENTS, caps, 30.0, T0, REST), kind)
    assert (await ledger.used(OTHER, "reflect", DAY))[Level.PROJECT].tokens == 2_000


async def le14_estimates_are_told_apart(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    known, guess, free = [await reserved(ledger) for _ in range(3)]
    assert await ledger.settle(known, Amount(300, 7))
    assert await ledger.settle(guess, Amount(200, 5), is_estimate=True)
    assert await ledger.settle(free, Amount(40, 0), is_estimate=True)
    assert await ledger.settle(free, Amount(40, 0), is_estimate=True) is False
    await reserved(ledger, OTHER)
    assert await open_ledger().spent(ONE, DAY, T0) == (
        Spend(DAY, "reflect", 3, Amount(540, 12), Amount(), Amount(), unanswered=2, estimated=Amount(240, 5)),
    )
    assert (await ledger.used(ONE, "reflect", DAY))[Level.PROJECT] == Amount(540, 12)
    assert [spend.unanswered for spend in await ledger.spent(OTHER, DAY, T0)] == [0]


async def le15_costs_are_summed_up(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    assert await ledger.costs(SERVES_ALL, 0, DAY, DAY, 9) == ()
    places = ((0, ONE, "a"), (1, ONE, "a"), (1, ONE, "b"), (1, THIRD, "a"), (2, OTHER, "a"), (3, ONE, "a"))
    given = [await reserved(ledger, scope, purpose, T0 + days * DAY_US) for days, scope, purpose in places]
    assert await ledger.settle(given[1], Amount(300, 7))
    assert await ledger.settle(given[2], Amount(20, 5), is_estimate=True)
    of_one = ScopeCost(ONE, 3, Amount(320, 12), TEN_CENTS, 1, Amount(20, 5))
    others = [ScopeCost(scope, 1, Amount(), TEN_CENTS, 0, Amount()) for scope in (OTHER, THIRD)]
    # Both ends are among the days.
    assert await open_ledger().costs(SERVES_ALL, DAY, DAY + 2, DAY + 9, 9) == (others[0], of_one, others[1])
    assert await ledger.costs(SERVES_ALL, DAY, DAY + 2, DAY + 9, 2) == (others[0], of_one)
    assert await ledger.costs(SERVES_ALL, DAY + 2, DAY + 2, DAY + 9, 9) == (others[0],)
    assert await ledger.costs(SERVES_ALL, DAY + 4, DAY + 9, DAY, 9) == ()
    assert await ledger.costs(SHOP, DAY, DAY + 2, DAY + 9, 9) == (of_one,)
    assert await ledger.costs(ACME, DAY, DAY + 2, DAY + 9, 9) == (others[0], of_one)
    # What counts today: within the days, after them and before them.
    for first, last, today in (
        (DAY, DAY + 2, DAY),
        (DAY, DAY + 2, DAY + 1),
        (DAY + 2, DAY + 3, DAY + 1),
        (DAY, DAY, DAY + 3),
    ):
        told = {one.scope: one.today for one in await ledger.costs(SERVES_ALL, first, last, today, 9)}
        spent = {DAY: TEN_CENTS, DAY + 1: Amount(320, 12), DAY + 3: TEN_CENTS}
        assert told[ONE] == spent[today], today
        assert told.get(OTHER, Amount()) == Amount()
    assert [one.scope for one in await ledger.costs(SERVES_ALL, DAY, DAY, DAY + 1, 9)] == [ONE]
    # A token may be good for a project of each tenant, and for all projects of one.
    overlap = Serves((Served("other", "shop"), Served(None, "shop"), Served("acme")))
    assert await ledger.costs(overlap, DAY, DAY + 2, DAY + 9, 9) == (others[0], of_one, others[1])
    assert await ledger.costs(overlap, DAY, DAY + 2, DAY + 9, 2) == (others[0], of_one)
