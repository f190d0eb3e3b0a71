"""The process of `agents.mjs`, which runs agents of the AI SDK in a project outside the repository.

`tests/clients/test_adapters.py` makes that project, with the packed adapter and a version of the SDK. Its folder is in
AI_SDK_PROJECT.
"""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Queue
from typing import Any, Self

from scripted.endpoint import Endpoint
from scripted.record import Sidecar

PATIENCE_S = 60.0
Ended = dict[str, Any]


def project() -> Path:
    """The project that has the packed adapter."""
    return Path(os.environ["AI_SDK_PROJECT"])


def ran(command: Sequence[str], timeout_s: float = 400, **more: str) -> str:
    """What a command prints in the project, beside these variables; it has to end well, and in time."""
    done = subprocess.run(
        command,
        cwd=project(),
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def copied(program: str) -> str:
    """A program of this folder where it finds the packed adapter."""
    return Path(shutil.copy(Path(__file__).with_name(program), project())).name


class Agents:
    """Runs agents side by side."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["node", copied("agents.mjs")], cwd=project(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._ended: dict[int, Queue[Ended]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(PATIENCE_S) == 0
            self._reader.join()

    def begin(
        self, endpoint: Endpoint, sidecar: Sidecar, way: str, model: str, prompt: str, *tools: str, **more: Any
    ) -> Callable[[], Ended]:
        """Begins a run; what comes of it is waited for by a call."""
        number = len(self._ended)
        self._ended[number] = Queue()
        asked = {
            "id": number, "url": endpoint.url, "address": sidecar.address, "project": sidecar.project,
            "way": way, "model": model, "prompt": prompt, "tools": tools, **more,
        }  # fmt: skip
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return lambda: self._ended[number].get(timeout=PATIENCE_S)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            ended = json.loads(line)
            self._ended[ended["id"]].put(ended)
