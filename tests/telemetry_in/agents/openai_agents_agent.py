"""An agent of OpenAI Agents, once for each conversation. Run by `test_frameworks.py`, under either instrumentation."""

# mypy: ignore-errors
# It runs in an environment of its own, where OpenAI Agents is.

import asyncio
from contextlib import nullcontext

from agents import Agent, Runner, function_tool, set_default_openai_key
from shop import CONVERSATIONS, QUESTION, TABLES, sql

try:  # OpenInference names the conversation that its user names; the other instrumentation knows none.
    from openinference.instrumentation import using_session
except ImportError:
    using_session = nullcontext


# Without it the model is told that something went wrong, and so are spans.
@function_tool(failure_error_function=lambda _, error: str(error))
def run_sql(query: str) -> str:
    """Run SQL."""
    return sql(query)


@function_tool
def list_tables() -> str:
    """The tables."""
    return TABLES


agent = Agent(name="orders", model="stubborn", tools=[run_sql, list_tables])


async def main() -> None:
    for conversation in CONVERSATIONS:
        with using_session(conversation):
            print((await Runner.run(agent, QUESTION)).final_output)


if __name__ == "__main__":
    set_default_openai_key("none", use_for_tracing=False)
    asyncio.run(main())
