"""Whether a tool call of a host has failed, and what the tool has said of it. Pure.

Hosts differ: Claude Code and Cursor have an event for failures, Gemini CLI writes the exit code into the text,
OpenHands into fields of the result, Codex into its transcript only (`transcript.py`). Where a host says nothing, the
text decides, by the same rule as everywhere (`trace/failed.py`).
"""

import re
from typing import Any

from sidemirror_server.trace.failure import TELLING_EXIT_STATUSES

_EXIT_FIELDS = ("exit_code", "exitCode", "returncode", "return_code")
_FLAGS = ("is_error", "isError", "error")

# What a terminal is told: colours, and by a shell how to take what is pasted (OpenHands without tmux).
_ESCAPE = re.compile(r"\x1b\[[0-?]{0,40}[ -/]{0,4}[@-~]")
# What hosts write before the output of a command. The others give it as it is.
_EXIT_LINE = re.compile(r"\AExit code:? \d{1,3}(?:\n|\Z)")
_BEFORE = {
    "claude-code": _EXIT_LINE,
    "cursor": _EXIT_LINE,
    "codex": re.compile(
        r"\A(?:(?:Chunk ID|Wall time|Process exited with code|Original token count|Total output lines)\b[^\n]{0,100}\n)"
        r"{1,8}Output:\n"
    ),
    "gemini-cli": re.compile(r"\A(?:<untrusted_context>\n)?(?:(?:Command|Directory): [^\n]{0,4000}\n){0,2}Output: "),
}
# What they write behind it.
_BEHIND = {
    "gemini-cli": re.compile(
        r"(?:\n(?:Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]*)+(?:\n</untrusted_context>)?\s*\Z"
    )
}
# Characters at the end of a text in which `_BEHIND` is looked for. Chosen here: several times what is known of a
# process. The time that it takes grows with the square of this, and the output before it is anybody's.
_TAIL_CHARS = 1_000
_STATUS = re.compile(r"\b(?:Exit code:?|Exit Code:|exited with code) (\d{1,3})\b")
# What hosts write where a command has put out nothing.
_NOTHING = {"gemini-cli": "(empty)"}


def failed_by_fields(result: Any) -> bool | None:
    """What the fields of a result say; None if it has none that would. -1 is no exit code: the command goes on, and
    has not worked so far."""
    if not isinstance(result, dict):
        return None
    codes = [result[name] for name in _EXIT_FIELDS if type(result.get(name)) is int]
    ended = [code for code in codes if code != -1]
    if ended:
        return bool(ended[0] != 0)
    flags = [bool(result[name]) for name in _FLAGS if name in result]
    if any(flags):
        return True
    return False if flags and not codes else None


def said_by_tool(host: str, text: str) -> str:
    """A failed call's text without escape sequences, and without what its host has written around the output of a
    command: the same failure is then the same through every host. An exit status stays, behind the output, if it says
    why the command failed, and in the output's place where there is none. Without either the host's lines stay."""
    text = _ESCAPE.sub("", text)
    before = _BEFORE[host].match(text) if host in _BEFORE else None
    if before is None:
        return text
    start = before.end()
    behind = _BEHIND[host].search(text, max(start, len(text) - _TAIL_CHARS)) if host in _BEHIND else None
    end = behind.start() if behind else len(text)
    said = text[start:end].strip("\n")
    status = _STATUS.search(text[:start] + text[end:])
    if said in ("", _NOTHING.get(host)):
        return f"Exit code {status[1]}" if status else text
    if status and int(status[1]) in TELLING_EXIT_STATUSES:
        return f"{said}\nExit code {status[1]}"
    return said
