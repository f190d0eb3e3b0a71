"""The inspector of MCP, from npm: installed once for the machine, in the version that is pinned here."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

_VERSION = "2.12.0"
_PLACE = Path.home() / ".cache" / "sidemirror" / f"mcp-inspector-{_VERSION}"
# Stands once all of it is there: a run that was ended while npm worked left a part.
_WHOLE = _PLACE / "whole"


def inspector() -> Sequence[str]:
    """The command. Skips where npm is missing or installs nothing; in CI that fails."""
    if lacks := _lacks():
        if os.environ.get("CI"):
            pytest.fail(lacks)
        pytest.skip(lacks)
    return (str(_PLACE / "node_modules" / ".bin" / "mcp-inspector"),)


def _lacks() -> str:
    """Why it is not installed; empty if it is. Others who ask while it is installed wait."""
    if shutil.which("npm") is None:
        return "npm is not installed: the inspector of MCP is not tried"
    _PLACE.mkdir(parents=True, exist_ok=True)
    with (_PLACE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _WHOLE.exists():
            return ""
        command = ("npm", "install", "--silent", "--no-save", f"@modelcontextprotocol/inspector@{_VERSION}")
        ran = subprocess.run(command, cwd=_PLACE, capture_output=True, text=True, check=False, timeout=240)
        if ran.returncode:
            return f"npm cannot install the inspector of MCP: {ran.stderr[-300:]}"
        _WHOLE.touch()
    return ""
