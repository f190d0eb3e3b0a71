"""A turn's timeline has why nothing was told, which answers were criticised, and what the agent recalled."""

from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import critique_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.critique_pb2_grpc import CritiqueServiceStub
from tests.http.chromium import Browser
from tests.http.console.filled import LESSON, TASK, report
from tests.http.console.looking import go, opened, overflow, shows, texts, violations
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
            stub.FinishTurn(pb.FinishTurnRequest(turn_id="t"), timeout=TIMEOUT_S)
        page = opened(browser, server)
        for width, dark in ((360, True), (1600, False)):
            page.looks(width, dark=dark)
            go(page, "/turns/t", "asked for a critique")
            told = " ".join(page.value("document.querySelector('.timeline').innerText").split())
            for text in (
                "no lesson with it: its start did not ask for any; the agent asked later, and was given 1 lesson",
                "nothing told",
                "nothing was known",
                SIGNATURE,
            ):
                assert text in told
            for text in ("recalled memory context", "words, customer, number, order", "revise rules, ", "17.50"):
                assert text in told
            assert told.index("recalled") < told.index("nothing told") < told.index("asked for a critique")
            assert overflow(page) == 0
            assert violations(page) == []
        # The list of turns counts it.
        go(page, "/turns", TASK)
        assert texts(page, "tbody td.number:nth-child(4)") == ["1"]
        go(page, "/turns/t", "asked for a critique")
        # What the critique rests on is a link to its entry.
        links = "[...document.querySelectorAll('.why a')]"
        page.value(f"{links}.find((one) => one.innerText.includes('get_order')).click()")
        page.until("document.querySelector('.entry.named')?.innerText.includes('71.50')")
        shows(page, "rests on")
