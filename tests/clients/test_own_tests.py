"""Tests that a client has in its own language. Those of Java run when it is built."""

import subprocess
from collections.abc import Sequence

import pytest

from tests.clients.languages import LANGUAGES, Language, ready

pytestmark = [pytest.mark.slow("clients are built"), pytest.mark.timeout(600)]
OWN: dict[str, Sequence[str]] = {
    "go": ("go", "test", "."),
    # A test that fails leaves its client open, which would keep the process alive.
    "typescript": ("node", "--test", "--test-force-exit", "dist/test/client.test.js", "dist/test/turn.test.js"),
}


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each.name in OWN], ids=lambda each: each.name)
def test_its_own_tests_pass(language: Language) -> None:
    ready(language)
    ran = subprocess.run(OWN[language.name], cwd=language.folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-6000:]
