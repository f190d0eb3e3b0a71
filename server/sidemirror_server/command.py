"""What `sidemirror` runs: the command line from its first import on, and what may become of anything that it prints.

Imports nothing of ours at first, so that Ctrl-C while a command is still being loaded ends it like any other one does.
"""

import errno
import io
import os
import sys

EXIT_USAGE = 2  # argparse's
EXIT_OUTPUT = 74  # sysexits.h: an error while doing I/O
EXIT_INTERRUPTED = 130
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def main() -> int:
    """Runs the command that the process was started with; returns its exit code.

    A reader that has what it wanted (`| head`) is no failure.
    """
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # Texts are of any language, and a terminal may know only its own: better a `?` than no line.
            sys.stdout.reconfigure(errors="replace")
        code = _run()
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except UnicodeEncodeError as error:
        print(f"sidemirror: an argument is not UTF-8: {error.object!r:.200}", file=sys.stderr)
        return EXIT_USAGE
    except BrokenPipeError:
        _print_no_more()
        return 0
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        _print_no_more()
        print(f"sidemirror: what it says cannot be written: {error.strerror}", file=sys.stderr)
        return EXIT_OUTPUT
    return code


def _run() -> int:
    from sidemirror_server.cli import main as run

    try:
        return run()
    except SystemExit as end:
        if isinstance(end.__context__, OSError):
            # rich ends the process by itself, as a failure, when nobody reads what it prints.
            raise end.__context__ from None
        return end.code if isinstance(end.code, int) else 0


def _print_no_more() -> None:
    """What is left in the buffer goes nowhere; Python would complain once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
