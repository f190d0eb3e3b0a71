"""What every adapter of the port `Critiques` does, clause by clause.

Each test is given a function that opens the port on one empty store; called again, it gives another object on it.
"""

import asyncio
import random
from collections.abc import Callable

import msgspec
import pytest

from sidemirror_server.critique.flips import Reported
from sidemirror_server.critique.record import CritiqueOutcome
from sidemirror_server.critique.statistics import DAY_US, HOUR_US
from sidemirror_server.critique.store import CritiqueKey, CritiqueRecord, Critiques, Verdicts
from sidemirror_server.vocabulary.errors import NotFound
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Served
from tests.conformance.figures import Counted, figures_of
from tests.conformance.served import ACME, REST, SHOP

OpenCritiques = Callable[[], Critiques]

ONE, OTHER, THIRD = Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop")
# The beginning of a day.
T0 = 19_675 * DAY_US


def critique(critique_id: str, at_us: int = T0, **fields: object) -> CritiqueRecord:
    record = CritiqueRecord(critique_id, at_us, "rules", 500_000, False, "", "", b"{}")
    return msgspec.structs.replace(record, **fields)


def counted(record: CritiqueRecord) -> Counted:
    """What of a record is counted."""
    succeeded = None if record.outcome is None else record.outcome.outcome == "success"
    return Counted(record.created_us, record.provider, record.confidence_ppm, record.revise, succeeded)


def varied(size: int, seed: int = 1) -> list[CritiqueRecord]:
    """Records that differ in everything that is counted, over three days."""
    chance = random.Random(seed)
    return [
        critique(
            f"c{number:06}",
            T0 + chance.randrange(3 * DAY_US),
            provider=chance.choice(["rules", "anthropic", "openai_compatible"]),
            confidence_ppm=chance.choice([None, 0, 1_000_000, *(chance.randrange(1_000_000) for _ in range(5))]),
            revise=chance.random() < 0.2,
            outcome=chance.choice(
                [
                    None,
                    CritiqueOutcome("success", 1.0, 5),
                    CritiqueOutcome("failure", None, 6),
                    CritiqueOutcome("partial"),
                ]
            ),
        )
        for number in range(size)
    ]


async def fill(critiques: Critiques, scope: Scope, records: list[CritiqueRecord]) -> None:
    kept = [critiques.keep(scope, msgspec.structs.replace(record, outcome=None)) for record in records]
    await asyncio.gather(*kept)
    for record in records:
        if record.outcome is not None:
            await critiques.report(scope, record.critique_id, record.outcome)


async def cr1_the_first_of_an_id_is_kept(open_critiques: OpenCritiques) -> None:
    critiques = open_critiques()
    first = critique("Grüße \U0001f642", provider="p", confidence_ppm=None, revise=True, body=bytes(range(256)))
    assert await critiques.keep(ONE, first) == first
    assert await open_critiques().keep(ONE, critique(first.critique_id, T0 + 9, turn_id="t")) == first
    assert await critiques.get(ONE, first.critique_id) == first
    assert await critiques.list(ONE, None, None, None, 10) == (first,)
    racing = [critique("raced", body=b"%d" % number) for number in range(8)]
    assert len({one.body for one in await asyncio.gather(*(critiques.keep(ONE, one) for one in racing))}) == 1


async def cr2_get_of_an_unknown_id(open_critiques: OpenCritiques) -> None:
    critiques = open_critiques()
    assert await critiques.get(ONE, "c") is None
    await critiques.keep(ONE, critique("c"))
    assert await critiques.get(ONE, "C") is None
    assert await critiques.get(ONE, "c") == critique("c")


async def cr3_lists_page_from_the_newest(open_critiques: OpenCritiques) -> None:
    critiques = open_critiques()
    # Two made at one time are in the order of their ids, downwards.
    made = [
        critique(name, at_us) for at_us, name in ((T0, "a"), (T0 + 1, "c"), (T0 + 1, "b"), (T0 + 2, "z"), (T0, "b"))
    ]
    made = [msgspec.structs.replace(one, critique_id=f"{one.critique_id}{place}") for place, one in enumerate(made)]
    for one in made:
        await critiques.keep(ONE, one)
    wanted = sorted(made, key=lambda one: (one.created_us, one.critique_id), reverse=True)
    assert await critiques.list(ONE, None, None, None, 10) == tuple(wanted)
    found: list[CritiqueRecord] = []
    after: CritiqueKey | None = None
    while page := await critiques.list(ONE, None, None, after, 2):
        assert len(page) <= 2
        found += page
        after = CritiqueKey(page[-1].created_us, page[-1].critique_id)
        # Newer ones do not move a list that is being read.
        await critiques.keep(ONE, critique(f"new{len(found)}", T0 + 10))
    assert found == wanted


