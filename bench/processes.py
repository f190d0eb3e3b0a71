"""The servers under measurement, as processes of their own, and what the kernel says about them."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.floor import ECHO
from bench.http2 import Connection, connect

HEALTH = "/grpc.health.v1.Health/Check"
_TICKS = os.sysconf("SC_CLK_TCK")
_ROOT = Path(__file__).parent.parent


class Server:
    """A running server; `started_s`: from exec to the first answer."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self.process = process
        self.port = port
        self.started_s = 0.0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def cpu_s(self) -> float:
        """User and system time of all threads so far."""
        return cpu_s(self.process.pid)

    def resident_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    async def connect(self) -> Connection:
        return await connect(self.port)

    async def quiet(self, for_s: float = 0.3) -> None:
        """Returns once the server has used no CPU for a while."""
        before = self.cpu_s()
        while True:
            await asyncio.sleep(for_s)
            now = self.cpu_s()
            if now - before <= 1 / _TICKS:
                return
            before = now


class Servers:
    """Starts servers, and ends them all when left."""

    def __init__(self, folder: Path, build: Path | None = None) -> None:
        """`folder`: for data and compiled modules. Modules are compiled once, as an installed wheel's are. `build`: a
        folder with another build of the server's package."""
        self.folder = folder
        self._stack = contextlib.ExitStack()
        self._count = 0
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("SIDEMIRROR_")}
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self._environment["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
        if build is not None:
            self._environment["PYTHONPATH"] = str(build)

    def __enter__(self) -> "Servers":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    async def floor(self) -> Server:
        port = free_port()
        return await self._start([sys.executable, "-m", "bench.floor", f"127.0.0.1:{port}"], port, ECHO)

    async def sidecar(self, *flags: str, traced: bool = False) -> Server:
        port = free_port()
        self._count += 1
        own = ["--address", f"127.0.0.1:{port}", "--data-dir", str(self.folder / f"data{self._count}")]
        command = ["-m", "bench.traced"] if traced else [str(Path(sys.executable).with_name("sidemirror")), "serve"]
        tracing = ["--tracing", "true"] if traced else []
        arguments = [sys.executable, *command, *own, "--log-level", "warning", *tracing, *flags]
        return await self._start(arguments, port, HEALTH)

    async def _start(self, command: list[str], port: int, method: str) -> Server:
        began = time.perf_counter()
        said = self.folder / f"{port}.log"
        process = self._run(command, said)
        self._stack.enter_context(_ended(process))
        server = Server(process, port)
        while (connection := await _reached(server)) is None:
            if process.poll() is not None:
                raise RuntimeError(f"{command} ended with {process.returncode}: {said.read_text()}")
            await asyncio.sleep(0.001)
        await connection.call(method, b"")
        server.started_s = time.perf_counter() - began
        connection.close()
        return server

    def _run(self, command: list[str], said: Path) -> "subprocess.Popen[bytes]":
        with said.open("wb") as log:
            return subprocess.Popen(command, env=self._environment, cwd=_ROOT, stderr=log)

    def stop(self, server: Server) -> None:
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()


async def _reached(server: Server) -> Connection | None:
    try:
        return await server.connect()
    except OSError:  # not yet
        return None


@contextlib.contextmanager
def _ended(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    try:
        yield
    finally:
        process.kill()
        process.wait()


def cpu_s(pid: int) -> float:
    """User and system time of all threads of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def machine_s() -> tuple[float, float]:
    """Seconds of all cores since boot, and those in which they were not idle. Linux only."""
    ticks = [int(part) for part in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(ticks) / _TICKS, (sum(ticks) - ticks[3] - ticks[4]) / _TICKS


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
