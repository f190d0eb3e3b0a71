"""The starter pack: reviewed look-ups for failures that everybody's agents meet, before anything was learned. Pure.

A row is added by review alone, as those of `reviewed_lookups.py`. It says which failure of which program it is for, the
look-up, and the page of the program's documentation that says so. Its sentence names no count, since nothing was
counted. It is measured like any recovery: it has receipts and trials, one in ten is held back, and what was learned of
the failure goes before it (`moves.py:refutes`, decision 046). No row is for every command of a shell: such look-ups
(`ls`, `man`, `command -v`) were of use in 0 of 16 judged cases (decision 095).
"""

import re
from functools import cache

import msgspec

from sidemirror_server.memory.recoveries.moves import Recovery, Tally
from sidemirror_server.memory.recoveries.observation import Move, MoveKind, recovery_id
from sidemirror_server.memory.recoveries.reviewed_lookups import LOOKUPS, STATEMENTS
from sidemirror_server.trace.failure import ends

# How the sentence begins, by which people and agents tell it from what was counted.
LABEL = "From the documentation, not from earlier tries:"
# Whose statement failed, where a tool takes SQL itself.
SQLITE, MYSQL, POSTGRES = "<sqlite>", "<mysql>", "<postgres>"

# How the errors of each database and its drivers read, in lower case, and how tools are named that speak to it.
# Sources: SQLite, src/resolve.c; MySQL, Server Error Message Reference; PostgreSQL, src/backend/parser.
_ERRORS = (
    (SQLITE, re.compile(r"no such (?:table|column): |\bsqlite|has no column named ")),
    (MYSQL, re.compile(r"\berror 1\d{3} \(|\(1\d{3}, |table '[^']+' doesn't exist|unknown database '|mysql|mariadb")),
    (MYSQL, re.compile(r"unknown column '[^']+' in ")),
    (POSTGRES, re.compile(r"\brelation \S+ does not exist|\bcolumn \S+ (?:of relation \S+ )?does not exist")),
    (POSTGRES, re.compile(r'\bdatabase "[^"]+" does not exist|psycopg|asyncpg|postgres')),
)
_TOOLS = (
    (SQLITE, re.compile("sqlite")),
    (MYSQL, re.compile("mysql|mariadb")),
    (POSTGRES, re.compile(r"postgres|psql|(?:\b|_)pg(?:\b|_)")),
)


class Starter(msgspec.Struct, frozen=True):
    """`program`: whose failure it is for; SQLITE, MYSQL or POSTGRES for a statement. `cause`: words that the cause in
    the signature has (`memory/kin/signature.py`). `look_up`: of the reviewed list; `shows`: what it shows. `source`:
    where the documentation says so. `is_wider`: it shows more than the same command with a name, so that it is told
    when that failed."""

    program: str
    cause: frozenset[str]
    look_up: str
    shows: str
    source: str
    is_wider: bool = False

    @property
    def move(self) -> Move:
        """The look-up as a move."""
        return Move(MoveKind.LOOKED_UP, (self.look_up,))

    @property
    def sentence(self) -> str:
        """What is told."""
        return f"{LABEL} `{self.look_up}` shows {self.shows}."


def _row(program: str, cause: str, look_up: str, shows: str, source: str, *, is_wider: bool = False) -> Starter:
    return Starter(program, frozenset(cause.split()), LOOKUPS[look_up].said, shows, source, is_wider)


_SHELL = "Command Line Shell For SQLite"
_META = "PostgreSQL documentation, psql, Meta-Commands"
_SCHEMA = "PostgreSQL documentation, The Information Schema"
_MANUAL = "MySQL Reference Manual"
_OF_TABLE = "the columns of a table"
_TABLES = "SELECT ... FROM information_schema.tables"
_COLUMNS = "SELECT ... FROM information_schema.columns"


_STATEMENTS = frozenset(lookup.said for lookup, _ in STATEMENTS)

