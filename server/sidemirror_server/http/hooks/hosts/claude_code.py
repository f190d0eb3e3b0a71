"""Hooks of Claude Code (https://code.claude.com/docs/en/hooks). A call that fails has an event of its own."""

from sidemirror_server.http.hooks.hosts.happening import AnswerGiven, CallEnded, Happening, HostLeft, Prompted, What
from sidemirror_server.http.hooks.hosts.like_claude import arguments_of, output_of
from sidemirror_server.http.hooks.hosts.payload import Payload, text_in, written


def read(event: str, payload: Payload) -> Happening | None:
    """What a hook tells; None if there is nothing to record."""
    what = _what(event, payload)
    if what is None:
        return None
    session, turn = text_in(payload, "session_id"), text_in(payload, "prompt_id")
    return Happening(session, turn, text_in(payload, "agent_id"), text_in(payload, "cwd"), what)


def _what(event: str, payload: Payload) -> What | None:
    match event:
        case "UserPromptSubmit":
            return Prompted(written(payload.get("prompt")))
        case "PostToolUse":
            return _ran(payload, output_of(payload.get("tool_response")), failed=False)
        case "PostToolUseFailure":
            # After an interrupt the tool has not failed: somebody pressed Escape.
            interrupted = payload.get("is_interrupt") is True
            return None if interrupted else _ran(payload, written(payload.get("error")), failed=True)
        case "Stop":
            again = payload.get("stop_hook_active") is True
            return AnswerGiven(written(payload.get("last_assistant_message")), again)
        case "SubagentStop":
            return HostLeft() if text_in(payload, "agent_id") else None
        case "SessionEnd":
            return HostLeft()
        case _:
            return None


def _ran(payload: Payload, result: str, *, failed: bool) -> CallEnded | None:
    name = text_in(payload, "tool_name")
    return CallEnded(text_in(payload, "tool_use_id"), name, arguments_of(payload), result, failed) if name else None