async def cr4_lists_of_a_turn_and_of_a_session(open_critiques: OpenCritiques) -> None:
    critiques = open_critiques()
    places = [("t1", "s1"), ("t1", "s2"), ("t2", "s1"), ("", "s1"), ("t1", ""), ("", "")]
    for number, (turn_id, session_id) in enumerate(places):
        await critiques.keep(ONE, critique(f"c{number}", T0 + number, turn_id=turn_id, session_id=session_id))

    async def ids(turn_id: str | None, session_id: str | None, after: CritiqueKey | None = None) -> list[str]:
        return [one.critique_id for one in await critiques.list(ONE, turn_id, session_id, after, 10)]

    assert await ids("t1", None) == ["c4", "c1", "c0"]
    assert await ids(None, "s1") == ["c3", "c2", "c0"]
    assert await ids("t1", "s1") == ["c0"]
    assert await ids("t3", None) == []
    assert await ids("t1", None, CritiqueKey(T0 + 4, "c4")) == ["c1", "c0"]
    assert await ids(None, "s1", CritiqueKey(T0 + 3, "c3")) == ["c2", "c0"]


async def cr5_outcomes_are_replaced(open_critiques: OpenCritiques) -> None:
    critiques = open_critiques()
    await critiques.keep(ONE, critique("c"))
    await critiques.keep(ONE, critique("d"))
    await critiques.report(ONE, "c", CritiqueOutcome("failure", 0.25, T0 + 1))
    await critiques.report(ONE, "c", CritiqueOutcome("success", None, T0 + 2))
    kept = await critiques.get(ONE, "c")
    assert kept is not None
    assert kept.outcome == CritiqueOutcome("success", None, T0 + 2)
    assert msgspec.structs.replace(kept, outcome=None) == critique("c")
    assert await critiques.get(ONE, "d") == critique("d")
    with pytest.raises(NotFound):
        await critiques.report(ONE, "e", CritiqueOutcome("success"))
    # An empty one leaves what was reported.
    for told, wanted in (
        (CritiqueOutcome("partial", 0.5, T0 + 3), CritiqueOutcome("partial", 0.5, T0 + 3)),
        (CritiqueOutcome("", None, T0 + 4, "success"), CritiqueOutcome("partial", 0.5, T0 + 4, "success")),
        (CritiqueOutcome("failure", None, T0 + 5), CritiqueOutcome("failure", None, T0 + 5, "success")),
        (CritiqueOutcome("error", 0.0, T0 + 6, "timeout"), CritiqueOutcome("error", 0.0, T0 + 6, "timeout")),
    ):
        await critiques.report(ONE, "c", told)
        assert (kept := await critiques.get(ONE, "c")) is not None
        assert kept.outcome == wanted
    await critiques.report(ONE, "d", CritiqueOutcome("", None, T0 + 7, "success"))
    assert (kept := await critiques.get(ONE, "d")) is not None
    assert kept.outcome == CritiqueOutcome("", None, T0 + 7, "success")


async def cr6_figures_equal_a_plain_recomputation(open_critiques: OpenCritiques) -> None:
    critiques = open_critiques()
    assert await critiques.figures(ONE, T0, T0 + DAY_US, DAY_US, None) == ()
    records = varied(400)
    edges = [critique("e1", T0), critique("e2", T0 + HOUR_US), critique("e3", T0 + 3 * DAY_US)]
    await fill(critiques, ONE, [*records, *edges])
    every = [counted(record) for record in (*records, *edges)]
    for start_us, end_us in ((T0, T0 + 3 * DAY_US), (T0 + HOUR_US, T0 + DAY_US + 1), (T0 + 7, T0 + 3 * DAY_US + 1)):
        inside = [one for one in every if start_us <= one.created_us < end_us]
        for bucket_us in (HOUR_US, DAY_US, None):
            found = await critiques.figures(ONE, start_us, end_us, bucket_us, None)
            assert found == figures_of(inside, start_us, bucket_us)


