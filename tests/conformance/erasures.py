"""What every adapter of the port `Erasures` does, clause by clause.

Each test is given a function that opens the port on one empty store, beside the ports whose records it removes; called
again, it gives other objects on that store.
"""

import pytest

from sidemirror_server.critique.store import CritiqueRecord
from sidemirror_server.goals.record import GoalReflection, GoalState
from sidemirror_server.goals.report import GoalReport, report_body
from sidemirror_server.memory.record import (
    Lesson,
    Teaching,
    anew_id,
)
from sidemirror_server.trace.erasure import ENDED_KEPT_US, Tombstone, digest_of
from sidemirror_server.trace.receipts import Receipt, ReceiptKind
from sidemirror_server.trace.requests import KEPT_FOR_US as REQUESTS_KEPT_FOR_US
from sidemirror_server.trace.requests import Answered
from sidemirror_server.trace.sources import SourceKind, key, keys, parsed, request_key
from sidemirror_server.vocabulary.errors import LimitReached, WrongState
from sidemirror_server.vocabulary.ids import JobId, RequestId, SessionId, TurnId
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.work.queue import NewJob
from tests.conformance import erasure_removals
from tests.conformance import memories as told
from tests.conformance.erasure_records import (
    ANNA,
    BERT,
    E1,
    ONE,
    OTHER,
    THIRD,
    OpenPorts,
    a_memory,
    a_turn,
    begun,
    erase,
    erased,
    memories_of,
    memory_key,
    refused_by_what_it_rests_on,
    refused_if_heard_before,
    refused_with_an_erased_lesson,
    replace,
    turn,
    turns_of,
)
from tests.conformance.turn_log import T0, batch, head, start

PARTS = (erasure_removals,)


async def er1_begin_notes_it_once(open_ports: OpenPorts) -> None:
    ports = open_ports()
    made = await ports.erasures.begin(ONE, E1, (ANNA, turn(1), memory_key("m")), T0 + 5)
    assert (made.erasure_id, made.began_us, made.ended_us, made.counts) == (E1, T0 + 5, None, {})
    assert await erased(ports, ANNA, turn(1), memory_key("m"), BERT) == {ANNA, turn(1)}
    assert await open_ports().erasures.begin(ONE, E1, (BERT,), T0 + 9) == made
    assert await erased(ports, BERT) == set()
    assert set(await ports.erasures.left(ONE, E1, 9)) == {ANNA, turn(1), memory_key("m")}
    job = await ports.work.get(ONE, JobId(E1))
    assert job is not None, "nobody else takes the steps"
    assert (job.kind, job.max_attempts, job.run_at_us) == ("erasure", 1_000, T0 + 5)


async def er2_left_returns_each_once(open_ports: OpenPorts) -> None:
    ports = open_ports()
    for number in range(5):
        await a_turn(ports, number, "anna")
    await begun(ports, ANNA, ANNA)
    assert await ports.erasures.left(ONE, E1, 9) == (ANNA,)
    await ports.erasures.remove(ONE, E1, ANNA, T0)
    assert len(await ports.erasures.left(ONE, E1, 2)) == 2
    assert set(await open_ports().erasures.left(ONE, E1, 9)) == {turn(number) for number in range(5)}
    assert await ports.erasures.left(ONE, "another", 9) == ()


async def er3_remove_goes_on_and_counts_what_it_removes(open_ports: OpenPorts) -> None:
    ports = open_ports()
    await a_turn(ports, 1, "anna")
    await begun(ports, ANNA)
    for _ in range(2):
        await ports.erasures.remove(ONE, E1, ANNA, T0)
        assert await ports.erasures.left(ONE, E1, 9) == (turn(1),)
    for _ in range(2):
        await ports.erasures.remove(ONE, E1, turn(1), T0)
    now = await ports.erasures.get(ONE, E1)
    assert now is not None
    assert now.counts == {"turns": 1, "entries": 2, "sessions": 1}
    await a_turn(ports, 2, "anna", at_us=T0 + 200)
    await ports.erasures.remove(ONE, E1, ANNA, T0)
    assert await ports.erasures.left(ONE, E1, 9) == (turn(2),)


