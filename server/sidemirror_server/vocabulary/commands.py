"""Commands of a shell: which calls run one, and which program in it a fixed sentence may name. Pure.

A shell is one tool for everything, so that its name says nothing of what failed. The program does, and its name is a
slot (`slots.py`): of the list below, and none that advice must not name.
"""

import re
import shlex
from collections.abc import Mapping

import msgspec

from sidemirror_server.vocabulary.slots import is_tool_name, words_of

# Programs that a label may name; another first word may be anything that was typed, and is kept nowhere. Chosen here:
# POSIX utilities, shells, interpreters, and what developers' hosts have.
_KNOWN_PROGRAMS = (
    "awk basename bash bc cargo cat cd chmod chown cmp command comm cp curl cut date dd df diff dig dirname docker du "
    "echo ed egrep env eval exit expr export false file find fmt fold gcc getent git go grep gunzip gzip head helm "
    "hostname id if for in install ip java jq join kill kubectl ln local ls lsof make man md5sum mkdir mktemp more mv "
    "mysql nano nc netstat nl node npm npx od openssl paste patch perl ping pip printf ps psql pwd pytest python "
    "python3 read readlink rename rg rm rmdir rsync ruby rustc scp sed seq set sh sha256sum sleep sort source split "
    "sqlite3 ssh stat strings su submit sudo systemctl tac tail tar tee terraform test time touch tr tree true type "
    "umask uname uniq unzip uv vi vim wc wget which while who whoami xargs xxd yarn yum apt apt-get brew zip zsh"
)
PROGRAMS = frozenset(_KNOWN_PROGRAMS.split())
# Words before the program that a command is about, and settings of variables there.
LEADING = frozenset(("sudo", "time", "nohup", "env", "exec", "then", "do", "("))
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=\S*\Z")

# The first word of a statement of SQL.
_STATEMENT_WORDS = (
    "select show desc describe explain insert update delete create alter drop use with pragma truncate replace grant "
    "revoke call set begin commit rollback"
)
STATEMENT_VERBS = frozenset(_STATEMENT_WORDS.split())

# What follows `git` and is named with it: git-checkout(1) and others that look for a name. Other programs are named
# alone.
_AFTER_GIT = "add am blame branch checkout cherry-pick diff log merge mv rebase restore revert show switch"
_OF_GIT = frozenset(_AFTER_GIT.split())
# Programs whose names are words of prose too.
ENGLISH = frozenset(("cat", "file", "find", "head", "man", "stat", "tail", "tree", "type", "which"))
# Words of a tool's name that say that it is a shell.
_SHELL_WORDS = frozenset(("bash", "sh", "zsh", "shell", "powershell", "terminal"))
# Fields of JSON arguments that hold a command.
_FIELDS = ("command", "cmd")
# In code points. Chosen here: of a longer text it is not clear which of its programs failed.
_LONGEST = 2_000
_BETWEEN = frozenset((";", "&&", "||", "|", "&"))
# Signs by which no other command runs.
_REDIRECTIONS = frozenset(("<", ">", ">>", ">&", "&>", "&>>", "<&", ">|", "<>", "<<<"))
# What a shell takes for a sign of its own.
_SIGNS = frozenset("();<>|&")
# What makes one command run others.
_NESTED = re.compile(r"\n|`|\$\(|<\(")


def runs_commands(tool: str, arguments: str) -> bool:
    """Whether a call of this tool with these arguments runs a command of a shell. A tool whose name does not say so may
    have a field of this name for something else (`{"command": "turn_on"}`): the first word must be a program."""
    if not _SHELL_WORDS.isdisjoint(words_of(tool)):
        return True
    words = [word for word in _command_in(arguments, "").split() if not ASSIGNMENT.match(word)]
    program = words[0].rsplit("/", 1)[-1] if words else ""
    is_word = program in STATEMENT_VERBS or (len(words) == 1 and program in ENGLISH)
    return program in PROGRAMS and not is_word


def program_in(arguments: str) -> str:
    """The program that a shell's call runs, as a sentence may name it; empty if it may name none, or if it is one of
    several."""
    text = _command_in(arguments, arguments).strip().removeprefix("$ ")
    if len(text) > _LONGEST or _NESTED.search(text):
        return ""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:
        return ""
    if any(word and _SIGNS.issuperset(word) and word not in _BETWEEN | _REDIRECTIONS for word in words):
        return ""
    commands = [command for command in _commands(words) if command and command[0] != "cd"]
    return _named(*commands[0][:2]) if len(commands) == 1 else ""


def _commands(words: list[str]) -> list[list[str]]:
    """The words of each command of a line, from its program on."""
    commands: list[list[str]] = [[]]
    for word in words:
        if word in _BETWEEN:
            commands.append([])
        elif commands[-1] or not (word in LEADING or ASSIGNMENT.match(word)):
            commands[-1].append(word)
    return commands


def _named(first: str, second: str = "") -> str:
    program = first.rsplit("/", 1)[-1]
    if program not in PROGRAMS or not is_tool_name(program):
        return ""
    return f"{program} {second}" if program == "git" and second in _OF_GIT else program


def _command_in(arguments: str, otherwise: str) -> str:
    """The field of JSON arguments that holds a command; `otherwise` if they are of another form."""
    try:
        given = msgspec.json.decode(arguments) if arguments.lstrip().startswith("{") else None
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return otherwise
    if not isinstance(given, Mapping):
        return otherwise
    return next((given[field] for field in _FIELDS if isinstance(given.get(field), str)), "")
