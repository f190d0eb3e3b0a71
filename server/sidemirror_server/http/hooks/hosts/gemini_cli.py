"""Hooks of Gemini CLI (https://geminicli.com/docs/hooks/reference). It has no ids of turns and calls; the exit code
of a command stands in the text that its model gets."""

import hashlib
import re

import msgspec

from sidemirror_server.http.hooks.hosts.happening import AnswerGiven, CallEnded, Happening, HostLeft, Prompted, What
from sidemirror_server.http.hooks.hosts.like_claude import arguments_of
from sidemirror_server.http.hooks.hosts.payload import Payload, object_in, text_in, written

_SHELL = "run_shell_command"
# What its model gets of a shell command: the output, and after it what is known of the process. A command that ended
# well has no exit code there.
_OF_SHELL = re.compile(r"\A(?:<untrusted_context>\n)?(?:Command: |Output: )")
_EXITED = re.compile(
    r"\n(?:Exit Code: (?P<code>-?\d{1,10})|Signal: \w+)(?:\n(?:Signal|Background PIDs|Process Group PGID): [^\n]*)*"
    r"(?:\n</untrusted_context>)?\s*\Z"
)
# Characters at the end of a text in which the exit code is looked for. Chosen here: several times what is known of a
# process. The time that it takes grows with the square of this, and the output before it is anybody's.
_TAIL_CHARS = 1_000


def read(event: str, payload: Payload) -> Happening | None:
    """What a hook tells; None if there is nothing to record."""
    what = _what(event, payload)
    return None if what is None else Happening(text_in(payload, "session_id"), "", "", text_in(payload, "cwd"), what)


def _what(event: str, payload: Payload) -> What | None:
    match event:
        case "BeforeAgent":
            return Prompted(written(payload.get("prompt")))
        case "AfterTool":
            return _ran(payload)
        case "AfterAgent":
            again = payload.get("stop_hook_active") is True
            return AnswerGiven(written(payload.get("prompt_response")), again)
        case "SessionEnd":
            return HostLeft()
        case _:
            return None


def _ran(payload: Payload) -> CallEnded | None:
    name = text_in(payload, "tool_name")
    if not name:
        return None
    response = object_in(payload, "tool_response")
    result = _text_of(response.get("llmContent"))
    failed = True if response.get("error") else _failed(name, result)
    # The time in it tells two equal calls apart; a hook that is registered twice gets the same.
    timed = "timestamp" in payload
    call_id = hashlib.sha256(msgspec.json.encode(payload)).hexdigest()[:32] if timed else ""
    return CallEnded(call_id, name, arguments_of(payload), result, failed)


def _failed(name: str, result: str) -> bool | None:
    """Whether a tool has failed of which no error is told. Of a command that says nothing; the text that the model gets
    says it where the command has ended."""
    if name != _SHELL:
        return False
    if not _OF_SHELL.match(result):
        return None
    exited = _EXITED.search(result, max(0, len(result) - _TAIL_CHARS))
    return exited is not None and exited["code"] != "0"


def _text_of(content: object) -> str:
    """What the model gets of a tool: a text, or a list of parts with texts in them."""
    if isinstance(content, list):
        parts = [
            part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, str | dict)
        ]
        return written("\n".join(part for part in parts if isinstance(part, str)))
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        return written(content["text"])
    return written(content)


def sent_back(prompt: str) -> dict[str, object]:
    """The answer that sends the agent back to work with a prompt."""
    return {"decision": "deny", "reason": prompt}
