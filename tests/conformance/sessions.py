"""What every adapter of the port `Sessions` does, clause by clause.

Each test is given a function that opens the port on one empty store, beside the port `TurnLog` on the same store;
called again, it gives other objects on that store.
"""

import pytest

from sidemirror_server.thinking.store import SessionKey, SessionRecord
from sidemirror_server.trace.log import TURN_TOPIC, TurnStanding
from sidemirror_server.vocabulary.errors import AlreadyExists, NotFound, WrongState
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from tests.conformance.turn_log import EVERYTHING, ONE, OTHER, T0, THIRD, OpenStores, batch, everything, head, start


def record(session: str = "s1", created: int = T0, body: bytes = b'{"level":"low"}') -> SessionRecord:
    return SessionRecord(SessionId(session), body, created, created)


async def se1_a_taken_id_is_refused(open_stores: OpenStores) -> None:
    sessions = open_stores().sessions
    made = SessionRecord(SessionId("s1"), '{"note":"Grüße \U0001f642"}'.encode(), T0, T0 + 5)
    await sessions.create(ONE, made)
    assert await open_stores().sessions.get(ONE, SessionId("s1")) == made
    with pytest.raises(AlreadyExists):
        await sessions.create(ONE, record(body=b"{}"))
    with pytest.raises(AlreadyExists):
        await sessions.create(ONE, made)
    assert await sessions.get(ONE, SessionId("s1")) == made


async def se2_an_unknown_session_is_none(open_stores: OpenStores) -> None:
    sessions = open_stores().sessions
    assert await sessions.get(ONE, SessionId("s1")) is None
    await sessions.create(ONE, record())
    await sessions.create(OTHER, record("s2"))
    assert await sessions.get(ONE, SessionId("s2")) is None
    assert await sessions.get(ONE, SessionId("s")) is None


async def se3_turns_are_counted(open_stores: OpenStores) -> None:
    log, sessions = open_stores()
    await sessions.create(ONE, record())
    await sessions.create(ONE, record("quiet", T0 - 1))
    # A clock that went back: the turn with the highest count is not the last one started.
    for turn, count, started in (("t1", 1, T0 + 3), ("t3", 3, T0 + 1), ("t2", 2, T0 + 2)):
        of = head(turn, count=count, started=started, body=b'{"task":"%d"}' % count)
        await log.append(ONE, (batch(of, b"{}"),))
    await log.append(ONE, (start("else", session="s2", started=T0 - 2),))
    await log.append(OTHER, (start("there", count=9),))
    found = await sessions.get(ONE, SessionId("s1"))
    assert found is not None
    assert (found.turn_count, found.newest_head) == (3, b'{"task":"3"}')
    quiet = await sessions.get(ONE, SessionId("quiet"))
    assert quiet is not None
    assert (quiet.turn_count, quiet.newest_head) == (0, None)
    listed = await sessions.list(ONE, None, 10)
    assert [(one.session_id, one.turn_count, one.newest_head) for one in listed] == [
        ("s1", 3, b'{"task":"3"}'),
        ("quiet", 0, None),
        ("s2", 1, head("else").body),
    ]
    # What a record says of its turns is not written.
    await sessions.create(ONE, SessionRecord(SessionId("s4"), b"{}", T0, T0, 7, b"{}"))
    claimed = await sessions.get(ONE, SessionId("s4"))
    assert claimed is not None
    assert (claimed.turn_count, claimed.newest_head) == (0, None)


async def se4_update_replaces_the_body(open_stores: OpenStores) -> None:
    sessions = open_stores().sessions
    await sessions.create(ONE, record())
    await sessions.create(ONE, record("s2"))
    await sessions.update(ONE, SessionId("s1"), b'{"level":"high"}', T0 + 9)
    expected = SessionRecord(SessionId("s1"), b'{"level":"high"}', T0, T0 + 9)
    assert await open_stores().sessions.get(ONE, SessionId("s1")) == expected
    assert await sessions.get(ONE, SessionId("s2")) == record("s2")
    with pytest.raises(NotFound):
        await sessions.update(ONE, SessionId("s3"), b"{}", T0 + 9)
    assert await sessions.get(ONE, SessionId("s3")) is None


