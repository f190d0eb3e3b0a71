"""The Go client under the race detector: its own tests, and turns at once with a real sidecar."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients.harness import run_scenario, sidecar
from tests.clients.languages import CLIENTS, LANGUAGES, ready

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
FOLDER = CLIENTS / "go"
TURNS = 100


def done(*command: str) -> None:
    ran = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-6000:]


def test_nothing_races(tmp_path: Path) -> None:
    """A race that is found ends the program with another code.

    Seen to fail when a turn's stream is set without its lock."""
    ready(next(language for language in LANGUAGES if language.name == "go"))
    done("go", "test", "-race", ".")
    done("go", "build", "-race", "-o", "target/race", "./internal/scenario")
    with sidecar(tmp_path) as beside:
        beside.variables |= {"turns": str(TURNS), "how": "kill", "back": "start"}
        ran = run_scenario(("target/race",), "many.json", beside, FOLDER)
        run_scenario(("target/race",), "outage.json", beside, FOLDER)
    counts = dict.fromkeys(("plans", "recalls", "directives", "critiques", "summaries"), TURNS)
    assert json.loads(ran.printed("many")) == {**counts, "told": 0}
