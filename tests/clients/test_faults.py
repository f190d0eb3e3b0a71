"""Every client while its sidecar is killed, stopped, swapped, restarted, back in another version, or out of disk, in
the middle of a turn: no use of it goes beyond its bound, everything arrives afterwards, closing tells what did not, and
the agent is told once.

`uv run pytest -m long -s tests/clients/test_faults.py` prints what `report` took meanwhile. Needs an idle machine."""

import contextlib
import json
import sqlite3
import sys
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import goal_reflection_pb2
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from tests.clients.faults import Fault, Faulty, anew, back_as, full, killed, paused, restarted, rounds, swapped, told
from tests.clients.harness import run_scenario, sidecar
from tests.clients.landed import newest, of_the_same_store, server
from tests.clients.languages import LANGUAGES, Language, ready
from tests.faults.machine import mounted

ROUNDS = 20
# What `report` may take, of a hundred uses all but one.
MOST_MS = 1.0
pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
every_language = pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)


def goals_of(address: str) -> set[str]:
    """Which goals the sidecar has."""
    with grpc.insecure_channel(address) as channel:
        asked = goal_reflection_pb2.ListGoalReportsRequest(page_size=100)
        answer = GoalReflectionServiceStub(channel).ListGoalReports(asked, timeout=60)
    return {report.goal_id for report in answer.reports}


def outcomes_in(folder: Path) -> int:
    """How many outcomes the store below the folder has. No RPC lists them: statistics are of lessons, and which of them
    a block shows differs."""
    (store,) = folder.rglob("sidemirror.db")
    with contextlib.closing(sqlite3.connect(store)) as connection:
        count: int = connection.execute("SELECT count(*) FROM memory_outcomes").fetchone()[0]
    return count


def run_rounds(language: Language, fault: Fault, folder: Path, most_told: int = 1, **settings: str) -> None:
    """Twenty turns, each with the fault in its middle, which the agent is told of at most so often."""
    steps = rounds(fault.steps, ROUNDS, folder / "steps.json")
    with sidecar(folder, **settings) as beside:
        faulty = Faulty(beside, fault)
        ran = run_scenario(ready(language), str(steps), faulty, language.folder, within_s=1500)
        faulty.do("mend")
        goals, outcomes = goals_of(beside.address), outcomes_in(beside.folder)
    run = ran.variables["run"]
    # What is begun anew has a store of its own.
    kept = range(ROUNDS) if fault.before is None else range(ROUNDS - 1, ROUNDS)
    assert goals == {f"goal-{run}-{number}" for number in kept}
    assert outcomes == len(kept)
    report = json.loads(ran.printed("timed"))["report"]
    sys.stdout.write(f"\n{language.name}: report, {report}\n")
    assert report["count"] == 50 * ROUNDS
    # It is told again only after the sidecar was there for a while, and never while it is there.
    times = told(ran.lines)
    assert [each for each in times if each[1] > (most_told if each[0] in away_after(fault) else 0)] == []
    assert any(count for _, count in times) == bool(most_told)
    assert report["p99_ms"] < MOST_MS


def away_after(fault: Fault) -> set[str]:
    """After what the sidecar is away, of what a runner asks for."""
    return {"@break"} if fault.before is None else {"@break", "@ready"}


@every_language
@pytest.mark.parametrize("during", [killed, paused, swapped, restarted], ids=lambda during: during.__name__)
def test_a_sidecar_that_goes(language: Language, during: object, tmp_path: Path) -> None:
    """Seen to fail for Python: when it is paused, if nothing looks for silence; when it is killed, if outcomes are not
    kept."""
    run_rounds(language, Fault(during), tmp_path)  # type: ignore[arg-type]  # one of the four above


@every_language
def test_a_sidecar_that_comes_back_newer(
    language: Language, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    older = server(newest(), tmp_path_factory.getbasetemp() / "landed")
    run_rounds(language, Fault(back_as(None), anew(older, tmp_path)), tmp_path)


@every_language
def test_a_sidecar_that_comes_back_older(
    language: Language, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As it does where an upgrade is taken back: the oldest that can read the store."""
    older = server(of_the_same_store(), tmp_path_factory.getbasetemp() / "same-store")
    run_rounds(language, Fault(back_as(older), anew(None, tmp_path)), tmp_path)


@every_language
def test_a_full_disk(language: Language, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", mebibytes=64) as disk:
        fault = Fault(full(disk), steps="full_disk.json")
        run_rounds(language, fault, tmp_path, most_told=0, SIDEMIRROR_DATA_DIR=str(disk / "data"))
