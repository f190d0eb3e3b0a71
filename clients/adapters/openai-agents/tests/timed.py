"""The agent whose calls `scripted/times.py` times."""

from agents import Runner
from scripted.endpoint import Endpoint
from sidemirror_openai_agents import SidemirrorRunner
from tests.test_runner import agent_of

from sidemirror_client import Sidemirror as Client


def works(key: str) -> str:
    """Works."""
    return f"{key} is there"


def fails(key: str) -> str:
    """Fails."""
    raise ValueError(f"no entry for {key}")


async def run(endpoint: Endpoint, name: str, client: Client | None) -> None:
    agent = agent_of(endpoint, name, works, fails)
    if client is None:
        await Runner.run(agent, "Go.", max_turns=99)
    else:
        await SidemirrorRunner(client=client).run(agent, "Go.", max_turns=99)
