"""What every adapter of the port `Journal` does, clause by clause.

Each test is given a function that opens the port on one empty store; called again, it gives another object on it.
"""

import asyncio
import random
from collections.abc import Callable

from sidemirror_server.trace.log import Journal, Note
from sidemirror_server.vocabulary.scope import Scope

OpenJournal = Callable[[], Journal]

ONE, OTHER, THIRD = Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop")
T0 = 1_700_000_000_000_000
S = 1_000_000
KEPT = 100 * S
TOPIC = "goal_reflection"
ALL = 1_000_000_000


def note(key: str, group: str = "g", at_us: int = T0, body: bytes = b'{"n":1}') -> Note:
    return Note(key, group, at_us, body)


async def keys(journal: Journal, scope: Scope = ONE, topic: str = TOPIC, group: str | None = None) -> list[str]:
    return [entry.key for entry in await journal.tail(scope, topic, group, 0, ALL, ALL)]


async def jo1_each_key_once(open_journal: OpenJournal) -> None:
    journal = open_journal()
    first = note("Grüße \U0001f642", "g:1", T0 + 5, '{"text":"\U0001f642\\u0000"}'.encode())
    assert await journal.add(ONE, TOPIC, first, KEPT) is True
    assert await open_journal().add(ONE, TOPIC, note(first.key, "other", T0 + 9, b'{"n":2}'), KEPT) is False
    (entry,) = await open_journal().tail(ONE, TOPIC, None, 0, ALL, ALL)
    assert (entry.key, entry.group, entry.sequence) == (first.key, "g:1", 1)
    assert (entry.at_us, entry.body) == (T0 + 5, first.body)
    assert await journal.last_position(ONE) == entry.position
    racing = [open_journal().add(ONE, TOPIC, note("raced", body=b'{"n":%d}' % number), KEPT) for number in range(8)]
    assert sum(await asyncio.gather(*racing)) == 1
    assert await keys(journal) == [first.key, "raced"]


async def jo2_in_the_order_of_adding(open_journal: OpenJournal) -> None:
    journal = open_journal()
    order = [f"k{number:02}" for number in range(20)]
    random.Random(3).shuffle(order)
    for number, key in enumerate(order):
        # Times say nothing about the order.
        await journal.add(ONE, TOPIC, note(key, f"g{number % 2}", T0 - number), KEPT)
    assert await keys(journal) == order
    assert await keys(journal, group="g1") == order[1::2]
    page = await journal.tail(ONE, TOPIC, None, 0, 7, ALL)
    rest = await journal.tail(ONE, TOPIC, None, page[-1].position, ALL, ALL)
    assert [entry.key for entry in (*page, *rest)] == order


async def jo3_remove_a_group(open_journal: OpenJournal) -> None:
    journal = open_journal()
    assert await journal.remove(ONE, TOPIC, "g") == 0
    for key, group in (("a", "g"), ("b", "h"), ("c", "g")):
        await journal.add(ONE, TOPIC, note(key, group), KEPT)
    assert await journal.remove(ONE, TOPIC, "g") == 2
    assert await journal.remove(ONE, TOPIC, "g") == 0
    assert await keys(journal) == ["b"]
    last = await journal.last_position(ONE)
    assert await journal.add(ONE, TOPIC, note("a"), KEPT) is True
    # A position is never given again.
    assert [entry.key for entry in await journal.tail(ONE, TOPIC, None, last, ALL, ALL)] == ["a"]


async def jo4_old_notes_are_forgotten(open_journal: OpenJournal) -> None:
    journal = open_journal()
    await journal.add(ONE, "another", note("old"), KEPT)
    await journal.add(OTHER, TOPIC, note("old"), KEPT)
    for number in range(60):
        await journal.add(ONE, TOPIC, note(f"old{number:02}", at_us=T0 + number), KEPT)
    await journal.add(ONE, TOPIC, note("young", at_us=T0 + 4 * KEPT - 1), KEPT)
    assert len(await keys(journal)) == 61
    for number in range(10):
        await journal.add(ONE, TOPIC, note(f"new{number}", at_us=T0 + 30 + 4 * KEPT), KEPT)
    left = await keys(journal)
    assert left[:29] == [f"old{number:02}" for number in range(31, 60)]
    assert left[29:] == ["young", *(f"new{number}" for number in range(10))]
    assert await keys(journal, topic="another") == ["old"]
    assert await keys(journal, OTHER) == ["old"]


async def jo5_scopes_and_topics_never_meet(open_journal: OpenJournal) -> None:
    journal = open_journal()
    places = [(scope, topic) for scope in (ONE, OTHER, THIRD) for topic in (TOPIC, "another", "turn's")]
    for number, (scope, topic) in enumerate(places):
        assert await journal.tail(scope, topic, None, 0, ALL, ALL) == ()
        assert await journal.add(scope, topic, note("k", at_us=T0 + number), KEPT) is True
    for number, (scope, topic) in enumerate(places):
        (entry,) = await journal.tail(scope, topic, "g", 0, ALL, ALL)
        assert entry.at_us == T0 + number
    assert await journal.remove(OTHER, TOPIC, "g") == 1
    for scope, topic in places:
        assert await keys(journal, scope, topic) == ([] if (scope, topic) == (OTHER, TOPIC) else ["k"])


async def jo6_how_far_it_has_forgotten(open_journal: OpenJournal) -> None:
    journal = open_journal()
    assert await journal.gone_up_to(ONE, TOPIC) == 0
    # By their times the later notes are old first: their places count, not the order in which they are forgotten.
    for number in range(30):
        await journal.add(ONE, TOPIC, note(f"old{number:02}", "g" if number % 2 else "h", T0 - number * S), KEPT)
    places = [entry.position for entry in await journal.tail(ONE, TOPIC, None, 0, ALL, ALL)]
    await journal.remove(ONE, TOPIC, "h")
    assert await journal.gone_up_to(ONE, TOPIC) == 0
    await journal.add(ONE, TOPIC, note("new", at_us=T0 - 7 * S + 4 * KEPT), KEPT)
    assert await open_journal().gone_up_to(ONE, TOPIC) == places[29]
    await journal.add(ONE, TOPIC, note("newer", at_us=T0 + 4 * KEPT), KEPT)
    assert await keys(journal) == ["new", "newer"]
    assert await journal.gone_up_to(ONE, TOPIC) == places[29]
    assert await journal.gone_up_to(ONE, "another") == await journal.gone_up_to(OTHER, TOPIC) == 0
    newer = (await journal.tail(ONE, TOPIC, None, 0, ALL, ALL))[-1].position
    await journal.add(ONE, TOPIC, note("newest", at_us=T0 + 8 * KEPT), KEPT)
    assert await journal.gone_up_to(ONE, TOPIC) == newer


async def jo7_one_note_is_dropped(open_journal: OpenJournal) -> None:
    journal = open_journal()
    for scope, topic in ((ONE, TOPIC), (ONE, "another"), (OTHER, TOPIC)):
        for key in ("a", "b"):
            await journal.add(scope, topic, note(key), KEPT)
    assert await journal.drop(ONE, TOPIC, "a") is True
    assert await open_journal().drop(ONE, TOPIC, "a") is False
    assert await keys(journal) == ["b"]
    assert await keys(journal, ONE, "another") == await keys(journal, OTHER, TOPIC) == ["a", "b"]
