"""What docs/operations.md says about backup and restore of the embedded store, done as written."""

import subprocess
from pathlib import Path

import grpc
import pytest

from sidemirror.v1.reflective_memory_pb2 import ReflectionResult, StoreReflectionRequest
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from tests.acceptance.documents import blocks
from tests.acceptance.product import PATIENCE_S, Serving, environment, ran, serving

pytestmark = pytest.mark.slow("it waits as a reader does")

BACKUP, DRILL, RESTORE = (
    block.text.replace("uv run ", "").splitlines() for block in blocks("Backup and restore") if block.language == "sh"
)


def done(command: str, folder: Path) -> str:
    """What a command of the page prints. `uv run` is what has put this test's programs on its path."""
    told = ran(["bash", "-c", command], environment(), folder)
    assert (told.returncode, told.stderr.replace("2 memories exported.\n", "")) == (0, ""), command
    return told.stdout


@pytest.fixture
def backed_up(tmp_path: Path) -> Path:
    """A folder where a sidecar with one memory has served, and was backed up meanwhile."""
    with serving(tmp_path) as server:
        with grpc.insecure_channel(server.address) as channel:
            result = ReflectionResult(reflection_text="It was slow.", strategy_text="Wait longer.")
            ReflectiveMemoryServiceStub(channel).StoreReflection(
                StoreReflectionRequest(result=result), timeout=PATIENCE_S
            )
        (command,) = BACKUP
        assert "has everything that was acknowledged before" in done(command, tmp_path)
    return tmp_path


def test_the_drill(backed_up: Path) -> None:
    restore, serve, export = DRILL
    assert done(restore, backed_up).startswith(f"{backed_up}/drill has the store of sidemirror.backup now: ")
    with subprocess.Popen(
        ["bash", "-c", f"exec {serve}"], stderr=subprocess.PIPE, text=True, cwd=backed_up, env=environment()
    ) as process:
        server = Serving(process)
        try:
            server.wait_until_serving()
            assert "It was slow." in done(export, backed_up)
        finally:
            assert server.stop() == 0


def test_for_good(backed_up: Path) -> None:
    (command,) = RESTORE
    told = done(command, backed_up)
    assert "The store from before is " in told
    (kept,) = (backed_up / "sidemirror-data").glob("sidemirror.db-replaced-*Z")
    assert str(kept) in told
