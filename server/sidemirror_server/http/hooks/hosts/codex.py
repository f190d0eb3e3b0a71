"""Hooks of Codex (https://developers.openai.com/codex/hooks). What a call came to does not say whether it has failed;
the transcript does."""

from sidemirror_server.http.hooks.hosts.happening import AnswerGiven, CallEnded, Happening, HostLeft, Prompted, What
from sidemirror_server.http.hooks.hosts.like_claude import arguments_of, output_of
from sidemirror_server.http.hooks.hosts.payload import Payload, text_in, written


def read(event: str, payload: Payload) -> Happening | None:
    """What a hook tells; None if there is nothing to record."""
    what = _what(event, payload)
    if what is None:
        return None
    session, turn = text_in(payload, "session_id"), text_in(payload, "turn_id")
    return Happening(session, turn, text_in(payload, "agent_id"), text_in(payload, "cwd"), what)


def _what(event: str, payload: Payload) -> What | None:
    match event:
        case "UserPromptSubmit":
            return Prompted(written(payload.get("prompt")))
        case "PostToolUse":
            name, call_id = text_in(payload, "tool_name"), text_in(payload, "tool_use_id")
            result, transcript = output_of(payload.get("tool_response")), text_in(payload, "transcript_path")
            return CallEnded(call_id, name, arguments_of(payload), result, None, transcript) if name else None
        case "Stop":
            again = payload.get("stop_hook_active") is True
            return AnswerGiven(written(payload.get("last_assistant_message")), again)
        case "SubagentStop":
            return HostLeft() if text_in(payload, "agent_id") else None
        case _:
            return None