async def cr7_figures_of_one_provider(open_critiques: OpenCritiques) -> None:
    critiques = open_critiques()
    records = varied(60)
    await fill(critiques, ONE, records)
    for provider in ("rules", "anthropic", "nobody"):
        own = [counted(record) for record in records if record.provider == provider]
        found = await critiques.figures(ONE, T0, T0 + 3 * DAY_US, DAY_US, provider)
        assert found == figures_of(own, T0, DAY_US)


async def cr8_scopes_never_meet(open_critiques: OpenCritiques) -> None:
    critiques = open_critiques()
    scopes = (ONE, OTHER, THIRD)
    for number, scope in enumerate(scopes):
        assert await critiques.get(scope, "c") is None
        with pytest.raises(NotFound):
            await critiques.report(scope, "c", CritiqueOutcome("success"))
        own = critique("c", T0 + number, turn_id="t", session_id="s", confidence_ppm=number)
        assert await critiques.keep(scope, own) == own
    await critiques.report(OTHER, "c", CritiqueOutcome("failure"))
    for number, scope in enumerate(scopes):
        outcome = CritiqueOutcome("failure") if scope == OTHER else None
        own = critique("c", T0 + number, turn_id="t", session_id="s", confidence_ppm=number, outcome=outcome)
        own = msgspec.structs.replace(own, outcome=outcome)
        assert await critiques.get(scope, "c") == own
        for turn_id, session_id in ((None, None), ("t", None), (None, "s"), ("t", "s")):
            assert await critiques.list(scope, turn_id, session_id, None, 10) == (own,)
        assert await critiques.figures(scope, T0, T0 + DAY_US, None, None) == figures_of([counted(own)], T0, None)


async def cr9_old_ones_are_forgotten(open_critiques: OpenCritiques) -> None:
    critiques = open_critiques()
    assert await critiques.forget(SERVES_ALL, T0, 10) == 0
    for number, scope in enumerate((ONE, OTHER, THIRD, ONE, OTHER)):
        await critiques.keep(scope, critique(f"c{number}", T0 + number, turn_id="t"))
    await critiques.report(OTHER, "c1", CritiqueOutcome("success"))
    assert await critiques.forget(SERVES_ALL, T0 + 4, 3) == 3
    assert await critiques.get(ONE, "c3") == critique("c3", T0 + 3, turn_id="t")
    assert await critiques.forget(SERVES_ALL, T0 + 4, 3) == 1
    assert await critiques.forget(SERVES_ALL, T0 + 4, 3) == 0
    assert await critiques.list(ONE, None, None, None, 10) == ()
    assert await critiques.list(THIRD, "t", None, None, 10) == ()
    assert await critiques.list(OTHER, None, None, None, 10) == (critique("c4", T0 + 4, turn_id="t"),)
    # An id is free again.
    again = critique("c1", T0 + 5)
    assert await critiques.keep(OTHER, again) == again


async def cr10_critiques_of_others_stay(open_critiques: OpenCritiques) -> None:
    critiques = open_critiques()
    for number, scope in enumerate((OTHER, THIRD, ONE, ONE)):
        await critiques.keep(scope, critique(f"c{number}", T0 + number))
    # What others have is older, and there is no room for it in the limit.
    assert await critiques.forget(SHOP, T0 + 9, 1) == 1
    assert await critiques.list(ONE, None, None, None, 9) == (critique("c3", T0 + 3),)
    assert await critiques.forget(SHOP, T0 + 9, 9) == 1
    assert await critiques.list(OTHER, None, None, None, 9) == (critique("c0", T0),)
    assert await critiques.forget(ACME, T0 + 9, 9) == 1
    assert await critiques.list(THIRD, None, None, None, 9) == (critique("c1", T0 + 1),)
    assert await critiques.forget(REST, T0 + 9, 9) == 1


