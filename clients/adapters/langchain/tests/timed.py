"""The agent whose calls `scripted/times.py` times."""

from langchain.agents import create_agent
from scripted.endpoint import Endpoint
from sidemirror_langchain import SidemirrorMiddleware
from tests.test_middleware import model, tool

from sidemirror_client import Sidemirror as Client


def works(key: str) -> str:
    """Works."""
    return f"{key} is there"


def fails(key: str) -> str:
    """Fails."""
    raise ValueError(f"no entry for {key}")


async def run(endpoint: Endpoint, name: str, client: Client | None) -> None:
    middleware = [SidemirrorMiddleware(client=client)] if client else []
    agent = create_agent(model(endpoint, name), [tool(works), tool(fails)], middleware=middleware)
    await agent.ainvoke({"messages": [("user", "Go.")]}, {"recursion_limit": 99})
