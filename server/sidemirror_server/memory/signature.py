"""Whether two failures are the same one, in whatever words they are told. Pure.

A signature is `tool|category|cause`. Lessons are grouped by it, a failing call finds its lesson by it, and a failure
that comes back after its lesson was shown is recognised by it. Two failures are the same when one lesson would answer
both: what was not found, which table, which line, does not count; which command is not installed does, and which
program refused its options. Chosen here; the precision on recorded failures is in `tests/memory/test_recurrence.py`.

These texts are stored: what they are made of may only grow (`signature_wordings.py`).
"""

import re

from sidemirror_server.memory.signature_wordings import CAUSES, NAMED_CAUSES, SAME_WORDINGS
from sidemirror_server.memory.terms import telling_terms
from sidemirror_server.trace.failure import ErrorCategory, category_of, ends, masked, telling_line

# In code points; of a tool's name, and of what is said about the cause.
_TOOL_CHARS = 100
_CAUSE_CHARS = 120
# The longest signature: both, the longest category, and two bars.
MOST_SIGNATURE_CHARS = _TOOL_CHARS + _CAUSE_CHARS + 16
# Of a line. Chosen here: longer ones are data.
_LINE_CHARS = 1_000

_WORDED = tuple((cause, category, tuple(words.split("|"))) for cause, category, words in CAUSES)
# The last is what is left when no other cause fits.
_PATTERNS = tuple((re.compile(pattern), cause, category) for cause, category, pattern in NAMED_CAUSES)
*_NAMED, _SYNTAX = _PATTERNS
_SAME = tuple((re.compile(pattern), f" {words} ", category) for words, category, pattern in SAME_WORDINGS)

# Causes that differ by the program that complains, and by the command that is missing.
_OF_PROGRAM = frozenset(("bad_option", "option_without_value", "missing_operand", "too_many_operands", "bad_syntax"))
# What a shell puts before the complaint of its own or of a command of its own.
_SHELL = re.compile(r"^(?:[^\s:]{0,80}/[^\s:]{1,40}|bash|sh): (?:-c: )?(?:line )?\d{1,6}: ")
_PROGRAM = re.compile(r"^([a-z][\w.+-]{0,30}): ")
_MISSING_COMMAND = re.compile(
    r"(?:^|: )([^:\n]{1,80}): (?:command )?not found|'([^'\n]{1,60})' is not recognized|"
    r"exec: \"([^\"\n]{1,60})\": executable|spawn ([^\s]{1,60}) enoent"
)
_COMMAND_NAME = re.compile(r"[a-z][\w.+-]{0,40}\Z")
_MODULE = re.compile(r"(?:no module named|cannot find module) ['\"]?([\w./@-]{1,60})")
_PACKAGE = re.compile(r"(?:locate package|distribution found for|no such package:?) ['\"]?([\w./@+-]{1,60})")
# Words of prose that was taken for a command; these are commands too.
_ENGLISH_COMMANDS = frozenset(("which", "who", "more", "at", "same"))
_NO_PROGRAMS = ("error", "exception", "warning", "fatal", "err", "traceback", "usage")
# A masked detail, and words that say only that something failed.
_MASKED = re.compile(r"<[a-z]{1,6}>")
_SAYS_NOTHING = telling_terms(
    "error exception failed failure fatal warning exit code status execution exitcode output id var please try again"
)
_MOST_TERMS = 12


def error_signature(tool: str, error_text: str) -> str:
    """What the failure of a call of `tool` is recognised by; empty for a text that says nothing: it may be any."""
    text = ends(error_text)
    line = telling_line(text).lower()[:_LINE_CHARS]
    if not line:
        return ""
    category, cause = _known_cause(line, text.lower()) or _told(line, category_of(text, tool).value)
    return f"{tool[:_TOOL_CHARS]}|{category}|{cause[:_CAUSE_CHARS]}" if cause else ""


def tool_of(signature: str) -> str:
    """The tool whose failure a signature tells of."""
    return signature.rsplit("|", 2)[0]


def category_in(signature: str) -> str:
    """The error category of a signature; empty for none."""
    parts = signature.rsplit("|", 2)
    return parts[1] if len(parts) == 3 else ""


def _known_cause(line: str, whole: str) -> tuple[str, str] | None:
    """The category and the cause that a text is known to tell of. The whole text decides only where its telling line
    says no more than that something failed."""
    for pattern, cause, category in _NAMED:
        if pattern.search(line):
            return category, _narrowed(cause, line)
    says_why = category_of(line) not in (ErrorCategory.UNKNOWN, ErrorCategory.TOOL)
    for text in (line,) if says_why else (line, whole):
        for cause, category, wordings in _WORDED:
            found = next((at for at in map(text.find, wordings) if at >= 0), -1)
            if found >= 0:
                return category, _narrowed(cause, _line_at(text, found))
    pattern, cause, category = _SYNTAX
    return (category, _narrowed(cause, line)) if pattern.search(line) else None


def _line_at(text: str, place: int) -> str:
    end = text.find("\n", place)
    return text[text.rfind("\n", 0, place) + 1 : end if end >= 0 else len(text)].strip()[:_LINE_CHARS]


def _narrowed(cause: str, text: str) -> str:
    """A cause with the program or the name that tells it from others of its kind."""
    if cause == "missing_command":
        return f"{cause} {_command(text)}".rstrip()
    if cause in ("missing_module", "missing_package"):
        named = (_MODULE if cause == "missing_module" else _PACKAGE).search(text)
        return f"{cause} {named[1]}" if named else cause
    if cause in _OF_PROGRAM:
        program = _PROGRAM.match(_SHELL.sub("", text))
        if program and not program[1].endswith(_NO_PROGRAMS):
            return f"{cause} {program[1]}"
    return cause


def _command(text: str) -> str:
    """The command that is missing; `<words>` for what is none: prose, or a piece of a pattern."""
    found = _MISSING_COMMAND.search(text)
    name = next((name for name in found.groups() if name), "") if found else ""
    is_word = name not in _ENGLISH_COMMANDS and not telling_terms(name)
    return name if _COMMAND_NAME.match(name) and not is_word else "<words>"


def _told(line: str, category: str) -> tuple[str, str]:
    """What a line says, its details and the order and forms of its words aside; and the category that this gives it,
    where it has none."""
    said = masked(line)
    for pattern, words, means in _SAME:
        said, times = pattern.subn(words, said)
        if times and category == ErrorCategory.UNKNOWN:
            category = means
    terms = telling_terms(_MASKED.sub(" ", said)) - _SAYS_NOTHING
    return category, " ".join(sorted(terms)[:_MOST_TERMS])
