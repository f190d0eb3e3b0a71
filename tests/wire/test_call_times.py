"""How long a call may wait for something, so that its answer still comes before its deadline."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from tests.faults.clocks import SetClock
from tests.turns.house import SCOPE
from tests.wire.calls import entries
from tests.wire.sidecar import sidecar, thinking
from tests.wire.waiting import until


def call_with(left_s: float | None) -> Call:
    clock = SetClock()
    return Call(SCOPE, "method", "", clock, None if left_s is None else clock.monotonic_s() + left_s)


@pytest.mark.parametrize(("left_s", "model_s"), [(None, 30.0), (60.0, 30.0), (10.0, 9.8), (0.1, 0.0), (-1.0, 0.0)])
def test_a_model_has_what_the_deadline_leaves_and_30_seconds_at_most(left_s: float | None, model_s: float) -> None:
    assert call_with(left_s).model_time_s() == pytest.approx(model_s)


@pytest.mark.parametrize(("left_s", "waits_s"), [(None, 5.0), (60.0, 5.0), (2.0, 1.5), (0.2, 0.0)])
def test_a_wait_leaves_time_for_the_answer(left_s: float | None, waits_s: float) -> None:
    assert call_with(left_s).time_for(5.0, 0.5) == pytest.approx(waits_s)


def test_a_reflection_does_not_wait_for_a_busy_store_beyond_its_deadline(tmp_path: Path) -> None:
    """Another process holds the store's lock. The answer comes in time, and is recorded when the store is free. Seen to
    fail with DEADLINE_EXCEEDED when the wait until it is durable has no end."""
    with sidecar(tmp_path) as server, thinking(server) as stub:
        turn_id = stub.StartTurn(pb.StartTurnRequest()).plan.turn_id
        stub.Reflect(pb.ReflectRequest(turn_id=turn_id))  # what is loaded at first costs no time below
        with closing(sqlite3.connect(tmp_path / "data" / "sidemirror.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            reflected = stub.Reflect(pb.ReflectRequest(turn_id=turn_id), timeout=1.0)
            other.execute("ROLLBACK")
        assert reflected.result.status == common_pb2.RESULT_STATUS_NOTHING
        until(lambda: entries(stub, turn_id)[-1].directive.directive_id == reflected.directive_id)
