"""Parsers of the commands about what a tenant spends and what is decided for it."""

import argparse
from functools import partial

from sidemirror_server.operations.parsers import Commands
from sidemirror_server.operations.parsers.arguments import (
    add_json,
    add_scope,
    add_target,
    amount,
    day,
    day_count,
    days,
    number,
)


def add_usage(commands: Commands) -> None:
    """Adds `usage`."""
    usage = commands.add_parser("usage", help="what models have cost in the last 7 days, and what is left of the caps")
    add_target(usage)
    add_scope(usage, tenants=True)
    add_json([usage])
    whose = "add up what each tenant or project spent, or all; of those that the token is good for"
    usage.add_argument("--by", choices=("tenant", "project", "all"), help=whose)
    span = "a day (UTC) such as 2026-11-30; with --by"
    usage.add_argument("--from", dest="from_day", type=day, metavar="DAY", help=f"the first day, {span}")
    usage.add_argument("--to", dest="to_day", type=day, metavar="DAY", help=f"the last day, {span} (default: today)")
    usage.add_argument("--days", type=day_count, metavar="N", help="so many days up to the last one (default: 7)")
    usage.set_defaults(run=partial(_usage, usage))


def add_policy(commands: Commands) -> None:
    """Adds `policy`."""
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
        setting.add_argument(f"--{name}-days", type=days, metavar="N", help=f"keep {told} so long; or `forever`")
    setting.add_argument("--memory-importance", type=number, metavar="X", help="0 to 1: memories from it on are kept")
    setting.add_argument("--memory-count", type=amount, metavar="N", help="the most memories of a project; 0: any")
    setting.add_argument("--usd-per-day", type=number, metavar="X", help="the most USD a day (UTC)")
    setting.add_argument("--tokens-per-day", type=amount, metavar="N", help="the most tokens a day (UTC)")
    setting.add_argument("--purpose", default="", metavar="NAME", help="what the caps count (default: all purposes)")
    _add_policy_scope(verbs)
    policy.set_defaults(run=_policy)


def add_advice(commands: Commands) -> None:
    """Adds `advice`."""
    advice = commands.add_parser("advice", help="silence lessons and recoveries, and give them again")
    verbs = advice.add_subparsers(required=True, metavar="VERB", dest="verb")
    verbs.add_parser("show", help="what is given, and what is not")
    for name, told in (("off", "within 10 s no sidecar on the store gives it"), ("on", "give it again")):
        verb = verbs.add_parser(name, help=told)
        what = "all (the default), lessons, recoveries, or a lesson's id"
        verb.add_argument("what", nargs="?", default="all", metavar="WHAT", help=what)
        verb.add_argument("--reason", default="", metavar="TEXT", help="why, for people")
    verbs.choices["off"].add_argument("--force", action="store_true", help="silence an id that no lesson has")
    _add_policy_scope(verbs)
    advice.set_defaults(run=_advice)


def _add_policy_scope(verbs: Commands) -> None:
    for verb in verbs.choices.values():
        verb.allow_abbrev = False
        add_target(verb)
        add_scope(verb, tenants=True)
    add_json(verbs.choices.values())


def _usage(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.by is not None:
        from sidemirror_server.operations.costs import costs, span_of

        if options.from_day and options.days:
            parser.error("--days: not allowed with --from")
        first, last = span_of(options)
        if first > last:
            parser.error(f"--from: {first} is after {last}")
        return costs(options)
    if options.from_day or options.to_day or options.days:
        parser.error("--from, --to and --days are for sums: add --by tenant, --by project or --by all")
    if options.scope is not None and options.scope.project_id is None:
        parser.error("--scope: all of a tenant's projects are added up by --by tenant or --by project")
    from sidemirror_server.operations.usage import usage

    return usage(options)


def _policy(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.policy import policy

    return policy(options)


def _advice(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.advice import advice

    return advice(options)
