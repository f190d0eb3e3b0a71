"""An agent of Google ADK with a shell and the sidecar's tools of MCP, once for each conversation. Run by
`test_told_to_frameworks.py`."""

# mypy: ignore-errors
# It runs in an environment of its own, where Google ADK is.

import asyncio
import os

from google.adk.agents import LlmAgent
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from google.genai import types
from shell import CONVERSATIONS, QUESTION, bash


def Bash(command: str) -> dict[str, str]:  # noqa: N802 - the tool's name, as hosts have it
    """Runs a command."""
    try:
        return {"result": bash(command)}
    except ValueError as error:
        return {"error": str(error)}


async def main() -> None:
    model = Gemini(model="stubborn", base_url=os.environ["GEMINI_BASE_URL"])
    headers = {"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}
    mcp = McpToolset(connection_params=StreamableHTTPConnectionParams(url=os.environ["MCP_URL"], headers=headers))
    runner = InMemoryRunner(agent=LlmAgent(name="orders", model=model, tools=[Bash, mcp]), app_name="orders")
    for conversation in CONVERSATIONS:
        await runner.session_service.create_session(app_name="orders", user_id="u", session_id=conversation)
        asked = types.Content(role="user", parts=[types.Part(text=QUESTION)])
        async for event in runner.run_async(user_id="u", session_id=conversation, new_message=asked):
            if event.is_final_response():
                print(event.content.parts[0].text)
    await mcp.close()


if __name__ == "__main__":
    asyncio.run(main())
