"""A drafted response is critiqued in its turn, when the turn's `critique_mode` wants it."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as thinking_pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.vocabulary.status import ResultStatus
from tests.critique.cast import (
    Cast,
)
from tests.wire.calls import TIMEOUT_S, called, failed, finished, returned
from tests.wire.critics import critiques, listed
from tests.wire.sidecar import SidecarThread, sidecar

OFF, GATED, ALWAYS = (
    common_pb2.CRITIQUE_MODE_OFF,
    common_pb2.CRITIQUE_MODE_GATED,
    common_pb2.CRITIQUE_MODE_ALWAYS,
)


def drafted(text: str) -> thinking_pb.TurnEvent:
    return thinking_pb.TurnEvent(event_id="draft", response_drafted=thinking_pb.ResponseDrafted(text=text))


@pytest.mark.parametrize(
    ("mode", "fails", "reasons"),
    [
        (common_pb2.CRITIQUE_MODE_UNSPECIFIED, True, None),
        (OFF, True, None),
        (GATED, False, None),
        (GATED, True, [common_pb2.CRITIQUE_REASON_TOOL_ERROR]),
        (ALWAYS, False, [common_pb2.CRITIQUE_REASON_ALWAYS]),
        (ALWAYS, True, [common_pb2.CRITIQUE_REASON_TOOL_ERROR, common_pb2.CRITIQUE_REASON_ALWAYS]),
    ],
)
def test_a_drafted_response_is_critiqued(
    server: SidecarThread, mode: Any, fails: bool, reasons: list[int] | None
) -> None:
    with grpc.insecure_channel(server.address) as channel, critiques(server) as stub:
        thinking = ThinkingServiceStub(channel)
        start = thinking_pb.StartTurnRequest(user_message="Cancel W17.", critique_mode=mode)
        plan = thinking.StartTurn(start, timeout=TIMEOUT_S).plan
        assert plan.critique_mode == (mode or OFF)
        outcome = failed("503", "c1") if fails else returned("done", "c1")
        report = thinking_pb.ReportEventsRequest(
            turn_id=plan.turn_id,
            events=[called("cancel", "W17", "c1"), outcome, drafted("W17 has been cancelled.")],
            wait={"seconds": 10},
        )
        said = [one for one in thinking.ReportEvents(report, timeout=TIMEOUT_S).directives if one.HasField("critique")]
        summary = thinking.FinishTurn(thinking_pb.FinishTurnRequest(turn_id=plan.turn_id), timeout=TIMEOUT_S).summary
        assert dict(summary.critiques) == ({} if reasons is None else {"RESULT_STATUS_OK": 1})
        assert summary.budget_left.reflections == 4
        if reasons is None:
            assert said == []
            return
        assert len(said) == 1
        assert list(said[0].critique_reasons) == reasons
        assert list(said[0].caused_by) == ["draft"]
        assert said[0].critique.should_revise is fails
        kept = listed(stub, turn_id=plan.turn_id)
        assert [one.critique for one in kept] == [said[0].critique]
        assert said[0].directive_id == said[0].critique.critique_id
        turn = thinking.GetTurn(thinking_pb.GetTurnRequest(turn_id=plan.turn_id), timeout=TIMEOUT_S)
        assert [one.claim.critique for one in turn.entries if one.HasField("claim")] == [True]


def test_on_a_stream(server: SidecarThread) -> None:
    begins = thinking_pb.TurnEvent(turn_started=thinking_pb.TurnStarted(critique_mode=ALWAYS))
    more = threading.Event()

    def requests() -> Iterator[thinking_pb.RunTurnRequest]:
        yield thinking_pb.RunTurnRequest(events=[begins, drafted("17 + 25 = 43")])
        assert more.wait(TIMEOUT_S)
        yield thinking_pb.RunTurnRequest(events=[finished()])

    with grpc.insecure_channel(server.address) as channel:
        found = []
        for response in ThinkingServiceStub(channel).RunTurn(requests(), timeout=TIMEOUT_S):
            for directive in response.directives:
                if directive.HasField("critique"):
                    found.append(directive.critique.should_revise)
                    more.set()
    assert found == [True]


def test_a_failed_critique_of_a_draft(tmp_path: Path) -> None:
    cast = Cast(critique=ResultStatus.FAILED_MODEL)
    with sidecar(tmp_path, model=cast) as server, grpc.insecure_channel(server.address) as channel:
        thinking = ThinkingServiceStub(channel)
        plan = thinking.StartTurn(thinking_pb.StartTurnRequest(critique_mode=ALWAYS), timeout=TIMEOUT_S).plan
        report = thinking_pb.ReportEventsRequest(turn_id=plan.turn_id, events=[drafted("x")], wait={"seconds": 10})
        critique = thinking.ReportEvents(report, timeout=TIMEOUT_S).directives[-1].critique
        assert (critique.status, critique.confidence) == (common_pb2.RESULT_STATUS_FAILED_MODEL, 0.5)
        assert (list(critique.issues), critique.should_revise) == (["Reflection failed"], False)
        with critiques(server) as stub:
            assert listed(stub) == []
