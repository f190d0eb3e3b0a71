"""The Python client in Flask, in Celery's eager mode and its prefork worker, and in a Jupyter kernel: everything
reported arrives. What they need is the dependency group `frameworks`."""

import asyncio
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.goal_reflection_pb2 import ListGoalReportsRequest
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_client import connect_sync
from tests.clients.harness import Sidecar, sidecar
from tests.clients.test_python_loops import PATIENCE_S, recorded, whole_sync_turn
from tests.faults.waiting import until

pytestmark = [pytest.mark.slow("a kernel and a worker are started"), pytest.mark.timeout(180)]


def needed(name: str) -> Any:
    """A framework. Skips without it; in CI that fails."""
    try:
        return importlib.import_module(name)
    except ImportError:
        if os.environ.get("CI"):
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"{name} is not installed: uv sync --group frameworks")


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    with sidecar(tmp_path_factory.mktemp("sidecar")) as running:
        yield running


def is_finished(beside: Sidecar, turn_id: str) -> bool:
    with grpc.insecure_channel(beside.address) as channel:
        try:
            turn = ThinkingServiceStub(channel).GetTurn(pb.GetTurnRequest(turn_id=turn_id), timeout=PATIENCE_S).turn
        except grpc.RpcError:
            return False
    return turn.state == pb.TURN_STATE_FINISHED


def test_flask(beside: Sidecar) -> None:
    app = needed("flask").Flask("agent")
    with connect_sync(beside.address) as sidemirror:

        @app.get("/<turn_id>")  # type: ignore[untyped-decorator]  # Flask may not be installed where types are checked
        def answer(turn_id: str) -> str:
            whole_sync_turn(sidemirror, turn_id)
            return "done"

        for number in range(2):
            assert app.test_client().get(f"/flask-{number}").text == "done"
    assert [recorded(beside, f"flask-{number}").event_count for number in range(2)] == [4, 4]


_WORKER = """
import os, time
import billiard.pool
from celery import Celery, signals
from sidemirror.v1 import common_pb2, thinking_pb2
from sidemirror_client import connect_sync


# The time module for the worker, which else waits for a second before it ends.
class Hurried:
    def __getattr__(self, name):
        return getattr(time, name)

    def sleep(self, seconds):
        pass


@signals.worker_process_init.connect
def hurry(**_):
    billiard.pool.time = Hurried()


app = Celery("agent")
app.conf.update(
    broker_url=os.environ["BROKER"],
    broker_transport_options={"data_folder_in": os.environ["FOLDER"], "data_folder_out": os.environ["FOLDER"]},
    task_ignore_result=True,
)
sidemirror = connect_sync(os.environ["SIDECAR"])


@app.task
def answer(turn_id):
    goal = {"goal_id": turn_id, "objective": "count"}
    with sidemirror.begin_turn(turn_id, task="count", goal=goal) as turn:
        for number in range(1000):
            turn.report(tool_called=thinking_pb2.ToolCalled(name="look", arguments=str(number)))
        turn.finish(common_pb2.TASK_OUTCOME_SUCCESS)
"""


def test_celery_eager(beside: Sidecar) -> None:
    app = needed("celery").Celery("agent")
    app.conf.task_always_eager = app.conf.task_eager_propagates = True
    with connect_sync(beside.address) as sidemirror:

        def answer(turn_id: str) -> None:
            whole_sync_turn(sidemirror, turn_id)

        app.task(answer).delay("eager").get()
    assert recorded(beside, "eager").event_count == 4


def test_a_worker_of_celery_that_forks(beside: Sidecar, tmp_path: Path) -> None:
    """The client is made before the workers fork, and first used in them. Each worker ends with its first task, by
    `os._exit`, and nobody waits for what that has reported. Seen to fail where nothing is done at the worker's end."""
    needed("celery")
    (tmp_path / "queue").mkdir()
    (tmp_path / "worker.py").write_text(_WORKER)
    root = Path(__file__).resolve().parents[2]
    known = {
        **os.environ,
        "BROKER": "filesystem://",
        "FOLDER": str(tmp_path / "queue"),
        "SIDECAR": beside.address,
        "PYTHONPATH": f"{root}:{tmp_path}",
    }
    celery = [sys.executable, "-m", "celery", "-A", "worker"]
    with (tmp_path / "log").open("wb") as log:
        worker = subprocess.Popen(
            [*celery, "worker", "--pool", "prefork", "-c", "2", "--max-tasks-per-child", "1", "--loglevel", "warning"],
            cwd=tmp_path, env=known, stderr=log, stdout=log,
        )  # fmt: skip
    try:
        for number in range(4):
            send = [*celery, "call", "worker.answer", "--args", f'["forked-{number}"]']
            subprocess.run(send, cwd=tmp_path, env=known, check=True, capture_output=True, timeout=PATIENCE_S)
        for number in range(4):
            asyncio.run(until(partial(is_finished, beside, f"forked-{number}"), within_s=PATIENCE_S))
    finally:
        worker.terminate()
        worker.wait(PATIENCE_S)
    turns = [f"forked-{number}" for number in range(4)]
    assert [recorded(beside, turn_id).event_count for turn_id in turns] == [1002] * 4
    with grpc.insecure_channel(beside.address) as channel:
        reports = GoalReflectionServiceStub(channel).ListGoalReports(ListGoalReportsRequest()).reports
    assert set(turns) <= {report.goal_id for report in reports}


_CELLS = """
from sidemirror_client import advice_text, connect
from sidemirror.v1.thinking_pb2 import ThinkingConfig, ToolCalled, ToolReturned
sidemirror = connect('{address}')
turn = sidemirror.begin_turn('jupyter', task='count', config=ThinkingConfig(level='THINK_LEVEL_MEDIUM'))

turn.report(tool_called=ToolCalled(name='run_sql'))
turn.report(tool_returned=ToolReturned(content='no such table: order', is_error=True))
print(advice_text(await turn.advice(60)))

turn.finish(1)
assert await turn.summary(60) is not None
print(await sidemirror.close())
"""


def test_a_jupyter_kernel(beside: Sidecar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient, nbformat = needed("nbclient"), needed("nbformat")
    needed("ipykernel")
    for name in ("HOME", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    cells = [nbformat.v4.new_code_cell(cell) for cell in _CELLS.format(address=beside.address).split("\n\n")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=PATIENCE_S, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = [output["text"] for cell in notebook.cells for output in cell.outputs if output.output_type == "stream"]
    assert printed[0].startswith("[reflection] ")
    assert "events=0" in printed[-1]
    assert recorded(beside, "jupyter").event_count == 4
