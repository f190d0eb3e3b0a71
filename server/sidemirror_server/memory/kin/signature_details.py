"""Details that distinguish failures of one cause, for `signature.py`: the program, the command or the module, and the
kind of an unexpected token. Pure.

If prose, output or a placeholder is used as a command, a file or a query, the message is the same as for a typing
error, but the lesson differs.
"""

import re

from sidemirror_server.vocabulary.terms import telling_terms

_OF_PROGRAM = frozenset(("bad_option", "option_without_value", "missing_operand", "too_many_operands"))
# The prefix of a message from a shell or one of its built-in commands.
_SHELL = re.compile(r"^(?:[^\s:]{0,80}/[^\s:]{1,40}|bash|sh): (?:-c: )?(?:line )?\d{1,6}: ")
_PROGRAM = re.compile(r"^([a-z][\w.+-]{0,30}): ")
_NO_PROGRAMS = ("error", "exception", "warning", "fatal", "err", "traceback", "usage")

_MISSING_COMMAND = re.compile(
    r"(?:^|: )([^:\n]{1,80}):{1,2} (?:command )?not found|'([^'\n]{1,60})' is not recognized|"
    r"exec: \"([^\"\n]{1,60})\": executable|spawn ([^\s]{1,60}) enoent"
)
_COMMAND_NAME = re.compile(r"[a-z][\w.+-]{0,40}\Z")
# English words that are also commands. Any other common English word is prose used as a command.
_ENGLISH_COMMANDS = frozenset(("which", "who", "more", "at", "same"))
_PROSE = re.compile(r"[a-z]{2}|\bi\b")
_SIGNS = re.compile(r"[\\\[\]{}^$|=/]")
_MODULE = re.compile(r"(?:no module named|cannot find module) ['\"]?([\w./@-]{1,60})")
_PACKAGE = re.compile(r"(?:locate package|distribution found for|no such package:?) ['\"]?([\w./@+-]{1,60})")

_FILE_AFTER = re.compile(r"no such file or directory[:,] {0,2}(?:[a-z]{2,10} )?['\"]([^'\"\n]{1,200})")
_PATH_LIKE = re.compile(r"[\w-][./\\]|[./\\][\w-]")
# A file's name precedes _NO_FILE, perhaps with one of _NOT_DONE between them.
_NO_FILE = ("no such file", "file exists")
_NOT_DONE = ("cannot open", "cannot stat", "cannot access")
_BEFORE_CHARS = 240

# The token at which a parser stopped.
_UNEXPECTED = re.compile(
    r"near unexpected token `([^\n]{0,20}?)'|(?:to use near|near) '([^\n]{0,20})|near \"([^\n\"]{0,20})|"
    r"at or near ([^\s]{1,20})|syntax error: \"?([^\s\"]{1,20})\"? unexpected"
)
_PLACEHOLDER = re.compile(r"<[a-z]")
# A shell's names for a line end, a redirection and a word.
_SHELL_TOKENS = frozenset(("newline", "redirection", "word"))
_KEYWORDS = frozenset(("do", "done", "then", "fi", "else", "elif", "in", "if", "for", "while", "case", "esac"))


def narrowed(cause: str, text: str) -> str:
    """A cause with the detail that distinguishes it, if any. `text`: a line in lower case."""
    if cause == "missing_command":
        return f"{cause} {_command(text)}"
    if cause in ("missing_module", "missing_package"):
        named = (_MODULE if cause == "missing_module" else _PACKAGE).search(text)
        return f"{cause} {named[1]}" if named else cause
    if cause in ("missing_file", "exists_already"):
        kind = _kind_of_file(text)
        return " ".join(filter(None, (cause, kind, _program(text) if kind else "")))
    if cause in ("bad_syntax", "sql_syntax"):
        return " ".join(filter(None, (cause, _program(text), _unexpected(text))))
    if cause in ("permission_denied", "is_a_directory"):
        return f"{cause} <run>" if _SHELL.match(text) and not _program(text) else cause
    return f"{cause} {_program(text)}".rstrip() if cause in _OF_PROGRAM else cause


def _program(text: str) -> str:
    """The program that reports the failure; empty for the shell, or if it is not named."""
    found = _PROGRAM.match(_SHELL.sub("", text))
    return found[1] if found and not found[1].endswith(_NO_PROGRAMS) else ""


def _command(text: str) -> str:
    """The missing command, or the kind of text used as one: `<words>` for prose, `<number>`, else `<piece>`."""
    found = _MISSING_COMMAND.search(text)
    name = next((name for name in found.groups() if name), "") if found else ""
    if _COMMAND_NAME.match(name) and (name in _ENGLISH_COMMANDS or telling_terms(name)):
        return name
    if name.strip(".").isdecimal():
        return "<number>"
    return "<words>" if _PROSE.search(name) and not _SIGNS.search(name) else "<piece>"


def _kind_of_file(text: str) -> str:
    """`<word>` or `<piece>` for a name that is probably not a file's; empty for a file."""
    after = _FILE_AFTER.search(text)
    name = after[1] if after else _named_before(text)
    if not name or _PATH_LIKE.search(name) or (len(name) == 1 and name.isalpha()):
        return ""
    return "<word>" if name.isalpha() else "<piece>"


def _named_before(text: str) -> str:
    """The last word before _NO_FILE, without quotation marks."""
    at = next((at for at in map(text.find, _NO_FILE) if at >= 0), 0)
    before = text[max(0, at - _BEFORE_CHARS) : at].rstrip(" (:")
    for words in _NOT_DONE:
        before = before.removesuffix(words).rstrip(" :")
    before = before.rstrip("'\"`")
    begins = max(before.rfind(mark) for mark in "'\"`:")
    return (before[begins + 1 :].split() or [""])[-1]


def _unexpected(text: str) -> str:
    """The unexpected token: its kind, such as `<word>`, or the sign itself."""
    found = _UNEXPECTED.search(text)
    if found is None:
        return ""
    token = next((token for token in found.groups() if token is not None), "").strip()
    if not token or token.startswith("' at line"):
        return "<end>"
    first = token[0]
    if _PLACEHOLDER.match(token):
        return "<placeholder>"
    if first in "'\"`":
        return "<quote>"
    if first.isalpha():
        if token in _SHELL_TOKENS:
            return token
        return "<keyword>" if token in _KEYWORDS else "<word>"
    return "<number>" if first.isdigit() else first
