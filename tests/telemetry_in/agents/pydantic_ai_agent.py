"""An agent of Pydantic AI, as its users write it, once for each conversation. Run by `test_frameworks.py`."""

# mypy: ignore-errors
# It runs in an environment of its own, where Pydantic AI is.

import os

from pydantic_ai import Agent, ModelRetry
from shop import CONVERSATIONS, QUESTION, TABLES, sql


def adapters():
    """Sidemirror's, for `bench/telemetry_misses.py`, which says where the sidecar is."""
    if "SIDEMIRROR_ADDRESS" not in os.environ:
        return []
    from sidemirror_pydantic_ai import Sidemirror

    return [Sidemirror()]


agent = Agent("openai-chat:stubborn", name="orders", retries=4, capabilities=adapters())


@agent.tool_plain
def run_sql(query: str) -> str:
    """Run SQL."""
    try:
        return sql(query)
    except ValueError as error:
        raise ModelRetry(str(error)) from error


@agent.tool_plain
def list_tables() -> str:
    """The tables."""
    return TABLES


if __name__ == "__main__":
    Agent.instrument_all()
    for _ in CONVERSATIONS:
        print(agent.run_sync(QUESTION).output)
