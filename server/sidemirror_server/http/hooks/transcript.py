"""Finds the exit code of a call in Codex' transcript, because its hook does not tell it.

The path comes from the caller: only the end of a regular file is read, only a file that is named as Codex names its
transcripts, and nothing of it goes further than one number.
"""

import os
import re
import stat
from pathlib import Path

import msgspec

from sidemirror_server.http.hooks.failure import exit_code_in

_NAME = re.compile(r"^rollout-[\w.:-]{1,120}\.jsonl$")
# Chosen here: the output of one call, which Codex cuts at some 10 KiB, is on the last lines.
_READ_BYTES = 256 * 1024


def exit_code_of(path: str, call_id: str) -> int | None:
    """The exit code of the call; None if the transcript does not tell it, or cannot be read. Reads a file."""
    if not call_id or not _NAME.fullmatch(Path(path).name):
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            return None
        file.seek(max(0, about.st_size - _READ_BYTES))
        lines = file.read(_READ_BYTES).splitlines()
    return next((code for line in reversed(lines) if (code := _code_on(line, call_id)) is not None), None)


def _code_on(line: bytes, call_id: str) -> int | None:
    """The exit code that a line of the transcript tells of this call, in one of the forms that Codex has had."""
    if call_id.encode() not in line:
        return None
    try:
        payload = msgspec.json.decode(line)["payload"]
        if payload.get("call_id") != call_id:
            return None
        code = payload.get("exit_code")
        output = payload.get("output")
    except (msgspec.DecodeError, UnicodeDecodeError, LookupError, TypeError, AttributeError):
        return None
    if isinstance(code, int):
        return code
    return exit_code_in(output) if isinstance(output, str) else None
