"""The lines that a client's README shows first run as written."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.acceptance.product import environment
from tests.clients.harness import Sidecar, sidecar
from tests.clients.languages import CLIENTS, LANGUAGES, ready

pytestmark = [pytest.mark.timeout(600)]
RUST = """[package]
name = "readme"
version = "0.0.0"
edition = "2021"
[workspace]
[dependencies]
sidemirror-client = {{ path = "{client}" }}
tokio = {{ version = "1.40", features = ["macros", "rt-multi-thread"] }}
"""


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Sidecar]:
    with sidecar(tmp_path) as running:
        yield running


def first_block(name: str) -> str:
    found = re.search(r"^```\w+\n(.*?)^```$", (CLIENTS / name / "README.md").read_text(), re.MULTILINE | re.DOTALL)
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
        (folder / "Cargo.toml").write_text(RUST.format(client=CLIENTS / name))
        (folder / "Cargo.lock").write_bytes((CLIENTS / name / "Cargo.lock").read_bytes())
        return ("cargo", "run", "--quiet", "--manifest-path", str(folder / "Cargo.toml"), "--target-dir", "target")
    (here / "readme.py").write_text(first_block(name))
    return (sys.executable, "target/readme/readme.py")


@pytest.mark.parametrize("name", ["python", "go", "typescript", "rust"])
def test_the_first_lines_run(name: str, beside: Sidecar, tmp_path: Path) -> None:
    ready(next(language for language in LANGUAGES if language.name == name))
    known = {**os.environ, **environment(SIDEMIRROR_ADDRESS=beside.address)}
    project = tmp_path / "project"
    project.mkdir()
    ran = subprocess.run(
        command(name, project), cwd=CLIENTS / name, env=known, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    # The summary of the turn: its three events are on record, and it went well.
    assert re.search(r"SUCCESS|outcome: 1|Success", ran.stdout), ran.stdout
    assert re.search(r"event_?[cC]ount: ?3", ran.stdout), ran.stdout
