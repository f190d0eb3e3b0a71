"""`sidemirror fingerprint`: what the log calls an unknown token, for whoever has tokens and looks for that one."""

import sys
from pathlib import Path

from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.shown import plain
from sidemirror_server.rpc.boundary.access import digest_of, fingerprint_of, read_access
from sidemirror_server.rpc.boundary.secret_files import CannotUse
from sidemirror_server.settings import load


def fingerprint(file: str) -> int:
    """Prints the fingerprint of the token in the file, or of one on stdin, and its name if the access file has it.
    Returns the exit code. Raises BadSettings."""
    access_file = load().access_file
    try:
        given = (Path(file).read_bytes() if file else sys.stdin.buffer.read()).decode(errors="replace").strip()
    except OSError as error:
        print(f"sidemirror: {file}: {error.strerror}", file=sys.stderr)
        return exit_codes.NO_INPUT
    print_of = fingerprint_of(given)
    if not print_of or any(one.isspace() for one in given):
        what = "20 characters or more without blanks are expected, as an access file takes them"
        print(f"sidemirror: {file or 'stdin'}: this is no token: {what}", file=sys.stderr)
        return exit_codes.DATA
    print(f"{print_of} {_name_of(given, access_file)}".strip())
    return 0


def _name_of(given: str, access_file: str) -> str:
    """The name of the token; empty if it is not in the access file."""
    if not access_file:
        return ""
    try:
        tokens = read_access(Path(access_file))
    except CannotUse as error:
        print(f"sidemirror: {error}", file=sys.stderr)
        return ""
    return next((plain(token.name) for token in tokens if token.digest == digest_of(given)), "")
