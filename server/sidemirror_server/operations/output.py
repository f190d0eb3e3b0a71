"""Handles what becomes of a command's output: nobody reads it, or there is no room for it. Used by `cli.py`."""

import errno
import io
import os
import sys
from collections.abc import Callable
from typing import Literal

from sidemirror_server.operations import exit_codes

# EBADF: it is closed.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


def printing(command: Callable[[], int]) -> int:
    """Runs a command and returns its exit code. A reader that closes the pipe early (`| head`) is no failure."""
    try:
        if sys.stdout is None:
            sys.stdout = _closed("w")
        if sys.stdin is None:
            sys.stdin = _closed("r")
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A terminal may lack a text's characters: a `?` is better than no line.
            sys.stdout.reconfigure(errors="replace")
        code = _run(command)
        sys.stdout.flush()
    except UnicodeEncodeError as error:
        print(f"sidemirror: an argument is not UTF-8: {error.object!r:.200}", file=sys.stderr)
        return exit_codes.USAGE
    except BrokenPipeError:
        _print_no_more()
        return 0
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        _print_no_more()
        print(f"sidemirror: what it says cannot be written: {error.strerror}", file=sys.stderr)
        return exit_codes.OUTPUT
    return code


def _run(command: Callable[[], int]) -> int:
    try:
        return command()
    except SystemExit as end:
        if isinstance(end.__context__, OSError):
            # rich turns a broken pipe into SystemExit with a failure.
            raise end.__context__ from None
        return end.code if isinstance(end.code, int) else 0


def _closed(mode: Literal["r", "w"]) -> io.TextIOWrapper:
    """What stands for a standard stream that is closed: nothing is read, and to write fails, where Python would drop
    it."""
    return os.fdopen(os.open(os.devnull, os.O_RDONLY), mode, encoding="utf-8")


def _print_no_more() -> None:
    """Discards the rest of the buffer: Python would report the failure again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