async def cr11_excepted_critiques_stay(open_critiques: OpenCritiques) -> None:
    critiques = open_critiques()
    for number, scope in enumerate((OTHER, THIRD, ONE)):
        await critiques.keep(scope, critique(f"c{number}", T0 + number))
    # What is excepted is older, and there is no room for it in the limit.
    assert await critiques.forget(SERVES_ALL, T0 + 9, 1, (Served("acme", "blog"), Served("other"))) == 1
    assert await critiques.list(ONE, None, None, None, 9) == ()
    assert await critiques.forget(ACME, T0 + 9, 9, (Served("acme", "blog"),)) == 0
    assert await critiques.forget(SERVES_ALL, T0 + 9, 9, (Served("acme"),)) == 1
    assert await critiques.list(OTHER, None, None, None, 9) == (critique("c0", T0),)
    assert await critiques.forget(ACME, T0 + 9, 9, (Served("acme", "shop"), Served("other", "blog"))) == 1


async def cr12_reported_outcomes_are_counted(open_critiques: OpenCritiques) -> None:
    critiques = open_critiques()
    assert await critiques.reported(ONE, "p", "m", 0, 9) == ()
    told: list[tuple[dict[str, object], CritiqueOutcome | None]] = [
        ({"stated_ppm": 700_000, "revise": True}, CritiqueOutcome("success", None, T0 + 1, "failure")),
        ({"stated_ppm": 700_000, "revise": True}, CritiqueOutcome("success", None, T0 + 2, "partial")),
        ({"revise": True}, CritiqueOutcome("timeout", None, T0 + 3, "success")),
        ({}, CritiqueOutcome("error", None, T0 + 4)),
        ({}, CritiqueOutcome("", None, T0 + 5, "success")),
        ({}, None),
        ({"model": "other"}, CritiqueOutcome("success", None, T0 + 6)),
        ({"provider": "other"}, CritiqueOutcome("success", None, T0 + 6)),
    ]
    own = {"provider": "p", "model": "m"}
    made = [
        msgspec.structs.replace(critique(f"c{place}"), **{**own, **fields}) for place, (fields, _) in enumerate(told)
    ]
    await fill(critiques, ONE, [msgspec.structs.replace(one, outcome=told[at][1]) for at, one in enumerate(made)])
    every = {
        Reported(700_000, True, True, False, 2),
        Reported(None, True, False, True, 1),
        Reported(None, False, False, None, 1),
        Reported(None, False, None, True, 1),
    }
    assert set(await critiques.reported(ONE, "p", "m", T0 + 1, 9)) == every
    assert set(await critiques.reported(ONE, "p", "m", T0 + 4, 9)) == {one for one in every if not one.revise}
    newest = {Reported(700_000, True, True, False, 1), *(one for one in every if one.stated_ppm is None)}
    assert set(await critiques.reported(ONE, "p", "m", 0, 4)) == newest
    assert await critiques.reported(OTHER, "p", "m", 0, 9) == await critiques.reported(THIRD, "p", "m", 0, 9) == ()


async def cr13_models_with_reported_outcomes(open_critiques: OpenCritiques) -> None:
    critiques = open_critiques()
    places = [
        ("p", "m", T0 + 2),
        ("p", "m", T0 + 3),
        ("p", "l", T0 + 1),
        ("o", "z", T0 + 2),
        ("p", "", T0 + 2),
        ("n", "z", 0),
    ]
    for place, (provider, model, at_us) in enumerate(places):
        await critiques.keep(ONE, critique(f"c{place}", provider=provider, model=model))
        if at_us:
            await critiques.report(ONE, f"c{place}", CritiqueOutcome("success", None, at_us))
    assert await critiques.reported_models(ONE, T0) == (("o", "z"), ("p", "l"), ("p", "m"))
    assert await critiques.reported_models(ONE, T0 + 2) == (("o", "z"), ("p", "m"))
    assert await critiques.reported_models(OTHER, T0) == await critiques.reported_models(THIRD, T0) == ()


async def cr14_verdicts_of_turns(open_critiques: OpenCritiques) -> None:
    critiques = open_critiques()
    for number, (turn_id, revise) in enumerate((("a", True), ("a", False), ("a", True), ("b", False), ("", True))):
        await critiques.keep(ONE, critique(f"c{number}", turn_id=turn_id, revise=revise))
    await critiques.keep(OTHER, critique("other", turn_id="a", revise=True))
    assert await critiques.verdicts(ONE, ("a", "b", "none", "")) == {"a": Verdicts(3, 2), "b": Verdicts(1, 0)}
    assert await critiques.verdicts(ONE, ("b",)) == {"b": Verdicts(1, 0)}
    assert await critiques.verdicts(ONE, ()) == {}
