"""An agent of Google ADK, once for each conversation. Run by `test_frameworks.py`."""

# mypy: ignore-errors
# It runs in an environment of its own, where Google ADK is.

import asyncio
import os

from google.adk.agents import LlmAgent
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types
from shop import CONVERSATIONS, QUESTION, TABLES, sql


def run_sql(query: str) -> dict[str, str]:
    """Run SQL."""
    try:
        return {"result": sql(query)}
    except ValueError as error:
        return {"error": str(error)}


def list_tables() -> str:
    """The tables."""
    return TABLES


async def main() -> None:
    model = Gemini(model="stubborn", base_url=os.environ["GEMINI_BASE_URL"])
    runner = InMemoryRunner(agent=LlmAgent(name="orders", model=model, tools=[run_sql, list_tables]), app_name="orders")
    for conversation in CONVERSATIONS:
        await runner.session_service.create_session(app_name="orders", user_id="u", session_id=conversation)
        asked = types.Content(role="user", parts=[types.Part(text=QUESTION)])
        async for event in runner.run_async(user_id="u", session_id=conversation, new_message=asked):
            if event.is_final_response():
                print(event.content.parts[0].text)


if __name__ == "__main__":
    asyncio.run(main())
