"""Clients and sidecars of different commits: this one's clients with sidecars that have landed, built as wheels, and
clients that have landed with this one's sidecar."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.clients.harness import Sidecar, run_scenario, running, sidecar
from tests.clients.landed import BEFORE, NEWEST, server, source
from tests.clients.languages import LANGUAGES, Language, ready

pytestmark = [pytest.mark.slow("wheels and clients of other commits are built"), pytest.mark.timeout(900)]
TURNS = 20
COUNTS = {**dict.fromkeys(("plans", "directives", "critiques", "summaries"), TURNS), "told": 0}
each_landed = pytest.mark.parametrize("commit", [BEFORE, NEWEST], ids=["before", "newest"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where sources and wheels of other commits are."""
    return tmp_path_factory.mktemp("landed")


@pytest.mark.parametrize(
    "language",
    [pytest.param(each, marks=() if each.name == "python" else pytest.mark.long, id=each.name) for each in LANGUAGES],
)
@each_landed
def test_a_client_with_an_older_sidecar(language: Language, commit: str, folder: Path, tmp_path: Path) -> None:
    given = Sidecar(tmp_path)
    given.version = server(commit, folder / commit)
    with running(given) as beside:
        beside.variables |= {"turns": str(TURNS), "how": "kill", "back": "start"}
        ran = run_scenario(ready(language), "many.json", beside, language.folder)
        run_scenario(ready(language), "outage.json", beside, language.folder)
    assert json.loads(ran.printed("many")) == COUNTS


def runner(name: str, checkout: Path) -> tuple[Sequence[str], dict[str, str]]:
    """The runner of a checkout's client, built, and its environment."""
    clients = checkout / "clients"
    if name == "python":
        path = f"{clients / 'python'}:{checkout / 'generated/python'}"
        return (sys.executable, str(clients / "python/scenario.py")), {"PYTHONPATH": path}
    (go,) = [language for language in LANGUAGES if language.name == "go"]
    ready(go)
    build = ("go", "build", "-o", "target/scenario", "./internal/scenario")
    subprocess.run(build, cwd=clients / "go", check=True, capture_output=True)
    return (str(clients / "go/target/scenario"),), {}


@pytest.mark.parametrize("name", ["python", "go"])
def test_a_landed_client_with_this_sidecar(name: str, folder: Path, tmp_path: Path) -> None:
    """With the scenario as it landed."""
    checkout = source(NEWEST, folder / "clients", "clients", "generated/python", "generated/go")
    command, settings = runner(name, checkout)
    scenario = checkout / "clients/scenario"
    with sidecar(tmp_path) as beside:
        beside.variables |= {"turns": str(TURNS), "how": "kill", "back": "start"}
        for steps in ("turns.json", "outage.json"):
            run_scenario(command, str(scenario / steps), beside, checkout, settings)
        ran = run_scenario(command, str(scenario / "many.json"), beside, checkout, settings)
    assert json.loads(ran.printed("many")) == COUNTS
