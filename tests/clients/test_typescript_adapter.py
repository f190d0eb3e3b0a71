"""The adapter for the AI SDK, packed, with the newest and the oldest version of the SDK that it promises."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.clients.adapters import AI_SDK, packed, project, run
from tests.clients.harness import sidecar
from tests.clients.languages import LANGUAGES, ready

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def packages() -> Sequence[str]:
    """The packed adapter, and what it needs of ours."""
    (typescript,) = [language for language in LANGUAGES if language.name == "typescript"]
    ready(typescript)
    return packed()


@pytest.mark.parametrize("version", ["newest", "oldest"])
def test_with_the_ai_sdk(version: str, packages: Sequence[str], tmp_path: Path) -> None:
    """Its own tests, beside a sidecar of this checkout."""
    project(tmp_path, version, packages)
    with sidecar(tmp_path) as beside:
        settings = {"SIDEMIRROR_ADDRESS": beside.address, "AI_SDK_PROJECT": str(tmp_path)}
        run((sys.executable, "-m", "pytest", "-q", "--tb=short"), AI_SDK, **settings)
