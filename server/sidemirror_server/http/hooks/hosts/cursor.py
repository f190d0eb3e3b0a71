"""Hooks of Cursor (https://cursor.com/docs/hooks). A call that fails has an event of its own. Words are taken at the
end of a call that has worked, and neither at a prompt nor at a failure."""

import msgspec

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
from sidemirror_server.http.hooks.hosts.like_claude import arguments_of, output_of
from sidemirror_server.http.hooks.hosts.payload import Payload, text_in, written


def read(event: str, payload: Payload) -> Happening | None:
    """What a hook tells; None if there is nothing to record."""
    what = _what(event, payload)
    if what is None:
        return None
    roots = payload.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    session, turn = text_in(payload, "conversation_id", "session_id"), text_in(payload, "generation_id")
    return Happening(session, turn, text_in(payload, "subagent_id"), root or text_in(payload, "cwd"), what)


def told(event: str, text: str) -> dict[str, object]:
    """The answer that puts a text beside a tool's result; of other events there is none."""
    return {"additional_context": text} if event == "postToolUse" else {}


def sent_back(prompt: str) -> dict[str, object]:
    """The answer that sends the agent back to work with a prompt."""
    return {"followup_message": prompt}


def _what(event: str, payload: Payload) -> What | None:
    match event:
        case "beforeSubmitPrompt":
            return Prompted(written(payload.get("prompt")))
        case "postToolUse":
            result = _parsed(payload.get("tool_output"))
            return _ran(payload, output_of(result), failed=bool(failed_by_fields(result)))
        case "postToolUseFailure":
            # Neither says anything of the tool.
            is_denied = text_in(payload, "failure_type") == "permission_denied"
            if is_denied or payload.get("is_interrupt") is True:
                return None
            return _ran(payload, written(payload.get("error_message")), failed=True)
        case "afterAgentResponse":
            return SaidByAgent(written(payload.get("text")))
        case "stop":
            # Who stopped the agent wants no second answer.
            return AnswerGiven("", _is_again(payload)) if payload.get("status") == "completed" else HostLeft()
        case "sessionEnd":
            return HostLeft()
        case _:
            return None


def _ran(payload: Payload, result: str, *, failed: bool) -> CallEnded | None:
    name = text_in(payload, "tool_name")
    return CallEnded(text_in(payload, "tool_use_id"), name, arguments_of(payload), result, failed) if name else None


def _is_again(payload: Payload) -> bool:
    count = payload.get("loop_count")
    return isinstance(count, int) and count > 0


def _parsed(result: object) -> object:
    """A result, which Cursor gives as the text of a JSON; as it is if it is none."""
    if not isinstance(result, str):
        return result
    try:
        return msgspec.json.decode(result)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return result
