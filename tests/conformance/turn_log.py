"""What every adapter of the ports `TurnLog` and `Log` does, clause by clause.

Each test is given a function that opens the port on one empty store, beside the port `Sessions` on the same store;
called again, it gives other objects on that store.
"""

import asyncio
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import msgspec
import pytest

from sidemirror_server.thinking.store import Sessions
from sidemirror_server.trace.log import TURN_TOPIC, Batch, Draft, Entry, HeadKey, TurnHead, TurnLog, TurnStanding
from sidemirror_server.vocabulary.errors import WrongState
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from tests.conformance.served import ACME, REST, SHOP


class Stores(NamedTuple):
    log: TurnLog
    sessions: Sessions


OpenStores = Callable[[], Stores]

ONE, OTHER = Scope("acme", "shop"), Scope("acme", "blog")
THIRD = Scope("other", "shop")
T0 = 1_700_000_000_000_000
EVERYTHING = 1_000_000_000
OUTCOMES = ("a", "b", "")
STANDINGS = (TurnStanding.OPEN, TurnStanding.FINISHED, TurnStanding.ABANDONED)


def head(
    turn: str = "t1",
    last: int = 1,
    *,
    session: str = "s1",
    count: int = 1,
    standing: TurnStanding = TurnStanding.OPEN,
    started: int = T0,
    updated: int = T0,
    body: bytes = b'{"task":"Gr\xc3\xbc\xc3\x9fe"}',
) -> TurnHead:
    return TurnHead(TurnId(turn), SessionId(session), count, standing, last, started, updated, body)


def batch(of: TurnHead, *bodies: bytes, session_body: bytes | None = None) -> Batch:
    """A batch whose last entry is the head's last."""
    first = of.last_sequence - len(bodies) + 1
    drafts = tuple(Draft(sequence, T0 + sequence, body) for sequence, body in enumerate(bodies, start=first))
    return Batch(of, drafts, session_body)


def start(turn: str, *bodies: bytes, session: str = "s1", count: int = 1, started: int = T0) -> Batch:
    """The first batch of a turn."""
    bodies = bodies or (b'{"n":1}',)
    of = head(turn, len(bodies), session=session, count=count, started=started, updated=started)
    return batch(of, *bodies, session_body=b"{}")


async def entries(log: TurnLog, turn: str = "t1", scope: Scope = ONE) -> tuple[Entry, ...]:
    return await log.read(scope, TurnId(turn), 0, EVERYTHING, EVERYTHING)


async def bodies(log: TurnLog, turn: str = "t1", scope: Scope = ONE) -> list[bytes]:
    return [entry.body for entry in await entries(log, turn, scope)]


async def refused(log: TurnLog, *batches: Batch, scope: Scope = ONE) -> None:
    with pytest.raises(WrongState):
        await log.append(scope, batches)


async def everything(log: TurnLog, scope: Scope = ONE, group: str | None = None) -> tuple[Entry, ...]:
    return await log.tail(scope, TURN_TOPIC, group, 0, EVERYTHING, EVERYTHING)


# --- Log -------------------------------------------------------------------------------------------------------------


async def lg1_tail_goes_on_after_a_position(open_stores: OpenStores) -> None:
    log = open_stores().log
    await log.append(ONE, (start("t1", b'{"n":1}', b'{"n":2}'), start("t2", b'{"n":3}', session="s2")))
    await log.append(ONE, (batch(head("t1", 3), b'{"n":4}'),))
    found = await everything(open_stores().log)
    assert [(entry.key, entry.group, entry.sequence, entry.at_us, entry.body) for entry in found] == [
        ("t1", "s1", 1, T0 + 1, b'{"n":1}'),
        ("t1", "s1", 2, T0 + 2, b'{"n":2}'),
        ("t2", "s2", 1, T0 + 1, b'{"n":3}'),
        ("t1", "s1", 3, T0 + 3, b'{"n":4}'),
    ]
    positions = [entry.position for entry in found]
    assert positions[0] >= 1
    assert positions == sorted(set(positions))
    assert await log.tail(ONE, TURN_TOPIC, None, positions[0], 2, EVERYTHING) == found[1:3]
    assert await log.tail(ONE, TURN_TOPIC, None, positions[2], 2, EVERYTHING) == found[3:]
    assert await log.tail(ONE, TURN_TOPIC, None, positions[3], 2, EVERYTHING) == ()
    assert await log.tail(ONE, "another topic", None, 0, EVERYTHING, EVERYTHING) == ()


