"""The clients, and how each one's runner of the scenario is built and started.

`python -m tests.clients.languages` builds them all, so that no test's time limit has to hold a first build.
"""

import functools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.clients.harness import ROOT
from tests.selection import shared

CLIENTS = ROOT / "clients"
# Set where all clients were built just before: no test builds one again.
_BUILT = "CLIENTS_ARE_BUILT"


class Language(NamedTuple):
    """A client: its folder, what has to be installed, what builds its runner, and the runner."""

    name: str
    folder: Path
    needs: str
    build: Sequence[Sequence[str]]
    run: Sequence[str]


_JAVA_PLACES = '"target/classes:target/test-classes:$(cat target/classpath)"'
LANGUAGES = (
    Language("python", CLIENTS / "python", "python", (), (sys.executable, "scenario.py")),
    Language(
        "go",
        CLIENTS / "go",
        "go",
        (("go", "vet", "./..."), ("go", "build", "-o", "target/scenario", "./internal/scenario")),
        ("target/scenario",),
    ),
    Language(
        "typescript",
        CLIENTS / "typescript",
        "npm",
        ((sys.executable, str(ROOT / "tests" / "npm.py")), ("npm", "run", "--silent", "build")),
        ("node", "dist/test/scenario.js"),
    ),
    Language(
        "java",
        CLIENTS / "java",
        "mvn",
        (
            ("mvn", "-q", "-B", "-f", "../../generated/java", "install"),
            ("mvn", "-q", "-B", "install", "dependency:build-classpath", "-Dmdep.outputFile=target/classpath"),
        ),
        (*("sh", "-c"), f'exec java $JAVA_FLAGS -cp {_JAVA_PLACES} Scenario "$0"'),
    ),
    Language(
        "rust",
        CLIENTS / "rust",
        "cargo",
        (
            ("cargo", "build", "--quiet", "--locked", "--example", "scenario"),
            ("cargo", "test", "--quiet", "--locked", "--no-run"),
        ),
        ("target/debug/examples/scenario",),
    ),
)


def has_toolchain(language: Language) -> bool:
    """Python is there: it runs this."""
    return language.name == "python" or shutil.which(language.needs) is not None


def ready(language: Language) -> Sequence[str]:
    """The command of the language's runner, which is built by then. Skips without the toolchain; in CI that fails.

    Seen to fail with a test whose name does not say the language."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    assert language.name in ("python", shared(test)), "another worker may build this client: see tests/selection.py"
    if not has_toolchain(language):
        if os.environ.get("CI"):
            pytest.fail(f"{language.needs} is not installed")
        pytest.skip(f"{language.needs} is not installed: the {language.name} client is not tested")
    if not os.environ.get(_BUILT):
        _build(language)
    return language.run


@functools.cache
def _build(language: Language) -> None:
    for command in language.build:
        done = subprocess.run(command, cwd=language.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{(done.stdout + done.stderr)[-6000:]}"


def main() -> None:
    """Builds every client whose toolchain is there; which is not, the tests say."""
    for language in LANGUAGES:
        began_s = time.perf_counter()
        if not has_toolchain(language):
            sys.stdout.write(f"{language.name}: {language.needs} is not installed\n")
            continue
        _build(language)
        sys.stdout.write(f"{language.name}: built in {time.perf_counter() - began_s:.0f} s\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
