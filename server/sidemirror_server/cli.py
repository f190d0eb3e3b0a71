"""The command line: parses arguments and calls `operations/`. It uses argparse because every start of a sidecar imports
the parser: typer would make a bare server's start half as long again."""

import argparse
import sys
from collections.abc import Sequence

from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.parsers import hosts, records, serving, stores, tenants
from sidemirror_server.operations.parsers.arguments import check_scope, tell_unknown_variables
from sidemirror_server.settings import PREFIX, SECRETS, BadSettings, nearest, quieten_grpc


def run() -> int:
    """Runs the command that the process was started with and returns its exit code, whatever becomes of its output."""
    from sidemirror_server.operations.output import printing

    return printing(main)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command that the arguments name and returns its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    parser = command_line(given[0] if given else "")
    options, unknown = parser.parse_known_args(given)
    if unknown:
        parser.error(_unknown(unknown, has_settings=options.has_settings))
    check_scope(parser, options)
    quieten_grpc()
    if options.tells_unknown:
        tell_unknown_variables()
    try:
        return int(options.run(options))
    except BadSettings as error:
        for told in error.told:
            print(f"sidemirror: {told}", file=sys.stderr)
        return exit_codes.CONFIGURATION
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED


def _unknown(arguments: Sequence[str], *, has_settings: bool) -> str:
    """The error for unknown arguments. `has_settings`: every setting is a flag of the command."""
    flag = next((argument.partition("=")[0] for argument in arguments if argument.startswith("--")), "")
    name = flag.removeprefix("--").replace("-", "_")
    if has_settings and name in SECRETS:
        return f"{flag} is no flag, which everybody on the machine could read: set {PREFIX}{name.upper()}"
    meant = nearest(name.upper()) if has_settings and flag else ""
    close = f"; did you mean --{meant.removeprefix(PREFIX).lower().replace('_', '-')}?" if meant else ""
    return f"unrecognized arguments: {' '.join(arguments)}{close}"


class _Version(argparse.Action):
    """Prints the version. argparse's own action would look the version up at every start."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        import importlib.metadata

        print(f"sidemirror {importlib.metadata.version('sidemirror-server')}")
        parser.exit()


# In the order in which help lists them.
_COMMANDS = {
    "serve": serving.add_serve,
    "health": serving.add_health,
    "usage": tenants.add_usage,
    "watch": serving.add_watch,
    "turns": records.add_turns,
    "goals": records.add_goals,
    "erase": records.add_erase,
    "policy": tenants.add_policy,
    "advice": tenants.add_advice,
    "doctor": serving.add_doctor,
    "fingerprint": serving.add_fingerprint,
    "backup": stores.add_backup,
    "migrate": stores.add_migrate,
    "memory": records.add_memory,
    "service": serving.add_service,
    "console": serving.add_console,
    "mcp": serving.add_mcp,
    "attach": hosts.add_attach,
    "detach": hosts.add_detach,
    "demo": serving.add_demo,
    "replay": serving.add_replay,
}


def command_line(command: str = "") -> argparse.ArgumentParser:
    """The parser of this command alone, which every start waits for; of all commands where it names none."""
    parser = argparse.ArgumentParser(
        prog="sidemirror", description="A sidecar that gives an agent a second look at its own work."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.set_defaults(has_settings=False, tells_unknown=True)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in [_COMMANDS[command]] if command in _COMMANDS else _COMMANDS.values():
        add(commands)
    for one in commands.choices.values():
        # A new flag could change the meaning of an abbreviation or make it ambiguous.
        one.allow_abbrev = False
    return parser


if __name__ == "__main__":
    sys.exit(run())
