"""The product as a user starts it: the installed command, in a process of its own."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

BIN = Path(sys.executable).parent
COMMAND = BIN / "sidemirror"
# A key would choose another model than the built-in rules.
_NOT_PASSED_ON = ("SIDEMIRROR_", "ANTHROPIC_", "OPENAI_", "RAE_")
# Starting takes about a second; a machine that tests on all cores may take many times that.
PATIENCE_S = 60.0


def environment(**settings: str) -> dict[str, str]:
    """This process's, without settings and keys that somebody may have there, with these settings, and with what the
    project installs first on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_PASSED_ON)}
    return {**kept, **settings, "PATH": f"{BIN}{os.pathsep}{kept.get('PATH', '')}", "COLUMNS": "100"}


def run(*arguments: str, cwd: Path | None = None, **settings: str) -> "subprocess.CompletedProcess[str]":
    """A command of the product from its start to its end."""
    return ran([str(COMMAND), *arguments], environment(**settings), cwd)


def ran(
    command: Sequence[str], env: dict[str, str], cwd: Path | None = None, timeout_s: float = 60.0
) -> "subprocess.CompletedProcess[str]":
    """Any command from its start to its end; the caller looks at its exit code."""
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, env=env, timeout=timeout_s)


class Serving:
    """A `sidemirror serve` at work. `address` is where it listens."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.address = ""
        self._log: list[str] = []
        self._ended = False
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def log(self) -> str:
        """What it has written to stderr so far."""
        return "".join(self._log)

    def wait_until_serving(self) -> None:
        """Returns once it says that it serves. Fails when it ends instead."""
        told = "sidemirror is serving on "
        with self._news:
            assert self._news.wait_for(lambda: told in self.log or self._ended, PATIENCE_S), self.log
        assert told in self.log, self.log
        self.address = self.log.partition(told)[2].split()[0]

    def stop(self) -> int:
        """SIGTERM, and the exit code; then `log` is all that it wrote."""
        self.process.terminate()
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return code

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self._log.append(line)
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()


@contextlib.contextmanager
def serving(folder: Path, *flags: str, address: str = "127.0.0.1:0") -> Iterator[Serving]:
    """A server whose data are below `folder`, until the context ends."""
    arguments = [str(COMMAND), "serve", "--address", address, *flags]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment()) as process:
        server = Serving(process)
        try:
            server.wait_until_serving()
            yield server
        finally:
            process.kill()
            process.wait(PATIENCE_S)
            server._reader.join(PATIENCE_S)
