"""`unshare --mount python -m tests.operations.user_manager FOLDER`: the life of a user service in a real systemd.

A user's manager of systemd runs in a mount namespace of its own, where the machine counts as booted by systemd, with a
home in the folder. The service is installed by the command, killed, updated and removed. Prints what happened as JSON.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.architecture.repository import ROOT

_MANAGER = "/usr/lib/systemd/systemd"
_PATIENCE_S = 60.0


def main(folder: Path) -> None:
    """Plays it."""
    environment = _environment(folder)
    subprocess.run(("mount", "-t", "tmpfs", "tmpfs", "/run/systemd"), check=True)
    Path("/run/systemd/system").mkdir()
    with (folder / "manager.log").open("wb") as log:
        manager = subprocess.Popen((_MANAGER, "--user"), env=environment, stdout=log, stderr=log)
        try:
            sys.stdout.write(json.dumps(_life(folder, environment)))
        finally:
            manager.send_signal(signal.SIGTERM)
            manager.wait(30)


def _environment(folder: Path) -> dict[str, str]:
    home, runtime = folder / "home", folder / "run"
    for made in (home, runtime):
        made.mkdir(mode=0o700)
    program = Path(sys.executable).parent
    return {"HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "PATH": f"{program}:/usr/bin:/bin", "LANG": "C.UTF-8"}


def _life(folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    def ran(*command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)

    def done(*arguments: str) -> str:
        told = ran("sidemirror", *arguments)
        assert told.returncode == 0, (arguments, told.stdout, told.stderr, (folder / "manager.log").read_text()[-2000:])
        return told.stdout

    def serving() -> bool:
        return ran("sidemirror", "health", "--address", address).returncode == 0

    def process() -> int:
        shown = ran("systemctl", "--user", "show", "--property=MainPID", "--value", "sidemirror.service")
        return int(shown.stdout)

    address, http = (f"127.0.0.1:{_free_port()}" for _ in range(2))
    until(lambda: ran("systemctl", "--user", "is-system-running").stdout.strip() in ("running", "degraded"))
    told: dict[str, Any] = {"installed": done("service", "install", f"--address={address}", f"--http-address={http}")}
    until(serving)
    told["enabled"] = ran("systemctl", "--user", "is-enabled", "sidemirror.service").stdout.strip()
    told["link"] = done("console", f"--http-address={http}", f"--data-dir={folder}/home/.local/share/sidemirror")
    first = process()
    os.kill(first, signal.SIGKILL)
    until(lambda: process() not in (0, first))
    until(serving)
    second = process()
    told["killed"] = done("service", "status")
    told["updated"] = done("service", "update")
    until(lambda: process() not in (0, second))
    until(serving)
    told["removed"] = done("service", "remove")
    told["serves"] = serving()
    told["files"] = sorted(path.name for path in (folder / "home/.config/systemd/user").rglob("*") if path.is_file())
    told["data"] = sorted(path.name for path in (folder / "home/.local/share/sidemirror").iterdir())
    told["again"] = done("service", "remove")
    return told


def until(holds: Callable[[], bool]) -> None:
    """Waits until it holds."""
    ends_s = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < ends_s, holds
        time.sleep(0.1)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


if __name__ == "__main__":
    assert Path.cwd() == ROOT
    main(Path(sys.argv[1]))
