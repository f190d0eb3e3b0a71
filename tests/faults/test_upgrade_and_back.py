"""A node's sidecar is upgraded with agents at work, and brought back: one process and its embedded store."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.landed import server
from tests.faults.agents import record_of
from tests.faults.figures import show
from tests.faults.journal import Outcome
from tests.faults.process import Process, path_of
from tests.faults.sidecars import channel, stub_on
from tests.faults.upgrades import LANDED, Replica, Work, landed, what_is_wrong

pytestmark = [pytest.mark.slow("a wheel is built"), pytest.mark.timeout(400)]


def run(tree: Path, *arguments: str) -> str:
    """A command of the build in that folder; fails with what it says."""
    environment = {**os.environ, "PYTHONPATH": path_of(tree)}
    command = (sys.executable, "-m", "sidemirror_server.cli", *arguments)
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_a_node_is_upgraded_and_brought_back(tmp_path: Path) -> None:
    """Nothing is lost on the way up. The older build refuses the newer one's store, and goes on with a backup of
    before. Seen to fail (a turn is not there) when the newer one has a store of its own."""
    wheel = server(LANDED, tmp_path / "landed")
    data, backup = tmp_path / "data", tmp_path / "sidemirror.backup"
    settings = {"data_dir": str(data), "grace_s": "5"}
    replica = Replica()
    try:
        await replica.replace(landed(wheel, tmp_path / "before", settings))
        work = Work([replica])
        await work.goes_on(300)
        run(Path(wheel.path), "backup", str(backup), "--data-dir", str(data))
        kept = [agent.turn_id for agent in work.agents if agent.over]
        await work.goes_on(300)
        await replica.replace(Process(tmp_path / "new", settings))
        await work.goes_on(300)
        await work.finish()
        lost = await what_is_wrong(work, replica.address)
        await replica.end()
        refused = landed(wheel, tmp_path / "refused", settings)
        refused.spawn()
        code, _ = await refused.ended(within_s=60)
        assert code == 78
        assert "is newer than this server" in refused.text()
        run(Path(wheel.path), "restore", str(backup), "--replace", "--data-dir", str(data))
        await replica.replace(landed(wheel, tmp_path / "back", settings))
        async with channel(replica.address) as connection:
            for turn_id in kept:
                assert (await record_of(stub_on(connection), turn_id))[1]
    finally:
        if replica.process is not None:
            replica.process.kill()
    show(
        f"a node's sidecar of {LANDED} replaced by this build: {work.journal.count(Outcome.OK)} events and "
        f"{len(work.reports)} goals, {len(lost)} lost or doubled; the longest turn: {work.longest_s:.1f} s"
    )
    assert lost == []
