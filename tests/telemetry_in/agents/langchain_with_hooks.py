"""An agent of LangChain with a shell, attached by hooks: it calls them as Claude Code does, and its model sees what
they say behind a call's result. Once for each conversation. Run by `test_told_to_frameworks.py`."""

# mypy: ignore-errors
# It runs in an environment of its own, where LangChain is.

import json
import os
import urllib.request

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from shell import CONVERSATIONS, QUESTION, bash

_now = {}


def hook(event, **payload):
    """What the hooks say at this event; nothing where none are attached."""
    if "HOOK_URL" not in os.environ:
        return ""
    common = {"session_id": f"host-{_now['conversation']}", "prompt_id": f"p-{_now['conversation']}"}
    common |= {"cwd": os.environ["HOOK_FOLDER"], "transcript_path": None, "permission_mode": "default"}
    request = urllib.request.Request(
        os.environ["HOOK_URL"],
        json.dumps({**common, "hook_event_name": event, **payload}).encode(),
        {"authorization": f"Bearer {os.environ['HOOK_TOKEN']}", "sidemirror-timeout-ms": "20000"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        said = response.read()
    return json.loads(said)["hookSpecificOutput"]["additionalContext"] if said else ""


@tool("Bash")
def run_bash(command: str) -> str:
    """Runs a command."""
    return bash(command)


@wrap_tool_call
def with_hooks(request, handler):
    """A tool's error is its result, and the hooks hear of both."""
    call = {"tool_name": "Bash", "tool_use_id": request.tool_call["id"], "tool_input": request.tool_call["args"]}
    try:
        result = handler(request)
    except ValueError as error:
        said = hook("PostToolUseFailure", **call, error=f"Exit code 1\n{error}")
        text = "\n\n".join(part for part in (str(error), said) if part)
        return ToolMessage(content=text, tool_call_id=request.tool_call["id"], status="error")
    hook("PostToolUse", **call, tool_response={"stdout": result.content, "stderr": "", "interrupted": False})
    return result


if __name__ == "__main__":
    agent = create_agent(ChatOpenAI(model="stubborn"), [run_bash], middleware=[with_hooks], name="orders")
    for conversation in CONVERSATIONS:
        _now["conversation"] = conversation
        hook("UserPromptSubmit", prompt=QUESTION)
        config = {"configurable": {"thread_id": conversation}, "metadata": {"session_id": conversation}}
        answer = agent.invoke({"messages": [("user", QUESTION)]}, config)["messages"][-1].content
        hook("Stop", stop_hook_active=True, last_assistant_message=answer)
        print(answer)
