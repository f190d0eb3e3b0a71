"""The adapters of agent frameworks, each with the newest and the oldest version of its framework that it promises.

Nothing of a framework is in our environment. An adapter's own tests run in that of `adapters.py`, beside a sidecar of
this checkout. `test_typescript_adapter.py` has the one for the AI SDK.
"""

from collections.abc import Iterator

import pytest

from tests.clients.adapters import ADAPTERS, PYTHON, installed, run
from tests.clients.harness import Sidecar, sidecar

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


def test_every_adapter_stands_in_the_list() -> None:
    page = (ADAPTERS / "README.md").read_text()
    adapters = sorted(path.parent.name for path in ADAPTERS.glob("*/README.md"))
    assert set(PYTHON) < set(adapters)
    assert [adapter for adapter in adapters if f"({adapter}/README.md)" not in page] == []
