"""A sidecar in a process of its own, to be killed, stopped and gone on with. Ends only what it has started."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.architecture.repository import ROOT
from tests.faults.waiting import until


def path_of(tree: Path) -> str:
    """PYTHONPATH for a build's files."""
    return os.pathsep.join([str(tree), str(tree / "server"), str(tree / "generated" / "python")])


class Process:
    """`sidemirror serve`, on a port that the system chooses unless told otherwise. Its log is a file in `folder`, of
    level info at least: that is how it says that it serves."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        *,
        module: str = "tests.faults.serving",
        arguments: tuple[str, ...] = (),
        tree: Path = ROOT,
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        """`module`: what to run; `arguments`: of the program, before the settings' flags; `tree`: another build's
        files, in the place of this one's; `secrets`: settings that only the environment may hold."""
        self.log = folder / "serve.log"
        self.port = 0
        self._tree = tree
        self._secrets = dict(secrets or {})
        self._popen: subprocess.Popen[bytes] | None = None
        given = {"address": "127.0.0.1:0", "data_dir": str(folder / "data"), **(settings or {})}
        flags = [part for name, value in given.items() for part in (f"--{name.replace('_', '-')}", value)]
        self._command = [sys.executable, "-m", module, *arguments, *flags]

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    async def start(self) -> None:
        """Starts it and returns when it serves."""
        # Before it is there: on a busy machine it may have said everything before this process goes on.
        begun = self.log.stat().st_size if self.log.exists() else 0
        self.spawn()

        def serves() -> bool:
            assert self.running, self.text()[-2000:]
            for line in self.log.read_bytes()[begun:].splitlines():
                if b'"serving"' in line:
                    self.port = json.loads(line)["port"]
                    return True
            return False

        try:
            await until(serves, within_s=60)  # on a machine that is busy with other things
        except AssertionError as error:
            self.kill()
            raise AssertionError(f"it does not serve: {self.text()[-2000:]}") from error
        except BaseException:
            self.kill()
            raise

    def spawn(self) -> None:
        """Starts it and does not wait for it."""
        assert not self.running
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SIDEMIRROR_")}
        environment |= {"PYTHONPATH": path_of(self._tree), **self._secrets}
        if self._tree == ROOT:  # other builds do not know it; it is off as in tests/faults/sidecars.py
            environment.setdefault("SIDEMIRROR_ADVICE__STARTER_PACK", "false")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._popen = subprocess.Popen(
                self._command, cwd=self._tree, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    @property
    def running(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._popen is not None
        return self._popen.pid

    def text(self) -> str:
        """All that it has logged, in all its lives."""
        return self.log.read_text(errors="replace")

    def signal(self, number: signal.Signals) -> None:
        """SIGSTOP, SIGCONT, SIGTERM …"""
        if self._popen is not None:
            self._popen.send_signal(number)  # does nothing once it has ended

    def kill(self) -> None:
        """Ends it as a crash would, and returns when it is gone."""
        self.signal(signal.SIGKILL)
        if self._popen is not None:
            self._popen.wait(timeout=60)

    async def ended(self, within_s: float) -> tuple[int, float]:
        """Its exit code, and how many seconds from now it took to end."""
        took_s = await until(lambda: not self.running, within_s)
        assert self._popen is not None
        return self._popen.returncode, took_s

    def memory_bytes(self) -> int:
        """What it has resident in memory. Linux only."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")
