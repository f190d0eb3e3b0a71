"""Tests that a client has in its own language. Those of Java run when it is built, and of Rust's those that need no
sidecar in test_rust_calls.py."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.clients.harness import sidecar
from tests.clients.languages import LANGUAGES, Language, ready

pytestmark = [pytest.mark.slow("clients are built"), pytest.mark.timeout(600)]
OWN: dict[str, Sequence[str]] = {
    "go": ("go", "test", "-count", "1", "."),
    "rust": ("cargo", "test", "--quiet", "--locked", "--test", "beside", "--", "--ignored"),
    # A test that fails leaves its client open, which would keep the process alive.
    "typescript": ("node", "--test", "--test-force-exit", "dist/test/client.test.js", "dist/test/turn.test.js"),
}


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each.name in OWN], ids=lambda each: each.name)
def test_its_own_tests_pass(language: Language, tmp_path: Path) -> None:
    """Some of them need a sidecar."""
    ready(language)
    command, folder = OWN[language.name], language.folder
    with sidecar(tmp_path) as beside:
        known = {**os.environ, "SIDEMIRROR_TEST_SIDECAR": beside.address}
        ran = subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-6000:]
