"""Clients and sidecars of different commits: this one's clients with sidecars that have landed, built as wheels, and
clients that have landed with this one's sidecar."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.clients.harness import Ran, Sidecar, run_scenario, running, sidecar
from tests.clients.landed import BEFORE, newest, server, source
from tests.clients.languages import CLIENTS, LANGUAGES, Language, ready
from tests.npm import packages

pytestmark = [pytest.mark.slow("wheels and clients of other commits are built"), pytest.mark.timeout(900)]
TURNS = 20
each_landed = pytest.mark.parametrize("when", ["before", "newest"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where sources and wheels of other commits are."""
    return tmp_path_factory.mktemp("landed")


@pytest.mark.parametrize(
    "language",
    [pytest.param(each, marks=() if each.name == "python" else pytest.mark.long, id=each.name) for each in LANGUAGES],
)
@each_landed
def test_a_client_with_an_older_sidecar(language: Language, when: str, folder: Path, tmp_path: Path) -> None:
    commit = BEFORE if when == "before" else newest()
    given = Sidecar(tmp_path)
    given.version = server(commit, folder / commit)
    with running(given) as beside:
        beside.variables |= {"turns": str(TURNS), "how": "kill", "back": "start"}
        ran = run_scenario(ready(language), "many.json", beside, language.folder)
        run_scenario(ready(language), "outage.json", beside, language.folder)
    all_had_all(ran)


def all_had_all(ran: Ran) -> None:
    """Every turn of many. What is counted, its own scenario says."""
    counts = json.loads(ran.printed("many"))
    assert counts.pop("told") == 0
    assert counts == dict.fromkeys(counts, TURNS)
    assert {"plans", "directives", "critiques", "summaries"} <= set(counts)


def built(folder: Path, *command: str) -> None:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-4000:]


def python(checkout: Path) -> Sequence[str]:
    path = f"{checkout / 'clients/python'}:{checkout / 'generated/python'}"
    return ("env", f"PYTHONPATH={path}", sys.executable, str(checkout / "clients/python/scenario.py"))


def go(checkout: Path) -> Sequence[str]:
    built(checkout / "clients/go", "go", "build", "-o", "target/scenario", "./internal/scenario")
    return (str(checkout / "clients/go/target/scenario"),)


def typescript(checkout: Path) -> Sequence[str]:
    """Its contract is its own; all other packages are those of this checkout."""
    modules = checkout / "node_modules"
    (modules / "@sidemirror").mkdir(parents=True, exist_ok=True)
    for package in packages().iterdir():
        if package.name != "@sidemirror":
            (modules / package.name).symlink_to(package)
    (modules / "@sidemirror/api").symlink_to(checkout / "generated/typescript")
    built(checkout / "clients/typescript", "npm", "run", "--silent", "build")
    return ("node", str(checkout / "clients/typescript/dist/test/scenario.js"))


def java(checkout: Path) -> Sequence[str]:
    """With javac: Maven would install its contract where this checkout's is."""
    built(checkout / "generated/java", "mvn", "-q", "-B", "package")
    (contract,) = (checkout / "generated/java/target").glob("sidemirror-api-*[0-9].jar")
    others = (CLIENTS / "java/target/classpath").read_text().strip().split(":")
    classes = checkout / "clients/java/target/classes"
    path = ":".join([str(classes), str(contract), *(each for each in others if "/sidemirror-" not in each)])
    sources = [str(each) for each in (checkout / "clients/java/src").rglob("*.java")]
    built(checkout, "javac", "-nowarn", "-d", str(classes), "-cp", path, *sources)
    return ("java", "-cp", path, "Scenario")


def rust(checkout: Path) -> Sequence[str]:
    """Built in this checkout, so that what it depends on is built once."""
    target = CLIENTS / "rust/target/landed"
    command = ("cargo", "build", "--quiet", "--locked", "--example", "scenario", "--target-dir", str(target))
    built(checkout / "clients/rust", *command)
    return (str(target / "debug/examples/scenario"),)


RUNNERS = {"python": python, "go": go, "typescript": typescript, "java": java, "rust": rust}


@pytest.mark.parametrize(
    "language",
    [
        pytest.param(each, marks=() if each.name in ("python", "go") else pytest.mark.long, id=each.name)
        for each in LANGUAGES
    ],
)
def test_a_landed_client_with_this_sidecar(language: Language, folder: Path, tmp_path: Path) -> None:
    """With the scenario as it landed."""
    ready(language)
    contract = f"generated/{language.name}"
    checkout = source(
        newest(), folder / language.name, f"clients/{language.name}", "clients/scenario", "protos", contract
    )
    command = RUNNERS[language.name](checkout)
    scenario = checkout / "clients/scenario"
    with sidecar(tmp_path) as beside:
        beside.variables |= {"turns": str(TURNS), "how": "kill", "back": "start"}
        for steps in ("turns.json", "outage.json"):
            run_scenario(command, str(scenario / steps), beside, checkout)
        ran = run_scenario(command, str(scenario / "many.json"), beside, checkout)
    all_had_all(ran)
