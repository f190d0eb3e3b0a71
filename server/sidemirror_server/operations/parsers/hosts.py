"""Parsers of the commands that attach coding agents."""

import argparse

from sidemirror_server.operations.parsers import Commands
from sidemirror_server.operations.parsers.serving import HTTP_ADDRESS

# As in operations/attach/hosts.py, which is loaded only when it is needed.
HOSTS = ("claude-code", "codex", "cursor", "gemini-cli", "openhands")
_LONGEST_S = 60.0


def add_attach(commands: Commands) -> None:
    """Adds `attach`."""
    attach = commands.add_parser("attach", help="let a coding agent report its turns, and get advice, by its hooks")
    _add_host(attach)
    attach.add_argument("--token-file", default="", metavar="PATH", help="with a token of the access file")
    attach.add_argument(
        "--answer-timeout", type=_timeout, default=5.0, metavar="SECONDS", help="that a final answer may wait; 5"
    )
    attach.set_defaults(run=_attach)


def add_detach(commands: Commands) -> None:
    """Adds `detach`."""
    detach = commands.add_parser("detach", help="take the hooks out of a coding agent's settings")
    _add_host(detach)
    detach.set_defaults(run=_detach)


def _add_host(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", choices=HOSTS)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for all your work (the default)")
    where.add_argument("--project", default="", metavar="DIR", help="for the work in this folder only")
    parser.add_argument("--yes", action="store_true", help="write the difference, which is only shown without it")


def _timeout(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"more than 0 and at most {_LONGEST_S:g} seconds are expected")
    return seconds


def _attach(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.attach.attach import attach

    return attach(options, HTTP_ADDRESS)


def _detach(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.attach.attach import detach

    return detach(options)
