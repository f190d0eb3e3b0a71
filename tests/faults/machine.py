"""How long this machine makes a process wait that has work to do: what else runs on it counts against a promise in
milliseconds, and is not the product's doing. And a disk of it that is soon full."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.repository import run_tool

# Two milliseconds of work every twenty, as a call is: a process that only sleeps is woken before those that work.
_PROBE = """
import os, select, time
late_s = 0.0
while True:
    began_s, spent_s = time.monotonic(), time.process_time()
    if select.select([0], [], [], 0.018)[0]:
        if not os.read(0, 1):
            break
        os.write(1, b"%f\\n" % late_s)
        late_s = 0.0
        continue
    while time.process_time() - spent_s < 0.002:
        pass
    late_s = max(late_s, time.monotonic() - began_s - 0.02)
"""
# A promise is kept by a client, the sidecar and a store or an endpoint, one after the other.
_PROCESSES = 3


class Machine:
    """Measures all the time."""

    def __init__(self, probe: "subprocess.Popen[bytes]") -> None:
        """Ask for the fixture `machine`."""
        self._probe = probe

    def late_s(self) -> float:
        """What of one call's time the machine can have taken at most since this was asked before: milliseconds, when
        nothing else runs."""
        assert self._probe.stdin is not None
        assert self._probe.stdout is not None
        self._probe.stdin.write(b"?")
        return _PROCESSES * float(self._probe.stdout.readline())


@pytest.fixture
def machine() -> Iterator[Machine]:
    """The machine, for the length of a test."""
    with subprocess.Popen(
        [sys.executable, "-ISc", _PROBE], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as probe:
        yield Machine(probe)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MiB."""
    with mounted(tmp_path / "disk", mebibytes=3) as folder:
        yield folder


@contextlib.contextmanager
def mounted(folder: Path, mebibytes: int) -> Iterator[Path]:
    """The folder, which is made, as a file system of this size. Skips where that is not possible."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    folder.mkdir()
    if run_tool("mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(folder)).returncode != 0:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        yield folder
    finally:
        run_tool("umount", str(folder))
