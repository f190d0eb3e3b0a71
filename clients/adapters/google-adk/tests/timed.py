"""The agent whose calls `scripted/times.py` times."""

import os

from scripted.endpoint import Endpoint
from sidemirror_google_adk import SidemirrorPlugin
from tests.test_plugin import agent_of, ask

from sidemirror_client import Sidemirror as Client

os.environ.setdefault("GOOGLE_API_KEY", "x")


def works(key: str) -> str:
    """Works."""
    return f"{key} is there"


def fails(key: str) -> dict[str, str]:
    """Fails."""
    return {"error": f"no entry for {key}"}


async def run(endpoint: Endpoint, name: str, client: Client | None) -> None:
    plugin = SidemirrorPlugin(client=client) if client else None
    await ask(plugin, agent_of(endpoint, name, works, fails), "Go.")
