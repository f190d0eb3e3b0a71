"""Programs that tools/install-deploy-tools installs."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.deploy.lacking import lacks


def tool(name: str) -> str:
    """Where the program is: on the path, or where the script puts it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sidemirror" / "bin"
    found = shutil.which(name) or shutil.which(name, path=str(cache))
    if found is None:
        lacks(f"{name} is not installed: tools/install-deploy-tools")
    return found


def ran(*command: str, cwd: Path | None = None) -> str:
    """What it prints; fails with what it says."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