# The first row that fits is told.
STARTERS = (
    # `git checkout` says this of a branch, `git restore` and `git commit` say it of a file.
    _row(
        *("git", "git known match pathspec", "git branch --list"),
        *("the branches that exist, and `git ls-files` the files that git knows", "git-branch(1), git-ls-files(1)"),
    ),
    _row("git", "match pathspec", "git ls-files", "the files that git knows", "git-ls-files(1)"),
    _row("git", "refspec src", "git branch --list", "the branches that exist", "git-branch(1)"),
    _row("git", "invalid referenc", "git branch --list", "the branches that exist", "git-branch(1)"),
    _row("git", "ambiguous argument revision", "git branch --list", "the branches that exist", "git-branch(1)"),
    _row("git", "appear repositori", "git remote -v", "the remotes that are configured", "git-remote(1)"),
    _row("git", "directori parent repositori", "pwd", "the folder that commands run in", "POSIX, pwd"),
    _row("python", "missing_module", "pip list", "the packages that are installed", "pip documentation, pip list"),
    _row("python3", "missing_module", "pip list", "the packages that are installed", "pip documentation, pip list"),
    _row("pip", "absent packag", "pip list", "the packages that are installed", "pip documentation, pip list"),
    _row(
        *("pip", "requirement satisfi version", "pip index versions"),
        *("the versions of a package that the index has for this Python", "pip documentation, pip index"),
    ),
    _row("node", "missing_module", "npm ls", "the packages that are installed", "npm documentation, npm-ls"),
    _row("npm", "missing_module", "npm ls", "the packages that are installed", "npm documentation, npm-ls"),
    _row(
        "npm", "requir script", "npm run", "the scripts that exist, when no name is given", "npm documentation, npm-run"
    ),
    _row("kubectl", "resourc server typ", "kubectl api-resources", "the kinds of resources", "kubectl reference"),
    _row(
        *("kubectl", "absent server", "kubectl get", "what exists of a kind, when no name is given"),
        "kubectl reference, get",
        is_wider=True,
    ),
    _row("sqlite3", "missing_table", ".tables", "the tables", _SHELL),
    _row("sqlite3", "missing_column", ".schema", "how the tables are made", _SHELL),
    _row("psql", "missing_table", r"\dt", "the tables", _META),
    _row("psql", "missing_column", r"\d", _OF_TABLE, _META),
    _row("psql", "missing_database", r"\l", "the databases", _META),
    _row(SQLITE, "missing_table", "SELECT ... FROM sqlite_master", "the tables (in SQLite)", "SQLite documentation"),
    _row(SQLITE, "missing_column", "PRAGMA table_info", f"{_OF_TABLE} (in SQLite)", "SQLite documentation"),
    _row("mysql", "missing_table", "SHOW TABLES", "the tables (in MySQL)", _MANUAL),
    _row(MYSQL, "missing_table", "SHOW TABLES", "the tables (in MySQL)", _MANUAL),
    _row("mysql", "missing_column", "DESCRIBE", f"{_OF_TABLE} (in MySQL)", _MANUAL),
    _row(MYSQL, "missing_column", "DESCRIBE", f"{_OF_TABLE} (in MySQL)", _MANUAL),
    _row("mysql", "missing_database", "SHOW DATABASES", "the databases (in MySQL)", _MANUAL),
    _row(MYSQL, "missing_database", "SHOW DATABASES", "the databases (in MySQL)", _MANUAL),
    _row(POSTGRES, "missing_table", _TABLES, "the tables (in PostgreSQL)", _SCHEMA),
    _row(POSTGRES, "missing_column", _COLUMNS, f"{_OF_TABLE} (in PostgreSQL)", _SCHEMA),
)


def dialect_of(tool: str, error_text: str) -> str:
    """Whose SQL a failed statement was: SQLITE, MYSQL or POSTGRES; empty where it cannot be known. What the error says
    goes before the tool's name; where one of them speaks for two databases, it says nothing."""
    for table, text in ((_ERRORS, ends(error_text).lower()), (_TOOLS, tool.lower())):
        found = {dialect for dialect, pattern in table if pattern.search(text)}
        if found:
            return found.pop() if len(found) == 1 else ""
    return ""


def starter_for(signature: str, label: str, dialect: str = "") -> Starter | None:
    """The row for a failure; None if there is none. `label`: of the failing call (`asked.py`), empty if unknown.
    `dialect`: by `dialect_of`."""
    if not label:
        return None
    cause = frozenset(signature.rpartition("|")[2].split())
    program = dialect if is_statement(label) else label.split(" ", 1)[0]
    found = (one for one in STARTERS if one.cause <= cause and one.program == program)
    return next((one for one in found if one.look_up != label or one.is_wider), None)


def starter_of(signature: str, recovery: str) -> Starter | None:
    """The row that this id stands for, told at a failure with this signature; None if it is none."""
    cause = frozenset(signature.rpartition("|")[2].split())
    found = (one for one in STARTERS if one.cause <= cause)
    return next((one for one in found if recovery_id(signature, one.move) == recovery), None)


def recovery_for(signature: str, starter: Starter) -> Recovery:
    """The row as a recovery of this signature, without tries."""
    return Recovery(recovery_id(signature, starter.move), signature, starter.move, Tally())


@cache
def starter_moves() -> frozenset[Move]:
    """The moves of the pack."""
    return frozenset(one.move for one in STARTERS)


def move_of(signature: str, recovery: str) -> Move | None:
    """The move of the pack that this id stands for, told at a failure with this signature; None if it is none."""
    return next((move for move in starter_moves() if recovery_id(signature, move) == recovery), None)


def is_statement(label: str) -> bool:
    """Whether a label is of SQL, which has no program."""
    return label.isupper() or label in _STATEMENTS
