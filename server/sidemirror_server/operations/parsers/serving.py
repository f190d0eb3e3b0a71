"""Parsers of the commands that serve, look at a sidecar as a whole, or show what one does."""

import argparse
import sys

from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.parsers import Commands
from sidemirror_server.operations.parsers.arguments import (
    add_json,
    add_scope,
    add_settings,
    add_target,
    flags_of,
    million,
    moment,
    tell_unknown_variables,
)

# Where `serve --http` serves HTTP.
HTTP_ADDRESS = "127.0.0.1:50080"


def add_serve(commands: Commands) -> None:
    """Adds `serve`."""
    serve = commands.add_parser("serve", help="run the sidecar")
    add_settings(serve)
    serve.add_argument(
        "--http",
        dest="setting_http_address",
        action="store_const",
        const=HTTP_ADDRESS,
        help=f"serve HTTP too: --http-address {HTTP_ADDRESS}",
    )
    serve.set_defaults(run=_serve)


def add_service(commands: Commands) -> None:
    """Adds `service` with its verbs."""
    service = commands.add_parser("service", help="run the sidecar for this user from login on")
    verbs = service.add_subparsers(required=True, metavar="VERB")
    install = verbs.add_parser("install", help="write and start the user service; again: change its settings")
    add_settings(install)
    # The settings are the service's, which does not have this shell's variables.
    install.set_defaults(run=_install)
    for name, run, text in (
        ("update", _update, "start it again, after an update of the package"),
        ("status", _status, "does it run, and where are its parts? Exit code 0 if it runs"),
        ("remove", _remove, "stop it and remove it; its data stays"),
    ):
        verbs.add_parser(name, help=text).set_defaults(run=run)
    for verb in verbs.choices.values():
        verb.allow_abbrev = False


def add_console(commands: Commands) -> None:
    """Adds `console`."""
    console = commands.add_parser("console", help="a link that opens the console of a running sidecar, once")
    add_settings(console, "data_dir", "http_address")
    console.add_argument("--turn", default="", metavar="ID", help="open this turn")
    add_scope(console)
    console.set_defaults(run=_console)


def add_mcp(commands: Commands) -> None:
    """Adds `mcp`."""
    mcp = commands.add_parser("mcp", help="the tools of MCP over stdin and stdout, for hosts that speak no HTTP")
    add_target(mcp)
    add_scope(mcp)
    mcp.add_argument("--session-id", default="", metavar="ID", help="the session that the calls belong to")
    mcp.set_defaults(run=_mcp)


def add_health(commands: Commands) -> None:
    """Adds `health`."""
    health = commands.add_parser("health", help="ask a running sidecar whether it serves; exit code 0 if so")
    add_target(health)
    health.add_argument("--service", default="", help="one service instead of the whole server")
    health.set_defaults(run=_health)


def add_watch(commands: Commands) -> None:
    """Adds `watch`."""
    watch = commands.add_parser("watch", help="see what happens in turns and what the sidecar says, as it happens")
    add_target(watch)
    watch.add_argument("--session", default="", metavar="ID", help="only this session")
    watch.add_argument("--turn", default="", metavar="ID", help="only this turn, from its start to its summary")
    add_scope(watch)
    begin = watch.add_mutually_exclusive_group()
    begin.add_argument("--all-from-start", action="store_true", help="begin with the oldest entry that is kept")
    begin.add_argument("--since", type=moment, metavar="TIME", help="begin at 10:42, 2026-11-23T10:42 or 15m (ago)")
    watch.add_argument("--no-follow", action="store_true", help="end at the present, and wait for nothing")
    add_json([watch], "print one JSON object a line")
    watch.set_defaults(run=_watch)


def add_doctor(commands: Commands) -> None:
    """Adds `doctor`."""
    doctor = commands.add_parser("doctor", help="would `serve` work with these settings? Exit code 0 if so")
    add_settings(doctor)
    more = doctor.add_mutually_exclusive_group()
    more.add_argument("--ask-models", action="store_true", help="ask the models one question; it may cost something")
    more.add_argument("--egress", action="store_true", help="instead: where texts can go, and which")
    more.add_argument("--attach", action="store_true", help="instead: do the hooks of attached agents reach a sidecar?")
    doctor.add_argument("--project", default="", metavar="DIR", help="with --attach: as for work in this folder")
    doctor.add_argument("--all", action="store_true", help="show the settings too that have their defaults")
    add_json([doctor])
    # It tells unknown variables as findings.
    doctor.set_defaults(run=_doctor, tells_unknown=False)


def add_fingerprint(commands: Commands) -> None:
    """Adds `fingerprint`."""
    fingerprint = commands.add_parser("fingerprint", help="what the log calls an unknown token")
    fingerprint.add_argument("file", nargs="?", default="", metavar="FILE", help="has the token alone (default: stdin)")
    fingerprint.set_defaults(run=_fingerprint)


def add_demo(commands: Commands) -> None:
    """Adds `demo`."""
    demo = commands.add_parser("demo", help="watch a small agent at work with a sidecar beside it")
    demo.add_argument("--without-sidecar", action="store_true", help="show only what the agent does alone")
    # It reads no settings.
    demo.set_defaults(run=_demo, tells_unknown=False)


def add_replay(commands: Commands) -> None:
    """Adds `replay`."""
    replay = commands.add_parser("replay", help="play recorded episodes through a sidecar")
    replay.add_argument("file", help="episodes as JSON lines, gzip or not")
    add_target(replay)
    replay.add_argument("--level", default="medium", choices=["off", "low", "medium", "high"])
    replay.add_argument("--reflect-every", type=million, default=0, metavar="N", help="reflect in every n-th turn")
    replay.add_argument("--limit", type=million, default=0, metavar="N", help="play the first N episodes only")
    add_json([replay])
    replay.set_defaults(run=_replay)


def _serve(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.serve import serve

    return serve(flags_of(options))


def _health(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.health import health

    return health(options.address, options.service)


def _watch(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.watch import watch

    return watch(options)


def _doctor(options: argparse.Namespace) -> int:
    if options.project and not options.attach:
        print("sidemirror: --project: is for doctor --attach; --project-id is the setting", file=sys.stderr)
        return exit_codes.USAGE
    if options.egress:
        from sidemirror_server.operations.egress_report import egress

        tell_unknown_variables()
        return egress(flags_of(options), as_json=options.json)
    if options.attach:
        from sidemirror_server.operations.attach.check import check_attached

        return check_attached(options.project, as_json=options.json)
    from sidemirror_server.operations.doctor import doctor

    return doctor(flags_of(options), ask_models=options.ask_models, as_json=options.json, all_settings=options.all)


def _fingerprint(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.fingerprint import fingerprint

    return fingerprint(options.file)


def _demo(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.demo import demo

    return demo(without_sidecar=options.without_sidecar)


def _replay(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.replay import replay

    return replay(options)


def _install(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.service.commands import install

    return install(flags_of(options), HTTP_ADDRESS)


def _update(_: argparse.Namespace) -> int:
    from sidemirror_server.operations.service.commands import update

    return update()


def _status(_: argparse.Namespace) -> int:
    from sidemirror_server.operations.service.commands import status

    return status()


def _remove(_: argparse.Namespace) -> int:
    from sidemirror_server.operations.service.commands import remove

    return remove()


def _mcp(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.mcp import mcp

    return mcp(options)


def _console(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.console import console, place_of
    from sidemirror_server.operations.target import scope_of

    return console(flags_of(options), HTTP_ADDRESS, place_of(options.turn, **scope_of(options)))
