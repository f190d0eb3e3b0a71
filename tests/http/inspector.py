"""The inspector of MCP, from npm: installed once for the machine, in the version that is pinned here."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

_VERSION = "2.12.0"
_PLACE = Path.home() / ".cache" / "sidemirror" / f"mcp-inspector-{_VERSION}"


def inspector() -> Sequence[str]:
    """The command. Skips where npm is missing or installs nothing; in CI that fails."""
    program = _PLACE / "node_modules" / ".bin" / "mcp-inspector"
    if not program.exists() and (lacks := _install()):
        if os.environ.get("CI"):
            pytest.fail(lacks)
        pytest.skip(lacks)
    return (str(program),)


def _install() -> str:
    """Why it could not be installed; empty if it was."""
    if shutil.which("npm") is None:
        return "npm is not installed: the inspector of MCP is not tried"
    _PLACE.mkdir(parents=True, exist_ok=True)
    command = ("npm", "install", "--silent", "--no-save", f"@modelcontextprotocol/inspector@{_VERSION}")
    ran = subprocess.run(command, cwd=_PLACE, capture_output=True, text=True, check=False, timeout=240)
    return f"npm cannot install the inspector of MCP: {ran.stderr[-300:]}" if ran.returncode else ""
