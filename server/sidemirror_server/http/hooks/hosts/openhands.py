"""Hooks of OpenHands (https://docs.openhands.dev/sdk/guides/hooks). It has no ids of turns and calls; a command's exit
code is a field of what it came to."""

from sidemirror_server.http.hooks.failure import failed_by_fields, failed_by_text
from sidemirror_server.http.hooks.happening import Answered, Asked, Happening, Left, Ran, What
from sidemirror_server.http.hooks.hosts.like_claude import arguments_of
from sidemirror_server.http.hooks.payload import Payload, object_in, text_in, written


def read(event: str, payload: Payload) -> Happening | None:
    """What a hook tells; None if there is nothing to record."""
    what = _what(event, payload)
    if what is None:
        return None
    return Happening(text_in(payload, "session_id"), "", "", text_in(payload, "working_dir", "cwd"), what)


def _what(event: str, payload: Payload) -> What | None:
    match event:
        case "UserPromptSubmit":
            return Asked(text_in(payload, "message", "prompt"))
        case "PostToolUse":
            return _ran(payload)
        case "Stop":
            return Answered(text_in(object_in(payload, "metadata"), "last_assistant_message"), again=False)
        case "SessionEnd":
            return Left()
        case _:
            return None