async def lg2_tail_narrows_to_a_group(open_stores: OpenStores) -> None:
    log = open_stores().log
    for n in range(3):
        await log.append(ONE, (start(f"a{n}", session="s1"), start(f"b{n}", session="s2")))
    found = await everything(log, group="s2")
    assert [entry.key for entry in found] == ["b0", "b1", "b2"]
    assert await log.tail(ONE, TURN_TOPIC, "s2", found[0].position, 1, EVERYTHING) == found[1:2]
    assert await log.tail(ONE, TURN_TOPIC, "s3", 0, EVERYTHING, EVERYTHING) == ()
    assert await log.tail(ONE, "another topic", "s2", 0, EVERYTHING, EVERYTHING) == ()


async def lg3_a_follower_misses_nothing(open_stores: OpenStores) -> None:
    log, writers = open_stores().log, [open_stores().log for _ in range(8)]
    followed: list[Entry] = []

    async def write(number: int, writer: TurnLog) -> None:
        for sequence in range(1, 11):
            await writer.append(ONE, (batch(head(f"t{number}", sequence), b'{"n":1}'),))

    async def follow() -> None:
        while True:
            last_look = writing.done()
            page = await log.tail(ONE, TURN_TOPIC, None, followed[-1].position if followed else 0, 7, EVERYTHING)
            followed.extend(page)
            if last_look and not page:
                return
            await asyncio.sleep(0)

    writing = asyncio.gather(*[write(number, writer) for number, writer in enumerate(writers)])
    await follow()
    await writing
    assert len(followed) == 80
    assert tuple(followed) == await everything(log)


async def lg4_last_position(open_stores: OpenStores) -> None:
    log = open_stores().log
    assert await log.last_position(ONE) == 0
    await log.append(ONE, (start("t1", b'{"n":1}', b'{"n":2}'),))
    seen = (await everything(log))[-1].position
    assert await log.last_position(ONE) == seen
    await log.append(OTHER, (start("t1"),))
    assert await log.last_position(ONE) == seen
    await log.append(ONE, (start("t2"),))
    assert await log.last_position(ONE) == (await everything(log))[-1].position > seen


async def lg5_a_page_ends_once_its_bodies_add_up(open_stores: OpenStores) -> None:
    log = open_stores().log
    await log.append(ONE, (start("t1", b'{"n":"10b"}', b'{"n":"10b"}', b'{"n":"10b"}'),))
    found = await everything(log)
    assert await log.tail(ONE, TURN_TOPIC, None, 0, EVERYTHING, 1) == found[:1]
    assert await log.tail(ONE, TURN_TOPIC, None, 0, EVERYTHING, 22) == found[:2]
    assert await log.tail(ONE, TURN_TOPIC, "s1", found[0].position, EVERYTHING, 1) == found[1:2]


async def lg6_entries_of_another_scope_are_not_shown(open_stores: OpenStores) -> None:
    log = open_stores().log
    for number, scope in enumerate((ONE, OTHER, THIRD)):
        await log.append(scope, (start("t1", b'{"scope":%d}' % number),))
    for number, scope in enumerate((ONE, OTHER, THIRD)):
        assert [entry.body for entry in await everything(log, scope)] == [b'{"scope":%d}' % number]
        assert [entry.body for entry in await everything(log, scope, "s1")] == [b'{"scope":%d}' % number]
    assert await log.last_position(OTHER) > 0
    nobody = Scope("nobody", "shop")
    assert await everything(log, nobody) == ()
    assert await log.last_position(nobody) == 0


