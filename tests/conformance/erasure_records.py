"""Records for the suite of the port `Erasures`, a whole erasure, and what is refused after it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest

from sidemirror_server.critique.store import CritiqueRecord, Critiques
from sidemirror_server.goals.record import GoalReflection, GoalState
from sidemirror_server.goals.store import GoalReflections
from sidemirror_server.memory.record import Change as MemoryChange
from sidemirror_server.memory.record import (
    Lesson,
    MemoryHistory,
    MemoryRecord,
    Revision,
    Teaching,
)
from sidemirror_server.memory.store import Memories
from sidemirror_server.memory.trials.trials import Trials
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.trace.erasure import Erasures
from sidemirror_server.trace.log import Journal, Note, TurnLog
from sidemirror_server.trace.receipts import Receipt, ReceiptItem, ReceiptKind, Receipts
from sidemirror_server.trace.requests import Answered, Requests
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.errors import StoreUnavailable, WrongState
from sidemirror_server.vocabulary.ids import JobId, RequestId
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from sidemirror_server.work.queue import NewJob, Work
from tests.conformance import memories as told
from tests.conformance.turn_log import EVERYTHING, T0, batch, head, start


class Ports(NamedTuple):
    erasures: Erasures
    log: TurnLog
    sessions: Sessions
    critiques: Critiques
    receipts: Receipts
    memories: Memories
    trials: Trials
    work: Work
    requests: Requests
    goals: GoalReflections
    journal: Journal


OpenPorts = Callable[[], Ports]

ONE, OTHER, THIRD = Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop")
E1 = "e1"
ANNA, BERT = key(SourceKind.SUBJECT, "anna"), key(SourceKind.SUBJECT, "bert")
replace = msgspec.structs.replace


GONE = "state='erased'"


def turn(number: int) -> str:
    return key(SourceKind.TURN, f"t{number}")


def memory_key(memory_id: str) -> str:
    return key(SourceKind.MEMORY, memory_id)


async def begun(ports: Ports, *names: str, scope: Scope = ONE, now_us: int = T0 + 100) -> None:
    await ports.erasures.begin(scope, E1, names, now_us)


async def erase(ports: Ports, *names: str, scope: Scope = ONE, now_us: int = T0 + 100) -> dict[str, int]:
    """All steps of an erasure; returns its counts."""
    await begun(ports, *names, scope=scope, now_us=now_us)
    while left := await ports.erasures.left(scope, E1, 3):
        for name in left:
            await ports.erasures.remove(scope, E1, name, now_us)
    await ports.erasures.forget_records(scope, E1)
    await ports.erasures.finish(scope, E1, now_us + 1)
    ended = await ports.erasures.get(scope, E1)
    assert ended is not None
    return dict(ended.counts)


async def a_turn(
    ports: Ports, number: int, *subject_ids: str, session: str = "", scope: Scope = ONE, at_us: int = 0, **more: Any
) -> None:
    started = at_us or T0 + number
    first = start(f"t{number}", b'{"n":1}', b'{"n":2}', session=session or f"s{number}", count=number, started=started)
    drafts = tuple(replace(draft, at_us=started) for draft in first.drafts)
    await ports.log.append(scope, (replace(first, drafts=drafts, subject_ids=subject_ids, **more),))


async def a_memory(
    ports: Ports, memory_id: str, *sources: str, text: str = "", scope: Scope = ONE, taught_us: int = T0
) -> MemoryRecord:
    draft = told.memory(memory_id, text)
    draft = replace(draft, taught_by=(Teaching(sources, draft.text_key, taught_us),) if sources else ())
    return (await ports.memories.learn(scope, Lesson(draft), taught_us)).reflection


async def turns_of(ports: Ports, scope: Scope = ONE) -> list[str]:
    return [each.turn_id for each in await ports.log.heads(scope, None, None, None, 100)]


async def memories_of(ports: Ports, scope: Scope = ONE) -> set[str]:
    return {each.memory_id for each in await told.all_of(ports.memories, scope)}


async def erased(ports: Ports, *names: str, scope: Scope = ONE) -> set[str]:
    return set(await ports.erasures.erased(scope, names))


async def kept_longer_than_their_report(ports: Ports) -> None:
    """Reports of anna that are gone: what one came to is in the journal still, and what the other did is not."""
    for name, goal in (("told", "g1"), ("forgotten", "g2")):
        await ports.work.put(ONE, NewJob(JobId(name), "goal_report", b"", sources=(ANNA,)), T0)
        made = GoalReflection(name, goal, "send it", "so", 0.5, GoalState.FAILED, T0, Origin.TOOL)
        assert await ports.goals.put(ONE, made, T0)
        sources = (key(SourceKind.GOAL_REFLECTION, name), key(SourceKind.GOAL_REPORT, name))
        assert await ports.journal.add(ONE, "goal_reflection", Note(name, goal, T0, b"{}"), 9, sources)
        (claimed,) = await ports.work.claim(SERVES_ALL, ("goal_report",), 1, 9.0, T0, "worker")
        await ports.work.finish(ONE, JobId(name), claimed.token, b"{}", T0)
    assert await ports.work.purge(SERVES_ALL, ("goal_report",), T0 + 1, 9) == 2
    assert await ports.goals.delete(ONE, "g2", T0) == 1
    assert await ports.journal.drop(ONE, "goal_reflection", "forgotten")
    assert await ports.goals.delete(ONE, "g1", T0) == 1


async def refused_if_heard_before(ports: Ports) -> None:
    """Of a subject that was erased at T0 + 100: what was heard before is refused, and what was heard later is kept."""
    of_anna = CritiqueRecord("c", T0 + 900, "rules", None, False, "", "", b"{}", subject_ids=("anna",))
    with pytest.raises(WrongState, match="erased"):
        await ports.critiques.keep(ONE, replace(of_anna, heard_us=T0 + 50))
    await ports.critiques.keep(ONE, replace(of_anna, heard_us=T0 + 101))
    early = replace(told.memory("early", "said early"), taught_by=(Teaching((ANNA,), "early", T0 + 50),))
    with pytest.raises(WrongState, match="erased"):
        await ports.memories.learn(ONE, Lesson(early), T0 + 900)
    with pytest.raises(WrongState, match="erased"):
        await ports.memories.put(ONE, MemoryHistory(early))
    revision = Revision(MemoryChange.UPDATED, "new", content="another", sources=(ANNA,))
    with pytest.raises(WrongState, match="erased"):
        await ports.memories.revise(ONE, "of anna", revision, T0 + 50)
    await ports.memories.revise(ONE, "of anna", revision, T0 + 900)
    report = NewJob(JobId("r"), "goal_report", b"", sources=(ANNA,))
    with pytest.raises(WrongState, match="erased"):
        await ports.work.put(ONE, report, T0 + 50)
    await ports.work.put(ONE, report, T0 + 900)
    answered = Answered(b"digest", b"answer")
    for heard_us, kept in ((T0 + 50, None), (T0 + 900, answered)):
        given = ("Method", RequestId(f"of {heard_us}"))
        assert await ports.requests.remember(ONE, *given, answered, heard_us, T0 + 9_000, (ANNA,)) == answered
        assert await ports.requests.recall(ONE, *given, T0 + 950) == kept


async def refused_with_an_erased_lesson(ports: Ports) -> None:
    """What shows a lesson, or is for a turn or a session, that was erased at T0 + 100."""
    await a_memory(ports, "gone")
    await ports.erasures.begin(ONE, "e2", (key(SourceKind.SESSION, "s9"),), T0 + 100)
    await ports.erasures.remove(ONE, "e2", memory_key("gone"), T0 + 100)
    item = ReceiptItem("gone", 1, "reflection", b"hash of gone")
    with pytest.raises(StoreUnavailable, match="ask again"):
        await ports.receipts.issue(ONE, Receipt("r", ReceiptKind.MEMORY, T0 + 900, (item,)))
    for refused in ({"turn_id": "t1"}, {"session_id": "s9", "time_us": T0 + 50}):
        with pytest.raises(WrongState, match="erased"):
            await ports.receipts.issue(ONE, replace(Receipt("r", ReceiptKind.MEMORY, T0 + 900), **refused))
    assert await ports.receipts.get(ONE, "r") is None
    assert await ports.receipts.shown(ONE, [b"hash of gone"]) == frozenset()
    await ports.receipts.issue(ONE, Receipt("r", ReceiptKind.MEMORY, T0 + 900, session_id="s9"))
    note = Note("n", "g", T0 + 900, b"{}")
    assert not await ports.journal.add(ONE, "topic", note, 900, (BERT, memory_key("gone")))
    assert await ports.journal.tail(ONE, "topic", None, 0, 9, EVERYTHING) == ()
    assert await ports.journal.add(ONE, "topic", note, 900, (BERT,))


async def refused_by_what_it_rests_on(ports: Ports) -> None:
    """Turns that are stored after an erasure at T0 + 100, by a process that heard them before."""
    await a_memory(ports, "gone")
    await ports.erasures.begin(ONE, "e2", (ANNA, key(SourceKind.SESSION, "s9")), T0 + 100)
    await ports.erasures.remove(ONE, "e2", memory_key("gone"), T0 + 100)
    for number, refused in enumerate(((memory_key("gone"), 0), (ANNA, T0 + 50)), start=5):
        with pytest.raises(WrongState, match="erased in part"):
            await a_turn(ports, number, at_us=T0 + 900, rests_on=((BERT, T0), refused))
    with pytest.raises(WrongState, match=GONE):
        await a_turn(ports, 7, "bert", "anna")
    with pytest.raises(WrongState, match=GONE):
        await a_turn(ports, 7, session="s9")
    more = replace(batch(head("t4", 3, session="s", count=4), b"{}"), subject_ids=("anna",))
    with pytest.raises(WrongState, match=GONE):
        await ports.log.append(ONE, (more,))
    await a_turn(ports, 8, session="s9", at_us=T0 + 900, rests_on=((ANNA, T0 + 101),))
    assert set(await turns_of(ports)) == {"t2", "t3", "t4", "t8"}
