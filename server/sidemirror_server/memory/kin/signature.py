"""Error signatures: two failures have the same signature if one lesson would help with both. Pure.

A signature is `tool|category|cause`. It groups lessons, finds the lesson for a failing call, and recognises a failure
that returns after its lesson was shown. The name of a missing file or table and the line number do not count. A missing
command does, and so does the program that refused its options. Chosen here; `tests/memory/test_recurrence.py` has the
precision on recorded failures.

What the call was given is no part of its failure (`given.py`), but for the name of a missing command, module or
package.

Signatures are stored: their rules may be extended, never changed (`signature_wordings.py`).
"""

import re

from sidemirror_server.memory.kin.given import NOTHING, Given, without_given
from sidemirror_server.memory.kin.signature_details import narrowed
from sidemirror_server.memory.kin.signature_wordings import CAUSES, NAMED_CAUSES, SAME_WORDINGS
from sidemirror_server.trace.failure import QUOTED, ErrorCategory, category_of, ends, masked, telling_line
from sidemirror_server.vocabulary.error_object import message_in
from sidemirror_server.vocabulary.refusal import is_refusal
from sidemirror_server.vocabulary.telling import SAYS_NOTHING, STOCK
from sidemirror_server.vocabulary.terms import telling_terms

# In code points: the limits of the tool and of the cause.
_TOOL_CHARS = 100
_CAUSE_CHARS = 120
# The longest signature: the longest tool, cause and category, and two bars.
MOST_SIGNATURE_CHARS = _TOOL_CHARS + _CAUSE_CHARS + 16
# In code points: how much of a line is read. Chosen here: longer lines are data.
_LINE_CHARS = 1_000

_WORDED = tuple((cause, category, tuple(words.split("|"))) for cause, category, words in CAUSES)
# The last pattern applies only if no other cause does.
_PATTERNS = tuple((re.compile(pattern), cause, category) for cause, category, pattern in NAMED_CAUSES)
*_NAMED, _SYNTAX = _PATTERNS
_SAME = tuple((re.compile(pattern), f" {words} ", category) for words, category, pattern in SAME_WORDINGS)

_KNOWN = frozenset(cause for cause, *_ in (*CAUSES, *NAMED_CAUSES))

# Masked details, and words that only say that something failed, are no part of a cause.
_MASKED = re.compile(r"<[a-z]{1,6}>")
_MOST_TERMS = 12
_CATEGORIES = tuple(category.value for category in ErrorCategory)
# Categories of failures that may pass without anything being changed.
PASSES_BY_ITSELF = frozenset((ErrorCategory.NETWORK, ErrorCategory.TIMEOUT, ErrorCategory.RATE_LIMIT))


def error_signature(tool: str, error_text: str, given: Given = NOTHING) -> str:
    """The signature of a failed call of `tool`; empty if the text gives no cause, because it could be any failure, and
    of a call that a person refused. `given`: what the call was given, if that is no part of the failure."""
    if is_refusal(error_text):
        return ""
    text, message = ends(error_text), _hidden_message(error_text)
    category, cause = _cause(tool, text, message)
    if given.values:
        without = _cause(tool, without_given(text, given), without_given(message, given))
        # A cause that is known has no words of its text, but for the name of what is missing, which tells it apart.
        if _name(cause) not in _KNOWN or _name(cause) != _name(without[1]):
            category, cause = without
    return f"{tool[:_TOOL_CHARS]}|{category}|{cause[:_CAUSE_CHARS]}" if cause else ""


def _name(cause: str) -> str:
    return cause.split(" ", 1)[0]


def _cause(tool: str, text: str, message: str) -> tuple[str, str]:
    """The category and the cause of an error; an empty cause if it gives none. `message`: in the place of the text, if
    that has no known cause."""
    line = telling_line(text).lower()[:_LINE_CHARS]
    if not line:
        return "", ""
    if known := _known_cause(line, text.lower()):
        return known
    category = category_of(text, tool)
    if not message:
        return _told(line, category.value)
    if category is ErrorCategory.UNKNOWN:
        category = category_of(message, tool)
    line = telling_line(message).lower()[:_LINE_CHARS]
    return _known_cause(line, message.lower()) or _told(line, category.value)


def _hidden_message(error_text: str) -> str:
    """What an error says in quotation marks that are masked as a value; empty if it says it otherwise."""
    message = message_in(error_text)
    return message if message and masked(f'"{message}"') == QUOTED else ""


def is_signature(text: str) -> bool:
    """Whether the text has the form of a signature."""
    return len(text) <= MOST_SIGNATURE_CHARS and _category_at(text) >= 0


def tool_of(signature: str) -> str:
    """The tool of a signature; empty if the text is not one."""
    return signature[: max(0, _category_at(signature))]


def category_in(signature: str) -> str:
    """The category of a signature, a value of `ErrorCategory`; empty if the text is not one."""
    at = _category_at(signature)
    return signature[at + 1 :].split("|", 1)[0] if at >= 0 else ""


def _category_at(signature: str) -> int:
    """Where `|category|` begins; -1 if it is missing. A tool's name may contain a bar, and a cause may be a bar."""
    return max(signature.rfind(f"|{category}|") for category in _CATEGORIES)


def _known_cause(line: str, whole: str) -> tuple[str, str] | None:
    """The category and the cause by the tables of wordings; None if no wording matches. The whole text is searched only
    if its telling line gives no reason."""
    for pattern, cause, category in _NAMED:
        if pattern.search(line):
            return category, narrowed(cause, line)
    says_why = category_of(line) not in (ErrorCategory.UNKNOWN, ErrorCategory.TOOL)
    for text in (line,) if says_why else dict.fromkeys((line, whole)):
        for cause, category, wordings in _WORDED:
            for wording in wordings:
                if wording in text:
                    return category, narrowed(cause, _line_at(text, text.find(wording)))
    pattern, cause, category = _SYNTAX
    return (category, narrowed(cause, line)) if pattern.search(line) else None


def _line_at(text: str, place: int) -> str:
    end = text.find("\n", place)
    return text[text.rfind("\n", 0, place) + 1 : end if end >= 0 else len(text)].strip()[:_LINE_CHARS]


def _told(line: str, category: str) -> tuple[str, str]:
    """The category of a line; the cause is its distinctive terms, sorted and without details. A wording may replace the
    category UNKNOWN."""
    said = masked(line)
    for pattern, words, means in _SAME:
        said, times = pattern.subn(words, said)
        if times and category == ErrorCategory.UNKNOWN:
            category = means
    terms = telling_terms(_MASKED.sub(" ", said)) - SAYS_NOTHING
    return category, "" if terms <= STOCK else " ".join(sorted(terms)[:_MOST_TERMS])
