"""Contenders as processes of their own, in environments of their own, in folders of their own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.environments import PYTHON, made, version
from bench.scoreboard.rows import MEASURES

_SCRIPTS = Path(__file__).parent / "contenders"
_ROOT = Path(__file__).parents[2]
_ANSWER_S = 1_200.0


class Contender(NamedTuple):
    """Who is measured. `environment`: the pins in `bench/peer`; empty: our own environment. `beside`: the pins of an
    environment from which the adapter starts what it needs."""

    title: str
    script: str
    environment: str = ""
    package: str = ""
    python: str = PYTHON
    beside: str = ""
    loads_extensions: bool = False
    needs_model: bool = True
    measures: tuple[str, ...] = tuple(MEASURES)

    @property
    def told(self) -> str:
        return self.title.format(version(self.package)) if self.package else self.title


CONTENDERS: Final = {
    "sidemirror": Contender("Sidemirror", "sidemirror", needs_model=False),
    "sidemirror-vectors": Contender(
        "Sidemirror with the sentence model", "sidemirror_vectors", measures=("retrieval", "poison", "cost")
    ),
    "mem0": Contender("mem0 {}, infer=False", "mem0", "mem0", "mem0ai"),
    "langgraph": Contender(
        "LangGraph's SqliteStore {}", "langgraph", "langgraph", "langgraph-checkpoint-sqlite", loads_extensions=True
    ),
    "graphiti": Contender("Graphiti {} on Kuzu, no model", "graphiti", "graphiti", "graphiti-core"),
    "agent-memory-server": Contender(
        "agent-memory-server {} on Redis 7.4, no model", "agent_memory_server", "agent_memory_server",
        "agent-memory-server", python="3.12", beside="redis_search",
    ),
}  # fmt: skip


class Refused(Exception):  # an answer, not a fault
    """The contender cannot do it; the reason is for people."""


class Ended(Exception):  # killed on purpose, or a fault
    """The contender's process has ended instead of answering."""


class Answer(NamedTuple):
    """What a verb returned, and the seconds that it took in the contender's process."""

    value: Any
    took_s: float


class Running:
    """A contender's process, and whatever it has started: a group of its own, so that all of it can be killed."""

    def __init__(self, process: "subprocess.Popen[str]", said: Path) -> None:
        self._process = process
        self._said = said

    def ask(self, verb: str, **arguments: Any) -> Answer:
        """Raises Refused and Ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        too_late = threading.Timer(_ANSWER_S, self.kill)
        too_late.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps({"do": verb, **arguments}) + "\n")
                self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            too_late.cancel()
        if not line.endswith("\n"):
            raise Ended(f"ended at {verb}: {self._said.read_text()[-2000:]}")
        answer = json.loads(line)
        if "cannot" in answer:
            raise Refused(answer["cannot"])
        return Answer(answer["value"], answer["took_s"])

    def __call__(self, verb: str, **arguments: Any) -> Any:
        """What a verb returned. Raises Refused and Ended."""
        return self.ask(verb, **arguments).value

    def kill(self) -> None:
        """kill -9 for all of it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def leave(self) -> None:
        """Kills it, and closes the pipes to it."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def stop(self) -> None:
        """Lets it end by itself, for a minute."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(60)
        self.kill()

    def resident_mb(self) -> float:
        """Of all processes of the group."""
        pages = 0
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError):
                if os.getpgid(int(entry.name)) == self._process.pid:
                    pages += int((entry / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Place:
    """Where a contender runs: its interpreter, the endpoint of the sentence model, and new folders."""

    def __init__(self, contender: Contender, folder: Path, embedding_url: str) -> None:
        """Makes its environment. Raises Unavailable."""
        self.folder = folder
        folder.mkdir()
        self._is_own = not contender.environment
        self._python = Path(sys.executable)
        if not self._is_own:
            self._python = made(
                contender.environment, folder, wanted=contender.python, loads_extensions=contender.loads_extensions
            )
        self._beside = [str(made(contender.beside, folder))] if contender.beside else []
        self._script = _SCRIPTS / f"with_{contender.script}.py"
        self._url = embedding_url
        self._count = 0

    def new_folder(self) -> Path:
        """A folder that is not there yet: the contender makes it."""
        self._count += 1
        return self.folder / f"data{self._count}"

    @contextlib.contextmanager
    def opened(self, data: Path | None = None) -> Iterator[Running]:
        """The contender with its data, at first without any. Killed when left."""
        kept = data or self.new_folder()
        said = kept.with_suffix(".log")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SIDEMIRROR_")}
        environment |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        if self._is_own:
            environment["PYTHONPATH"] = str(_ROOT)
        with said.open("ab") as log:
            process = subprocess.Popen(
                [str(self._python), str(self._script), str(kept), self._url, *self._beside],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                env=environment, text=True, start_new_session=True,
            )  # fmt: skip
        running = Running(process, said)
        try:
            yield running
        finally:
            running.leave()
