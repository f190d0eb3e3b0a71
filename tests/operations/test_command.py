"""What may become of any command whatever it does: nobody reads it, there is no room for it, it is interrupted."""

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

COMMAND = (sys.executable, "-c", "import sys; from sidemirror_server.command import main; sys.exit(main())")
MODULE = (sys.executable, "-m", "sidemirror_server.cli")
INTERRUPTED = """
import sys


class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "sidemirror_server.cli":
            raise KeyboardInterrupt


sys.meta_path.insert(0, Interrupt())
from sidemirror_server.command import main

sys.exit(main())
"""
# Commands that print by themselves, and by rich.
SPEAKING = (["--version"], ["doctor"])


def run(
    arguments: Sequence[str | bytes], folder: Path, command: Sequence[str] = COMMAND, **more: object
) -> "subprocess.CompletedProcess[str]":
    given = {"stdout": subprocess.PIPE, **more}
    ours = {"SIDEMIRROR_DATA_DIR": str(folder / "data"), "SIDEMIRROR_ADDRESS": f"unix:{folder / 's'}"}
    environment = {**os.environ, **ours, **given.pop("env", {})}  # type: ignore[dict-item]
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [*command, *arguments], stderr=subprocess.PIPE, text=True, timeout=60, env=environment, check=False, **given
    )


def test_what_is_installed_is_this() -> None:
    (installed,) = importlib.metadata.entry_points(group="console_scripts", name="sidemirror")
    assert installed.value == "sidemirror_server.command:main"


def test_interrupted_while_it_is_loaded() -> None:
    """Seen to fail with the command line itself as what is installed: its imports took most of a command's time, and
    Ctrl-C in them ended with a traceback."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize("command", [COMMAND, MODULE], ids=["installed", "module"])
@pytest.mark.parametrize("arguments", SPEAKING)
def test_nobody_reads(arguments: list[str], command: Sequence[str], tmp_path: Path) -> None:
    """Seen to fail with `cli.main`: a traceback, Python's complaint at its end, or rich's exit code 1."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = run(arguments, tmp_path, command, stdout=write)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", SPEAKING)
def test_no_room_for_what_it_says(arguments: list[str], tmp_path: Path) -> None:
    """Seen to fail with `cli.main`: a traceback."""
    with Path("/dev/full").open("w") as full:
        done = run(arguments, tmp_path, stdout=full)
    assert done.returncode == 74
    assert done.stderr == "sidemirror: what it says cannot be written: No space left on device\n"


@pytest.mark.parametrize("arguments", SPEAKING)
def test_what_it_says_goes_nowhere(arguments: list[str], tmp_path: Path) -> None:
    """Seen to fail with the code of what was done, and nothing said, where standard output is closed (`>&-`)."""
    done = run(arguments, tmp_path, ["sh", "-c", '"$@" >&-', "sh", *COMMAND])
    assert done.returncode == 74
    assert done.stderr == "sidemirror: what it says cannot be written: Bad file descriptor\n"


@pytest.mark.parametrize("arguments", [["erase", "--turn", "t"], ["fingerprint"]])
def test_nobody_can_answer(arguments: list[str], tmp_path: Path) -> None:
    """Seen to fail with a traceback where standard input is closed (`<&-`)."""
    done = run(arguments, tmp_path, ["sh", "-c", '"$@" <&-', "sh", *COMMAND])
    assert done.returncode in (1, 65)
    assert done.stderr.startswith("sidemirror: ")


def test_a_terminal_that_knows_few_letters(tmp_path: Path) -> None:
    """Seen to fail without `errors`: the arrow before an advice ended the command with a traceback."""
    environment = {"PYTHONIOENCODING": "ascii", "SIDEMIRROR_GRACE": "5"}
    done = run(["doctor"], tmp_path, env=environment)
    assert (done.returncode, done.stderr) == (1, "")
    assert "? did you mean SIDEMIRROR_GRACE_S?" in done.stdout


def test_an_argument_that_is_no_text(tmp_path: Path) -> None:
    """Seen to fail with `cli.main`: a traceback of protobuf."""
    done = run(["memory", "search", b"\xff"], tmp_path)
    assert (done.returncode, done.stderr) == (2, "sidemirror: an argument is not UTF-8: '\\udcff'\n")
