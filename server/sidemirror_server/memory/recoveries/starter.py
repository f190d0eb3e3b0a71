"""The starter pack: reviewed look-ups for failures that everybody's agents meet, before anything was learned. Pure.

A row is added by review alone, as those of `reviewed_lookups.py`. It says which failure of which program it is for, the
look-up, and the page of the program's documentation that says so. Its sentence names no count, since nothing was
counted. It is measured like any recovery: it has receipts and trials, one in ten is held back, and what was learned of
the failure goes before it (`moves.py:refutes`, decision 046).
"""

from functools import cache

import msgspec

from sidemirror_server.memory.recoveries.moves import Recovery, Tally
from sidemirror_server.memory.recoveries.observation import Move, MoveKind, recovery_id
from sidemirror_server.memory.recoveries.reviewed_lookups import LOOKUPS

# How the sentence begins, by which people and agents tell it from what was counted.
LABEL = "From the documentation, not from earlier tries:"
SQL = "<sql>"
ANY = "<any>"


class Starter(msgspec.Struct, frozen=True):
    """`program`: whose failure it is for; SQL for every statement, ANY for every command of a shell. `cause`: words
    that the cause in the signature has (`memory/kin/signature.py`). `look_up`: of the reviewed list; `shows`: what it
    shows. `source`: where the documentation says so."""

    program: str
    cause: frozenset[str]
    look_up: str
    shows: str
    source: str

    @property
    def move(self) -> Move:
        """The look-up as a move."""
        return Move(MoveKind.LOOKED_UP, (self.look_up,))

    @property
    def sentence(self) -> str:
        """What is told."""
        return f"{LABEL} `{self.look_up}` shows {self.shows}."


def _row(program: str, cause: str, look_up: str, shows: str, source: str) -> Starter:
    return Starter(program, frozenset(cause.split()), LOOKUPS[look_up].said, shows, source)


# The first row that fits is told.
STARTERS = (
    _row("git", "match pathspec", "git ls-files", "the files that git knows", "git-ls-files(1)"),
    _row("git", "refspec src", "git branch --list", "the branches that exist", "git-branch(1)"),
    _row("git", "ambiguous argument revision", "git branch --list", "the branches that exist", "git-branch(1)"),
    _row("git", "appear repositori", "git remote -v", "the remotes that are configured", "git-remote(1)"),
    _row("git", "directori parent repositori", "pwd", "the folder that commands run in", "POSIX, pwd"),
    _row("python", "missing_module", "pip list", "the packages that are installed", "pip documentation, pip list"),
    _row("python3", "missing_module", "pip list", "the packages that are installed", "pip documentation, pip list"),
    _row("pip", "install skip", "pip list", "the packages that are installed", "pip documentation, pip list"),
    _row("pip", "absent packag", "pip list", "the packages that are installed", "pip documentation, pip list"),
    _row("node", "missing_module", "npm ls", "the packages that are installed", "npm documentation, npm-ls"),
    _row("npm", "missing_module", "npm ls", "the packages that are installed", "npm documentation, npm-ls"),
    _row("kubectl", "resourc server typ", "kubectl api-resources", "the kinds of resources", "kubectl reference"),
    _row("kubectl", "absent server", "kubectl get", "the resources of a kind by name", "kubectl reference, get"),
    _row(SQL, "missing_table", "SHOW TABLES", "the tables (in MySQL)", "MySQL Reference Manual"),
    _row(SQL, "missing_column", "DESCRIBE", "the columns of a table (in MySQL)", "MySQL Reference Manual"),
    _row(
        SQL, "missing_database", "SHOW DATABASES", "the databases (in MySQL)", "MySQL Reference Manual, SHOW DATABASES"
    ),
    _row(ANY, "missing_command", "command -v", "whether a program is there, and where", "POSIX, command"),
    _row(ANY, "missing_file", "ls", "the files that exist", "POSIX, ls"),
    _row(ANY, "bad_option", "man", "the options of a program", "POSIX, man"),
)


def starter_for(signature: str, label: str) -> Starter | None:
    """The row for a failure; None if there is none. `label`: of the failing call (`asked.py`), empty if unknown."""
    if not label:
        return None
    cause = frozenset(signature.rpartition("|")[2].split())
    program = SQL if label.isupper() else label.split(" ", 1)[0]
    found = (one for one in STARTERS if one.cause <= cause and one.program in (program, _any_but(program)))
    return next((one for one in found if one.look_up != label), None)


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


def _any_but(program: str) -> str:
    return ANY if program != SQL else SQL