async def er8_again_once(open_ports: OpenPorts) -> None:
    ports = open_ports()
    await a_turn(ports, 1, "anna")
    await begun(ports, ANNA)
    for name in (ANNA, turn(1)):
        await ports.erasures.remove(ONE, E1, name, T0)
    assert await ports.erasures.left(ONE, E1, 9) == ()
    assert await ports.erasures.again(ONE, E1)
    assert set(await ports.erasures.left(ONE, E1, 9)) == {ANNA, turn(1)}
    assert not await open_ports().erasures.again(ONE, E1)
    assert not await ports.erasures.again(ONE, "another")


async def er9_the_counts_alone_are_kept(open_ports: OpenPorts) -> None:
    ports = open_ports()
    await a_turn(ports, 1, "anna")
    counts = await erase(ports, ANNA, now_us=T0 + 7)
    ended = await open_ports().erasures.get(ONE, E1)
    assert ended is not None
    assert (ended.began_us, ended.ended_us, dict(ended.counts)) == (T0 + 7, T0 + 8, counts)
    assert await ports.erasures.left(ONE, E1, 9) == ()
    assert not await ports.erasures.again(ONE, E1)
    assert await ports.erasures.left(ONE, E1, 9) == ()
    assert await ports.erasures.get(ONE, "another") is None
    await ports.erasures.begin(ONE, "e2", (BERT,), T0)
    await ports.erasures.forget_records(ONE, "e2")
    assert await ports.erasures.left(ONE, "e2", 9) == (), "it holds no id any more"
    begun = await ports.erasures.get(ONE, "e2")
    assert begun is not None
    assert begun.ended_us is None


async def er10_erased_says_since_when(open_ports: OpenPorts) -> None:
    ports = open_ports()
    assert await ports.erasures.erased(ONE, (ANNA,)) == {}
    await erase(ports, ANNA, turn(1), now_us=T0 + 3)
    other = key(SourceKind.SESSION, "anna")
    assert await ports.erasures.erased(ONE, (ANNA, BERT, turn(1), other)) == {ANNA: T0 + 3, turn(1): T0 + 3}
    assert await ports.erasures.erased(ONE, ()) == {}


async def er11_tombstones_in_order(open_ports: OpenPorts) -> None:
    ports = open_ports()
    await erase(ports, *(turn(number) for number in range(4)), ANNA)
    every = await ports.erasures.tombstones(ONE, None, 9)
    assert list(every) == sorted(every)
    assert {one.digest for one in every} == {digest_of(ONE, name) for name in (*map(turn, range(4)), ANNA)}
    pages = [*await ports.erasures.tombstones(ONE, None, 2), *await ports.erasures.tombstones(ONE, every[1], 9)]
    assert pages == list(every)
    new = Tombstone(SourceKind.TURN, digest_of(ONE, turn(9)), T0)
    newer, older = replace(every[0], erased_us=T0 + 500), replace(every[1], erased_us=1)
    await ports.erasures.put_tombstones(ONE, (new, newer, older))
    await ports.erasures.put_tombstones(ONE, ())
    now = await open_ports().erasures.tombstones(ONE, None, 9)
    assert set(now) == {new, newer, *every[1:]}


