from collections.abc import Callable, Iterator
from typing import Any

import pytest
from agents import Agents, Ended
from scripted.endpoint import Endpoint
from scripted.fixtures import address, endpoint, sidecar
from scripted.record import Sidecar

__all__ = ["address", "endpoint", "sidecar"]

Ask = Callable[..., Ended]


@pytest.fixture(scope="session")
def agents() -> Iterator[Agents]:
    """The process in which agents run, in a project that has the packed adapter."""
    with Agents() as running:
        yield running


@pytest.fixture
def ask(agents: Agents, endpoint: Endpoint, sidecar: Sidecar) -> Ask:
    """Runs an agent beside the sidecar, and waits for its end."""

    def asked(way: str, model: str, prompt: str, *tools: str, **more: Any) -> Ended:
        return agents.begin(endpoint, sidecar, way, model, prompt, *tools, **more)()

    return asked
