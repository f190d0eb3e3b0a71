"""The reviewed list of read-only look-ups: the only commands that advice may name. For `asked.py` and `sentences.py`.

A row is added by review alone. It names a form that reads, whatever its arguments are, and its source says so. What
would make it write, run or send something else is listed as refused; a command with a refused word is no look-up.
Environment variables and files of credentials are left out on purpose: reading them is not harmless.
"""

from enum import StrEnum

import msgspec


class Reads(StrEnum):
    """What a look-up tells: which things there are, how they are made, what is in them, where they are, or how
    something is used."""

    NAMES = "names"
    FORM = "form"
    CONTENT = "content"
    PLACE = "place"
    USAGE = "usage"


class ReviewedLookup(msgspec.Struct, frozen=True):
    """One read-only look-up, as advice says it. `words`: how its command begins. `refused`: what it may not contain."""

    said: str
    reads: Reads
    source: str
    words: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def _shell(said: str, reads: Reads, source: str, refused: str = "") -> ReviewedLookup:
    return ReviewedLookup(said, reads, source, tuple(said.split()), tuple(refused.split()))


# Statements of SQL shells, by the name that advice uses; `STATEMENTS` says how each is recognised.
TABLES = ReviewedLookup("SHOW TABLES", Reads.NAMES, "MySQL Reference Manual, SHOW TABLES Statement")
COLUMNS = ReviewedLookup(
    "DESCRIBE", Reads.FORM, "MySQL Reference Manual, DESCRIBE Statement and SHOW COLUMNS Statement"
)
DATABASES = ReviewedLookup("SHOW DATABASES", Reads.NAMES, "MySQL Reference Manual, SHOW DATABASES Statement")
INDEXES = ReviewedLookup("SHOW INDEX", Reads.FORM, "MySQL Reference Manual, SHOW INDEX Statement")

# Patterns over a statement in lower case with single spaces. Functions are left out: they may do anything. What other
# databases and their shells say for the same counts as the same: SQLite (PRAGMA table_info, .tables, .schema),
# PostgreSQL (psql's backslash commands), and the information schema of the SQL standard.
STATEMENTS = (
    (COLUMNS, r"(?:desc|describe|explain) [`\w.\"]+|show (?:full )?(?:columns|fields) (?:from|in) [^();]+"),
    (COLUMNS, r"show create table [`\w.\"]+|pragma table_info ?\(?[`\w.'\"]+\)?|\.schema(?: \w+)?|\\d\+? \w+"),
    (COLUMNS, r"select [\w ,.*`\"]+ from information_schema\.columns\b[^();]*"),
    (TABLES, r"show (?:full )?tables(?: (?:from|in|like) [^();]+)?|\.tables|\\dt\+?"),
    (TABLES, r"select [\w ,.*`\"]+ from (?:information_schema\.tables|sqlite_master)\b[^();]*"),
    (TABLES, r"select [\w ,.*`\"]+ from (?:pg_catalog\.)?pg_tables\b[^();]*"),
    (DATABASES, r"show (?:databases|schemas)(?: like [^();]+)?|\\l\+?|\.databases"),
    (INDEXES, r"show (?:index|indexes|keys) (?:from|in) [^();]+"),
)

_FIND_ACTS = "-delete -exec -execdir -ok -okdir -fprint -fprintf -fls"

# Commands, the longest first where one begins like another.
COMMANDS = (
    _shell("ls", Reads.NAMES, "POSIX, ls"),
    _shell("find", Reads.NAMES, "POSIX, find; GNU findutils manual, Actions", _FIND_ACTS),
    _shell("tree", Reads.NAMES, "tree(1)", "-o -R"),
    _shell("pwd", Reads.PLACE, "POSIX, pwd"),
    _shell("stat", Reads.FORM, "stat(1)"),
    _shell("file", Reads.FORM, "POSIX, file", "-C --compile"),
    _shell("wc", Reads.FORM, "POSIX, wc"),
    _shell("du", Reads.FORM, "POSIX, du"),
    _shell("df", Reads.FORM, "POSIX, df"),
    _shell("cat", Reads.CONTENT, "POSIX, cat"),
    _shell("head", Reads.CONTENT, "POSIX, head"),
    _shell("tail", Reads.CONTENT, "POSIX, tail", "-f -F --follow"),
    _shell("grep", Reads.CONTENT, "POSIX, grep"),
    _shell("which", Reads.PLACE, "which(1)"),
    _shell("type", Reads.PLACE, "POSIX, type"),
    _shell("command -v", Reads.PLACE, "POSIX, command"),
    _shell("man", Reads.USAGE, "POSIX, man"),
    _shell("git status", Reads.FORM, "git-status(1)"),
    _shell("git log", Reads.CONTENT, "git-log(1)", "--output"),
    _shell("git diff", Reads.CONTENT, "git-diff(1)", "--output --ext-diff"),
    _shell("git branch --list", Reads.NAMES, "git-branch(1)", "-d -D -m -M -c -C --delete --move --copy"),
    _shell("git ls-files", Reads.NAMES, "git-ls-files(1)"),
    _shell("git remote -v", Reads.NAMES, "git-remote(1)", "add remove rename set-url prune update set-head"),
    _shell("pip list", Reads.NAMES, "pip documentation, pip list", "--outdated -o"),
    _shell("pip show", Reads.FORM, "pip documentation, pip show"),
    _shell("npm ls", Reads.NAMES, "npm documentation, npm-ls"),
    _shell("kubectl get", Reads.NAMES, "kubectl reference, get", "secret secrets -w --watch --raw"),
    _shell("kubectl describe", Reads.FORM, "kubectl reference, describe", "secret secrets"),
    _shell("kubectl api-resources", Reads.NAMES, "kubectl reference, api-resources"),
)

LOOKUPS = {lookup.said: lookup for lookup in (TABLES, COLUMNS, DATABASES, INDEXES, *COMMANDS)}
"""Every look-up by the name that advice uses."""

# How the name of a tool begins that reads: the verbs that MCP servers and HTTP services name their reads with. Chosen
# here; a tool that writes under such a name is mistaken, which is why a look-up must also bring a value that is used.
_READING = "get list find search read show describe lookup fetch view"
READING_VERBS = frozenset(_READING.split())
