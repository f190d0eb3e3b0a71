"""The arguments that several commands have, and the kinds of values that they take."""

import argparse
import datetime
import re
import sys
from collections.abc import Iterable
from typing import NamedTuple

from sidemirror_server.settings import PREFIX, SECRETS, Settings, names, nearest, sources, unknown_names
from sidemirror_server.vocabulary.scope import Served, serves_listed

# A scope that is told by a folder. No other begins so, but for a tenant whose name does: `--tenant-id` takes that.
_FOLDER = re.compile(r"\.{1,2}(/|$)|[/~]")
# The most memories that one search finds.
MOST_HITS = 1_000


def add_settings(parser: argparse.ArgumentParser, *only: str) -> None:
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
    parser.set_defaults(has_settings=not only)


def flags_of(options: argparse.Namespace) -> dict[str, str]:
    """The settings that were given as flags, by name."""
    given = {name: getattr(options, f"setting_{name}", None) for name in names() if name not in SECRETS}
    return {name: value for name, value in given.items() if value is not None}


def tell_unknown_variables() -> None:
    """Prints the variables with our prefix that are no settings."""
    for name in unknown_names():
        meant = f"; did you mean {close}?" if (close := nearest(name)) else ""
        print(f"sidemirror: {name} is no setting of this server{meant}", file=sys.stderr)


def add_target(parser: argparse.ArgumentParser) -> None:
    """Adds the flag of the sidecar that the command calls."""
    parser.add_argument("--address", default="", help="the sidecar's address (default: SIDEMIRROR_ADDRESS)")


def add_json(parsers: Iterable[argparse.ArgumentParser], what: str = "print the result as JSON") -> None:
    """Adds `--json`."""
    for parser in parsers:
        parser.add_argument("--json", action="store_true", help=what)


def add_scope(parser: argparse.ArgumentParser, *, tenants: bool = False) -> None:
    """Adds `--scope`, and the older flags for its two parts. `tenants`: the scope may be a tenant with all its
    projects."""
    every = "; TENANT/* for all of a tenant's projects" if tenants else ""
    parser.add_argument(
        "--scope",
        type=_tenant_or_project if tenants else _project,
        metavar="TENANT/PROJECT",
        help=f"another scope than the sidecar's own{every}; a path, such as . or ~/shop, for the project that hooks"
        " give this folder",
    )
    for part in ("--tenant-id", "--project-id"):
        parser.add_argument(part, default="", help=argparse.SUPPRESS)


def check_scope(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends the command if it names its scope in both ways."""
    if getattr(options, "scope", None) is not None and (options.tenant_id or options.project_id):
        parser.error("--scope: not allowed with --tenant-id or --project-id")


def million(text: str) -> int:
    """A number up to a million: the range of `ThinkingConfig.reflect_every`."""
    return _whole(text, 0)


def count(text: str) -> int:
    """A number of records to show. 0 is refused, because the output would look as if there were none."""
    return _whole(text, 1)


def _whole(text: str, low: int) -> int:
    if not text.isdecimal() or not low <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"a number from {low} to 1,000,000 is expected")
    return int(text)


class Moment(NamedTuple):
    """A time, and how long what it names lasts: a minute for 10:42."""

    at_us: int
    width_us: int


def moment(text: str) -> Moment:
    """A time of day (10:42 or 10:42:03, the last one that was), a date with or without a time, or how long ago (90s,
    15m, 2h, 3d). Times without a zone are of this machine's zone."""
    from sidemirror_server.operations.moments import moment_in
    from sidemirror_server.vocabulary.clock import SystemClock

    found = moment_in(text, SystemClock().now_us())
    if found is None:
        raise argparse.ArgumentTypeError("a time such as 10:42, 2026-11-23, 2026-11-23T10:42 or 15m (ago) is expected")
    return Moment(*found)


def days(text: str) -> int | str:
    """Days up to a century, for ever, or `unset`."""
    if text in ("forever", "unset"):
        return text if text == "unset" else 0
    if not text.isdecimal() or not 1 <= int(text) <= 36_500:
        raise argparse.ArgumentTypeError("a number of days from 1 to 36,500 is expected, or `forever` or `unset`")
    return int(text)


def day_count(text: str) -> int:
    """A number of days up to a century."""
    if not text.isdecimal() or not 1 <= int(text) <= 36_500:
        raise argparse.ArgumentTypeError("a number of days from 1 to 36,500 is expected")
    return int(text)


def day(text: str) -> datetime.date:
    """A day of the calendar since 1970."""
    try:
        found = datetime.date.fromisoformat(text)
    except ValueError:
        found = datetime.date.min
    if found.year < 1970:
        raise argparse.ArgumentTypeError("a day such as 2026-11-30 is expected")
    return found


def amount(text: str) -> int | str:
    """A whole number, or `unset`. The sidecar knows its bounds."""
    if text != "unset" and not (text.isdecimal() and len(text) <= 18):
        raise argparse.ArgumentTypeError("a whole number is expected, or `unset`")
    return text if text == "unset" else int(text)


def number(text: str) -> float | str:
    """A number, or `unset`. The sidecar knows its bounds."""
    try:
        return text if text == "unset" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError("a number is expected, or `unset`") from None


def _project_of_folder(text: str) -> Served:
    """The project that hooks give this folder, of the sidecar's own tenant."""
    from pathlib import Path

    from sidemirror_server.http.hooks.projects import project_of

    refused = argparse.ArgumentTypeError(f"{text!r} is no folder")
    try:
        folder = Path(text).expanduser().resolve()
        if not folder.is_dir():
            raise refused
    except (OSError, RuntimeError, ValueError):  # a user that there is not, a circle of links, no path at all
        raise refused from None
    return Served("", project_of(str(folder)))


def _tenant_or_project(text: str) -> Served:
    """A project of a tenant, or the one that hooks give a folder, or a tenant with all its projects."""
    if _FOLDER.match(text):
        return _project_of_folder(text)
    try:
        entries = serves_listed(text).entries
    except ValueError:  # its text is about a list, which may be `*`
        entries = ()
    if len(entries) != 1 or entries[0].tenant_id is None:
        raise argparse.ArgumentTypeError(f"{text!r}: one project or tenant is expected, such as acme/shop or acme/*")
    return entries[0]


def _project(text: str) -> Served:
    """A project of a tenant, or the one that hooks give a folder."""
    found = _tenant_or_project(text)
    if found.project_id is None:
        raise argparse.ArgumentTypeError(f"{text!r}: one project is expected, such as acme/shop")
    return found
