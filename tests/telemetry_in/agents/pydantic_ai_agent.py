"""An agent of Pydantic AI, as its users write it, once for each conversation. Run by `test_frameworks.py`."""

# mypy: ignore-errors
# It runs in an environment of its own, where Pydantic AI is.

from exporting import CONVERSATIONS, TABLES, exporting, sql
from pydantic_ai import Agent, ModelRetry

agent = Agent("openai-chat:stubborn", name="orders", retries=4)


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
    with exporting():
        Agent.instrument_all()
        for _ in CONVERSATIONS:
            print(agent.run_sync("How many orders are open?").output)
