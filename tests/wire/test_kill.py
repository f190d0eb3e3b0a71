"""kill -9 of the sidecar: every event that an answer had called durable is there afterwards."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.architecture.repository import ROOT
from tests.wire.calls import MEDIUM, entries, failed, said
from tests.wire.sidecar import PATIENCE_S

pytestmark = pytest.mark.slow("processes are killed at random")

ROUNDS = 3
WRITERS = 3


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, ThinkingServiceStub]]:
    """`sidemirror serve` in a process of its own, with its process id; killed at the end, whatever happened."""
    command = [sys.executable, "-m", "sidemirror_server.cli", "serve"]
    command += ["--address", "127.0.0.1:0", "--socket", str(folder / "s"), "--data-dir", str(folder / "data")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIDEMIRROR_")}
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=log)
    try:
        with grpc.insecure_channel(f"unix:{folder / 's'}") as channel:
            grpc.channel_ready_future(channel).result(PATIENCE_S)
            yield process.pid, ThinkingServiceStub(channel)
    finally:
        process.kill()
        assert process.wait(PATIENCE_S) == -signal.SIGKILL, (folder / "log").read_text()


def write(stub: ThinkingServiceStub, turn_id: str, durable: list[str], enough: threading.Event) -> None:
    """Reports events until the sidecar dies; notes those that an answer has called durable."""
    number = len(durable)
    while True:
        ids = [f"{number + place}" for place in range(random.Random(number).randrange(1, 6))]
        number += len(ids)
        events = [said("x" * 100, event_id) for event_id in ids[1:]] + [failed(event_id=ids[0])]
        try:
            answer = stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events), timeout=PATIENCE_S)
        except grpc.RpcError:
            return
        assert answer.ack.durable == len(ids)
        durable += ids
        if len(durable) > 50:
            enough.set()


def test_what_was_called_durable_survives(tmp_path: Path) -> None:
    """Seen to fail when the recorder settles a batch before its append, which takes 20 ms, and when the writer
    answers before COMMIT."""
    durable: dict[str, list[str]] = {}
    for number in range(ROUNDS):
        with served(tmp_path) as (pid, stub):
            check(stub, durable)
            enough = [threading.Event() for _ in range(WRITERS)]
            writers = []
            for place in range(WRITERS):
                turn_id = f"{number}/{place}"
                durable[turn_id] = []
                stub.StartTurn(pb.StartTurnRequest(turn_id=turn_id, session_id=f"s{place}", config=MEDIUM))
                given = (stub, turn_id, durable[turn_id], enough[place])
                writers.append(threading.Thread(target=write, args=given))
                writers[-1].start()
            assert all(event.wait(PATIENCE_S) for event in enough)
            os.kill(pid, signal.SIGKILL)
            for writer in writers:
                writer.join(PATIENCE_S)
    with served(tmp_path) as (_, stub):
        check(stub, durable)
        assert sum(map(len, durable.values())) > ROUNDS * WRITERS * 50
        for place in range(WRITERS):
            session = stub.GetSession(pb.GetSessionRequest(session_id=f"s{place}")).session
            assert session.turn_count == ROUNDS


def check(stub: ThinkingServiceStub, durable: dict[str, list[str]]) -> None:
    for turn_id, acknowledged in durable.items():
        found = entries(stub, turn_id)
        assert [entry.sequence for entry in found] == list(range(1, len(found) + 1))
        ids = [entry.event.event_id for entry in found if entry.HasField("event")]
        assert len(set(ids)) == len(ids)
        assert set(acknowledged) <= set(ids)
        # It can be gone on with.
        answer = stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[said("after", "after")]))
        assert answer.ack.durable == 1
        state = stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id)).turn
        assert (state.state, state.outcome) == (pb.TURN_STATE_OPEN, common_pb2.TASK_OUTCOME_UNSPECIFIED)
