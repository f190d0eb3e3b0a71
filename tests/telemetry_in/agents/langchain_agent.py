"""An agent of LangChain under OpenInference, once for each conversation. Run by `test_frameworks.py`."""

# mypy: ignore-errors
# It runs in an environment of its own, where LangChain is.

from exporting import CONVERSATIONS, TABLES, exporting, sql
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor


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


if __name__ == "__main__":
    with exporting() as provider:
        LangChainInstrumentor().instrument(tracer_provider=provider)
        agent = create_agent(
            ChatOpenAI(model="stubborn"), [run_sql, list_tables], middleware=[tell_errors], name="orders"
        )
        for conversation in CONVERSATIONS:
            config = {"configurable": {"thread_id": conversation}, "metadata": {"session_id": conversation}}
            found = agent.invoke({"messages": [("user", "How many orders are open?")]}, config)
            print(found["messages"][-1].content)
