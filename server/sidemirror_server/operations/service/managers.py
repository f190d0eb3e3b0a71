"""systemd and launchd: where a user's service is written, and how it is started, asked for and stopped."""

import getpass
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from sidemirror_server.operations.service.described import (
    LABEL,
    NAME,
    UserService,
    launchd_command,
    launchd_plist,
    systemd_command,
    systemd_unit,
)

Run: TypeAlias = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]
# Seconds that a service manager has for one command. Chosen here: systemd waits for a service to stop for 90.
_PATIENCE_S = 120.0
# How often launchd is asked whether a service has ended, and how many seconds apart. Chosen here: 25 s in all, since
# launchd itself ends after 20 s what does not.
_LOOKS, _LOOK_S = 125, 0.2


class ServiceFailed(Exception):
    """The service manager did not do what it was asked; the text says what it said."""


class Manager(Protocol):
    """A service manager of one user. Everything but `written` and `command_of` raises ServiceFailed."""

    # The file that describes the service.
    file: Path
    # How the sidecar's log is read.
    log: str

    def written(self, service: UserService) -> bytes:
        """The content of the file. Raises ValueError."""

    def command_of(self, content: bytes) -> tuple[str, ...]:
        """The command of a file's content. Raises ValueError."""

    def start(self) -> None:
        """Starts the service by its file, anew if it runs, and at each login from now on."""

    def stop(self) -> None:
        """Stops the service, and starts it no more."""

    def forget(self) -> None:
        """Lets the manager notice that the file is gone."""

    def state(self) -> tuple[bool, str]:
        """Whether it runs, and more in words."""

    def notes(self) -> tuple[str, ...]:
        """What the user should know of this manager."""


def run(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Runs a command to its end. Raises ServiceFailed when it cannot be run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServiceFailed(f"{command[0]}: {error}") from error


def _done(ran: "subprocess.CompletedProcess[str]") -> str:
    if ran.returncode != 0:
        raise ServiceFailed(f"{' '.join(ran.args)}: {(ran.stderr or ran.stdout).strip() or ran.returncode}")
    return ran.stdout


class Systemd:
    """systemd's user manager."""

    log = f"journalctl --user --unit {NAME}"

    def __init__(self, config: Path, run: Run) -> None:
        """`config`: the folder of the user's configuration."""
        self.file = config / "systemd" / "user" / f"{NAME}.service"
        self._run = run

    def written(self, service: UserService) -> bytes:
        return systemd_unit(service).encode()

    def command_of(self, content: bytes) -> tuple[str, ...]:
        return systemd_command(content.decode())

    def _told(self, *arguments: str) -> str:
        return _done(self._run(("systemctl", "--user", *arguments)))

    def start(self) -> None:
        self._told("daemon-reload")
        self._told("enable", self.file.name)
        self._told("restart", self.file.name)

    def stop(self) -> None:
        self._told("disable", "--now", self.file.name)

    def forget(self) -> None:
        self._told("daemon-reload")

    def state(self) -> tuple[bool, str]:
        asked = ("ActiveState", "SubState", "MainPID", "NRestarts")
        lines = self._told("show", self.file.name, *(f"--property={name}" for name in asked)).splitlines()
        told = dict(line.partition("=")[::2] for line in lines)
        words = f"{told.get('ActiveState')} ({told.get('SubState')})"
        process, restarts = told.get("MainPID", "0"), told.get("NRestarts", "0")
        if process != "0":
            words += f", process {process}, restarted {restarts} times"
        return told.get("ActiveState") == "active", words

    def notes(self) -> tuple[str, ...]:
        user = getpass.getuser()
        asked = self._run(("loginctl", "show-user", user, "--property=Linger", "--value"))
        if asked.returncode == 0 and asked.stdout.strip() == "yes":
            return ()
        return (f"It ends when you log out; `loginctl enable-linger {user}` lets it run on.",)


class Launchd:
    """launchd's agents of the user who is logged in."""

    def __init__(self, home: Path, log_file: Path, run: Run, wait: Callable[[float], None] = time.sleep) -> None:
        self._wait = wait
        self.file = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
        self.log = f"tail -f '{log_file}'"
        self._log_folder = log_file.parent
        self._run = run
        self._domain = f"gui/{os.getuid()}"

    def written(self, service: UserService) -> bytes:
        return launchd_plist(service)

    def command_of(self, content: bytes) -> tuple[str, ...]:
        return launchd_command(content)

    def start(self) -> None:
        self._log_folder.mkdir(parents=True, exist_ok=True)
        # It reads a changed file only when it is loaded again.
        self._unload()
        _done(self._run(("launchctl", "bootstrap", self._domain, str(self.file))))

    def stop(self) -> None:
        self._unload()

    def _unload(self) -> None:
        """Unloads the service, if it is loaded. launchctl comes back before it is: while the service ends, it cannot be
        loaded again."""
        service = f"{self._domain}/{LABEL}"
        if self._run(("launchctl", "print", service)).returncode != 0:
            return
        unloaded = self._run(("launchctl", "bootout", service))
        for _ in range(_LOOKS):
            if self._run(("launchctl", "print", service)).returncode != 0:
                return
            self._wait(_LOOK_S)
        _done(unloaded)
        raise ServiceFailed(f"launchctl bootout {service}: the service has not ended")

    def forget(self) -> None:
        """launchd forgets with `stop`."""

    def state(self) -> tuple[bool, str]:
        asked = self._run(("launchctl", "print", f"{self._domain}/{LABEL}"))
        lines = [line.strip() for line in asked.stdout.splitlines()]
        facts = [line for line in lines if line.startswith(("state = ", "pid = ", "runs = "))]
        return "state = running" in facts, ", ".join(facts) or "not loaded"

    def notes(self) -> tuple[str, ...]:
        return ()


def manager_of(home: Path, config: Path, log_file: Path, run: Run = run) -> Manager:
    """The service manager of this machine. Raises ServiceFailed when there is none that is known here."""
    if sys.platform == "darwin":
        return Launchd(home, log_file, run)
    if shutil.which("systemctl"):
        return Systemd(config, run)
    raise ServiceFailed("neither systemd nor launchd is here: let `sidemirror serve --http` be run by what is")
