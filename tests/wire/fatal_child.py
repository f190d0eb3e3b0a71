"""A process beside a server: it ends at each question that begins with `!`, and at the first one that begins with `?`.
Run by `test_child_process.py`."""

import sys
from collections.abc import Callable
from pathlib import Path

from sidemirror_server.rpc.boundary.child_process import serve


def begin(first: bytes) -> Callable[[bytes], bytes]:
    """`first`: a file that is there once a question with `?` has come."""
    seen = Path(first.decode())

    def answer(asked: bytes) -> bytes:
        if asked.startswith(b"!"):
            raise ValueError(asked.decode())
        if asked.startswith(b"?") and not seen.exists():
            seen.touch()
            sys.exit(9)
        return asked.upper()

    return answer


if __name__ == "__main__":
    serve(begin, nicer_by=0)
