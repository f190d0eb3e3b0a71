"""An adapter's page as its reader has it: the programs on it, run and type-checked as written."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scripted.endpoint import Endpoint

_PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Page:
    """A program on the page of the adapter in a folder."""

    def __init__(self, folder: Path, scratch: Path, number: int = 0, name: str = "agent.py") -> None:
        """The first one unless `number` says another; it becomes a file of this name."""
        self._folder = folder
        self._program = scratch / name
        self._program.parent.mkdir(exist_ok=True)
        self._program.write_text(_PROGRAM.findall((folder / "README.md").read_text())[number])

    def run(self, endpoint: Endpoint, command: Sequence[str] = (), said: str = "", **more: str) -> str:
        """What the program prints, or a command that takes it, with the endpoint in the provider's place. `said` is
        typed."""
        known = {
            **os.environ, "OPENAI_BASE_URL": f"{endpoint.url}/v1", "OPENAI_API_KEY": "x", "GEMINI_API_KEY": "x",
            "GOOGLE_GEMINI_BASE_URL": endpoint.url, **more,
        }  # fmt: skip
        return self._ran(command or (sys.executable, str(self._program)), known, said)

    def check_types(self) -> None:
        """mypy, strict, accepts the program."""
        self._ran([sys.executable, "-m", "mypy", "--strict", str(self._program)], dict(os.environ))

    def _ran(self, command: Sequence[str], known: dict[str, str], said: str = "") -> str:
        ran = subprocess.run(
            command, cwd=self._folder, env=known, input=said, capture_output=True, text=True, check=False, timeout=400
        )
        assert ran.returncode == 0, (ran.stdout + ran.stderr)[-4000:]
        return ran.stdout
