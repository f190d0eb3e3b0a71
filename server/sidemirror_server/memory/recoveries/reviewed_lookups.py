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
    """One read-only look-up, as advice says it. `words`: how its command begins. `refused`: what it may not contain.
    `is_whole`: its command has these words and no other."""

    said: str
    reads: Reads
    source: str
    words: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    is_whole: bool = False


def _shell(said: str, reads: Reads, source: str, refused: str = "", *, is_whole: bool = False) -> ReviewedLookup:
    return ReviewedLookup(said, reads, source, tuple(said.split()), tuple(refused.split()), is_whole)


_MYSQL = "MySQL Reference Manual"
_SQLITE = "Command Line Shell For SQLite, Special commands to sqlite3"
_PSQL = "PostgreSQL documentation, psql, Meta-Commands"
_CATALOGS = "PostgreSQL documentation, The Information Schema and System Catalogs"


def _looks(said: str, reads: Reads, source: str) -> ReviewedLookup:
    return ReviewedLookup(said, reads, source)


# A name in a statement, and what a SELECT may ask for. Functions are left out: they may do anything.
_NAMED = r"[`\w.'\"]+"
_SELECT = r"select [\w ,.*`\"]+ from "
_OF = r"\b[^();]*"

# Statements of SQL shells by dialect, each with a pattern over the statement in lower case with single spaces. What
# another database or shell says for the same is another look-up: advice names one that the agent's database knows.
STATEMENTS = (
    (_looks("SHOW TABLES", Reads.NAMES, f"{_MYSQL}, SHOW TABLES Statement"),
     r"show (?:full )?tables(?: (?:from|in|like) [^();]+)?"),
    (_looks("DESCRIBE", Reads.FORM, f"{_MYSQL}, DESCRIBE, SHOW COLUMNS and SHOW CREATE TABLE Statements"),
     rf"(?:desc|describe|explain|show create table) {_NAMED}|show (?:full )?(?:columns|fields) (?:from|in) [^();]+"),
    (_looks("SHOW DATABASES", Reads.NAMES, f"{_MYSQL}, SHOW DATABASES Statement"),
     r"show (?:databases|schemas)(?: like [^();]+)?"),
    (_looks("SHOW INDEX", Reads.FORM, f"{_MYSQL}, SHOW INDEX Statement"),
     r"show (?:index|indexes|keys) (?:from|in) [^();]+"),
    (_looks(".tables", Reads.NAMES, _SQLITE), r"\.tables(?: [\w%]+)?"),
    (_looks(".schema", Reads.FORM, _SQLITE), r"\.schema(?: \w+)?"),
    (_looks(".databases", Reads.NAMES, _SQLITE), r"\.databases"),
    (_looks("PRAGMA table_info", Reads.FORM, "SQLite documentation, PRAGMA Statements"),
     rf"pragma table_info ?\(?{_NAMED}\)?|{_SELECT}pragma_table_info ?\({_NAMED}\)[^();]*"),
    (_looks("SELECT ... FROM sqlite_master", Reads.FORM, "SQLite documentation, The Schema Table"),
     rf"{_SELECT}sqlite_(?:master|schema){_OF}"),
    (_looks(r"\dt", Reads.NAMES, _PSQL), r"\\dt\+?(?: [\w.*]+)?"),
    (_looks(r"\d", Reads.FORM, _PSQL), r"\\d\+?(?: [\w.]+)?"),
    (_looks(r"\l", Reads.NAMES, _PSQL), r"\\l\+?"),
    (_looks("SELECT ... FROM pg_tables", Reads.NAMES, _CATALOGS), rf"{_SELECT}(?:pg_catalog\.)?pg_tables{_OF}"),
    (_looks("SELECT ... FROM information_schema.tables", Reads.NAMES, _CATALOGS),
     rf"{_SELECT}information_schema\.tables{_OF}"),
    (_looks("SELECT ... FROM information_schema.columns", Reads.FORM, _CATALOGS),
     rf"{_SELECT}information_schema\.columns{_OF}"),
)  # fmt: skip

_PIP_ELSEWHERE = "-i --index-url --extra-index-url -f --find-links --proxy --trusted-host --cert --client-cert --log"
_FIND_ACTS = "-delete -exec -execdir -ok -okdir -fprint -fprintf -fls"

# Commands. One that is the beginning of another comes after it.
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
    # It asks the index that pip is set to, as the call that failed did; another one only where it is named.
    _shell("pip index versions", Reads.NAMES, "pip documentation, pip index", _PIP_ELSEWHERE),
    # With a name it runs that script.
    _shell("npm run", Reads.NAMES, "npm documentation, npm-run", is_whole=True),
    _shell("npm ls", Reads.NAMES, "npm documentation, npm-ls"),
    _shell("kubectl get", Reads.NAMES, "kubectl reference, get", "secret secrets -w --watch --raw"),
    _shell("kubectl describe", Reads.FORM, "kubectl reference, describe", "secret secrets"),
    _shell("kubectl api-resources", Reads.NAMES, "kubectl reference, api-resources"),
)

LOOKUPS = {lookup.said: lookup for lookup in (*(lookup for lookup, _ in STATEMENTS), *COMMANDS)}
"""Every look-up by the name that advice uses."""

# How the name of a tool begins that reads: the verbs that MCP servers and HTTP services name their reads with. Chosen
# here; a tool that writes under such a name is mistaken, which is why a look-up must also bring a value that is used.
_READING = "get list find search read show describe lookup fetch view"
READING_VERBS = frozenset(_READING.split())

READING_TOOLS = frozenset({"sql_db_list_tables", "sql_db_schema", "browser_snapshot"})
"""Tools that read, though their names begin with what they read. Sources: LangChain, SQLDatabaseToolkit; the list of
tools of Playwright MCP, which says "read-only" of it."""
