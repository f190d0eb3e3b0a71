"""A sidecar as a user starts it, and a client's runner of the scenario beside it (clients/scenario/README.md)."""

import contextlib
import json
import random
import signal
import socket
import subprocess
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from tests.acceptance.product import COMMAND, PATIENCE_S, Serving, environment

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = ROOT / "clients/scenario"
# A runner that says nothing for this long hangs.
_RUN_S = 600.0


def free_port() -> int:
    """A port that nobody listens at. It is none that the system gives to connections: it stays free while the sidecar
    that listens there is killed and started."""
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.closing(socket.socket()) as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Version(NamedTuple):
    """A sidecar of another commit: its command, and where its modules are."""

    command: Sequence[str]
    path: str


# As in tests/faults/sidecars.py: nothing is told before it was learned.
_LEARNED_ONLY = {"SIDEMIRROR_ADVICE__STARTER_PACK": "false"}


class Sidecar:
    """`sidemirror serve` at one address, however often it is killed and started."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.address = f"127.0.0.1:{free_port()}"
        self.socket = folder / "run" / "s.sock"
        self.socket.parent.mkdir(mode=0o750, exist_ok=True)
        self._settings = dict(settings or {})
        # None: that of this checkout.
        self.version: Version | None = None
        # What the runner's steps may name beside the address and the socket.
        self.variables: dict[str, str] = {}
        self._process: subprocess.Popen[str] | None = None
        self._serving: Serving

    def start(self) -> None:
        command, settings = [str(COMMAND)], {**_LEARNED_ONLY, **self._settings}
        if self.version is not None:
            command, settings = list(self.version.command), {**self._settings, "PYTHONPATH": self.version.path}
        self._process = subprocess.Popen(
            [*command, "serve", "--address", self.address, "--socket", str(self.socket)],
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=environment(**settings),
        )
        self._serving = Serving(self._process)
        self._serving.wait_until_serving()

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            self._process.wait(PATIENCE_S)
            self._serving._reader.join(PATIENCE_S)
            if self._process.stderr is not None:
                self._process.stderr.close()

    def do(self, what: str) -> None:
        """What a runner asks for."""
        if what == "start":
            self.start()
            return
        self.signal(
            {
                "kill": signal.SIGKILL,
                "stop": signal.SIGTERM,
                "pause": signal.SIGSTOP,
                "continue": signal.SIGCONT,
            }[what]
        )

    @property
    def complaints(self) -> str:
        """What the sidecar that ran last has logged of errors."""
        return "\n".join(line for line in self._serving.log.splitlines() if '"level":"error"' in line)[-4000:]

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGKILL)


@contextlib.contextmanager
def running(beside: Sidecar) -> Iterator[Sidecar]:
    """Started, until the context ends."""
    beside.start()
    try:
        yield beside
    finally:
        beside.end()


@contextlib.contextmanager
def sidecar(folder: Path, **settings: str) -> Iterator[Sidecar]:
    with running(Sidecar(folder, settings)) as beside:
        yield beside


def has() -> str:
    """What the sidecar of this checkout can do, beyond what every one could."""
    services = [path.stem for path in (ROOT / "protos/sidemirror/v1").glob("*.proto")]
    return ",".join("".join(part.title() for part in name.split("_")) + "Service" for name in services)


class Beside(Protocol):
    """What stands where the sidecar is."""

    address: str
    socket: Path
    variables: dict[str, str]

    @property
    def complaints(self) -> str: ...

    def do(self, what: str) -> None: ...


class Ran:
    """What a runner printed, and what it wrote on stderr."""

    def __init__(self, lines: Sequence[str], errors: str, variables: Mapping[str, str]) -> None:
        self.lines = lines
        self.errors = errors
        self.variables = variables

    def printed(self, word: str) -> str:
        """The rest of the line that begins with `word`."""
        return next(line for line in self.lines if line.startswith(f"{word} ")).removeprefix(f"{word} ")


def run_scenario(
    command: Sequence[str],
    scenario: str,
    beside: Beside,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    within_s: float = _RUN_S,
) -> Ran:
    """A runner from its start to its end. Fails with what it said when it did not pass, or did not in time."""
    variables = {"address": beside.address, "socket": str(beside.socket), "run": f"r{uuid.uuid4().hex[:8]}"}
    variables |= beside.variables
    known = {
        **environment(),
        **(env or {}),
        "SCENARIO_VARIABLES": json.dumps(variables),
        "SCENARIO_HAS": has(),
    }
    lines: list[str] = []
    with subprocess.Popen(
        [*command, str(SCENARIO / scenario)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=known,
    ) as runner:
        assert runner.stdin is not None
        assert runner.stdout is not None
        assert runner.stderr is not None
        said: list[str] = []
        stderr = runner.stderr
        listener = threading.Thread(target=lambda: said.extend(stderr), daemon=True)
        listener.start()
        too_long = threading.Timer(within_s, runner.kill)
        too_long.start()
        try:
            for line in runner.stdout:
                lines.append(line.rstrip("\n"))
                if line.startswith("@"):
                    beside.do(line[1:].strip())
                    with contextlib.suppress(BrokenPipeError):
                        runner.stdin.write("done\n")
                        runner.stdin.flush()
            code = runner.wait()
        finally:
            too_long.cancel()
            runner.kill()
        listener.join(PATIENCE_S)
    assert code == 0, "\n".join([*lines[-5:], "".join(said)[-4000:], beside.complaints])
    return Ran(lines, "".join(said), variables)
