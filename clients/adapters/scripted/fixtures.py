"""Fixtures of every adapter's tests. `tests/clients/test_adapters.py` starts the sidecar and says where it is."""

import os
import uuid
from collections.abc import Iterator

import pytest

from scripted.endpoint import Endpoint, serving
from scripted.record import Sidecar
from sidemirror_client import Sidemirror, connect


@pytest.fixture(scope="session")
def address() -> str:
    """Where the sidecar is."""
    if "SIDEMIRROR_ADDRESS" not in os.environ:
        pytest.fail("SIDEMIRROR_ADDRESS is not set: run `uv run pytest tests/clients/test_adapters.py` in the checkout")
    return os.environ["SIDEMIRROR_ADDRESS"]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """A scripted model endpoint."""
    with serving() as running:
        yield running


@pytest.fixture
def sidecar(address: str) -> Sidecar:
    """The sidecar, with a project of the test's own."""
    return Sidecar(address, f"p{uuid.uuid4().hex[:12]}")


@pytest.fixture
async def client(sidecar: Sidecar) -> object:
    """A client for the test's project."""
    async with connect(sidecar.address, project_id=sidecar.project) as connected:
        yield connected


@pytest.fixture
async def away() -> object:
    """A client of a sidecar that is not there."""
    connected = connect("127.0.0.1:1", on_away=lambda _: None)
    yield connected
    await connected.close(0)


__all__ = ["Sidemirror", "address", "away", "client", "endpoint", "sidecar"]