async def er12_survivors_have_a_tombstone_and_are_there(open_ports: OpenPorts) -> None:
    ports = open_ports()
    await a_turn(ports, 1, "anna", session="s1")
    await a_turn(ports, 2, "anna", session="s2")
    await a_turn(ports, 3, "bert", session="s3")
    await a_memory(ports, "m1", turn(9))
    payload = report_body(GoalReport("g", "anna's goal", GoalState.FAILED))
    await ports.work.put(ONE, NewJob(JobId("j"), "goal_report", payload), T0)
    assert await ports.erasures.survivors(ONE) == ()
    buried = {
        turn(3): T0 - 5,  # a turn of this id is never a later one
        memory_key("m1"): T0,
        key(SourceKind.GOAL_REPORT, "j"): T0,
        key(SourceKind.SESSION, "s3"): T0,  # made later, at T0 + 3
        ANNA: T0 + 1,  # turn 2 is of T0 + 2
        turn(7): T0,
    }
    tombstones = [Tombstone(parsed(name)[0], digest_of(ONE, name), at_us) for name, at_us in buried.items()]
    await ports.erasures.put_tombstones(ONE, tombstones)
    wanted = {turn(1), turn(3), memory_key("m1"), key(SourceKind.GOAL_REPORT, "j")}
    survivors = await ports.erasures.survivors(ONE)
    assert set(survivors) == wanted
    assert len(survivors) == len(wanted)
    # What came of an erased source that is not there itself: answers, receipts, a lesson that others rest on.
    answered = Answered(b"d", b"a")
    for number, at_us in enumerate((T0, T0 + 9)):
        given = ("M/N", RequestId(f"r{number}"), answered, at_us, at_us + REQUESTS_KEPT_FOR_US)
        await ports.requests.remember(ONE, *given, (key(SourceKind.SUBJECT, "carl"),))
    for number in (10, 11):
        await ports.receipts.issue(ONE, Receipt(f"r{number}", ReceiptKind.MEMORY, T0 + number, turn_id=f"t{number}"))
        await ports.receipts.issue(ONE, Receipt(f"s{number}", ReceiptKind.MEMORY, T0 + number, session_id="s10"))
    await a_memory(ports, "gone", turn(12))
    await ports.memories.learn(ONE, Lesson(replace(told.memory("dreamt"), derived_from=("gone",))), T0)
    await ports.memories.delete(ONE, "gone")
    buried = {
        key(SourceKind.SUBJECT, "carl"): T0 + 5,
        turn(10): T0 - 5,
        key(SourceKind.SESSION, "s10"): T0 + 10,
        memory_key("gone"): T0,
    }
    tombstones = [Tombstone(parsed(name)[0], digest_of(ONE, name), at_us) for name, at_us in buried.items()]
    await ports.erasures.put_tombstones(ONE, tombstones)
    more = {request_key("M/N", "r0"), turn(10), key(SourceKind.RECEIPT, "s10"), memory_key("gone")}
    survivors = await ports.erasures.survivors(ONE)
    assert set(survivors) == wanted | more
    await erase(ports, *survivors)
    assert await ports.erasures.survivors(ONE) == ()
    assert await memories_of(ports) == {anew_id(ONE, "m1")}, "nobody erased the turn that taught it"


async def er14_what_comes_of_it_later_is_refused(open_ports: OpenPorts) -> None:
    ports = open_ports()
    await erase(ports, turn(1), ANNA)
    with pytest.raises(WrongState, match="erased"):
        await a_turn(ports, 1)
    with pytest.raises(WrongState, match="erased"):
        await ports.critiques.keep(ONE, CritiqueRecord("c", T0, "rules", None, False, "t1", "", b"{}"))
    with pytest.raises(WrongState, match="erased"):
        await a_memory(ports, "m", turn(1))
    later = replace(told.memory("of anna"), taught_by=(Teaching((ANNA,), "k", T0 + 900),))
    await ports.memories.learn(ONE, Lesson(later), T0 + 900)
    await a_turn(ports, 2, "anna", at_us=T0 + 101)
    await refused_if_heard_before(ports)
    await refused_with_an_erased_lesson(ports)
    made = GoalReflection("x", "g", "send it", "so", 0.5, GoalState.FAILED, T0, Origin.TOOL)
    assert await ports.goals.put(ONE, made, T0)
    assert await ports.goals.remove(ONE, "g", "x", T0)
    assert not await ports.goals.put(ONE, made, T0)


