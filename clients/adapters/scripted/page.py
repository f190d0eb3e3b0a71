"""An adapter's page as its reader has it: the first program on it, run and type-checked as written."""

import os
import re
import subprocess
import sys
from pathlib import Path

from scripted.endpoint import Endpoint

_PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Page:
    """The page of the adapter in a folder."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        found = _PROGRAM.search((folder / "README.md").read_text())
        assert found is not None
        self._folder = folder
        self._program = scratch / "agent.py"
        self._program.write_text(found[1])

    def run(self, endpoint: Endpoint, **more: str) -> str:
        """What the program prints, with the endpoint in the provider's place."""
        known = {
            **os.environ, "OPENAI_BASE_URL": f"{endpoint.url}/v1", "OPENAI_API_KEY": "x", "GEMINI_API_KEY": "x",
            "GOOGLE_GEMINI_BASE_URL": endpoint.url, **more,
        }  # fmt: skip
        return self._ran([sys.executable, str(self._program)], known)

    def check_types(self) -> None:
        """mypy, strict, accepts the program."""
        self._ran([sys.executable, "-m", "mypy", "--strict", str(self._program)], dict(os.environ))

    def _ran(self, command: list[str], known: dict[str, str]) -> str:
        ran = subprocess.run(
            command, cwd=self._folder, env=known, capture_output=True, text=True, check=False, timeout=400
        )
        assert ran.returncode == 0, (ran.stdout + ran.stderr)[-4000:]
        return ran.stdout
