"""Of the port `Erasures` the clauses about what goes with an erased record, and what stays without it; `erasures.py`
has the others."""

import msgspec
import pytest

from sidemirror_server.critique.store import CritiqueRecord
from sidemirror_server.goals.record import GoalState
from sidemirror_server.goals.report import GoalReport, reflection_id_of, report_body
from sidemirror_server.memory.record import (
    AppliesWhen,
    Lesson,
    MemoryHistory,
    Revision,
    Teaching,
    anew_id,
)
from sidemirror_server.memory.record import Change as MemoryChange
from sidemirror_server.memory.trials.trials import Trial
from sidemirror_server.thinking.store import SessionRecord
from sidemirror_server.trace.log import TurnStanding
from sidemirror_server.trace.receipts import Receipt, ReceiptItem, ReceiptKind, ShownIn, lessons_in
from sidemirror_server.trace.requests import Answered
from sidemirror_server.trace.sources import SourceKind, key, keys
from sidemirror_server.vocabulary.block import Omitted
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.ids import JobId, RequestId, SessionId, TurnId
from sidemirror_server.work.queue import NewJob
from tests.conformance import memories as told
from tests.conformance.erasure_records import (
    ANNA,
    BERT,
    ONE,
    OpenPorts,
    a_memory,
    a_turn,
    erase,
    erased,
    kept_longer_than_their_report,
    memories_of,
    memory_key,
    replace,
    turn,
    turns_of,
)
from tests.conformance.trials import assign
from tests.conformance.turn_log import EVERYTHING, T0, batch, head, start


async def er4_a_turn_and_a_session_go_with_what_they_have(open_ports: OpenPorts) -> None:
    ports = open_ports()
    for number, session in ((1, "s"), (2, "s"), (3, "own"), (4, "other")):
        await a_turn(ports, number, session=session)
        kept = CritiqueRecord(f"c{number}", T0, "rules", None, False, f"t{number}", session, b"{}")
        await ports.critiques.keep(ONE, kept)
        item = ReceiptItem("m", 1, "lesson", b"hash %d" % number)
        shown = Receipt(f"r{number}", ReceiptKind.TURN, T0, (item,), turn_id=f"t{number}")
        await ports.trials.issue(ONE, shown, (Trial("m", 1),))
    in_session = CritiqueRecord("c5", T0, "rules", None, False, "", "s", b"{}")
    await ports.critiques.keep(ONE, in_session)
    await ports.receipts.issue(ONE, Receipt("r5", ReceiptKind.MEMORY, T0, (), session_id="s"))
    counts = await erase(ports, key(SourceKind.SESSION, "s"), turn(3))
    assert counts == {"sessions": 2, "turns": 3, "entries": 6, "critiques": 4, "receipts": 4, "trials": 3}
    assert await turns_of(ports) == ["t4"]
    assert [one.critique_id for one in await ports.critiques.list(ONE, None, None, None, 9)] == ["c4"]
    assert [one.receipt_id for one in await ports.receipts.find(ONE, None, 9)] == ["r4"]
    assert await ports.receipts.shown(ONE, [b"hash 1", b"hash 4"]) == {b"hash 4"}
    assert [one.session_id for one in await ports.sessions.list(ONE, None, 9)] == ["other"]
    assert len(await ports.log.read(ONE, TurnId("t4"), 0, 9, EVERYTHING)) == 2
    gone = (turn(1), turn(2), turn(3), key(SourceKind.SESSION, "s"), *keys(SourceKind.CRITIQUE, ("c1", "c5")))
    assert await erased(ports, *gone, turn(4)) == set(gone)


