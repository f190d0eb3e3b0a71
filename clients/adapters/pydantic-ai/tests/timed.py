"""The agent whose calls `scripted/times.py` times."""

from pydantic_ai import Agent, ModelRetry
from scripted.endpoint import Endpoint
from sidemirror_pydantic_ai import Sidemirror
from tests.test_capability import model

from sidemirror_client import Sidemirror as Client


def works(key: str) -> str:
    """Works."""
    return f"{key} is there"


def fails(key: str) -> str:
    """Fails."""
    raise ModelRetry(f"no entry for {key}")


async def run(endpoint: Endpoint, name: str, client: Client | None) -> None:
    capabilities = [Sidemirror[None](client=client)] if client else []
    await Agent(model(endpoint, name), tools=[works, fails], retries=99, capabilities=capabilities).run("Go.")