# --- TurnLog ---------------------------------------------------------------------------------------------------------


async def tl1_append_keeps_every_batch_or_none(open_stores: OpenStores) -> None:
    log, sessions = open_stores()
    await log.append(ONE, ())
    await refused(log, start("t1"), batch(head("t2", 2), b'{"n":2}'), start("t3"))
    for turn in ("t1", "t2", "t3"):
        assert await log.head(ONE, TurnId(turn)) is None
        assert await entries(log, turn) == ()
    assert await sessions.get(ONE, SessionId("s1")) is None
    assert await everything(log) == ()
    await log.append(ONE, (start("t1"), start("t2", b'{"n":1}', b'{"n":2}'), start("t3")))
    other = open_stores()
    assert [len(await entries(other.log, turn)) for turn in ("t1", "t2", "t3")] == [1, 2, 1]
    # Parts of one turn in one call follow each other.
    await log.append(ONE, (batch(head("t1", 2), b'{"n":2}'), batch(head("t1", 4), b'{"n":3}', b'{"n":4}')))
    assert [entry.sequence for entry in await entries(other.log)] == [1, 2, 3, 4]
    assert await other.log.head(ONE, TurnId("t1")) == head("t1", 4)
    # An empty body is a body, also when there is no other in the call.
    await log.append(ONE, (start("t4", b""),))
    assert await bodies(log, "t4") == [b""]


async def tl2_a_hole_is_refused(open_stores: OpenStores) -> None:
    log = open_stores().log
    await refused(log, batch(head("t1", 2), b'{"n":2}'))
    await refused(log, Batch(head("t1", 0), (Draft(0, T0, b"{}"),)))
    assert await log.head(ONE, TurnId("t1")) is None
    await log.append(ONE, (start("t1", b'{"n":1}', b'{"n":2}'),))
    before = await entries(log)
    await refused(log, batch(head("t1", 4), b'{"n":4}'))
    await refused(log, Batch(head("t1", 5), (Draft(3, T0, b'{"n":3}'), Draft(5, T0, b'{"n":5}'))))
    # A head that speaks of more or fewer entries than the turn then has.
    await refused(log, Batch(head("t1", 3), ()))
    await refused(log, Batch(head("t1", 2), (Draft(3, T0, b'{"n":3}'),)))
    assert await entries(log) == before
    assert await log.head(ONE, TurnId("t1")) == head("t1", 2)
    await log.append(ONE, (batch(head("t1", 3), b'{"n":3}'),))
    assert [(entry.sequence, entry.body) for entry in await entries(log)] == [
        (1, b'{"n":1}'),
        (2, b'{"n":2}'),
        (3, b'{"n":3}'),
    ]


async def tl3_the_same_again_changes_nothing(open_stores: OpenStores) -> None:
    log = open_stores().log
    first = start("t1", b'{"n":1}', b'{"n":2}')
    await log.append(ONE, (first,))
    kept = await everything(log)
    await log.append(ONE, (first,))
    await open_stores().log.append(ONE, (first, first))
    assert await everything(log) == kept
    # What was there before together with what is new.
    await log.append(ONE, (batch(head("t1", 3), b'{"n":2}', b'{"n":3}'),))
    assert await bodies(log) == [b'{"n":1}', b'{"n":2}', b'{"n":3}']
    assert (await everything(log))[:2] == kept
    await log.append(ONE, (first,))
    assert await log.head(ONE, TurnId("t1")) == head("t1", 3)


