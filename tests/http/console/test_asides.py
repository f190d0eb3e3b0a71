"""A turn's timeline has why nothing was told, which answers were criticised, and what the agent recalled."""

from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import common_pb2, critique_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.critique_pb2_grpc import CritiqueServiceStub
from tests.http.chromium import Browser
from tests.http.console.filled import LESSON, TASK, report
from tests.http.console.looking import answered, go, opened, overflow, shows, texts, violations
from tests.http.sidecars import door
from tests.memory.recovering import FAILURE, SIGNATURE
from tests.memory.talk import memories
from tests.wire.calls import TIMEOUT_S, called, failed, returned
from tests.wire.sidecar import thinking

pytestmark = pytest.mark.slow("a browser is started")


def test_they_stand_between_the_entries(tmp_path: Path, browser: Browser) -> None:
    with door(tmp_path) as server:
        with thinking(server) as stub, memories(server) as memory, grpc.insecure_channel(server.address) as channel:
            result = memory_pb.ReflectionResult(reflection_text=LESSON)
            memory.StoreReflection(memory_pb.StoreReflectionRequest(result=result), timeout=TIMEOUT_S)
            stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s", task=TASK), timeout=TIMEOUT_S)
            recall = memory_pb.BuildMemoryContextRequest(task=TASK, turn_id="t")
            memory.BuildMemoryContext(recall, timeout=TIMEOUT_S)
            report(stub, "t", [called("sql", "SELECT 1 FROM orders", "a"), failed(FAILURE, "a")])
            order = '{"order": 4711, "total": 71.50}'
            report(stub, "t", [called("get_order", "4711", "b"), returned(order, "b", "result")])
            critique = critique_pb2.CritiqueRequest(turn_id="t", response="Order 4711 costs 17.50 EUR.")
            CritiqueServiceStub(channel).Critique(critique, timeout=TIMEOUT_S)
            sent = pb.TurnEvent(response_drafted=pb.ResponseDrafted(text="Order 4711 costs 71.50 EUR."))
            report(stub, "t", [sent])
            stub.FinishTurn(pb.FinishTurnRequest(turn_id="t"), timeout=TIMEOUT_S)
        page = opened(browser, server)
        for width, dark in ((360, True), (1600, False)):
            page.looks(width, dark=dark)
            go(page, "/turns/t", "asked for a critique")
            # What was recalled. Seen to fail with its kind and its words alone.
            shows(page, LESSON)
            told = " ".join(page.value("document.querySelector('.timeline').innerText").split())
            for text in (
                "no lesson with it: its start did not ask for any; the agent asked later, and was given 1 lesson",
                "no repair told",
                "no repair was known",
                SIGNATURE,
            ):
                assert text in told
            for text in (
                "recalled memory context",
                "words: word stems customer, number, order",
                "revise rules, ",
                "17.50",
            ):
                assert text in told
            # What was asked about, beside what was sent.
            assert texts(page, ".drafts > div > div") == ["Order 4711 costs 17.50 EUR.", "Order 4711 costs 71.50 EUR."]
            assert texts(page, ".drafts mark") == ["17.50"]
            assert told.index("recalled") < told.index("no repair told") < told.index("asked for a critique")
            assert overflow(page) == 0
            assert violations(page) == []
        # The list of turns counts it.
        go(page, "/turns", TASK)
        assert [" ".join(text.split()) for text in texts(page, "tbody td.number:nth-child(4)")] == [
            "1 1 critique, 1 revise"
        ]
        go(page, "/turns/t", "asked for a critique")
        # What the critique rests on is a link to its entry.
        links = "[...document.querySelectorAll('.why a')]"
        page.value(f"{links}.find((one) => one.innerText.includes('get_order')).click()")
        page.until("document.querySelector('.entry.named')?.innerText.includes('71.50')")
        shows(page, "rests on")


def test_only_what_the_sidecar_said_has_what_was_recalled(tmp_path: Path, browser: Browser) -> None:
    """Also where that is all it said, and a recalled recovery leads to its failure. Seen to fail when the box hid what
    it counted, and when the recovery's id led nowhere."""
    recovery = "a" * 32
    started = pb.TurnEntry(sequence=1, turn_id="t", event=pb.TurnEvent(turn_started=pb.TurnStarted(task=TASK)))
    turn = pb.Turn(turn_id="t", session_id="s", task=TASK, state=pb.TURN_STATE_FINISHED, last_sequence=1)
    receipt = memory_pb.Receipt(
        receipt_id="r",
        place=memory_pb.RECEIPT_PLACE_RECOVERIES,
        items=[memory_pb.ReceiptItem(id=recovery, kind="recovery", version=1)],
    )
    failures = memory_pb.ListRecoveriesResponse(
        signatures=[
            memory_pb.SignatureRecoveries(signature=name, moves=[memory_pb.RecoveryMove(recovery_id=name[0] * 32)])
            for name in ("a|timeout|slow", "b|timeout|slow")
        ]
    )
    answers: dict[str, Any] = {
        "GetTurn": pb.GetTurnResponse(turn=turn, entries=[started]),
        "ListReceipts": memory_pb.ListReceiptsResponse(receipts=[receipt]),
        "ListRecoveries": failures,
    }
    with door(tmp_path) as server:
        page = answered(browser, server, "/turns/t", answers)
        shows(page, "Only what the sidecar said (1)")
        page.until("document.querySelectorAll('.entry').length === 2")
        page.value("document.querySelector('.check input').click()")
        page.until("document.querySelectorAll('.entry').length === 1")
        assert "recalled" in texts(page, ".entry")[0]
        assert "has said nothing" not in page.value("document.querySelector('main').innerText")
        page.value("document.querySelector('.entry .card a').click()")
        page.until("location.hash.startsWith('#/recoveries?')")
        page.until("document.querySelectorAll('tbody tr').length === 1")
        assert texts(page, "tbody td:first-child a") == ["a|timeout|slow"]