async def er5_a_memory_goes_unless_others_taught_it(open_ports: OpenPorts) -> None:
    ports = open_ports()
    await a_memory(ports, "m1", turn(1), text="only one said so")
    await a_memory(ports, "m2", turn(1), text="two said so")
    await a_memory(ports, "again", turn(2), text="two said so")
    await a_memory(ports, "m3", turn(2), text="another one said so")
    await a_memory(ports, "m4", turn(1), text="somebody said so")
    await a_memory(ports, "nobody", text="somebody said so")
    resting = replace(told.memory("dreamt"), derived_from=("m1", "m3"))
    await ports.memories.learn(ONE, Lesson(resting), T0)
    with_all = MemoryHistory(
        replace(
            told.memory("m5", "many words"),
            taught_by=(Teaching((turn(1),), "k", T0), Teaching((BERT,), told.key_of("many words"), T0, "episode")),
            task_text="of anna",
            metadata={"session_id": "of anna"},
            tags=("anna",),
            source_event_ids=("anna",),
            related_ids=("anna",),
            applies_when=AppliesWhen(tools=("anna",)),
            error_signature="anna",
            reason="anna",
            episodes=("e", "episode"),
            version=3,
            strength=7,
        ),
        (told.memory("m5", "words of anna"),),
    )
    await ports.memories.put(ONE, with_all)
    # A dream that rests on a memory with words of both, as a version of it or as its task.
    of_both = replace(told.memory("of m5", "a dream of anna"), derived_from=("m5", "m3"))
    await ports.memories.learn(ONE, Lesson(of_both), T0)
    await ports.memories.revise(ONE, "m3", Revision(MemoryChange.UPDATED, content="now of turn 3", text_key="k3"), T0)
    await assign(ports.trials, ONE, "r", (Trial("m1", 1), Trial("m3", 1)), T0)
    counts = await erase(ports, turn(1))
    assert counts == {"memories": 4, "memories_made_anew": 2, "memory_versions": 1, "trials": 1}
    new_ids = {each: anew_id(ONE, each) for each in ("m2", "m5")}
    assert await memories_of(ports) == {*new_ids.values(), "m3"}
    m2, m5 = await ports.memories.get(ONE, tuple(new_ids.values()))
    assert (m2.content, m2.strength, m2.version) == ("two said so", 1, 1)
    assert [taught.sources for taught in m2.taught_by] == [(turn(2),)]
    assert "anna" not in str(m5)
    assert (m5.content, m5.strength, m5.version, m5.episodes) == ("many words", 1, 1, ("episode",))
    assert await ports.memories.versions(ONE, m5.memory_id, None, 9) == (m5,)
    names = [memory_key(each) for each in ("m1", "m2", "m4", "m5", "dreamt", "of m5")]
    assert await erased(ports, *names, memory_key(m2.memory_id)) == set(names)
    assert (await a_memory(ports, "new", turn(2), text="only one said so")).memory_id == "new", "its keys are gone"
    assert [one.memory_id for one in await ports.trials.of_receipt(ONE, "r")] == ["m3"]


def shows(block: str, *ids: str) -> bytes:
    """An entry whose plan has a block with these lessons."""
    items = [{"id": one, "text": f"what {one} says"} for one in ids]
    what = {"type": "turn_plan", "context": {"text": " ".join(f"what {one} says" for one in ids), "items": items}}
    return msgspec.json.encode({"type": "directive", "block": block, "what": what})


async def er6_other_turns_stay_without_the_lesson(open_ports: OpenPorts) -> None:
    ports = open_ports()
    await a_memory(ports, "m1", turn(1))
    await a_memory(ports, "m2", turn(2))
    for number in (5, 6):
        body = shows("b", "m1", "m2") if number == 5 else shows("b", "m2")
        await ports.log.append(ONE, (start(f"t{number}", b"{}", body, session="s", count=number, started=T0 + number),))
        shown = ("m1", "m2") if number == 5 else ("m2",)
        items = tuple(ReceiptItem(one, 1, "reflection", f"hash of {one}".encode()) for one in shown)
        receipt = Receipt(f"r{number}", ReceiptKind.TURN, T0, items, held_back=shown, turn_id=f"t{number}")
        await ports.receipts.issue(ONE, receipt)
    before = await ports.log.read(ONE, TurnId("t6"), 0, 9, EVERYTHING)
    counts = await erase(ports, turn(1))
    assert counts == {"memories": 1, "turns_rewritten": 1}
    first, rewritten = await ports.log.read(ONE, TurnId("t5"), 0, 9, EVERYTHING)
    assert (first.body, rewritten.sequence) == (b"{}", 2)
    what = msgspec.json.decode(rewritten.body)["what"]
    assert what["context"] == {"text": "[erased]", "items": [{"id": "m2", "text": "what m2 says"}]}
    assert await ports.log.read(ONE, TurnId("t6"), 0, 9, EVERYTHING) == before
    kept = await ports.receipts.get(ONE, "r5")
    assert kept is not None
    assert ([item.id for item in kept.items], kept.held_back) == (["m2"], ("m2",))
    assert await ports.receipts.shown(ONE, [b"hash of m1", b"hash of m2"]) == {b"hash of m2"}


