"""Every client while its sidecar is killed, stopped, swapped, restarted, upgraded, or out of disk, in the middle of a
turn: no use of it goes beyond its bound, everything arrives afterwards, and closing tells what did not."""

import contextlib
import sqlite3
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import goal_reflection_pb2
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from tests.clients.faults import Fault, Faulty, full, killed, paused, restarted, rounds, swapped, to_upgrade, upgraded
from tests.clients.harness import run_scenario, sidecar
from tests.clients.landed import NEWEST, server
from tests.clients.languages import LANGUAGES, Language, ready
from tests.faults.machine import mounted

ROUNDS = 20
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


def run_rounds(language: Language, fault: Fault, folder: Path, **settings: str) -> None:
    """Twenty turns, each with the fault in its middle."""
    steps = rounds(fault.steps, ROUNDS, folder / "steps.json")
    with sidecar(folder, **settings) as beside:
        faulty = Faulty(beside, fault)
        ran = run_scenario(ready(language), str(steps), faulty, language.folder, within_s=1500)
        faulty.do("mend")
        goals, outcomes = goals_of(beside.address), outcomes_in(beside.folder)
    run = ran.variables["run"]
    # Each upgrade has a store of its own.
    kept = range(ROUNDS - 1, ROUNDS) if fault.during is upgraded else range(ROUNDS)
    assert goals == {f"goal-{run}-{number}" for number in kept}
    assert outcomes == len(kept)


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
    older = server(NEWEST, tmp_path_factory.getbasetemp() / "landed")
    run_rounds(language, Fault(upgraded, to_upgrade(older, tmp_path)), tmp_path)


@every_language
def test_a_full_disk(language: Language, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", mebibytes=64) as disk:
        fault = Fault(full(disk), steps="full_disk.json")
        run_rounds(language, fault, tmp_path, SIDEMIRROR_DATA_DIR=str(disk / "data"))
