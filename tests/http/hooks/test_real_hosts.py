"""Codex and Gemini CLI themselves, attached by the command, with a scripted model: they hear advice at the failing call,
are sent back once, and are what they are without us when the sidecar is away, stopped, full, wrong or late."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sidemirror_server.http.hooks.sentences import MARK
from sidemirror_server.memory.recoveries import moves
from tests.http.hooks.endpoint import Call, Say, Step, endpoint
from tests.http.hooks.hosts import REAL, Ran, RealHost
from tests.http.hooks.learned import BAD, SENTENCE, learn
from tests.http.hooks.players import PLAYERS
from tests.http.hooks.test_hooks import WRONG, told, turns
from tests.http.sidecars import door

pytestmark = pytest.mark.slow("hosts are run, which are written in Rust and for Node")

PROMPT = "Switch to feature-x and run the tests"
STEPS: list[Step] = [Call(BAD), Call(f"{BAD} --"), Say("It could not be switched to.")]


@pytest.fixture
def hosts_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder outside of /tmp, below which Codex refuses a home."""
    folder = Path(__file__).parents[3] / ".cache" / "hosts" / "scratch"
    with ExitStack() as stack:
        folder.mkdir(parents=True, exist_ok=True)
        import shutil
        import tempfile

        made = Path(tempfile.mkdtemp(dir=folder))
        stack.callback(shutil.rmtree, made, ignore_errors=True)
        yield made
