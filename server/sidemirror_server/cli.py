"""The command line: parses arguments and calls `operations/`. It uses argparse because every start of a sidecar imports
the parser: typer would make a bare server's start half as long again."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from sidemirror_server.settings import (
    PREFIX,
    SECRETS,
    BadSettings,
    Settings,
    load,
    names,
    nearest,
    quieten_grpc,
    sources,
)
from sidemirror_server.vocabulary.scope import Served, serves_listed

# sysexits.h: the configuration is wrong.
EXIT_CONFIGURATION = 78


def run() -> int:
    """Runs the command that the process was started with and returns its exit code, whatever becomes of its output."""
    from sidemirror_server.operations.output import printing

    return printing(main)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command that the arguments name and returns its exit code."""
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        parser.error(_unknown(unknown, is_setting=options.run in (_serve, _doctor)))
    quieten_grpc()
    try:
        return int(options.run(options))
    except BadSettings as error:
        print(f"sidemirror: {error}", file=sys.stderr)
        return EXIT_CONFIGURATION
    except KeyboardInterrupt:
        return 130


def _unknown(arguments: Sequence[str], *, is_setting: bool) -> str:
    """The error for unknown arguments. `is_setting`: the command's flags are settings."""
    flag = next((argument.partition("=")[0] for argument in arguments if argument.startswith("--")), "")
    name = flag.removeprefix("--").replace("-", "_")
    if is_setting and name in SECRETS:
        return f"{flag} is no flag, which everybody on the machine could read: set {PREFIX}{name.upper()}"
    meant = nearest(name.upper()) if is_setting and flag else ""
    close = f"; did you mean --{meant.removeprefix(PREFIX).lower().replace('_', '-')}?" if meant else ""
    return f"unrecognized arguments: {' '.join(arguments)}{close}"


