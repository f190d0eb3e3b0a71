"""The user service: what systemd and launchd are told, and its life from installation to removal."""

import json
import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from sidemirror_server.cli import main
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.service import commands, managers
from sidemirror_server.operations.service.described import (
    LABEL,
    UserService,
    arguments_of,
    launchd_command,
    launchd_plist,
    systemd_command,
    systemd_unit,
)
from tests.architecture.repository import ROOT

# What a path of a user may have in it.
ODD = (
    "a b",
    'quo"te',
    "back\\slash",
    "per%cent",
    "%h",
    "$HOME",
    "${HOME}",
    "it's",
    "semi;colon",
    "ünïcode",
    "#x",
    "--",
)


def service(*arguments: str, program: str = "/home/u/.local/bin/sidemirror") -> UserService:
    return UserService(
        (program,), arguments, Path("/home/u/.config/sidemirror/service.env"), Path("/home/u/Logs/s.log")
    )


@pytest.mark.parametrize("odd", ODD)
def test_an_argument_reaches_the_command_as_it_is(odd: str) -> None:
    made = service(f"--data-dir=/home/u/{odd}", odd, program=f"/home/{odd}/sidemirror")
    assert systemd_command(systemd_unit(made)) == made.command
    assert launchd_command(launchd_plist(made)) == made.command
    assert arguments_of(made.command) == made.arguments


@pytest.mark.parametrize("broken", ["new\nline", "zero\0"])
def test_what_a_unit_cannot_have_is_refused(broken: str) -> None:
    with pytest.raises(ValueError, match="cannot have"):
        systemd_unit(service(broken))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    """Seen to fail for a misspelt key, and for a percent sign that is not escaped."""
    unit = tmp_path / "sidemirror.service"
    unit.write_text(systemd_unit(service(*ODD, program=sys.executable)))
    checked = ("systemd-analyze", "verify", "--user", "--recursive-errors=no", str(unit))
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    ran = subprocess.run(checked, capture_output=True, text=True, check=False, env=environment)
    assert [line for line in ran.stderr.splitlines() if "sidemirror.service" in line] == []
    assert ran.returncode == 0, ran.stderr


def test_launchd_restarts_whatever_ends() -> None:
    told = plistlib.loads(launchd_plist(service("--http-address=127.0.0.1:50080")))
    assert (told["Label"], told["RunAtLoad"], told["KeepAlive"]) == (LABEL, True, True)
    assert told["ProgramArguments"][:2] == ["/bin/sh", "-c"]
    assert told["StandardErrorPath"] == told["StandardOutPath"] == "/home/u/Logs/s.log"
    assert told["Umask"] == 0o077


def test_launchds_command_reads_the_file_of_settings(tmp_path: Path) -> None:
    """Without the file too; and its arguments stay arguments."""
    made = UserService(("/bin/echo",), ("a b", "$HOME", "'"), tmp_path / "service.env", tmp_path / "log")
    words = plistlib.loads(launchd_plist(made))["ProgramArguments"]
    words[words.index("/bin/echo")] = "/usr/bin/env"
    words[words.index("serve") :] = ["sh", "-c", 'echo "$SIDEMIRROR_X"']
    for content, told in ((None, ""), ("SIDEMIRROR_X='a b'\n", "a b")):
        if content is not None:
            made.environment_file.write_text(content)
        ran = subprocess.run(words, capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]})
        assert ran.stdout == f"{told}\n"


class Told:
    """A service manager that keeps what it is told."""

    def __init__(self, *, fails: str = "") -> None:
        self.commands: list[tuple[str, ...]] = []
        self._fails = fails

    def __call__(self, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        self.commands.append(tuple(command))
        text = "ActiveState=active\nSubState=running\nMainPID=17\nNRestarts=2\n" if "show" in command else ""
        failed = bool(self._fails) and self._fails in command
        return subprocess.CompletedProcess(command, int(failed), text, "no bus" if failed else "")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [name for name in os.environ if name.startswith("SIDEMIRROR_") or name == "XDG_CONFIG_HOME"]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: str(Path("/usr/bin") / Path(name).name))
    return tmp_path


