"""An agent of LangChain, once for each conversation. Run by `test_frameworks.py`, under either instrumentation."""

# mypy: ignore-errors
# It runs in an environment of its own, where LangChain is.

import os

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from shop import CONVERSATIONS, QUESTION, TABLES, sql


@tool
def run_sql(query: str) -> str:
    """Run SQL."""
    return sql(query)


@tool
def list_tables() -> str:
    """The tables."""
    return TABLES


@wrap_tool_call
def tell_errors(request, handler):
    """A tool's error is its result."""
    try:
        return handler(request)
    except ValueError as error:
        return ToolMessage(content=str(error), tool_call_id=request.tool_call["id"], status="error")


def adapters():
    """Sidemirror's, for `bench/telemetry_misses.py`, which says where the sidecar is."""
    if "SIDEMIRROR_ADDRESS" not in os.environ:
        return []
    from sidemirror_langchain import SidemirrorMiddleware

    return [SidemirrorMiddleware(agent="orders")]


middleware = [*adapters(), tell_errors]
agent = create_agent(ChatOpenAI(model="stubborn"), [run_sql, list_tables], middleware=middleware, name="orders")

if __name__ == "__main__":
    for conversation in CONVERSATIONS:
        config = {"configurable": {"thread_id": conversation}, "metadata": {"session_id": conversation}}
        print(agent.invoke({"messages": [("user", QUESTION)]}, config)["messages"][-1].content)