async def tl4_another_body_in_a_taken_place_is_refused(open_stores: OpenStores) -> None:
    log = open_stores().log
    await log.append(ONE, (start("t1", b'{"n":1}', b'{"n":2}'),))
    kept, kept_head = await everything(log), await log.head(ONE, TurnId("t1"))
    await refused(log, batch(head("t1", 2, body=b'{"task":"x"}'), b'{"n":20}'))
    await refused(log, batch(head("t1", 3), b'{"n":20}', b'{"n":3}'))
    await refused(log, start("t1", b'{"n":10}'))
    await refused(log, start("t2"), batch(head("t1", 3), b'{"n":3}'), batch(head("t1", 3), b'{"n":30}'))
    assert await everything(log) == kept
    assert await log.head(ONE, TurnId("t1")) == kept_head
    assert await log.head(ONE, TurnId("t2")) is None


async def tl5_a_missing_session_is_made(open_stores: OpenStores) -> None:
    log, sessions = open_stores()
    of = head("t1", standing=TurnStanding.FINISHED, started=T0 + 7, updated=T0 + 9)
    await log.append(ONE, (batch(of, b'{"n":1}', session_body=b'{"level":"high"}'),))
    made = await sessions.get(ONE, SessionId("s1"))
    assert made is not None
    assert (made.body, made.created_us, made.updated_us) == (b'{"level":"high"}', T0 + 7, T0 + 7)
    await sessions.update(ONE, SessionId("s1"), b'{"level":"low"}', T0 + 20)
    await log.append(ONE, (start("t2", started=T0 + 30),))
    kept = await sessions.get(ONE, SessionId("s1"))
    assert kept is not None
    assert (kept.body, kept.created_us, kept.updated_us) == (b'{"level":"low"}', T0 + 7, T0 + 20)
    assert await sessions.get(OTHER, SessionId("s1")) is None


async def tl6_the_head_is_that_of_the_latest_batch(open_stores: OpenStores) -> None:
    log = open_stores().log
    first = start("t1", b'{"n":1}', b'{"n":2}')
    await log.append(ONE, (first,))
    assert await log.head(ONE, TurnId("t1")) == first.head
    ahead = head("t1", 3, count=2, standing=TurnStanding.FINISHED, updated=T0 + 5, body=b'{"task":"b"}')
    await log.append(ONE, (batch(ahead, b'{"n":3}'),))
    assert await log.head(ONE, TurnId("t1")) == ahead
    await log.append(ONE, (first,))
    assert await log.head(ONE, TurnId("t1")) == ahead
    # Level with the one that is kept, with or without an entry.
    level = head("t1", 3, updated=T0 + 6, body=b'{"task":"c"}')
    await log.append(ONE, (Batch(level, ()),))
    assert await log.head(ONE, TurnId("t1")) == level
    await log.append(ONE, (batch(ahead, b'{"n":3}'),))
    assert await log.head(ONE, TurnId("t1")) == ahead


async def tl7_read_pages_by_count_and_by_size(open_stores: OpenStores) -> None:
    log = open_stores().log
    long = b'{"text":"' + b"x" * 1_000_000 + b'"}'
    texts = (b'{"n":"01"}', b'{"n":"02"}', b'{"n":"03"}', long, '{"n":"\U0001f642 \\u0000 \ufffd"}'.encode())
    await log.append(ONE, (start("t1", *texts), start("t2")))
    turn = TurnId("t1")
    found = await log.read(ONE, turn, 0, EVERYTHING, 10 * EVERYTHING)
    assert tuple(entry.body for entry in found) == texts
    assert [(entry.key, entry.sequence, entry.at_us) for entry in found] == [("t1", n, T0 + n) for n in range(1, 6)]
    assert await log.read(ONE, turn, 1, 2, EVERYTHING) == found[1:3]
    assert await log.read(ONE, turn, 5, 2, EVERYTHING) == ()
    assert await log.read(ONE, turn, 0, EVERYTHING, 20) == found[:2]
    assert await log.read(ONE, turn, 0, EVERYTHING, 1) == found[:1]
    assert await log.read(ONE, turn, 3, EVERYTHING, 10) == found[3:4]
    assert await log.read(ONE, TurnId("t3"), 0, EVERYTHING, EVERYTHING) == ()