async def er18_what_is_not_stored_is_refused_at_the_limit(open_ports: OpenPorts) -> None:
    ports = open_ports()
    await a_turn(ports, 1, "anna", session="s1")
    await a_turn(ports, 2, session="s2")
    await ports.receipts.issue(ONE, Receipt("r", ReceiptKind.MEMORY, T0, turn_id="t3", session_id="s3"))
    await a_memory(ports, "m", turn(4))
    session = key(SourceKind.SESSION, "none")
    await ports.erasures.begin(ONE, "first", (session,), T0, 1)
    for number, name in enumerate((BERT, turn(9), session)):
        with pytest.raises(LimitReached) as caught:
            await ports.erasures.begin(ONE, f"e{number}", (name,), T0, 1)
        assert (caught.value.limit, caught.value.value) == ("tombstones", 1)
        assert await ports.erasures.get(ONE, f"e{number}") is None
        assert await ports.work.get(ONE, JobId(f"e{number}")) is None
    assert await erased(ports, BERT, turn(9)) == set()
    await ports.erasures.begin(OTHER, "e", (BERT,), T0, 1)
    await ports.erasures.begin(ONE, "room", (BERT,), T0, 2)
    stored = (ANNA, turn(2), turn(3), turn(4), *keys(SourceKind.SESSION, ("s2", "s3")))
    for number, name in enumerate(stored):
        await open_ports().erasures.begin(ONE, f"stored {number}", (name,), T0, 1)
    assert await erased(ports, *stored) == set(stored)
    # One that ended long ago is forgotten.
    await ports.erasures.finish(ONE, "first", T0 + 1)
    await ports.erasures.begin(ONE, "month", (ANNA,), T0 + 1 + ENDED_KEPT_US)
    assert await ports.erasures.get(ONE, "first") is not None
    await ports.erasures.begin(ONE, "later", (ANNA,), T0 + 2 + ENDED_KEPT_US)
    assert await ports.erasures.get(ONE, "first") is None
    assert await ports.erasures.get(ONE, "room") is not None, "it has not ended"


async def er15_scopes_never_meet(open_ports: OpenPorts) -> None:
    ports = open_ports()
    for scope in (ONE, OTHER, THIRD):
        await a_turn(ports, 1, "anna", scope=scope)
        await a_memory(ports, "m", turn(1), scope=scope)
    await erase(ports, ANNA)
    for scope in (OTHER, THIRD):
        assert await turns_of(ports, scope) == ["t1"]
        assert await memories_of(ports, scope) == {"m"}
        assert await erased(ports, ANNA, turn(1), scope=scope) == set()
        assert await ports.erasures.tombstones(scope, None, 9) == ()
        assert await ports.erasures.get(scope, E1) is None
        assert await ports.erasures.survivors(scope) == ()
        same = tuple(
            replace(one, digest=digest_of(ONE, turn(1))) for one in await ports.erasures.tombstones(ONE, None, 9)
        )
        await ports.erasures.put_tombstones(scope, same)
        assert await ports.erasures.survivors(scope) == ()


CARRIED = b'{"type":"directive","what":{"type":"turn_plan","carried":{"tool_errors":[{"text":"of turn 1"}]}}}'


async def er17_what_was_taken_out_is_not_put_back(open_ports: OpenPorts) -> None:
    ports = open_ports()
    await a_turn(ports, 1, session="s")
    for number in (2, 3):
        later = start(f"t{number}", b"{}", CARRIED, session="s", count=number, started=T0 + number)
        await ports.log.append(ONE, (later,))
    read = await ports.log.head(ONE, TurnId("t2"))
    assert read is not None
    assert read.rewritten == 0
    await erase(ports, turn(1))
    stale = replace(head("t2", 3, session="s", count=2, started=T0 + 2), body=b'{"carried":{"x":"of turn 1"}}')
    with pytest.raises(WrongState, match="erased in part"):
        await ports.log.append(ONE, (batch(stale, b"{}"),))
    for state in (("t1", 0), ("t2", 0), ("t3", 0)):
        with pytest.raises(WrongState, match="erased in part"):
            await a_turn(ports, 4, session="s", began_with=((TurnId(state[0]), state[1]),))
    now = await open_ports().log.head(ONE, TurnId("t2"))
    assert now is not None
    assert (now.rewritten, now.body) == (1, read.body)
    assert [one.rewritten for one in await ports.log.heads(ONE, SessionId("s"), None, None, 9)] == [1, 1]
    await ports.log.append(ONE, (batch(replace(stale, rewritten=1, body=b"{}"), b"{}"),))
    assert [one.turn_id for one in await ports.log.heads(ONE, SessionId("s"), None, None, 9)] == ["t3", "t2"]
    await a_turn(ports, 4, session="s", began_with=((TurnId("t2"), 1), (TurnId("never stored"), 0)))
    await refused_by_what_it_rests_on(ports)
