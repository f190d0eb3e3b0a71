"""Hooks of OpenHands (https://docs.openhands.dev/sdk/guides/hooks). It has no ids of turns and calls; a command's exit
code is a field of what it came to. What a hook says at a tool's end does not reach the agent (1.58), only at a prompt.
"""

from sidemirror_server.http.hooks.hosts.failure import failed_by_fields
from sidemirror_server.http.hooks.hosts.happening import (
    AnswerGiven,
    CallEnded,
    Happening,
    HostLeft,
    Prompted,
    SaidByAgent,
    What,
)
from sidemirror_server.http.hooks.hosts.like_claude import arguments_of
from sidemirror_server.http.hooks.hosts.payload import Payload, object_in, text_in, written


def read(event: str, payload: Payload) -> Happening | None:
    """What a hook tells; None if there is nothing to record."""
    what = _what(event, payload)
    if what is None:
        return None
    return Happening(text_in(payload, "session_id"), "", "", text_in(payload, "working_dir", "cwd"), what)


def told(event: str, text: str) -> dict[str, object]:
    """The answer that puts a text beside the user's prompt; of other events there is none."""
    return {"additionalContext": text} if event == "UserPromptSubmit" else {}


def sent_back(prompt: str) -> dict[str, object]:
    """The answer that sends the agent back to work with a prompt."""
    return {"decision": "deny", "reason": prompt}


def _what(event: str, payload: Payload) -> What | None:
    match event:
        case "UserPromptSubmit":
            return Prompted(written(payload.get("message")))
        case "PostToolUse":
            # The agent ends its work by a tool, whose argument is its answer.
            is_answer = payload.get("tool_name") == "finish"
            return SaidByAgent(text_in(object_in(payload, "tool_input"), "message")) if is_answer else _ran(payload)
        case "Stop":
            return AnswerGiven("", again=False)
        case "SessionEnd":
            return HostLeft()
        case _:
            return None


def _ran(payload: Payload) -> CallEnded | None:
    name = text_in(payload, "tool_name")
    if not name:
        return None
    response = object_in(payload, "tool_response")
    parts = response.get("content")
    texts = [text_in(part, "text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    result = written("\n".join(text for text in texts if text)) if texts else written(response)
    return CallEnded("", name, arguments_of(payload), result, failed_by_fields(response))