async def tl8_a_turn_that_is_not_there_has_no_head(open_stores: OpenStores) -> None:
    log = open_stores().log
    assert await log.head(ONE, TurnId("t1")) is None
    await log.append(OTHER, (start("t1"),))
    assert await log.head(ONE, TurnId("t1")) is None
    assert await log.head(ONE, TurnId("t")) is None


async def tl9_heads_newest_started_first(open_stores: OpenStores) -> None:
    log = open_stores().log
    made = {}
    for number in range(12):
        # Two start at the same time, and the ids rise while the times fall.
        name, session = f"t{number:02}", f"s{number % 2}"
        made[name] = head(name, session=session, started=T0 - number // 2, standing=STANDINGS[number % 3])
        await log.append(ONE, (batch(made[name], b"{}"),))
    await log.append(OTHER, (start("t99"),))
    order = sorted(made.values(), key=lambda kept: (kept.started_us, kept.turn_id), reverse=True)
    for session_id in (None, SessionId("s0"), SessionId("s1")):
        for standing in (None, *STANDINGS):
            fitting = tuple(
                kept for kept in order if session_id in (None, kept.session_id) and standing in (None, kept.standing)
            )
            assert await log.heads(ONE, session_id, standing, None, EVERYTHING) == fitting
            assert await log.heads(ONE, session_id, standing, None, 2) == fitting[:2]
            key = HeadKey(fitting[0].started_us, fitting[0].turn_id)
            assert await log.heads(ONE, session_id, standing, key, 2) == fitting[1:3]
    assert await log.heads(ONE, SessionId("s2"), None, None, EVERYTHING) == ()
    ended = [
        msgspec.structs.replace(one, outcome=OUTCOMES[number // 2 % 3], last_sequence=2)
        for number, one in enumerate(order)
    ]
    for one in ended:
        await log.append(ONE, (Batch(one, (Draft(2, T0, b"{}"),)),))
    order = ended
    for session_id, standing, outcomes in product((None, SessionId("s0")), (None, *STANDINGS), (["a"], ["a", ""])):
        fitting = tuple(
            one
            for one in order
            if session_id in (None, one.session_id) and standing in (None, one.standing) and one.outcome in outcomes
        )
        assert await log.heads(ONE, session_id, standing, None, EVERYTHING, outcomes=outcomes) == fitting
        assert await log.heads(ONE, session_id, standing, None, 2, outcomes=outcomes) == fitting[:2]
        for first in fitting[:1]:
            key = HeadKey(first.started_us, first.turn_id)
            assert await log.heads(ONE, session_id, standing, key, 2, outcomes=outcomes) == fitting[1:3]
        late = tuple(one for one in fitting if one.started_us >= T0 - 3)
        assert await log.heads(ONE, session_id, standing, None, 9, outcomes=outcomes, from_us=T0 - 3) == late
    for session_id, standing in product((None, SessionId("s0")), (None, *STANDINGS)):
        late = tuple(
            one
            for one in order
            if session_id in (None, one.session_id) and standing in (None, one.standing) and one.started_us >= T0 - 3
        )
        assert await log.heads(ONE, session_id, standing, None, 9, from_us=T0 - 3) == late
    # A page goes on where the last one ended, whatever has been started since.
    key = HeadKey(order[3].started_us, order[3].turn_id)
    await log.append(ONE, (start("newer", started=T0 + 1),))
    assert await log.heads(ONE, None, None, key, 3) == tuple(order[4:7])


async def tl10_newest_has_the_highest_count(open_stores: OpenStores) -> None:
    log = open_stores().log
    assert await log.newest(ONE, SessionId("s1")) is None
    # A clock that went back: the later turn has the earlier time.
    for turn, count, started in (("t9", 9, T0 + 1), ("t10", 10, T0), ("t8", 8, T0 + 2)):
        await log.append(ONE, (start(turn, count=count, started=started),))
    await log.append(ONE, (start("else", session="s2", count=11),))
    await log.append(OTHER, (start("there", count=12),))
    newest = await log.newest(ONE, SessionId("s1"))
    assert newest is not None
    assert (newest.turn_id, newest.turn_count) == ("t10", 10)


async def tl11_idle_turns_of_every_scope(open_stores: OpenStores) -> None:
    log = open_stores().log
    assert await log.idle(SERVES_ALL, T0 + 100, 10) == ()
    made = [
        (ONE, head("a", updated=T0 + 3, started=T0 - 9)),
        (OTHER, head("b", updated=T0 + 1)),
        (THIRD, head("a", updated=T0 + 2, started=T0 - 5)),
        (ONE, head("finished", standing=TurnStanding.FINISHED)),
        (ONE, head("abandoned", standing=TurnStanding.ABANDONED)),
        (ONE, head("fresh", updated=T0 + 10)),
    ]
    for scope, kept in made:
        await log.append(scope, (batch(kept, b"{}"),))
    assert await log.idle(SERVES_ALL, T0 + 10, 10) == (made[1], made[2], made[0])
    assert await log.idle(SERVES_ALL, T0 + 10, 2) == (made[1], made[2])
    assert await log.idle(SERVES_ALL, T0 + 1, 10) == ()
    await log.append(OTHER, (batch(head("b", 2, updated=T0 + 50), b"{}"),))
    await log.append(ONE, (batch(head("a", 2, updated=T0 + 3, standing=TurnStanding.ABANDONED), b"{}"),))
    assert await log.idle(SERVES_ALL, T0 + 10, 10) == (made[2],)
    assert await log.idle(SERVES_ALL, T0 + 50, 10) == (made[2], made[5]), "b was updated at that time"


async def tl12_a_turn_belongs_to_one_session(open_stores: OpenStores) -> None:
    log, sessions = open_stores()
    await log.append(ONE, (start("t1"),))
    await refused(log, batch(head("t1", 2, session="s2"), b'{"n":2}', session_body=b"{}"))
    await refused(log, start("t1", session="s2"))
    await refused(log, Batch(head("t1", 1, session="s2"), ()))
    await refused(log, start("t2"), batch(head("t2", 2, session="s2"), b'{"n":2}'))
    assert await bodies(log) == [b'{"n":1}']
    assert await log.head(ONE, TurnId("t1")) == head("t1")
    assert await log.head(ONE, TurnId("t2")) is None
    assert await sessions.get(ONE, SessionId("s2")) is None


async def tl15_a_turn_moves_to_another_session(open_stores: OpenStores) -> None:
    log, sessions = open_stores()
    await log.append(ONE, (start("t1", b'{"n":1}', session="own"), start("t2", session="own2"), start("t3")))
    await log.append(OTHER, (start("t1", session="own"),))
    await log.append(ONE, (start("later", session="own2", count=2, started=T0 + 1),))
    kept = head("t1", 2, count=2)
    move = batch(kept, b'{"n":2}', session_body=b'{"level":"low"}')
    move = msgspec.structs.replace(move, session_was=SessionId("own"))
    # The whole call again changes nothing more.
    for _ in range(2):
        await log.append(ONE, (move,))
        assert await log.head(ONE, TurnId("t1")) == kept
        assert await log.newest(ONE, SessionId("s1")) == kept
        assert await log.newest(ONE, SessionId("own")) is None
        assert [entry.group for entry in await entries(log)] == ["s1", "s1"]
        assert [entry.key for entry in await everything(log, ONE, "own")] == []
        assert await sessions.get(ONE, SessionId("own")) is None
    made = await sessions.get(ONE, SessionId("s1"))
    assert made is not None
    assert (made.body, made.turn_count) == (b"{}", 2)
    # A session with another turn stays, and a missing one is made.
    went = batch(head("t2", 2, session="s9"), b'{"n":2}', session_body=b'{"level":"low"}')
    await log.append(ONE, (msgspec.structs.replace(went, session_was=SessionId("own2")),))
    assert [entry.key for entry in await everything(log, ONE, "own2")] == ["later"]
    assert [entry.key for entry in await everything(log, ONE, "s9")] == ["t2", "t2"]
    assert await sessions.get(ONE, SessionId("own2")) is not None
    assert (await sessions.get(ONE, SessionId("s9"))) is not None
    # Another one than it is in: refused, as before. Another scope's turn is where it was.
    stale = batch(head("t1", 3, session="s9"), b'{"n":3}')
    await refused(log, msgspec.structs.replace(stale, session_was=SessionId("own")))
    assert [entry.group for entry in await entries(log, "t1", OTHER)] == ["own"]
    assert await log.newest(OTHER, SessionId("own")) is not None
    assert await sessions.get(OTHER, SessionId("own")) is not None
    # A turn that is new and was in another session before it came.
    fresh = msgspec.structs.replace(start("t7", session="s8"), session_was=SessionId("own7"))
    await log.append(ONE, (fresh,))
    assert [entry.group for entry in await entries(log, "t7")] == ["s8"]


async def tl13_scopes_never_meet(open_stores: OpenStores) -> None:
    log = open_stores().log
    scopes = (ONE, OTHER, THIRD)
    for number, scope in enumerate(scopes, start=1):
        texts = [b'{"scope":%d}' % number] * number
        await log.append(scope, (start("t1", *texts, session=f"s{number}", count=number),))
    for number, scope in enumerate(scopes, start=1):
        assert await bodies(log, "t1", scope) == [b'{"scope":%d}' % number] * number
        kept = await log.head(scope, TurnId("t1"))
        assert kept is not None
        assert (kept.session_id, kept.last_sequence) == (f"s{number}", number)
        assert await log.heads(scope, None, None, None, 10) == (kept,)
        assert await log.heads(scope, None, TurnStanding.OPEN, None, 10) == (kept,)
        assert await log.heads(scope, kept.session_id, None, None, 10) == (kept,)
        assert await log.newest(scope, kept.session_id) == kept
        assert await log.newest(scope, SessionId("s9")) is None
    assert await log.newest(OTHER, SessionId("s1")) is None
    assert await log.heads(OTHER, SessionId("s1"), None, None, 10) == ()


async def tl14_turns_of_others_are_left_to_them(open_stores: OpenStores) -> None:
    log = open_stores().log
    for number, scope in enumerate((OTHER, THIRD, ONE)):
        await log.append(scope, (batch(head(f"t{number}", updated=T0 + number), b"{}"),))
    # What others have is silent for longer, and there is no room for it in the limit.
    assert [scope for scope, _ in await log.idle(SHOP, T0 + 9, 1)] == [ONE]
    assert [scope for scope, _ in await log.idle(ACME, T0 + 9, 9)] == [OTHER, ONE]
    assert {scope for scope, _ in await log.idle(REST, T0 + 9, 9)} == {OTHER, THIRD}


async def tl16_the_heads_of_some_turns(open_stores: OpenStores) -> None:
    log = open_stores().log
    assert await log.heads_of(ONE, []) == ()
    made = [head(f"t{number}", started=T0 + number) for number in range(3)]
    for one in made:
        await log.append(ONE, (batch(one, b"{}"),))
    await log.append(OTHER, (start("there"),))
    wanted = [TurnId("t2"), TurnId("t0"), TurnId("there"), TurnId("T1"), TurnId("t2")]
    found = await log.heads_of(ONE, wanted)
    assert sorted(found, key=lambda one: one.turn_id) == [made[0], made[2]]
