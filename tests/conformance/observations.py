"""What every adapter of the port `Observations` does, clause by clause.

Each test is given a function that opens the ports on one empty store; called again, it gives other objects on it.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec
import pytest

from sidemirror_server.memory.recoveries.observation import (
    CameFrom,
    Move,
    MoveKind,
    Observation,
    ValueKind,
    Where,
    observation_id,
)
from sidemirror_server.memory.recoveries.observations import Observations, UnlearnedTurn, key_of
from sidemirror_server.trace.erasure import Erasures, Tombstone, digest_of
from sidemirror_server.trace.log import Batch, Draft, TurnHead, TurnLog, TurnStanding
from sidemirror_server.trace.pruning import Pruning
from sidemirror_server.trace.sources import SourceKind, key, parsed
from sidemirror_server.vocabulary.errors import WrongState
from sidemirror_server.vocabulary.ids import EventId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Served, Serves
from tests.conformance.served import ACME, REST, SHOP

ONE, OTHER, THIRD = Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop")
T0 = 1_700_000_000_000_000
LATER = T0 + 10_000_000
SIGNATURE = "get_order|not_found|order not found"


class Stores(NamedTuple):
    """The port, and those that make and remove the turns that it learns from, and that remember what was erased."""

    observations: Observations
    log: TurnLog
    pruning: Pruning
    erasures: Erasures


Open = Callable[[], Stores]


def head(turn_id: str, at_us: int, standing: TurnStanding, last_sequence: int = 1) -> TurnHead:
    return TurnHead(TurnId(turn_id), SessionId(f"s-{turn_id}"), 1, standing, last_sequence, at_us, at_us, b"{}")


async def turn(
    stores: Stores, scope: Scope, turn_id: str, at_us: int = T0, *subject_ids: str, is_open: bool = False
) -> None:
    standing = TurnStanding.OPEN if is_open else TurnStanding.FINISHED
    made = Batch(head(turn_id, at_us, standing), (Draft(1, at_us, b"{}"),), b"{}", subject_ids=subject_ids)
    await stores.log.append(scope, (made,))


async def end(stores: Stores, scope: Scope, turn_id: str, at_us: int, standing: TurnStanding, sequence: int) -> None:
    await stores.log.append(scope, (Batch(head(turn_id, at_us, standing, sequence), (Draft(sequence, at_us, b"{}"),)),))


def observation(
    scope: Scope, turn_id: str, number: int, signature: str = SIGNATURE, last_turn_id: str = "", *, worked: bool = True
) -> Observation:
    where = Where(scope, TurnId(turn_id), SessionId(f"s-{turn_id}"), "Grüße \U0001f642")
    failure = EventId(f"f{number}")
    return Observation(
        *(observation_id(where, failure), where, failure, signature, "get_order"),
        Move(MoveKind.CHANGED, ("order_id",), True, ValueKind.ID, CameFrom.USER_ASKED),
        worked=worked,
        at_us=T0 + number,
        informed=True,
        pause_ms=1_500,
        advised="r",
        followed=True,
        then=("get_user", "get_order"),
        last_turn_id=TurnId(last_turn_id),
    )


async def claimed(stores: Stores, now_us: int = LATER, serves: Serves = SERVES_ALL) -> list[str]:
    """The turns that are due. They stay due."""
    return [one.turn_id for one in await stores.observations.claim(serves, now_us, now_us, 100)]


async def ob1_a_turn_that_ended_is_claimed(open_stores: Open) -> None:
    stores = open_stores()
    assert await stores.observations.claim(SERVES_ALL, LATER, LATER, 10) == ()
    await turn(stores, ONE, "short", T0 + 2)
    await turn(stores, ONE, "long", T0, is_open=True)
    await turn(stores, ONE, "open", T0, is_open=True)
    await end(stores, ONE, "long", T0 + 1, TurnStanding.ABANDONED, 2)
    assert await stores.observations.claim(SERVES_ALL, T0, LATER, 10) == ()
    first = await open_stores().observations.claim(SERVES_ALL, T0 + 2, LATER, 1)
    assert first == (UnlearnedTurn(ONE, TurnId("long"), 1, False),)
    second = await stores.observations.claim(SERVES_ALL, T0 + 2, LATER + 1, 10)
    assert second == (UnlearnedTurn(ONE, TurnId("short"), 1, False),)
    # Each is due again when its time has come, and counts how often it was claimed.
    assert await stores.observations.claim(SERVES_ALL, LATER - 1, LATER, 10) == ()
    again = await stores.observations.claim(SERVES_ALL, LATER + 1, LATER + 9, 10)
    assert again == (UnlearnedTurn(ONE, TurnId("long"), 2, False), UnlearnedTurn(ONE, TurnId("short"), 2, False))


async def ob2_of_the_scopes_served(open_stores: Open) -> None:
    stores = open_stores()
    for scope in (ONE, OTHER, THIRD):
        await turn(stores, scope, f"{scope.tenant_id}-{scope.project_id}")
    for serves, found in (
        (SHOP, ["acme-shop"]),
        (ACME, ["acme-blog", "acme-shop"]),
        (REST, ["acme-blog", "other-shop"]),
    ):
        assert sorted(await claimed(stores, serves=serves)) == found
    assert await claimed(stores, serves=Serves(())) == []
    alone = await stores.observations.claim(Serves((Served("other", "shop"),)), LATER, LATER, 1)
    assert [one.scope for one in alone] == [THIRD]


async def ob3_each_id_is_kept_once(open_stores: Open) -> None:
    stores = open_stores()
    await turn(stores, ONE, "t")
    first = observation(ONE, "t", 1)
    await stores.observations.keep(ONE, TurnId("t"), [first, observation(ONE, "t", 2)])
    await open_stores().observations.keep(ONE, TurnId("t"), [observation(ONE, "t", 1, worked=False)])
    assert await open_stores().observations.of_signature(ONE, SIGNATURE) == (first, observation(ONE, "t", 2))


async def ob4_a_turn_that_was_kept_is_learned(open_stores: Open) -> None:
    stores = open_stores()
    for name in ("t", "u"):
        await turn(stores, ONE, name)
    await stores.observations.keep(ONE, TurnId("t"), ())
    assert await claimed(stores) == ["u"]
    # What is recorded of it later, such as its summary, does not make it unlearned.
    await end(stores, ONE, "t", LATER, TurnStanding.FINISHED, 2)
    await stores.observations.keep(ONE, TurnId("u"), (), LATER + 5)
    assert await claimed(stores, LATER + 4) == []
    late = await stores.observations.claim(SERVES_ALL, LATER + 5, LATER + 9, 10)
    assert late == (UnlearnedTurn(ONE, TurnId("u"), 1, True),)
    await stores.observations.keep(ONE, TurnId("u"), ())
    # Once it is learned, it is not made due again.
    await stores.observations.keep(ONE, TurnId("u"), (), LATER)
    assert await claimed(stores, LATER + 100) == []


async def ob5_nothing_is_learned_of_a_turn_that_is_gone(open_stores: Open) -> None:
    stores = open_stores()
    await turn(stores, ONE, "t")
    taught = [
        observation(ONE, "gone", 1, last_turn_id="t"),
        observation(ONE, "t", 2),
        observation(ONE, "t", 3, last_turn_id="gone"),
    ]
    await stores.observations.keep(ONE, TurnId("t"), taught)
    assert await stores.observations.of_signature(ONE, SIGNATURE) == (taught[1],)


async def ob6_observations_go_with_their_turn(open_stores: Open) -> None:
    stores = open_stores()
    await turn(stores, ONE, "old", T0)
    await turn(stores, ONE, "new", LATER)
    await turn(stores, OTHER, "old", LATER)
    across = observation(ONE, "new", 2, last_turn_id="old")
    stays = observation(ONE, "new", 3)
    await stores.observations.keep(ONE, TurnId("new"), [observation(ONE, "old", 1), across, stays])
    await stores.observations.keep(OTHER, TurnId("old"), [observation(OTHER, "old", 4)])
    assert await stores.pruning.prune_turns(SERVES_ALL, LATER, 10, LATER) == 1
    assert await stores.observations.of_signature(ONE, SIGNATURE) == (stays,)
    assert await stores.observations.of_signature(OTHER, SIGNATURE) == (observation(OTHER, "old", 4),)
    assert await claimed(stores) == []


async def ob7_a_signatures_observations(open_stores: Open) -> None:
    stores = open_stores()
    await turn(stores, ONE, "t")
    assert await stores.observations.of_signature(ONE, SIGNATURE) == ()
    taught = [observation(ONE, "t", number) for number in (2, 3, 1)]
    await stores.observations.keep(ONE, TurnId("t"), [*taught, observation(ONE, "t", 4, "other|unknown|it")])
    found = await open_stores().observations.of_signature(ONE, SIGNATURE)
    assert found == (taught[2], taught[0], taught[1])


async def ob8_the_newest_of_a_signature(open_stores: Open) -> None:
    stores = open_stores()
    await turn(stores, ONE, "t")
    other = observation(ONE, "t", 0, "other|unknown|it")
    await stores.observations.keep(ONE, TurnId("t"), [other, *(observation(ONE, "t", n) for n in (1, 3, 5))], most=2)
    assert [one.at_us - T0 for one in await stores.observations.of_signature(ONE, SIGNATURE)] == [3, 5]
    await stores.observations.keep(ONE, TurnId("t"), [observation(ONE, "t", n) for n in (2, 4)], most=2)
    assert [one.at_us - T0 for one in await stores.observations.of_signature(ONE, SIGNATURE)] == [4, 5]
    assert await stores.observations.of_signature(ONE, other.signature) == (other,)


async def ob9_signatures_in_order(open_stores: Open) -> None:
    stores = open_stores()
    await turn(stores, ONE, "t")
    names = ["b|unknown|x", "Grüße|unknown|\U0001f642", "a|unknown|x", "a|unknown|x"]
    taught = [observation(ONE, "t", number, name) for number, name in enumerate(names)]
    await stores.observations.keep(ONE, TurnId("t"), taught)
    assert await stores.observations.signatures(ONE, "", 10) == (names[1], names[2], names[0])
    assert await stores.observations.signatures(ONE, "", 2) == (names[1], names[2])
    assert await open_stores().observations.signatures(ONE, names[2], 2) == (names[0],)
    assert await stores.observations.signatures(ONE, names[0], 2) == ()


async def ob10_scopes_are_isolated(open_stores: Open) -> None:
    stores = open_stores()
    for number, scope in enumerate((ONE, OTHER, THIRD)):
        await turn(stores, scope, "t")
        await stores.observations.keep(scope, TurnId("t"), [observation(scope, "t", number)])
    await stores.observations.keep(ONE, TurnId("t"), [observation(ONE, "t", 9, "only|unknown|here")])
    for number, scope in enumerate((ONE, OTHER, THIRD)):
        assert await stores.observations.of_signature(scope, SIGNATURE) == (observation(scope, "t", number),)
    assert await stores.observations.signatures(OTHER, "", 10) == (SIGNATURE,)
    assert await stores.observations.signatures(THIRD, "", 10) == (SIGNATURE,)
    # A turn that is kept in one scope stays unlearned in the others, and the bound counts one scope's own.
    for scope in (ONE, OTHER, THIRD):
        await turn(stores, scope, "u")
    await stores.observations.keep(ONE, TurnId("u"), [observation(ONE, "u", 50)], most=1)
    assert [one.scope for one in await stores.observations.claim(SERVES_ALL, LATER, LATER, 10)] == [OTHER, THIRD]
    await stores.observations.keep(OTHER, TurnId("u"), (), LATER + 9)
    assert [one.scope for one in await stores.observations.claim(SERVES_ALL, LATER, LATER, 10)] == [THIRD]
    for number, scope in ((1, OTHER), (2, THIRD)):
        assert await stores.observations.of_signature(scope, SIGNATURE) == (observation(scope, "t", number),)


ANNA, BERT, CARL = (key(SourceKind.SUBJECT, name) for name in ("anna", "bert", "carl"))
replace = msgspec.structs.replace


async def erased(stores: Stores, name: str, at_us: int) -> None:
    tombstone = Tombstone(parsed(name)[0], digest_of(ONE, name), at_us)
    await stores.erasures.put_tombstones(ONE, (tombstone,))


async def erase(stores: Stores, *names: str) -> None:
    await stores.erasures.begin(ONE, names[0], names, T0)
    while left := await stores.erasures.left(ONE, names[0], 10):
        for record in left:
            await stores.erasures.remove(ONE, names[0], record, T0)


async def noted(stores: Stores, scope: Scope, *those: Observation) -> dict[str, tuple[str, ...]]:
    """The subjects that are noted of what was imported, by the ids of its turns."""
    found = await stores.observations.subjects(scope, [key_of(one) for one in those])
    return {one.where.turn_id: found[key_of(one)] for one in those if found.get(key_of(one))}


async def ob11_what_was_imported(open_stores: Open) -> None:
    stores = open_stores()
    first, across = observation(ONE, "gone", 1), observation(ONE, "gone", 2, last_turn_id="later")
    assert await stores.observations.put(ONE, first)
    assert await stores.observations.put(ONE, across, (ANNA,))
    assert not await open_stores().observations.put(ONE, observation(ONE, "gone", 1, worked=False))
    assert await open_stores().observations.of_signature(ONE, SIGNATURE) == (first, across)
    assert await stores.observations.of_signature(OTHER, SIGNATURE) == ()
    assert await claimed(stores) == []
    # What a turn taught stays as it is; what was imported does not go with a turn that has the same id.
    await turn(stores, ONE, "t")
    own = observation(ONE, "t", 3)
    await stores.observations.keep(ONE, TurnId("t"), [own])
    assert not await stores.observations.put(ONE, own)
    assert await stores.observations.put(ONE, observation(ONE, "t", 4))
    assert await stores.pruning.prune_turns(SERVES_ALL, LATER, 10, LATER) == 1
    assert await stores.observations.of_signature(ONE, SIGNATURE) == (first, across, observation(ONE, "t", 4))
    assert await stores.observations.put(ONE, observation(ONE, "gone", 5), most=2)
    assert [one.at_us - T0 for one in await stores.observations.of_signature(ONE, SIGNATURE)] == [4, 5]
    # Older than those that a signature has: it does not stay, however often it comes.
    for _ in range(2):
        assert not await stores.observations.put(ONE, observation(ONE, "gone", 1), (BERT,), most=2)
    assert await noted(stores, ONE, observation(ONE, "gone", 1)) == {}
    # Of what was erased none is taken: a turn is gone for good, of the others what was heard before.
    name = "refused|unknown|x"
    for number, (source, at_us, is_taken) in enumerate(
        [
            ("turn:a0", T0, False),
            ("turn:b1", T0, False),
            ("session:s-a2", T0 + 2, False),
            ("session:s-a3", T0, True),
            (BERT, T0 + 4, False),
        ]
    ):
        await erased(stores, source, at_us)
        one = observation(ONE, f"a{number}", number, name, last_turn_id=f"b{number}")
        if is_taken:
            assert await stores.observations.put(ONE, one, (ANNA, BERT))
        else:
            with pytest.raises(WrongState):
                await stores.observations.put(ONE, one, (ANNA, BERT))
    assert [one.where.turn_id for one in await stores.observations.of_signature(ONE, name)] == ["a3"]


async def ob12_what_was_imported_goes_by_its_age(open_stores: Open) -> None:
    stores = open_stores()
    assert await stores.observations.forget(SERVES_ALL, LATER, 10) == 0
    for scope in (ONE, OTHER, THIRD):
        await turn(stores, scope, "t")
        await stores.observations.keep(scope, TurnId("t"), [observation(scope, "t", 0)])
        for number in (3, 1, 2):
            await stores.observations.put(scope, observation(scope, f"gone{number}", number), (ANNA,))

    async def left(scope: Scope) -> list[int]:
        return [one.at_us - T0 for one in await stores.observations.of_signature(scope, SIGNATURE)]

    assert await stores.observations.forget(SHOP, T0 + 3, 1) == 1
    assert (await left(ONE), await left(OTHER), await left(THIRD)) == ([0, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3])
    assert await open_stores().observations.forget(ACME, T0 + 2, 10, (Served("acme", "shop"),)) == 1
    assert (await left(ONE), await left(OTHER), await left(THIRD)) == ([0, 2, 3], [0, 2, 3], [0, 1, 2, 3])
    assert await stores.observations.forget(SERVES_ALL, LATER, 10) == 7
    assert await stores.observations.forget(SERVES_ALL, LATER, 10) == 0
    # What its turn taught goes with that; of what is gone nothing is noted any more.
    assert (await left(ONE), await left(OTHER), await left(THIRD)) == ([0], [0], [0])
    assert await noted(stores, ONE, *(observation(ONE, f"gone{number}", number) for number in (1, 2, 3))) == {}
    # One that was shortened away is not there to be forgotten.
    await stores.observations.put(ONE, observation(ONE, "gone", 5, "x|unknown|x"))
    await stores.observations.put(ONE, observation(ONE, "gone", 6, "x|unknown|x"), most=1)
    assert await stores.observations.forget(SERVES_ALL, LATER, 10) == 1


async def ob13_whom_records_are_about(open_stores: Open) -> None:
    stores = open_stores()
    await turn(stores, ONE, "t", T0, "bert", "anna")
    await turn(stores, ONE, "u", T0)
    await turn(stores, OTHER, "u", T0, "carl")
    imported = observation(ONE, "gone", 1, last_turn_id="later")
    await stores.observations.put(ONE, imported, (BERT,))
    wanted = ["turn:t", "turn:u", "turn:gone", "turn:later", "session:s-gone", "turn:none", key_of(imported)]
    found = await open_stores().observations.subjects(ONE, wanted)
    assert found == {"turn:t": (ANNA, BERT), key_of(imported): (BERT,)}
    assert await stores.observations.subjects(ONE, ["turn:u"]) == {}


async def ob14_what_was_imported_is_found_by_its_sources(open_stores: Open) -> None:
    stores = open_stores()
    first, across = observation(ONE, "gone", 1), observation(ONE, "gone", 2, last_turn_id="later")
    assert await stores.observations.put(ONE, first)
    assert await stores.observations.put(ONE, across, (ANNA,))
    # A turn of this store that has the id of a foreign one is not about whom that was about.
    await turn(stores, ONE, "gone", LATER)
    await erase(stores, ANNA)
    assert await stores.observations.of_signature(ONE, SIGNATURE) == (first,)
    assert await stores.log.head(ONE, TurnId("gone")) is not None
    await erase(stores, key(SourceKind.SESSION, "s-gone"))
    assert await stores.observations.signatures(ONE, "", 10) == ()
    assert await stores.erasures.survivors(ONE) == ()
    # A backup that has it all the same tells so by the time at which it was heard.
    late = observation(ONE, "c", 7)
    late = replace(late, where=replace(late.where, recorded_us=LATER))
    assert await stores.observations.put(ONE, late, (CARL,))
    assert await stores.observations.put(ONE, observation(ONE, "d", 8), (CARL,))
    for at_us, found in ((T0 + 7, ()), (T0 + 8, (observation(ONE, "d", 8),))):
        await erased(stores, CARL, at_us)
        assert await stores.erasures.survivors(ONE) == tuple(key_of(one) for one in found)
    await erased(stores, key(SourceKind.TURN, "c"), T0)
    assert set(await stores.erasures.survivors(ONE)) == {"turn:c", key_of(observation(ONE, "d", 8))}
