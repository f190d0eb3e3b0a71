"""Whether a tool call of a host has failed, by what its hook tells. Pure.

Hosts differ: Claude Code and Cursor have an event for failures, Gemini CLI writes the exit code into the text,
OpenHands into fields of the result, Codex into its transcript only (`transcript.py`). Where a host says nothing, the
text decides, by the same rule as everywhere (`memory/recoveries/failed.py`).
"""

from typing import Any

_EXIT_FIELDS = ("exit_code", "exitCode", "returncode", "return_code")
_FLAGS = ("is_error", "isError", "error")


def failed_by_fields(result: Any) -> bool | None:
    """What the fields of a result say; None if it has none that would. -1 is no exit code: the command goes on."""
    if not isinstance(result, dict):
        return None
    for name in _EXIT_FIELDS:
        value = result.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value != -1:
            return value != 0
    flags = [bool(result[name]) for name in _FLAGS if name in result]
    return any(flags) if flags else None