async def er7_later_turns_stay_without_what_they_began_with(open_ports: OpenPorts) -> None:
    ports = open_ports()
    await a_turn(ports, 1, session="s")
    plan = b'{"type":"directive","what":{"type":"turn_plan","n":1,"carried":{"tool_errors":[{"text":"of turn 1"}]}}}'
    said = b'{"type":"directive","what":{"type":"reflection","reflection":"as turn 1 had it","suggested_action":"x"}}'
    event = b'{"type":"event","what":{"type":"user_message","text":"mine"}}'
    of = replace(head("t2", 4, session="s", count=2, started=T0 + 2), body=b'{"task":"mine","carried":{"x":"of 1"}}')
    await ports.log.append(ONE, (batch(of, b"{}", plan, said, event),))
    fresh = start(
        "t3", b"{}", plan.replace(b',"carried":{"tool_errors":[{"text":"of turn 1"}]}', b""), said, session="s"
    )
    await ports.log.append(ONE, (replace(fresh, head=replace(fresh.head, started_us=T0 + 3)),))
    counts = await erase(ports, turn(1))
    assert counts == {"turns": 1, "entries": 2, "turns_rewritten": 1}
    bodies = [msgspec.json.decode(one.body) for one in await ports.log.read(ONE, TurnId("t2"), 0, 9, EVERYTHING)]
    assert bodies[1]["what"] == {"type": "turn_plan", "n": 1}
    assert bodies[2]["what"] == {"type": "reflection", "reflection": "[erased]"}
    assert bodies[3] == msgspec.json.decode(event)
    now = await ports.log.head(ONE, TurnId("t2"))
    assert now is not None
    assert msgspec.json.decode(now.body) == {"task": "mine"}
    assert said in [one.body for one in await ports.log.read(ONE, TurnId("t3"), 0, 9, EVERYTHING)]


async def er13_what_other_ports_store_is_found(open_ports: OpenPorts) -> None:
    ports = open_ports()
    await ports.sessions.create(ONE, SessionRecord(SessionId("s1"), b"{}", T0, T0, subject_ids=("anna", "bert")))
    session = await ports.sessions.get(ONE, SessionId("s1"))
    assert session is not None
    assert session.subject_ids == ("anna", "bert")
    assert [one.subject_ids for one in await ports.sessions.list(ONE, None, 9)] == [("anna", "bert")]
    await a_turn(ports, 1, session="s1")
    later = replace(batch(head("t2", 3), b"{}"), subject_ids=("anna",))
    await ports.log.append(ONE, (start("t2", b"{}", b"{}"),))
    await ports.log.append(ONE, (later,))
    kept = CritiqueRecord("c", T0, "rules", None, False, "", "", b"{}", subject_ids=("anna",))
    await ports.critiques.keep(ONE, kept)
    against = CritiqueRecord("against c", T0, "rules", None, False, "", "", b"{}", compared_to="c")
    await ports.critiques.keep(ONE, against)
    payload = report_body(GoalReport("g", "anna's goal", GoalState.FAILED))
    await ports.work.put(ONE, NewJob(JobId("j"), "goal_report", payload, sources=(ANNA,)), T0)
    await a_memory(ports, "m1", ANNA)
    await a_memory(ports, "m2", turn(2))
    await ports.memories.revise(ONE, "m2", Revision(MemoryChange.UPDATED, sources=(BERT,)), T0)
    for number, source in enumerate((ANNA, turn(1), memory_key("m1"), BERT)):
        answered = Answered(b"d", b"a")
        await ports.requests.remember(ONE, "M/N", RequestId(f"r{number}"), answered, T0, T0 + 900, (source,))
    # What was learned of a turn is found by its subject when the turn is gone.
    await a_turn(ports, 8, "carl", session="s8")
    over = head("t8", 3, session="s8", count=8, started=T0 + 8, standing=TurnStanding.FINISHED)
    await ports.log.append(ONE, (batch(over, b"{}"),))
    await a_memory(ports, "m8", turn(8), key(SourceKind.SUBJECT, "carl"))
    of_turn = CritiqueRecord("c8", T0, "rules", None, False, "t8", "s8", b"{}")
    await ports.critiques.keep(ONE, of_turn)
    await ports.sessions.create(ONE, SessionRecord(SessionId("s9"), b"{}", T0, T0, subject_ids=("carl",)))
    of_session = CritiqueRecord("c9", T0, "rules", None, False, "", "s9", b"{}")
    await ports.critiques.keep(ONE, of_session)
    for session_id in ("s8", "s9"):
        await ports.sessions.delete(ONE, SessionId(session_id))
    counts = await erase(ports, ANNA, key(SourceKind.SUBJECT, "carl"))
    assert counts == {
        "sessions": 1,
        "turns": 2,
        "entries": 5,
        "critiques": 4,
        "goal_reports": 1,
        "memories": 2,
        "memories_made_anew": 1,
        "memory_versions": 1,
        "answers": 3,
    }
    assert await ports.requests.recall(ONE, "M/N", RequestId("r3"), T0) is not None
    assert await ports.requests.recall(ONE, "M/N", RequestId("r0"), T0) is None
    assert await ports.work.get(ONE, JobId("j")) is None
    reflection = reflection_id_of(ONE, "j")
    assert await erased(ports, key(SourceKind.GOAL_REFLECTION, reflection)) == {
        key(SourceKind.GOAL_REFLECTION, reflection)
    }


