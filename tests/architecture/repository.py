"""Where the checkout is, and how its tools are started from a test."""

import os
import subprocess
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_tool(*command: str, cwd: Path = ROOT, path: str = "", given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Runs a tool of the development environment, whether or not that environment is activated.

    `path`: a folder for PYTHONPATH. `given`: what the tool reads from stdin. The caller looks at the return code.
    """
    environment = {
        **os.environ,
        "PATH": sysconfig.get_path("scripts") + os.pathsep + os.environ.get("PATH", ""),
        "PYTHONPATH": path,
    }
    return subprocess.run(command, cwd=cwd, env=environment, input=given, capture_output=True, check=False)


def checked(result: subprocess.CompletedProcess[bytes]) -> bytes:
    """What the tool printed; fails the test with its messages when it did not succeed."""
    assert result.returncode == 0, (result.stdout + result.stderr).decode(errors="replace")
    return result.stdout
