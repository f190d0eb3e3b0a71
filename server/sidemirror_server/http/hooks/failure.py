"""Whether a tool call of a host has failed, by what its hook tells. Pure but for `transcript.py`.

Hosts differ: Claude Code and Cursor have an event for failures, Gemini CLI writes the exit code into the text, OpenHands
into fields of the result, Codex into its transcript only. Where a host says nothing, the text decides, by the same rule
as everywhere (`memory/recoveries/failed.py`).
"""

import re
from typing import Any

from sidemirror_server.memory.recoveries.failed import reports_failure

_EXIT_FIELDS = ("exit_code", "exitCode", "returncode", "return_code")
_FLAGS = ("is_error", "isError", "error")
# A line of the text that Gemini CLI gives its model of a shell command; the last one counts, since the command's own
# output stands before it.
_EXIT_LINE = re.compile(r"^(?:Exit Code|Process exited with code):? (-?\d{1,10})\s*$", re.MULTILINE)


def exit_code_in(text: str) -> int | None:
    """The exit code of the last line that names one in a host's own form; None without such a line."""
    found = _EXIT_LINE.findall(text)
    return int(found[-1]) if found else None


def failed_by_fields(result: Any) -> bool | None:
    """What the fields of a result say; None if it has none that would."""
    if not isinstance(result, dict):
        return None
    for name in _EXIT_FIELDS:
        value = result.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value != 0
    flags = [bool(result[name]) for name in _FLAGS if name in result]
    return any(flags) if flags else None


def failed_by_text(text: str) -> bool:
    """What the text says: by its exit code, else by its words."""
    code = exit_code_in(text)
    return reports_failure(text) if code is None else code != 0
