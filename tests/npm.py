"""The packages of package-lock.json in node_modules, installed once for all tests that need them.

As a program it installs them, for builds that start with that.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]
NODE_MODULES = _ROOT / "node_modules"
# Says for which lock file the folder was made.
_MADE_FOR = NODE_MODULES / ".made-for"


def packages() -> Path:
    """The folder of the packages. Skips without npm; in CI that fails."""
    if shutil.which("npm") is None:
        if os.environ.get("CI"):
            pytest.fail("npm is not installed")
        pytest.skip("npm is not installed")
    install()
    return NODE_MODULES


def install() -> None:
    """Installs what the lock file says, unless that was done. Others who ask meanwhile wait."""
    wanted = hashlib.sha256((_ROOT / "package-lock.json").read_bytes()).hexdigest()
    (_ROOT / ".cache").mkdir(exist_ok=True)
    with (_ROOT / ".cache" / "npm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _MADE_FOR.exists() or _MADE_FOR.read_text() != wanted:
            subprocess.run(("npm", "ci", "--silent"), cwd=_ROOT, check=True, timeout=150)
            _MADE_FOR.write_text(wanted)


if __name__ == "__main__":
    install()
