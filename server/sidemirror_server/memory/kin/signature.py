"""Whether two failures are the same one, in whatever words they are told. Pure.

A signature is `tool|category|cause`. Lessons are grouped by it, a failing call finds its lesson by it, and a failure
that comes back after its lesson was shown is recognised by it. Two failures are the same when one lesson would answer
both: what was not found, which table, which line, does not count; which command is not installed does, and which
program refused its options. Chosen here; the precision on recorded failures is in `tests/memory/test_recurrence.py`.

These texts are stored: what they are made of may only grow (`signature_wordings.py`).
"""

import re

from sidemirror_server.memory.kin.signature_details import narrowed
from sidemirror_server.memory.kin.signature_wordings import CAUSES, NAMED_CAUSES, SAME_WORDINGS
from sidemirror_server.trace.failure import ErrorCategory, category_of, ends, masked, telling_line
from sidemirror_server.vocabulary.terms import telling_terms

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

# A masked detail, and words that say only that something failed.
_MASKED = re.compile(r"<[a-z]{1,6}>")
_SAYS_NOTHING = telling_terms(
    "error exception failed failure fatal warning exit code status execution exitcode output id var please try again"
)
_MOST_TERMS = 12
_CATEGORIES = tuple(category.value for category in ErrorCategory)


def error_signature(tool: str, error_text: str) -> str:
    """What the failure of a call of `tool` is recognised by; empty for a text that says nothing: it may be any."""
    text = ends(error_text)
    line = telling_line(text).lower()[:_LINE_CHARS]
    if not line:
        return ""
    category, cause = _known_cause(line, text.lower()) or _told(line, category_of(text, tool).value)
    return f"{tool[:_TOOL_CHARS]}|{category}|{cause[:_CAUSE_CHARS]}" if cause else ""


def is_signature(text: str) -> bool:
    """It has the form of one."""
    return len(text) <= MOST_SIGNATURE_CHARS and _category_at(text) >= 0


def tool_of(signature: str) -> str:
    """The tool whose failure a signature tells of; empty for none."""
    return signature[: max(0, _category_at(signature))]


def _category_at(signature: str) -> int:
    """Where `|category|` begins; -1 if it is missing. A tool may have a bar in its name, and a cause may be one."""
    return max(signature.rfind(f"|{category}|") for category in _CATEGORIES)


def _known_cause(line: str, whole: str) -> tuple[str, str] | None:
    """The category and the cause that a text is known to tell of. The whole text decides only where its telling line
    says no more than that something failed."""
    for pattern, cause, category in _NAMED:
        if pattern.search(line):
            return category, narrowed(cause, line)
    says_why = category_of(line) not in (ErrorCategory.UNKNOWN, ErrorCategory.TOOL)
    for text in (line,) if says_why else (line, whole):
        for cause, category, wordings in _WORDED:
            found = next((at for at in map(text.find, wordings) if at >= 0), -1)
            if found >= 0:
                return category, narrowed(cause, _line_at(text, found))
    pattern, cause, category = _SYNTAX
    return (category, narrowed(cause, line)) if pattern.search(line) else None


def _line_at(text: str, place: int) -> str:
    end = text.find("\n", place)
    return text[text.rfind("\n", 0, place) + 1 : end if end >= 0 else len(text)].strip()[:_LINE_CHARS]


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