@pytest.fixture
def manager(home: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    told = Told()
    monkeypatch.setattr(commands.Places, "manager", lambda self: managers.Systemd(home / ".config", told))
    return told


def test_it_is_installed_changed_and_removed(
    home: Path, manager: Told, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIDEMIRROR_TENANT_ID", "acme")
    file = home / ".config/systemd/user/sidemirror.service"
    assert main(["service", "install", "--socket", "s", "--log-level", "warning"]) == 0
    assert arguments_of(systemd_command(file.read_text())) == (
        f"--data-dir={home}/.local/share/sidemirror",
        "--http-address=127.0.0.1:50080",
        "--log-level=warning",
        f"--socket={home}/s",
    )
    assert [path for path in home.rglob("*") if path.is_file()] == [file]
    assert {path.name for path in home.iterdir()} == {".config"}
    told = capsys.readouterr().out
    assert "SIDEMIRROR_TENANT_ID" in told
    assert f"{home}/.config/sidemirror/service.env" in told
    assert f"token:    {home}/.local/share/sidemirror/http-token" in told
    assert "active (running), process 17, restarted 2 times" in told
    assert "loginctl enable-linger" in told
    verbs = [command[2] for command in manager.commands if command[:2] == ("systemctl", "--user")]
    assert verbs == ["daemon-reload", "enable", "restart", "show"]
    before = file.read_text()
    file.write_text(before.replace("/usr/bin", "/opt/old"))
    assert main(["service", "update"]) == 0
    assert file.read_text() == before
    assert main(["service", "status"]) == 0
    assert main(["service", "remove"]) == 0
    assert not file.exists()
    assert "stays in" in capsys.readouterr().out
    assert manager.commands[-1] == ("systemctl", "--user", "daemon-reload")
    assert ("systemctl", "--user", "disable", "--now", "sidemirror.service") in manager.commands
    assert main(["service", "remove"]) == 0
    assert main(["service", "status"]) == exit_codes.FAILED
    assert main(["service", "update"]) == exit_codes.FAILED


@pytest.mark.usefixtures("manager")
def test_a_setting_that_cannot_be_used_writes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for flags in (["--http-address", "0.0.0.0:1"], ["--heartbeat-s", "soon"], ["--data-dir", "a\nb"]):
        assert main(["service", "install", *flags]) == exit_codes.CONFIGURATION
    assert not (home / ".config/systemd/user/sidemirror.service").exists()
    assert "http_address" in capsys.readouterr().err


def test_a_file_of_somebody_else_is_left_alone(home: Path, manager: Told) -> None:
    file = home / ".config/systemd/user/sidemirror.service"
    file.parent.mkdir(parents=True)
    file.write_text("[Service]\nExecStart=/bin/true\n")
    for verb in ("install", "update", "status", "remove"):
        assert main(["service", verb]) == exit_codes.FAILED
    assert file.read_text().endswith("/bin/true\n")
    assert manager.commands == []


def test_what_the_manager_says_is_told(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(fails="enable")
    monkeypatch.setattr(commands.Places, "manager", lambda self: managers.Systemd(home / ".config", told))
    assert main(["service", "install"]) == exit_codes.FAILED
    assert "no bus" in capsys.readouterr().err


def test_launchd_is_told_in_its_way(home: Path) -> None:
    told = Launchctl()
    launchd = managers.Launchd(home, home / "logs" / "log", told, told.waits)
    assert launchd.file == home / "Library/LaunchAgents/dev.sidemirror.sidecar.plist"
    launchd.start()
    assert (home / "logs").is_dir()
    launchd.stop()
    assert told.loads == ["bootstrap", "bootout"]
    assert launchd.state() == (False, "not loaded")
    assert launchd.command_of(launchd.written(service("--x=y"))) == service("--x=y").command
    assert launchd.notes() == ()


class Launchctl:
    """launchd as it is told by launchctl: what is unloaded has ended some looks later, and cannot be loaded before."""

    def __init__(self, *, ends_after: int = 3) -> None:
        self.loads: list[str] = []
        self._ends_after = ends_after
        # Looks until it is unloaded; None: it is not loaded, 0: it is.
        self._left: int | None = None

    def waits(self, _: float) -> None:
        if self._left:
            self._left -= 1
            self._left = self._left or None

    def __call__(self, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        verb, code, text = command[1], 0, ""
        if verb == "print":
            code = 113 if self._left is None else 0
        else:
            self.loads.append(verb)
        if verb == "bootstrap":
            code, text = (5, "Bootstrap failed: 5: Input/output error") if self._left is not None else (0, "")
            self._left = self._left or 0
        elif verb == "bootout":
            code, text = 36, "Boot-out failed: 36: Operation now in progress"
            self._left = self._ends_after
        return subprocess.CompletedProcess(command, code, "", text)


def test_launchd_loads_again_only_what_has_ended(home: Path) -> None:
    """Seen to fail, with launchctl's input/output error, when it is loaded at once."""
    told = Launchctl()
    launchd = managers.Launchd(home, home / "log", told, told.waits)
    launchd.stop()
    assert told.loads == []
    launchd.start()
    launchd.start()
    assert told.loads == ["bootstrap", "bootout", "bootstrap"]
    launchd.stop()
    assert told.loads[3:] == ["bootout"]


def test_a_service_that_does_not_end_is_a_failure(home: Path) -> None:
    told = Launchctl(ends_after=1_000_000)
    launchd = managers.Launchd(home, home / "log", told, told.waits)
    launchd.start()
    with pytest.raises(managers.ServiceFailed, match="now in progress"):
        launchd.stop()


@pytest.mark.slow("a manager of systemd is started, and a sidecar five times")
def test_a_life_in_a_real_systemd(tmp_path: Path) -> None:
    """Killed it is started again, updated it is another process, removed it is gone and its data is there. Seen to
    fail without `Restart=always`."""
    unshare = ("unshare", "--mount")
    can = subprocess.run((*unshare, "true"), capture_output=True, check=False).returncode == 0
    if not can or not Path("/usr/lib/systemd/systemd").exists():
        pytest.skip("a mount namespace and systemd are needed for a manager of the test's own")
    command = (*unshare, sys.executable, "-m", "tests.operations.user_manager", str(tmp_path))
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=150)
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout)
    assert told["enabled"] == "enabled"
    assert "active (running)" in told["installed"]
    assert "restarted 1 times" in told["killed"]
    assert "active (running)" in told["updated"]
    assert told["link"].startswith("http://127.0.0.1:")
    assert (told["serves"], told["files"]) == (False, [])
    assert {"http-token", "sidemirror.db"} <= {*told["data"]}
    assert told["again"] == "There is no service.\n"
