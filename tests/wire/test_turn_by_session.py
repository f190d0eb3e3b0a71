"""A turn that is named by its session alone, and what the sidecar says to what was reported."""

import time
from pathlib import Path

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from tests.wire.calls import MEDIUM, NOT_FOUND, Refusal, called, entries, failed, refused, returned, said
from tests.wire.scripted import ScriptedModel
from tests.wire.sidecar import PATIENCE_S, sidecar, thinking

AUTO = pb.REFLECTION_MODE_AUTO


def test_a_hook_knows_its_session_only(tmp_path: Path) -> None:
    with sidecar(tmp_path) as server, thinking(server) as stub:
        stub.StartTurn(pb.StartTurnRequest(session_id="s", turn_id="old"))
        stub.StartTurn(pb.StartTurnRequest(session_id="other", turn_id="elsewhere"))
        stub.FinishTurn(pb.FinishTurnRequest(session_id="s"))
        stub.StartTurn(pb.StartTurnRequest(session_id="s", turn_id="t"))
        answer = stub.ReportEvents(pb.ReportEventsRequest(session_id="s", events=[said("hello")]))
        assert (answer.turn_id, answer.ack.durable) == ("t", 1)
        assert stub.FinishTurn(pb.FinishTurnRequest(session_id="s", turn_id="t", request_id="f")).turn_id == "t"
        assert [len(entries(stub, turn_id)) for turn_id in ("old", "elsewhere", "t")] == [4, 2, 5]


def test_a_finish_that_is_said_again_is_the_same(tmp_path: Path) -> None:
    with sidecar(tmp_path) as server, thinking(server) as stub:
        stub.StartTurn(pb.StartTurnRequest(session_id="s", turn_id="t"))
        finish = pb.FinishTurnRequest(session_id="s", request_id="f", outcome=common_pb2.TASK_OUTCOME_SUCCESS)
        first = stub.FinishTurn(finish)
        assert stub.FinishTurn(finish) == first
    with sidecar(tmp_path) as server, thinking(server) as stub:
        assert stub.FinishTurn(finish) == first
        over = Refusal(grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
        assert refused(stub.ReportEvents, pb.ReportEventsRequest(session_id="s", events=[said("late")])) == over


@pytest.mark.parametrize("restart", [False, True], ids=["in memory", "from the store"])
def test_what_no_turn_is_found_by(tmp_path: Path, *, restart: bool) -> None:
    with sidecar(tmp_path) as server, thinking(server) as stub:
        stub.CreateSession(pb.CreateSessionRequest(session_id="empty"))
        stub.StartTurn(pb.StartTurnRequest(session_id="s", turn_id="t"))
    with sidecar(tmp_path) as server, thinking(server) as stub:
        if not restart:
            stub.StartTurn(pb.StartTurnRequest(session_id="s2", turn_id="t2"))
        for request in (pb.ReportEventsRequest, pb.FinishTurnRequest):
            call = stub.ReportEvents if request is pb.ReportEventsRequest else stub.FinishTurn
            assert refused(call, request(session_id="nobody")) == NOT_FOUND
            assert refused(call, request(session_id="empty")) == NOT_FOUND
            assert refused(call, request(session_id="s", turn_id="none")) == NOT_FOUND
            invalid = grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"
            assert refused(call, request()) == Refusal(*invalid, ("turn_id",))
            assert refused(call, request(session_id="nobody", turn_id="t")) == Refusal(*invalid, ("session_id",))
            elsewhere = request(session_id="s", tenant_id="intruder")
            assert refused(call, elsewhere) == NOT_FOUND


def ask(after: int, wait_s: int = 60) -> pb.ReportEventsRequest:
    return pb.ReportEventsRequest(session_id="s", after_sequence=after, wait=Duration(seconds=wait_s))


def test_what_do_you_say_to_what_i_reported(tmp_path: Path) -> None:
    model = ScriptedModel(held=True)
    with sidecar(tmp_path, model=model) as server, thinking(server) as stub:
        stub.StartTurn(pb.StartTurnRequest(session_id="s", turn_id="t", config=MEDIUM, reflection_mode=AUTO))
        report = pb.ReportEventsRequest(session_id="s", events=[called("a"), returned("b")])
        stub.ReportEvents(report)
        # Nothing is an answer, and comes at once.
        begun = time.monotonic()
        nothing = stub.ReportEvents(ask(0), timeout=PATIENCE_S)
        assert time.monotonic() - begun < PATIENCE_S / 2
        assert (list(nothing.directives), list(nothing.ack.pending_ids), nothing.turn_id) == ([], [], "t")

        report = pb.ReportEventsRequest(session_id="s", events=[called("sql"), failed()])
        (pending,) = stub.ReportEvents(report).ack.pending_ids
        assert list(stub.ReportEvents(ask(0, 0), timeout=PATIENCE_S).ack.pending_ids) == [pending]
        model.let_go()
        (told,) = stub.ReportEvents(ask(0), timeout=PATIENCE_S).directives
        assert told.directive_id == pending
        # It was made before this call began, and is told again to whoever has not seen it.
        assert list(stub.ReportEvents(ask(0), timeout=PATIENCE_S).directives) == [told]
        assert list(stub.ReportEvents(ask(told.sequence), timeout=PATIENCE_S).directives) == []
        plain = pb.ReportEventsRequest(session_id="s", wait=Duration(seconds=60))
        assert list(stub.ReportEvents(plain, timeout=PATIENCE_S).directives) == []
