"""A client built from the contract before its last change works against the sidecar of today."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.product import environment
from tests.clients.harness import Sidecar, sidecar
from tests.clients.landed import before_the_contract, not_held, source

# It uses nothing but the stubs and `connect`: what clients could do in every commit that has them.
_TURNS = """
import asyncio, sys
import sidemirror_client
from sidemirror.v1 import thinking_pb2 as pb

CALLED = pb.TurnEvent(event_id="called", tool_called=pb.ToolCalled(name="look", arguments="{}"))
FAILED = pb.TurnEvent(event_id="failed", tool_returned=pb.ToolReturned(is_error=True, content="not found"))


async def main(address):
    async with sidemirror_client.connect(address) as sidemirror:
        await sidemirror.wait_until_ready()
        stub = sidemirror.thinking
        plan = (await stub.StartTurn(pb.StartTurnRequest(session_id="s", task="look"))).plan
        await stub.ReportEvents(pb.ReportEventsRequest(turn_id=plan.turn_id, events=[CALLED, FAILED]))
        await stub.Reflect(pb.ReflectRequest(turn_id=plan.turn_id))
        await stub.FinishTurn(pb.FinishTurnRequest(turn_id=plan.turn_id))
        print("called", len((await stub.GetTurn(pb.GetTurnRequest(turn_id=plan.turn_id))).entries))
        begun = pb.TurnEvent(event_id="begun", turn_id="streamed", turn_started=pb.TurnStarted(task="look"))
        over = pb.TurnEvent(event_id="over", turn_finished=pb.TurnFinished())
        requests = iter([pb.RunTurnRequest(events=[event]) for event in (begun, CALLED, FAILED, over)])
        async for response in stub.RunTurn(requests):
            for directive in response.directives:
                if directive.HasField("turn_summary"):
                    print("streamed", directive.turn_summary.event_count)


print("from", sidemirror_client.__file__, pb.__file__)
asyncio.run(main(sys.argv[1]))
"""


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Sidecar]:
    with sidecar(tmp_path) as running:
        yield running


def older(folder: Path) -> Path:
    """The Python client and its contract as they were before the newest commit that changed protos/. Skips where the
    checkout does not hold it; in CI that fails."""
    before = before_the_contract() or not_held("the commit before the contract's last change")
    return source(before, folder, "generated/python", "clients/python")


def test_a_client_of_the_contract_before(tmp_path: Path, beside: Sidecar) -> None:
    old = older(tmp_path / "old")
    known = environment(PYTHONPATH=f"{old / 'clients/python'}:{old / 'generated/python'}")
    ran = subprocess.run(
        [sys.executable, "-c", _TURNS, beside.address],
        cwd=tmp_path,
        env=known,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    loaded, called, streamed = ran.stdout.splitlines()
    assert loaded.count(str(old)) == 2, "not the older client ran"
    assert int(called.split()[1]) >= 4
    assert streamed == "streamed 4"
