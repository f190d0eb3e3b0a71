"""The statement that a command gives to a database's own client, as in `sqlite3 shop.db .tables`. Pure.

Called by `asked.py`, which knows the look-ups among statements. A client with an option that writes a file, runs a file
or sets a variable gives no statement here, nor does one that is given two.
"""

import re
import shlex
from itertools import dropwhile

import msgspec


class _Client(msgspec.Struct, frozen=True):
    """`asks`: options whose value is the statement; none if it stands behind the file. `takes`: options with a value.
    `flags`: a pattern for options without one, and for those with their value attached."""

    takes: frozenset[str]
    flags: re.Pattern[str]
    asks: frozenset[str] = frozenset()


_CLIENTS = {
    # Command Line Shell For SQLite, Command-line Options.
    "sqlite3": _Client(
        frozenset(("-separator", "-nullvalue")),
        re.compile(r"--?(?:readonly|header|noheader|column|json|line|box|table|csv|list|markdown|batch)"),
    ),
    # PostgreSQL documentation, psql, Options.
    "psql": _Client(
        frozenset(("-h", "-p", "-U", "-d", "--host", "--port", "--username", "--dbname")),
        re.compile(
            r"-[AtqxXwE]+|--(?:host|port|username|dbname)=.*|--(?:no-psqlrc|no-align|tuples-only|quiet|expanded)"
        ),
        frozenset(("-c", "--command")),
    ),
    # MySQL Reference Manual, mysql Client Options.
    "mysql": _Client(
        frozenset(("-h", "-P", "-u", "-D", "--host", "--port", "--user", "--database")),
        re.compile(r"-[hPuDp].*|-[tNBs]+|--(?:host|port|user|password|database)=.*|--(?:table|batch|silent)"),
        frozenset(("-e", "--execute")),
    ),
}
_NAMES_A_CLIENT = re.compile("|".join(_CLIENTS))
_OWN_VARIABLE = re.compile(r"(?:PGPASSWORD|PGUSER|PGHOST|PGPORT|PGDATABASE|MYSQL_PWD)=")
# What a shell replaces, and what the client of MySQL takes for a command of its own.
_REPLACED = re.compile(r"\$|\\[!.]")


def statement_of(command: str) -> str:
    """The one statement that a single command gives to a client; empty if it is none, or does more."""
    if not _NAMES_A_CLIENT.search(command):  # splitting costs much
        return ""
    try:
        words = list(dropwhile(_OWN_VARIABLE.match, shlex.split(command)))
    except ValueError:
        return ""
    client = _CLIENTS.get(words[0].rsplit("/", 1)[-1]) if words else None
    if client is None:
        return ""
    given, names = [], []
    rest = iter(words[1:])
    for word in rest:
        if word in client.asks:
            given.append(next(rest, ""))
        elif word in client.takes:
            next(rest, None)
        elif not word.startswith("-"):
            names.append(word)
        elif not client.flags.fullmatch(word):
            return ""
    if not client.asks:
        given, names = names[1:], names[:1]
    return given[0] if len(given) == 1 and not _REPLACED.search(given[0]) else ""
