"""Environments of peers, made with uv from what is pinned in `bench/peer/*.txt`, and thrown away with the run."""

import json
import shutil
import subprocess
from pathlib import Path

PINNED = Path(__file__).parent / "peer"
_LOADS_EXTENSIONS = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"
_INSTALL_S = 300
PYTHON = "3.11"
"""What most pins are for."""


class Unavailable(Exception):  # a fact of the machine, not a fault
    """A peer cannot be had here; the reason is for people."""


def made(name: str, folder: Path, *, wanted: str = PYTHON, loads_extensions: bool = False) -> Path:
    """The interpreter of an environment with what `name`.txt pins, for that version of Python. Raises Unavailable."""
    uv = shutil.which("uv")
    if uv is None:
        raise Unavailable("uv is not there")
    python = _interpreter(uv, wanted, loads_extensions=loads_extensions)
    place = folder / f"environment-{name}"
    _run([uv, "venv", "--quiet", "--python", python, str(place)])
    own = place / "bin" / "python"
    _run([uv, "pip", "sync", "--quiet", "--python", str(own), str(PINNED / f"{name}.txt")])
    return own


def version(name: str) -> str:
    """The version of a package that `bench/peer` pins."""
    for pinned in PINNED.glob("*.txt"):
        for line in pinned.read_text().splitlines():
            package, _, number = line.partition("==")
            if package == name:
                return number
    raise KeyError(name)


def _interpreter(uv: str, wanted: str, *, loads_extensions: bool) -> str:
    """One of those on this machine that have this version; many are built without extensions of sqlite3. Where there is
    none its version, with which uv fetches one."""
    listed = json.loads(_run([uv, "python", "list", wanted, "--only-installed", "--output-format", "json"]))
    hidden = Path.home().glob(f".pyenv/versions/{wanted}.*/bin/python")  # uv sees those that pyenv has switched on
    for python in [*(str(one["path"]) for one in listed), *map(str, hidden)]:
        if not loads_extensions or _does(python, _LOADS_EXTENSIONS):
            return python
    if loads_extensions:
        raise Unavailable(f"there is no Python {wanted} whose sqlite3 loads extensions")
    return wanted


def _does(python: str, code: str) -> bool:
    return subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"uv {command[1]} took more than {_INSTALL_S} s") from None
    if done.returncode != 0:
        said = " ".join(done.stderr.split())[:200].replace("|", "/")
        raise Unavailable(f"uv {command[1]} failed: {said}")
    return done.stdout
