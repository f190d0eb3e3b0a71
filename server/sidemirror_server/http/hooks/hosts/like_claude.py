"""What other hosts have taken over from Claude Code: the names of events, the form of answers, fields of tools."""

from typing import Any

from sidemirror_server.http.hooks.hosts.payload import Payload, text_in, written


def told(event: str, text: str) -> dict[str, object]:
    """The answer that puts a text beside what the agent's model sees next."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def sent_back(prompt: str) -> dict[str, object]:
    """The answer that sends the agent back to work with a prompt."""
    return {"decision": "block", "reason": prompt}


def arguments_of(payload: Payload) -> str:
    """The arguments of a tool call; of a shell, its command."""
    given = payload.get("tool_input")
    if isinstance(given, dict) and isinstance(given.get("command"), str):
        return written(given["command"])
    return written(given)


def output_of(given: Any) -> str:
    """What a tool call came to, as text. A shell's two outputs are joined."""
    if isinstance(given, dict) and isinstance(given.get("stdout"), str):
        return written("\n".join(part for part in (given["stdout"], text_in(given, "stderr")) if part))
    return written(given)
