"""A Java agent that ends without closing its client: what it has reported arrives."""

import subprocess
import time
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.acceptance.product import environment
from tests.clients.harness import free_port, sidecar
from tests.clients.languages import LANGUAGES, ready

pytestmark = [pytest.mark.slow("the Java client is built, and processes end"), pytest.mark.timeout(600)]
_EXITS = 'exec java $JAVA_FLAGS -cp "target/classes:target/test-classes:$(cat target/classpath)" Exits'


def exits(address: str, *arguments: str) -> tuple[float, str]:
    """How long the agent's process takes, in seconds, and what it logs."""
    (java,) = [language for language in LANGUAGES if language.name == "java"]
    ready(java)
    began = time.monotonic()
    ran = subprocess.run(
        ("sh", "-c", " ".join((_EXITS, *arguments))), cwd=java.folder, env=environment(SIDEMIRROR_ADDRESS=address),
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-4000:]
    return time.monotonic() - began, ran.stderr


def test_what_waits_is_delivered_at_exit(tmp_path: Path) -> None:
    """Seen to fail without the hook, which the same agent with `plain` has not."""
    with sidecar(tmp_path) as beside:
        exits(beside.address)
        with grpc.insecure_channel(beside.address) as channel:
            stub = ThinkingServiceStub(channel)
            turn = stub.GetTurn(pb.GetTurnRequest(turn_id="exits"), timeout=60).turn
    assert turn.state == pb.TURN_STATE_FINISHED
    assert turn.event_count == 1000


def test_it_says_what_it_could_not_deliver() -> None:
    """Nobody listens, which the client may not have noticed yet: then it waits for two seconds."""
    away = f"127.0.0.1:{free_port()}"
    took, said = exits(away, "away")
    plain, silent = exits(away, "away", "plain")
    assert "before everything was delivered" in said
    assert "before everything was delivered" not in silent
    assert took < plain + 10


def test_it_says_that_its_turn_is_refused_meanwhile(tmp_path: Path) -> None:
    """Its log may have ended by then. Seen to fail, with nothing said, when only what waits counts."""
    with sidecar(tmp_path) as beside:
        _, said = exits(beside.address, "refused")
    assert "before everything was delivered" in said or "has refused turn" in said