async def se5_list_newest_made_first(open_stores: OpenStores) -> None:
    sessions = open_stores().sessions
    assert await sessions.list(ONE, None, 10) == ()
    # Two are made at the same time, and the ids rise while the times fall.
    made = [record(f"s{number:02}", T0 - number // 2) for number in range(9)]
    for one in made:
        await sessions.create(ONE, one)
    order = tuple(sorted(made, key=lambda one: (one.created_us, one.session_id), reverse=True))
    assert await sessions.list(ONE, None, EVERYTHING) == order
    assert await sessions.list(ONE, None, 3) == order[:3]
    key = SessionKey(order[2].created_us, order[2].session_id)
    await sessions.create(ONE, record("newer", T0 + 1))
    await sessions.update(ONE, order[5].session_id, b"{}", T0 + 9)
    page = await sessions.list(ONE, key, 4)
    assert [one.session_id for one in page] == [one.session_id for one in order[3:7]]
    last = SessionKey(order[-1].created_us, order[-1].session_id)
    assert await sessions.list(ONE, last, 4) == ()


async def se6_delete_takes_the_turns_along(open_stores: OpenStores) -> None:
    log, sessions = open_stores()
    with pytest.raises(NotFound):
        await sessions.delete(ONE, SessionId("s1"))
    for scope in (ONE, OTHER):
        for turn, session in (("t1", "s1"), ("t2", "s1"), ("t3", "s2")):
            of = head(turn, 2, session=session, standing=TurnStanding.FINISHED)
            await log.append(scope, (batch(of, b'{"n":1}', b'{"n":2}', session_body=b"{}"),))
    await sessions.create(ONE, record("empty"))
    await sessions.delete(ONE, SessionId("empty"))
    await sessions.delete(ONE, SessionId("s1"))
    other = open_stores()
    assert [one.session_id for one in await other.sessions.list(ONE, None, 10)] == ["s2"]
    assert await other.sessions.get(ONE, SessionId("s1")) is None
    assert [kept.turn_id for kept in await other.log.heads(ONE, None, None, None, 10)] == ["t3"]
    assert await other.log.head(ONE, TurnId("t1")) is None
    assert await other.log.read(ONE, TurnId("t1"), 0, 10, EVERYTHING) == ()
    assert [entry.key for entry in await everything(log)] == ["t3", "t3"]
    assert await log.tail(ONE, TURN_TOPIC, "s1", 0, 10, 1_000_000) == ()
    assert len(await everything(log, OTHER)) == 6
    with pytest.raises(NotFound):
        await sessions.delete(ONE, SessionId("s1"))


async def se7_delete_waits_for_open_turns(open_stores: OpenStores) -> None:
    log, sessions = open_stores()
    await log.append(ONE, (start("t1"), start("elsewhere", session="s2")))
    await log.append(ONE, (batch(head("t2", standing=TurnStanding.ABANDONED), b"{}"),))
    kept = await everything(log)
    with pytest.raises(WrongState):
        await sessions.delete(ONE, SessionId("s1"))
    assert await everything(log) == kept
    found = await sessions.get(ONE, SessionId("s1"))
    assert found is not None
    assert found.turn_count == 2
    await log.append(ONE, (batch(head("t1", 2, standing=TurnStanding.FINISHED), b'{"n":2}'),))
    await sessions.delete(ONE, SessionId("s1"))
    assert await sessions.get(ONE, SessionId("s1")) is None


async def se8_scopes_never_meet(open_stores: OpenStores) -> None:
    sessions = open_stores().sessions
    scopes = (ONE, OTHER, THIRD)
    for number, scope in enumerate(scopes):
        await sessions.create(scope, record(body=b'{"scope":%d}' % number))
    await sessions.update(OTHER, SessionId("s1"), b'{"scope":9}', T0)
    for scope, body in zip(scopes, (b'{"scope":0}', b'{"scope":9}', b'{"scope":2}'), strict=True):
        assert await sessions.list(scope, None, 10) == (record(body=body),)
        assert await sessions.get(scope, SessionId("s1")) == record(body=body)
    await sessions.delete(THIRD, SessionId("s1"))
    assert await sessions.get(THIRD, SessionId("s1")) is None
    assert await sessions.get(ONE, SessionId("s1")) is not None
    with pytest.raises(NotFound):
        await sessions.update(THIRD, SessionId("s1"), b"{}", T0)
    with pytest.raises(NotFound):
        await sessions.delete(THIRD, SessionId("s1"))
