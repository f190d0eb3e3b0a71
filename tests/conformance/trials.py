"""What every adapter of the port `Trials` does, clause by clause.

Each test is given a function that opens the port on one empty store; called again, it gives another object on it.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from sidemirror_server.memory.trials.evidence import Arm, ArmTally
from sidemirror_server.memory.trials.trials import Settled, Trial, TrialResult, Trials
from sidemirror_server.trace.receipts import Receipt, ReceiptKind
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from tests.conformance.served import ACME, REST, SHOP

OpenTrials = Callable[[], Trials]

ONE, OTHER, THIRD = Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop")
T0 = 1_700_000_000_000_000
HELD = Arm.HELD_BACK


async def assign(trials: Trials, scope: Scope, receipt_id: str, assigned: Sequence[Trial], now_us: int) -> Receipt:
    """A receipt without items, with these trials."""
    return await trials.issue(scope, Receipt(receipt_id, ReceiptKind.MEMORY, now_us), assigned)


def drawn(memory_id: str, arm: Arm = Arm.SHOWN, fraction: float = 0.5, version: int = 1) -> Trial:
    return Trial(memory_id, version, arm, fraction)


async def counts(trials: Trials, memory_id: str, from_version: int = 1, scope: Scope = ONE) -> list[ArmTally]:
    found = await trials.tallies(scope, [(memory_id, from_version)])
    return list(found.get(memory_id, ()))


async def lt1_a_receipt_is_stored_with_its_trials_once(open_trials: OpenTrials) -> None:
    trials = open_trials()
    first = (drawn("a \U0001f642", HELD, 1 / 3, 7), drawn("b"))
    kept = await assign(trials, ONE, "r", first, T0)
    assert kept == Receipt("r", ReceiptKind.MEMORY, T0)
    later = [drawn("a \U0001f642", Arm.SHOWN, 0.1), drawn("b", HELD), drawn("c", HELD)]
    assert await assign(open_trials(), ONE, "r", later, T0 + 1) == kept
    assert await trials.of_receipt(ONE, "r") == first
    await assign(trials, ONE, "r2", [drawn("b", HELD)], T0)
    await assign(trials, ONE, "r3", [], T0)
    assert await trials.of_receipt(ONE, "r2") == (drawn("b", HELD),)
    racing = (assign(trials, ONE, "raced", [drawn("a", version=n), drawn("b", version=n)], T0 + n) for n in range(1, 9))
    (stored,) = set(await asyncio.gather(*racing))
    assert {one.version for one in await trials.of_receipt(ONE, "raced")} == {stored.time_us - T0}
    # Known before its receipt: trials outlive receipts.
    await trials.settle(ONE, "late", [Settled(drawn("a", HELD), succeeded=True)], T0)
    await assign(trials, ONE, "late", [drawn("a"), drawn("b")], T0)
    assert await trials.of_receipt(ONE, "late") == (drawn("a", HELD), drawn("b"))


async def lt2_a_receipts_trials_are_in_order(open_trials: OpenTrials) -> None:
    trials = open_trials()
    assert await trials.of_receipt(ONE, "r") == ()
    every = [drawn("é"), drawn("b", HELD), drawn("B"), drawn("a", version=3)]
    await assign(trials, ONE, "r", every, T0)
    await assign(trials, ONE, "R", [drawn("z")], T0)
    found = await open_trials().of_receipt(ONE, "r")
    assert [one.memory_id for one in found] == ["B", "a", "b", "é"]
    assert set(found) == set(every)


async def lt3_what_became_of_them_replaces_what_was_said(open_trials: OpenTrials) -> None:
    trials = open_trials()
    assigned = drawn("a", HELD, 0.25)
    await assign(trials, ONE, "r", [assigned], T0)
    assert await counts(trials, "a") == [ArmTally(HELD, 0.25, 1)]
    new = Trial("b", 4)
    told = [Settled(msgspec.structs.replace(assigned, arm=Arm.SHOWN, fraction=0.0), succeeded=False, returned=True)]
    await trials.settle(ONE, "r", [*told, Settled(new, succeeded=True)], T0 + 5)
    assert await counts(trials, "a") == [ArmTally(HELD, 0.25, 1, 0, 1, 1, 0)]
    assert await counts(trials, "b") == [ArmTally(Arm.SHOWN, 0.0, 1, 1, 0, 0, 0)]
    assert await trials.of_receipt(ONE, "r") == (assigned, new)
    await open_trials().settle(ONE, "r", [Settled(assigned, succeeded=True, returned=None)], T0 + 6)
    assert await counts(trials, "a") == [ArmTally(HELD, 0.25, 1, 1, 0, 0, 0)]
    await trials.settle(ONE, "r", [Settled(assigned, succeeded=True, returned=False)], T0 + 7)
    assert await counts(trials, "a") == [ArmTally(HELD, 0.25, 1, 1, 0, 0, 1)]
    many = [Settled(drawn(name), succeeded=True) for name in ("x", "y", "z")]
    await asyncio.gather(*(trials.settle(ONE, "raced", many[::step], T0) for step in (1, -1) * 4))
    assert [await counts(trials, name) for name in ("x", "y", "z")] == [[ArmTally(Arm.SHOWN, 0.5, 1, 1)]] * 3


async def lt4_tallies_count_by_fraction_and_arm_from_a_version(open_trials: OpenTrials) -> None:
    trials = open_trials()
    assert await trials.tallies(ONE, [("a", 1)]) == {}
    assert await trials.tallies(ONE, []) == {}
    places = ((1, Arm.SHOWN, 0.5), (1, HELD, 0.5), (2, Arm.SHOWN, 0.1), (2, Arm.SHOWN, 0.0), (3, HELD, 0.1))
    expected = {place: [0, 0, 0, 0, 0] for place in places}
    for number in range(70):
        version, arm, fraction = place = places[number % 5]
        trial = drawn("a", arm, fraction, version)
        await assign(trials, ONE, f"r{number}", [trial, drawn("b")], T0 + number)
        expected[place][0] += 1
        if number % 3:
            succeeded, returned = number % 4 == 0, (None, True, False, None, True)[number % 7 % 5]
            await trials.settle(ONE, f"r{number}", [Settled(trial, succeeded, returned)], T0 + number)
            expected[place][1 if succeeded else 2] += 1
            if returned is not None:
                expected[place][3 if returned else 4] += 1
    every = [
        ArmTally(arm, fraction, *found)
        for (_, arm, fraction), found in sorted(expected.items(), key=lambda one: (one[0][2], one[0][1].value))
    ]
    assert all(all(found) for found in expected.values()), "each of the counts is seen"
    assert await counts(trials, "a") == every
    assert await counts(open_trials(), "a", from_version=2) == every[:3]
    assert await counts(trials, "a", from_version=3) == every[1:2]
    assert await counts(trials, "a", from_version=4) == []
    both = await trials.tallies(ONE, [("b", 1), ("a", 3), ("none", 1)])
    assert both == {"b": (ArmTally(Arm.SHOWN, 0.5, 70),), "a": tuple(every[1:2])}


async def lt5_lessons_are_listed_downwards(open_trials: OpenTrials) -> None:
    trials = open_trials()
    assert await trials.lessons(ONE, None, 10) == ()
    names = ["a", "B", "é", "\U0001f642", "b", "z" * 128]
    for number in range(24):
        await assign(trials, ONE, f"r{number}", [drawn(names[number % 6]), drawn(names[number % 2])], T0)
    downwards = tuple(sorted(names, key=str.encode, reverse=True))
    assert await trials.lessons(ONE, None, 10) == downwards
    found: list[str] = []
    while page := await open_trials().lessons(ONE, found[-1] if found else None, 2):
        assert len(page) <= 2
        assert not set(page) & set(found)
        found += page
    assert tuple(found) == downwards


async def lt6_the_oldest_are_forgotten(open_trials: OpenTrials) -> None:
    trials = open_trials()
    for number, scope in enumerate((ONE, OTHER, THIRD, ONE)):
        await assign(trials, scope, f"r{number}", [drawn("a"), drawn("b")], T0 + number)
    await trials.settle(ONE, "r9", [Settled(Trial("a", 1), succeeded=True)], T0 + 9)
    assert await trials.forget(SERVES_ALL, T0, 10) == 0
    assert await trials.forget(SERVES_ALL, T0 + 3, 2) == 2
    assert [len(await trials.of_receipt(ONE, name)) for name in ("r0", "r3", "r9")] == [0, 2, 1]
    assert len(await trials.of_receipt(OTHER, "r1")) == 2
    assert await open_trials().forget(SERVES_ALL, T0 + 3, 10) == 4
    assert await trials.lessons(OTHER, None, 10) == await trials.lessons(THIRD, None, 10) == ()
    assert await counts(trials, "a") == [ArmTally(Arm.SHOWN, 0.0, 1, 1), ArmTally(Arm.SHOWN, 0.5, 1)]
    assert await trials.forget(SERVES_ALL, T0 + 3, 10) == 0


async def lt7_scopes_never_meet(open_trials: OpenTrials) -> None:
    trials = open_trials()
    for number, scope in enumerate((ONE, OTHER, THIRD), start=1):
        await assign(trials, scope, "r", [drawn("a", version=number)], T0)
        assert await trials.of_receipt(scope, "r") == (drawn("a", version=number),)
    await assign(trials, OTHER, "only", [drawn("b")], T0)
    await trials.settle(ONE, "r", [Settled(drawn("a"), succeeded=True)], T0)
    assert await counts(trials, "a") == [ArmTally(Arm.SHOWN, 0.5, 1, 1)]
    for scope in (OTHER, THIRD):
        assert await counts(trials, "a", scope=scope) == [ArmTally(Arm.SHOWN, 0.5, 1)]
    assert await trials.of_receipt(ONE, "only") == ()
    assert await trials.lessons(ONE, None, 10) == ("a",)
    assert await trials.lessons(OTHER, None, 10) == ("b", "a")
    assert await counts(trials, "b") == []


async def lt8_trials_of_others_stay(open_trials: OpenTrials) -> None:
    trials = open_trials()
    for number, scope in enumerate((OTHER, THIRD, ONE, ONE)):
        await assign(trials, scope, f"r{number}", [drawn("a")], T0 + number)
    # What others have is older, and there is no room for it in the limit.
    assert await trials.forget(SHOP, T0 + 9, 1) == 1
    assert [len(await trials.of_receipt(ONE, name)) for name in ("r2", "r3")] == [0, 1]
    assert await trials.forget(SHOP, T0 + 9, 9) == 1
    assert len(await trials.of_receipt(OTHER, "r0")) == len(await trials.of_receipt(THIRD, "r1")) == 1
    assert await trials.forget(ACME, T0 + 9, 9) == 1
    assert len(await trials.of_receipt(THIRD, "r1")) == 1
    assert await trials.forget(REST, T0 + 9, 9) == 1


async def lt9_what_came_of_the_trials_of_receipts(open_trials: OpenTrials) -> None:
    trials = open_trials()
    assert await trials.results(ONE, ["r1"]) == {}
    await assign(trials, ONE, "r1", [drawn("b"), drawn("a", Arm.HELD_BACK)], T0)
    await assign(trials, ONE, "r2", [drawn("a")], T0)
    await assign(trials, OTHER, "r3", [drawn("a")], T0)
    await trials.settle(ONE, "r1", [Settled(drawn("b"), succeeded=False, returned=True)], T0)
    first = (TrialResult(drawn("a", Arm.HELD_BACK)), TrialResult(drawn("b"), succeeded=False, returned=True))
    assert await open_trials().results(ONE, ["r2", "r1", "r3", "R1"]) == {"r1": first, "r2": (TrialResult(drawn("a")),)}
    assert await trials.results(ONE, ["R1"]) == await trials.results(ONE, []) == {}