def test_a_draw_is_one_in_ten_at_a_failure_alone(tmp_path: Path, browser: Browser) -> None:
    """A start's is the caller's `holdout_fraction`. A failure without an entry of its own says that, and a critique
    what became of the answer. Seen to fail when both draws had the same words, and when the other two said nothing."""
    given_up = pb.MidTurnReflection(
        status=common_pb2.RESULT_STATUS_SKIPPED_DEADLINE, detail="given up: the turn ended first"
    )
    critique = common_pb2.CritiqueResult(critique_id="k", status=common_pb2.RESULT_STATUS_OK)
    reason = pb.SILENCE_REASON_HELD_BACK
    entries = [
        pb.TurnEntry(directive=pb.TurnDirective(turn_plan=pb.TurnPlan(silence=reason))),
        pb.TurnEntry(
            directive=pb.TurnDirective(silence=pb.Silence(reason=reason, signature=SIGNATURE), caused_by=["f"])
        ),
        pb.TurnEntry(event=failed(FAILURE, "b")),
        pb.TurnEntry(event=failed(FAILURE, "c")),
        pb.TurnEntry(directive=pb.TurnDirective(reflection=given_up, caused_by=["second"])),
        pb.TurnEntry(directive=pb.TurnDirective(directive_id="k", critique=critique)),
    ]
    entries[2].event.event_id, entries[3].event.event_id = "first", "second"
    judged = pb.TurnCritique(critique=critique, answer_change=pb.ANSWER_CHANGE_NONE)
    for sequence, entry in enumerate(entries, start=1):
        entry.turn_id, entry.sequence = "t", sequence
    turn = pb.Turn(turn_id="t", session_id="s", task=TASK, state=pb.TURN_STATE_FINISHED, last_sequence=6)
    record = pb.GetTurnResponse(turn=turn, entries=entries, critiques=[judged])
    with door(tmp_path) as server:
        page = answered(browser, server, "/turns/t", {"GetTurn": record})
        shows(page, "the answer was not changed after it")
        # Without a later answer on record. Seen to fail with "not changed".
        record.critiques[0].answer_change = pb.ANSWER_CHANGE_UNSPECIFIED
        record.critiques[0].critique.should_revise = True
        later = answered(browser, server, "/turns/t", {"GetTurn": record})
        shows(later, "what was sent is not on record: report it as response_drafted")
        start, failure, first, second, _, _ = texts(page, ".entry")
        assert "no lesson with it: what fitted was held back by a draw" in start
        assert "one in ten" not in start
        assert "no repair told, and not looked up: of each kind of failure the first one in a turn is" in first
        assert "no repair told, and not looked up: given up: the turn ended first" in second
        assert "it was held back by a draw, one in ten, to see what happens without it" in failure


def test_an_agent_that_asked_in_vain(tmp_path: Path, browser: Browser) -> None:
    """Seen to fail with nothing at all where it asked."""
    started = pb.TurnEntry(sequence=1, turn_id="t", event=pb.TurnEvent(turn_started=pb.TurnStarted(task=TASK)))
    turn = pb.Turn(turn_id="t", session_id="s", task=TASK, state=pb.TURN_STATE_FINISHED, last_sequence=1)
    receipt = memory_pb.Receipt(
        receipt_id="r",
        place=memory_pb.RECEIPT_PLACE_MEMORY_CONTEXT,
        silence=pb.SILENCE_REASON_SILENCED,
        omitted=[common_pb2.OmittedItem(id="l", reason="a policy silences it")],
    )
    answers: dict[str, Any] = {
        "GetTurn": pb.GetTurnResponse(turn=turn, entries=[started]),
        "ListReceipts": memory_pb.ListReceiptsResponse(receipts=[receipt]),
    }
    with door(tmp_path) as server:
        page = answered(browser, server, "/turns/t", answers)
        shows(page, "asked, and given nothing")
        shows(page, "a policy silenced it")
        shows(page, "1 lesson left out")