class _Version(argparse.Action):
    """Prints the version. argparse's own action would look the version up at every start."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        import importlib.metadata

        print(f"sidemirror {importlib.metadata.version('sidemirror-server')}")
        parser.exit()


class _GrantTo(argparse.Action):
    """Collects roles, each with the tenant of the `--tenant` after it, or None."""

    def __call__(self, _: object, options: argparse.Namespace, role: Any, *__: object) -> None:
        options.grant_to = {**options.grant_to, role: None}


class _Tenant(argparse.Action):
    """Sets the tenant of the last role."""

    def __call__(
        self, parser: argparse.ArgumentParser, options: argparse.Namespace, tenant_id: Any, *_: object
    ) -> None:
        role = next(reversed(options.grant_to), None)
        if role is None or options.grant_to[role] is not None:
            parser.error("--tenant: comes after the --grant-to whose role it is about")
        if not tenant_id:
            parser.error("--tenant: names a tenant, or '*' for every one")
        options.grant_to = {**options.grant_to, role: tenant_id}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sidemirror", description="A sidecar that gives an agent a second look at its own work."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="run the sidecar")
    _add_settings(serve)
    serve.set_defaults(run=_serve)

    health = commands.add_parser("health", help="ask a running sidecar whether it serves; exit code 0 if so")
    _add_target(health)
    health.add_argument("--service", default="", help="one service instead of the whole server")
    health.set_defaults(run=_health)

    _add_usage(commands)

    watch = commands.add_parser("watch", help="see what happens in turns and what the sidecar says, as it happens")
    _add_target(watch)
    watch.add_argument("--session", default="", metavar="ID", help="only this session")
    _add_scope(watch)
    watch.add_argument("--all-from-start", action="store_true", help="begin with the oldest entry that is kept")
    watch.add_argument("--json", action="store_true", help="print one JSON object a line")
    watch.set_defaults(run=_watch)

    _add_goals(commands)
    _add_erase(commands)
    _add_policy(commands)
    _add_advice(commands)

    doctor = commands.add_parser("doctor", help="would `serve` work with these settings? Exit code 0 if so")
    _add_settings(doctor)
    more = doctor.add_mutually_exclusive_group()
    more.add_argument("--ask-models", action="store_true", help="ask the models one question; it may cost something")
    more.add_argument("--egress", action="store_true", help="instead: where texts can go, and which")
    doctor.add_argument("--json", action="store_true", help="print the result as JSON")
    doctor.set_defaults(run=_doctor)

    _add_backup(commands)
    _add_migrate(commands)
    _add_memory(commands)

    demo = commands.add_parser("demo", help="watch a small agent at work with a sidecar beside it")
    demo.add_argument("--without-sidecar", action="store_true", help="show only what the agent does alone")
    demo.set_defaults(run=_demo)

    _add_replay(commands)
    for command in commands.choices.values():
        # A new flag could change the meaning of an abbreviation or make it ambiguous.
        command.allow_abbrev = False
    return parser


def _add_replay(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    replay = commands.add_parser("replay", help="play recorded episodes through a sidecar")
    replay.add_argument("file", help="episodes as JSON lines, gzip or not")
    _add_target(replay)
    replay.add_argument("--level", default="medium", choices=["off", "low", "medium", "high"])
    replay.add_argument("--reflect-every", type=_million, default=0, metavar="N", help="reflect in every n-th turn")
    replay.add_argument("--limit", type=_million, default=0, metavar="N", help="play the first N episodes only")
    replay.add_argument("--json", action="store_true", help="print the result as JSON")
    replay.set_defaults(run=_replay)


def _add_usage(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    usage = commands.add_parser("usage", help="what models have cost, and what is left of the caps")
    _add_target(usage)
    _add_scope(usage)
    usage.add_argument("--json", action="store_true", help="print the result as JSON")
    usage.set_defaults(run=_usage)


def _add_goals(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    goals = commands.add_parser("goals", help="what finished goals have taught, and the reports that came to nothing")
    verbs = goals.add_subparsers(required=True, metavar="VERB", dest="verb")
    for name, told in (("list", "reports, the newest first"), ("dead", "reports that nothing could be made of")):
        verb = verbs.add_parser(name, help=told)
        verb.add_argument("--limit", type=_count, default=50, metavar="N", help="the newest N only (default: 50)")
        verb.add_argument("--json", action="store_true", help="print the result as JSON")
    show = verbs.add_parser("show", help="a goal's reflections, or those of the recent goals")
    show.add_argument("goal_id", nargs="?", default="", metavar="GOAL")
    show.add_argument("--json", action="store_true", help="print the result as JSON")
    retry = verbs.add_parser("retry", help="queue dead reports again")
    which = retry.add_mutually_exclusive_group(required=True)
    which.add_argument("report_ids", nargs="*", default=[], metavar="REPORT")
    which.add_argument("--all", action="store_true", help="every dead report")
    for verb in verbs.choices.values():
        verb.allow_abbrev = False
        verb.set_defaults(run=_goals)
        _add_target(verb)
        _add_scope(verb)


def _add_erase(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    erase = commands.add_parser("erase", help="remove a turn, a session or a subject with all that came of it")
    what = erase.add_mutually_exclusive_group(required=True)
    what.add_argument("--turn", default="", metavar="ID", help="one turn")
    what.add_argument("--session", default="", metavar="ID", help="a session with its turns")
    what.add_argument("--subject", default="", metavar="ID", help="all that names this subject")
    what.add_argument("--list", action="store_true", help="print the project's tombstones, a JSON object a line")
    what.add_argument(
        "--again",
        default="",
        metavar="FILE",
        help="erase again what --list printed, in stores that came from a backup, while no sidecar uses them",
    )
    erase.add_argument("--yes", action="store_true", help="do not ask first")
    erase.add_argument("--json", action="store_true", help="print the result as JSON")
    erase.add_argument("--request-id", default="", metavar="ID", help="wait for the erasure that began under this id")
    erase.set_defaults(run=_erase)
    _add_settings(erase, "data_dir")
    _add_target(erase)
    _add_scope(erase)


def _add_backup(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    backup = commands.add_parser("backup", help="copy the embedded store into one file, also while a sidecar serves")
    backup.add_argument("file", metavar="FILE", help="the new file; nothing is overwritten")
    backup.set_defaults(run=_backup)
    restore = commands.add_parser("restore", help="make a backup the embedded store, while no sidecar serves it")
    restore.add_argument("file", metavar="FILE", help="a file that `sidemirror backup` has made")
    restore.add_argument(
        "--replace", action="store_true", help="where there is a store: keep it beside the restored one"
    )
    restore.add_argument(
        "--erased", default="", metavar="FILE", help="erase again what `sidemirror erase --list` printed"
    )
    restore.set_defaults(run=_restore)
    for command in (backup, restore):
        _add_settings(command, "data_dir")
        command.add_argument("--json", action="store_true", help="print the result as JSON")


def _add_policy(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    policy = commands.add_parser("policy", help="how long a tenant's or project's records are kept, and its caps")
    verbs = policy.add_subparsers(required=True, metavar="VERB", dest="verb")
    verbs.add_parser("show", help="what is set for a scope, and what is in force")
    setting = verbs.add_parser("set", help="set some values; the others stay. `unset` takes a value away")
    for name, told in (
        ("spend", "what models cost"),
        ("critique", "critiques"),
        ("memory", "unimportant memories that are not used"),
        ("trace", "ended turns"),
    ):
        setting.add_argument(f"--{name}-days", type=_days, metavar="N", help=f"keep {told} so long; or `forever`")
    setting.add_argument("--memory-importance", type=_number, metavar="X", help="0 to 1: memories from it on are kept")
    setting.add_argument("--memory-count", type=_amount, metavar="N", help="the most memories of a project; 0: any")
    setting.add_argument("--usd-per-day", type=_number, metavar="X", help="the most USD a day (UTC)")
    setting.add_argument("--tokens-per-day", type=_amount, metavar="N", help="the most tokens a day (UTC)")
    setting.add_argument("--purpose", default="", metavar="NAME", help="what the caps count (default: all purposes)")
    _add_policy_scope(verbs)
    policy.set_defaults(run=_policy)


def _add_advice(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    advice = commands.add_parser("advice", help="silence lessons and recoveries, and give them again")
    verbs = advice.add_subparsers(required=True, metavar="VERB", dest="verb")
    verbs.add_parser("show", help="what is given, and what is not")
    for name, told in (("off", "within 10 s no sidecar on the store gives it"), ("on", "give it again")):
        verb = verbs.add_parser(name, help=told)
        what = "all (the default), lessons, recoveries, or a lesson's id"
        verb.add_argument("what", nargs="?", default="all", metavar="WHAT", help=what)
    verbs.choices["off"].add_argument("--force", action="store_true", help="silence an id that no lesson has")
    _add_policy_scope(verbs)
    advice.set_defaults(run=_advice)


def _add_policy_scope(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    for verb in verbs.choices.values():
        verb.allow_abbrev = False
        _add_target(verb)
        verb.add_argument(
            "--scope",
            type=_policy_scope,
            metavar="TENANT/PROJECT",
            help="whose policy; TENANT/* for all of a tenant's projects (default: the sidecar's own scope)",
        )
        verb.add_argument("--json", action="store_true", help="print the result as JSON")


def _add_migrate(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    migrate = commands.add_parser("migrate", help="make or update the schema of a Postgres database, as its owner")
    migrate.add_argument(
        "--database-url",
        default="",
        metavar="OWNER_URL",
        help="postgresql://owner@host/database; better in SIDEMIRROR_DATABASE_URL, which nobody else sees",
    )
    migrate.add_argument(
        "--grant-to",
        action=_GrantTo,
        default={},
        metavar="ROLE",
        help="a role that sidecars use; may come several times",
    )
    migrate.add_argument(
        "--tenant",
        action=_Tenant,
        dest="grant_to",
        metavar="TENANT",
        help="whose rows the role before it reaches from now on, and no others; '*': every tenant's",
    )
    migrate.set_defaults(run=_migrate)


def _add_memory(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    memory = commands.add_parser("memory", help="find, show, review and carry reflections and strategies; its dreams")
    verbs = memory.add_subparsers(required=True, metavar="VERB", dest="verb")
    search = verbs.add_parser("search", help="memories that fit a text, the best first")
    search.add_argument("text", nargs="?", default="", help="what they should be about; all of them when empty")
    search.add_argument("-k", type=_count, default=10, metavar="N", help="how many (default: 10)")
    search.add_argument("--tag", action="append", default=[], help="they have one of these; may come several times")
    search.add_argument("--min-importance", type=float, default=0.0, metavar="X", help="0 to 1 (default: 0)")
    search.add_argument("--include-quarantined", action="store_true", help="those that are in quarantine too")
    search.add_argument("--explain", action="store_true", help="say of each why it is there")
    show = verbs.add_parser("show", help="one memory with its versions")
    show.add_argument("id", help="its id")
    lessons = verbs.add_parser("lessons", help="whether lessons help: what became of tasks with them and without them")
    lessons.add_argument("ids", nargs="*", metavar="ID", help="some lessons (default: all that there is evidence of)")
    review = verbs.add_parser("review", help="promote, retire or quarantine a memory")
    review.add_argument("id", help="its id")
    review.add_argument("state", choices=["active", "retired", "quarantined"])
    review.add_argument("--reason", required=True, help="why, for people")
    export = verbs.add_parser("export", help="write all memories, as lines of JSON")
    export.add_argument("file", nargs="?", default="-", help="where to (default: standard output)")
    imported = verbs.add_parser("import", help="keep the memories of an export; known ones stay as they are")
    imported.add_argument("file", help="lines of JSON, - for standard input; exit code 65 when some could not be used")
    dreams = verbs.add_parser("dreams", help="what passes over the memory came to")
    dreams.add_argument("--now", action="store_true", help="dream now, and show what came of it")
    prunings = verbs.add_parser("prunings", help="what was removed because it was old")
    for log in (dreams, prunings):
        log.add_argument("-n", type=_count, default=20, metavar="N", help="how many entries (default: 20)")
    for verb in verbs.choices.values():
        verb.allow_abbrev = False
        _add_target(verb)
        _add_scope(verb)
        if verb in (search, show, lessons, dreams, prunings):
            verb.add_argument("--json", action="store_true", help="print the result as JSON")
    memory.set_defaults(run=_memory)


def _add_settings(parser: argparse.ArgumentParser, *only: str) -> None:
    """Adds the flags of these settings, or of all."""
    for setting in sources(Settings(), {}, {}):
        if setting.name not in SECRETS and (not only or setting.name in only):
            default = "" if setting.value in ("", None) else f" (default: {setting.value})"
            parser.add_argument(
                f"--{setting.name.replace('_', '-')}",
                dest=f"setting_{setting.name}",
                metavar="VALUE",
                help=f"{PREFIX}{setting.name.upper()}{default}",
            )


def _million(text: str) -> int:
    """A number up to a million: the range of `ThinkingConfig.reflect_every`."""
    return _whole(text, 0)


def _count(text: str) -> int:
    """A number of records to show. 0 is refused, because the output would look as if there were none."""
    return _whole(text, 1)


def _whole(text: str, low: int) -> int:
    if not text.isdecimal() or not low <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"a number from {low} to 1,000,000 is expected")
    return int(text)


def _days(text: str) -> int | str:
    """Days up to a century, for ever, or `unset`."""
    if text in ("forever", "unset"):
        return text if text == "unset" else 0
    if not text.isdecimal() or not 1 <= int(text) <= 36_500:
        raise argparse.ArgumentTypeError("a number of days from 1 to 36,500 is expected, or `forever` or `unset`")
    return int(text)


def _amount(text: str) -> int | str:
    """A whole number, or `unset`. The sidecar knows its bounds."""
    if text != "unset" and not (text.isdecimal() and len(text) <= 18):
        raise argparse.ArgumentTypeError("a whole number is expected, or `unset`")
    return text if text == "unset" else int(text)


def _number(text: str) -> float | str:
    """A number, or `unset`. The sidecar knows its bounds."""
    try:
        return text if text == "unset" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError("a number is expected, or `unset`") from None


def _policy_scope(text: str) -> Served:
    """A project of a tenant, or a tenant with all its projects."""
    try:
        entries = serves_listed(text).entries
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if len(entries) != 1 or entries[0].tenant_id is None:
        raise argparse.ArgumentTypeError(f"{text!r}: one scope is expected, such as acme/shop or acme/*")
    return entries[0]


def _flag_names() -> list[str]:
    return [name for name in names() if name not in SECRETS]


def _add_scope(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tenant-id", default="", metavar="ID", help="another tenant than the sidecar's own")
    parser.add_argument("--project-id", default="", metavar="ID", help="another project than the sidecar's own")


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--address", default="", help="the sidecar's address (default: SIDEMIRROR_ADDRESS)")


def _flags(options: argparse.Namespace) -> dict[str, str]:
    given = {name: getattr(options, f"setting_{name}", None) for name in _flag_names()}
    return {name: value for name, value in given.items() if value is not None}


def _serve(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.serve import serve

    return serve(_flags(options))


def _health(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.health import health

    return health(options.address, options.service)


def _usage(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.usage import usage

    return usage(options.address, options.tenant_id, options.project_id, as_json=options.json)


def _goals(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.goals import goals

    return goals(options)


def _erase(options: argparse.Namespace) -> int:
    if options.again:
        from sidemirror_server.operations.erase_again import erase_again

        return erase_again(_flags(options), options.again, as_json=options.json)
    from sidemirror_server.operations.erase import erase

    return erase(options)


def _policy(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.policy import policy

    return policy(options)


def _advice(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.advice import advice

    return advice(options)


def _watch(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.watch import watch

    return watch(options)


def _doctor(options: argparse.Namespace) -> int:
    if options.egress:
        from sidemirror_server.operations.egress_report import egress

        return egress(_flags(options), as_json=options.json)
    from sidemirror_server.operations.doctor import doctor

    return doctor(_flags(options), ask_models=options.ask_models, as_json=options.json)


def _backup(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.backup import backup

    return backup(_flags(options), options.file, as_json=options.json)


def _restore(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.backup import restore

    return restore(_flags(options), options.file, erased=options.erased, replace=options.replace, as_json=options.json)


def _migrate(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.migrate import migrate

    return migrate(options.database_url or load().database_url.reveal(), options.grant_to)


def _memory(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.memory import memory

    return memory(options)


def _demo(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.demo import demo

    return demo(without_sidecar=options.without_sidecar)


def _replay(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.replay import replay

    return replay(options)


if __name__ == "__main__":
    sys.exit(run())
