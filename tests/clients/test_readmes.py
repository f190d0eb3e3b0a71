"""The lines that a client's README shows first, and its whole example, run as written."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.acceptance.product import environment
from tests.clients.harness import Sidecar, sidecar
from tests.clients.languages import CLIENTS, LANGUAGES, ready

pytestmark = [pytest.mark.slow("five clients are built and run, as their readers would"), pytest.mark.timeout(600)]
# What a Rust project holds beside the dependencies that the README names.
RUST = '[package]\nname = "readme"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n'
JAVA = ("sh", "-c", 'exec java -cp "target/classes:$(cat target/classpath)" "$0"')
EXAMPLES: dict[str, Sequence[str]] = {
    "python": (sys.executable, "examples/agent.py"),
    "go": ("go", "run", "./examples/agent"),
    "typescript": ("node", "examples/agent.mjs"),
    "java": (*JAVA, "examples/Agent.java"),
    "rust": ("cargo", "run", "--quiet", "--locked", "--example", "agent"),
}


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Sidecar]:
    with sidecar(tmp_path) as running:
        yield running


def first_block(name: str, kind: str = r"(?!xml|toml)\w+") -> str:
    """The README's first block of code, or its first one of this kind."""
    found = re.search(rf"^```{kind}\n(.*?)^```$", (CLIENTS / name / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def command(name: str, folder: Path) -> Sequence[str]:
    """Puts the block where its language finds the client, and says how it is run."""
    here = CLIENTS / name / "target" / "readme"
    here.mkdir(parents=True, exist_ok=True)
    if name == "go":
        (here / "main.go").write_text(first_block(name))
        return ("go", "run", "./target/readme")
    if name == "typescript":
        (here / "readme.mjs").write_text(first_block(name))
        return ("node", "target/readme/readme.mjs")
    if name == "rust":
        (folder / "src").mkdir()
        (folder / "src/main.rs").write_text(first_block(name))
        dependencies = first_block(name, "toml").replace("../sidemirror/clients/rust", str(CLIENTS / name))
        (folder / "Cargo.toml").write_text(RUST + dependencies)
        (folder / "Cargo.lock").write_bytes((CLIENTS / name / "Cargo.lock").read_bytes())
        return ("cargo", "run", "--quiet", "--manifest-path", str(folder / "Cargo.toml"), "--target-dir", "target")
    if name == "java":
        (here / "FirstLines.java").write_text(first_block(name))
        return (*JAVA, "target/readme/FirstLines.java")
    (here / "readme.py").write_text(first_block(name))
    return (sys.executable, "target/readme/readme.py")


def run(name: str, command: Sequence[str], beside: Sidecar) -> str:
    """What it prints; it has to end well."""
    known = {**os.environ, **environment(SIDEMIRROR_ADDRESS=beside.address)}
    ran = subprocess.run(command, cwd=CLIENTS / name, env=known, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_first_lines_run(name: str, beside: Sidecar, tmp_path: Path) -> None:
    """They show the model what the sidecar says, and the last line is the answer that was revised."""
    ready(next(language for language in LANGUAGES if language.name == name))
    project = tmp_path / "project"
    project.mkdir()
    first_lines, shown = command(name, project), first_block(name, "text").splitlines()
    printed = run(name, first_lines, beside)
    assert "[reflection] " in printed, printed
    assert "Missing critical information" in printed, printed
    assert "41" not in printed.splitlines()[-1], printed
    # The goal's lesson is made beside the turns.
    ends_s = time.monotonic() + 60
    while missing := [line for line in shown if line not in (printed := run(name, first_lines, beside))]:
        assert time.monotonic() < ends_s, (missing, printed)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs(name: str, beside: Sidecar) -> None:
    ready(next(language for language in LANGUAGES if language.name == name))
    printed = run(name, EXAMPLES[name], beside)
    assert "[reflection] " in printed
    assert printed.endswith("1 of the tool calls failed\n"), printed