async def er16_what_was_removed_before_is_followed(open_ports: OpenPorts) -> None:
    ports = open_ports()
    # A lesson that another rests on, and that a turn was shown.
    await a_memory(ports, "m1", ANNA, text="anna said so")
    await ports.memories.learn(ONE, Lesson(replace(told.memory("dreamt"), derived_from=("m1", "m2"))), T0)
    await ports.log.append(ONE, (start("t5", b"{}", shows("b", "m1"), session="s5", count=5, started=T0 + 5),))
    shown = (ReceiptItem("m1", 1, "reflection", b"hash"),)
    await ports.receipts.issue(ONE, Receipt("r5", ReceiptKind.TURN, T0, shown, turn_id="t5"))
    await ports.memories.delete(ONE, "m1")
    # A session of hers, and one of which she is in a turn.
    await ports.sessions.create(ONE, SessionRecord(SessionId("s6"), b"{}", T0, T0, subject_ids=("anna",)))
    for number, subjects in ((6, ()), (7, ("anna",))):
        of = head(f"t{number}", 1, session=f"s{number}", standing=TurnStanding.FINISHED, started=T0 + 6)
        begun_turn = batch(of, b"{}", session_body=b"{}")
        await ports.log.append(ONE, (replace(begun_turn, subject_ids=subjects),))
        of_turn = Receipt(f"r{number}", ReceiptKind.TURN, T0, (), turn_id=f"t{number}")
        await ports.receipts.issue(ONE, of_turn)
        await a_memory(ports, f"m{number}", turn(number), text=f"turn {number} said so")
        await ports.critiques.keep(ONE, CritiqueRecord(f"c{number}", T0, "rules", None, False, f"t{number}", "", b"{}"))
        answered = Answered(b"d", b"a")
        await ports.requests.remember(ONE, "M/N", RequestId(f"r{number}"), answered, T0, T0 + 900, (turn(number),))
        await ports.sessions.delete(ONE, SessionId(f"s{number}"))
    await kept_longer_than_their_report(ports)
    counts = await erase(ports, ANNA)
    assert counts == {"memories": 3, "turns_rewritten": 1, "receipts": 2, "critiques": 2, "answers": 2}
    assert await erased(ports, *keys(SourceKind.GOAL_REFLECTION, ("told", "forgotten"))) == {
        key(SourceKind.GOAL_REFLECTION, "told")
    }
    assert await memories_of(ports) == set()


async def er19_what_left_the_lesson_out_does_not_name_it(open_ports: OpenPorts) -> None:
    ports = open_ports()
    await a_memory(ports, "m1", turn(1))
    await a_memory(ports, "m2", turn(2))
    both = [{"id": one, "reason": "too old"} for one in ("m1", "m2")]
    plan = msgspec.json.encode({"what": {"type": "turn_plan", "context": {"text": "", "omitted": both}}})
    await ports.log.append(ONE, (start("t5", plan, b"{}"),))
    none = Receipt("none", ReceiptKind.MEMORY, T0, turn_id="t5", silence="none_fits")
    none = replace(none, omitted=tuple(Omitted(one, "too old") for one in ("m1", "m2", "m1")))
    held = Receipt("held", ReceiptKind.MEMORY, T0, held_back=("m2", "m1"))
    # A goal's reflection is left out like a memory. What is silent at a failing call is a recovery, and no record.
    payload = report_body(GoalReport("g", "anna's goal", GoalState.FAILED))
    await ports.work.put(ONE, NewJob(JobId("j"), "goal_report", payload, sources=(ANNA,)), T0)
    goal = Receipt("goal", ReceiptKind.MEMORY, T0, omitted=(Omitted(reflection_id_of(ONE, "j"), "no room"),))
    silent = Receipt("silent", ReceiptKind.MEMORY, T0, held_back=("r" * 32,), place=ShownIn.ADVICE)
    assert lessons_in(silent) == {}
    for receipt in (none, held, goal, silent):
        await ports.receipts.issue(ONE, receipt)
    counts = await erase(ports, turn(1), ANNA)
    assert counts == {"memories": 1, "turns_rewritten": 1, "goal_reports": 1}
    assert await ports.receipts.get(ONE, "none") == replace(none, omitted=(Omitted("m2", "too old"),))
    assert await ports.receipts.get(ONE, "held") == replace(held, held_back=("m2",))
    assert await ports.receipts.find(ONE, None, 9, lesson_id="m1") == ()
    assert await ports.receipts.get(ONE, "goal") == replace(goal, omitted=())
    assert await ports.receipts.get(ONE, "silent") == silent
    first, _ = await ports.log.read(ONE, TurnId("t5"), 0, 9, EVERYTHING)
    assert msgspec.json.decode(first.body)["what"]["context"]["omitted"] == both[1:]
    for names in ({"omitted": none.omitted}, {"held_back": held.held_back}):
        with pytest.raises(StoreUnavailable, match="ask again"):
            await ports.receipts.issue(ONE, replace(Receipt("late", ReceiptKind.MEMORY, T0 + 900), **names))
