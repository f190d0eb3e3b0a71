"""The adapters of agent frameworks, each with the newest and the oldest version of its framework that it promises.

Nothing of a framework is in our environment. An adapter's own tests run in that of `adapters.py`, beside a sidecar of
this checkout.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.clients.adapters import ADAPTERS, AI_SDK, PYTHON, installed, packed, project, run
from tests.clients.harness import Sidecar, sidecar
from tests.clients.languages import LANGUAGES, ready

pytestmark = [pytest.mark.slow("frameworks are installed, and their agents run"), pytest.mark.timeout(900)]
# One stands for all in a run without `-m long`: a framework takes up to a minute.
FIRST = "pydantic-ai"
EACH = [pytest.param(name, marks=[] if name == FIRST else pytest.mark.long) for name in PYTHON]


@pytest.fixture
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """One for each, since the pages' programs share a project: what one has taught changes what the next is told."""
    with sidecar(tmp_path_factory.mktemp("sidecar")) as running:
        yield running


@pytest.mark.parametrize("version", ["newest", pytest.param("oldest", marks=pytest.mark.long)])
@pytest.mark.parametrize("adapter", EACH)
def test_with_the_framework(adapter: str, version: str, beside: Sidecar) -> None:
    python = installed(adapter, version)
    run((str(python), "-m", "pytest", "-q", "--tb=short"), ADAPTERS / adapter, SIDEMIRROR_ADDRESS=beside.address)


@pytest.mark.parametrize("adapter", EACH)
def test_the_adapter_is_typed(adapter: str) -> None:
    python = installed(adapter, "newest")
    run((str(python), "-m", "mypy"), ADAPTERS / adapter)


@pytest.fixture(scope="module")
def packages() -> Sequence[str]:
    """The packed adapter for the AI SDK, and what it needs of ours."""
    (typescript,) = [language for language in LANGUAGES if language.name == "typescript"]
    ready(typescript)
    return packed()


@pytest.mark.long
@pytest.mark.parametrize("version", ["newest", "oldest"])
def test_with_the_ai_sdk(version: str, packages: Sequence[str], beside: Sidecar, tmp_path: Path) -> None:
    project(tmp_path, version, packages)
    settings = {"SIDEMIRROR_ADDRESS": beside.address, "AI_SDK_PROJECT": str(tmp_path)}
    run((sys.executable, "-m", "pytest", "-q", "--tb=short"), AI_SDK, **settings)


def test_every_adapter_stands_in_the_list() -> None:
    page = (ADAPTERS / "README.md").read_text()
    adapters = sorted(path.parent.name for path in ADAPTERS.glob("*/README.md"))
    assert set(PYTHON) < set(adapters)
    assert [adapter for adapter in adapters if f"({adapter}/README.md)" not in page] == []
