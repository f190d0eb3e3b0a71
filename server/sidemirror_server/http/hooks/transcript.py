"""Finds in Codex' transcript whether a call has failed, because its hook does not tell it.

The path comes from the caller: only the end of a regular file is read, only a file that is named as Codex names its
transcripts, and nothing of it goes further than yes or no.
"""

import os
import re
import stat
from pathlib import Path

import msgspec

_NAME = re.compile(r"^rollout-[\w.:-]{1,120}\.jsonl$")
# In the head of what the model gets of a command, before its output.
_EXITED = re.compile(r"\A(?:(?!Output:).*\n){0,8}?Process exited with code (-?\d{1,10})\n")
# Chosen here: the output of one call, which Codex cuts at some 10 KiB, is on the last lines.
_READ_BYTES = 256 * 1024


def failed_in(path: str, call_id: str) -> bool | None:
    """Whether the call has failed; None if the transcript does not tell, or cannot be read. Reads a file."""
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
    told = (_told_on(line, call_id) for line in reversed(lines))
    return next((failed for failed in told if failed is not None), None)


def _told_on(line: bytes, call_id: str) -> bool | None:
    """What a line of the transcript tells of this call: an item that has ended, or what the model gets."""
    if call_id.encode() not in line:
        return None
    try:
        payload = msgspec.json.decode(line)["payload"]
        item = payload.get("item", payload)
        if call_id not in (item.get("id"), item.get("call_id")):
            return None
        if str(item.get("type")).endswith("_call"):
            # What the model has asked for; its status says that it was asked for in full.
            return None
        code, status, output = item.get("exit_code"), item.get("status"), item.get("output")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    if isinstance(code, int):
        return code != 0
    if status in ("failed", "completed"):
        return bool(status == "failed")
    found = _EXITED.search(output) if isinstance(output, str) else None
    return None if found is None else found[1] != "0"
