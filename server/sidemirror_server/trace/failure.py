"""Classifies error texts. `memory/kin/signature.py` decides whether two failures are the same.

The categories are those of seed reflection-engine-v2, "ErrorCategory" (decision 029). The wordings are those of HTTP,
POSIX shells and tools, Python, JavaScript, Java, Go and SQL databases. A text is classified by its telling line (the
last line of a traceback), else as a whole. Either is classified by its HTTP status, else by the first match in
`failure_wordings.py`.
"""

import re
from collections.abc import Callable
from enum import StrEnum

from sidemirror_server.trace.failure_wordings import TOOL_WORDINGS, WORDINGS
from sidemirror_server.vocabulary.telling import beyond_the_command


class ErrorCategory(StrEnum):
    """Why something failed. The values are stored and never change; on the wire they end in `_ERROR`."""

    TIMEOUT = "timeout"
    VALIDATION = "validation"
    PERMISSION = "permission"
    NOT_FOUND = "not_found"
    RATE_LIMIT = "rate_limit"
    NETWORK = "network"
    TOOL = "tool"
    MODEL = "model"
    RESOURCE = "resource"
    LOGIC = "logic"
    UNKNOWN = "unknown"


_WORDINGS = tuple((ErrorCategory(name), tuple(words.split("|"))) for name, words in WORDINGS)
_TOOL_WORDINGS = tuple(TOOL_WORDINGS.split("|"))

_BY_HTTP_CODE = {
    **dict.fromkeys((400, 405, 406, 409, 411, 412, 413, 414, 415, 422), ErrorCategory.VALIDATION),
    **dict.fromkeys((401, 402, 403, 407, 451), ErrorCategory.PERMISSION),
    **dict.fromkeys((404, 410), ErrorCategory.NOT_FOUND),
    **dict.fromkeys((408, 504), ErrorCategory.TIMEOUT),
    **dict.fromkeys((429,), ErrorCategory.RATE_LIMIT),
    **dict.fromkeys((502, 503), ErrorCategory.NETWORK),
    **dict.fromkeys((507,), ErrorCategory.RESOURCE),
    **dict.fromkeys((529,), ErrorCategory.MODEL),
    **dict.fromkeys((500, 501), ErrorCategory.TOOL),
}
# Exit statuses of POSIX shells and of coreutils' timeout; any other says only that the command failed.
_BY_EXIT_STATUS = {
    124: ErrorCategory.TIMEOUT,
    126: ErrorCategory.PERMISSION,
    127: ErrorCategory.NOT_FOUND,
    137: ErrorCategory.RESOURCE,
    139: ErrorCategory.LOGIC,
}
# Those that say why a command failed, and not only that it did.
TELLING_EXIT_STATUSES = frozenset(_BY_EXIT_STATUS)
_HTTP_CODE = re.compile(
    r"(?:\bhttp(?:/[\d.]+)?|\bstatus(?:[_ ]code)?|\bcode|\berror)['\"]?\s{0,2}[:= ]\s{0,2}([45]\d\d)\b"
)
_EXIT_STATUS = re.compile(
    r"\bexit(?:ed)?(?: with)?(?: unix)?[ _]?(?:code|status|exit code)['\"]?\s{0,2}[:= ]\s{0,2}(\d{1,3})\b"
)
_EXCEPTION_LINE = re.compile(
    r"^[ \t]{0,8}(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Exit|Warning|Interrupt)\b.{0,400}", re.M
)

_ERROR_WORD = re.compile(
    r"\b(?:error|fail|fatal|cannot|can't|could not|unable|no such|not found|denied|invalid|missing|unexpected|refused)",
    re.IGNORECASE,
)

# In code points. Error texts name the error at their beginning or at their end.
_READ_CHARS = 2_000


def category_of(error_text: str, tool_name: str = "") -> ErrorCategory:
    """The category of a failed call of `tool_name` by its error text; UNKNOWN if the text does not show one.

    MODEL if the text shows no category and the tool's name is a model's.
    """
    text = ends(error_text)
    whole = text.lower()
    for part in dict.fromkeys((telling_line(text).lower(), whole)):
        category = _by_http_code(part) or _by_wording(part)
        if category is not None:
            return category
    exited = _EXIT_STATUS.search(whole)
    if exited:
        return _BY_EXIT_STATUS.get(int(exited[1]), ErrorCategory.TOOL)
    if any(wording in whole for wording in _TOOL_WORDINGS):
        return ErrorCategory.TOOL
    if whole.strip() and any(word in tool_name.lower() for word in ("llm", "language_model", "chat_completion")):
        return ErrorCategory.MODEL
    return ErrorCategory.UNKNOWN


def telling_line(error_text: str) -> str:
    """The line that states the error: the last exception, else the first line with an error word, else the first
    non-empty line. A line that only names the command that failed does so where there is no other."""
    error_text = beyond_the_command(error_text)
    exceptions = _EXCEPTION_LINE.findall(error_text)
    if exceptions:
        return str(exceptions[-1]).strip()
    lines = [line.strip() for line in error_text.splitlines() if line.strip()]
    return next((line for line in lines if _ERROR_WORD.search(line)), lines[0] if lines else "")


# What stands in the place of a quoted value.
QUOTED = "<quoted>"


def _without_number(found: re.Match[str]) -> str:
    """Masks a word that contains a digit, except for its trailing hyphens."""
    word = found[0].rstrip("-")
    return f"<n>{found[0][len(word) :]}" if any(map(str.isdecimal, word)) else found[0]


def _without_quoted(found: re.Match[str]) -> str:
    """Masks a quoted value, unless it contains an error word."""
    return found[0][1:-1] if _ERROR_WORD.search(found[0]) else QUOTED


# Each pattern matches only at the beginning of a value. Trying every position inside it would take quadratic time on a
# long line.
_MASKS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"https?://[^\s'\"<>]+"), "<url>"),
    (re.compile(r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`'\n]{0,200}[`']"), _without_quoted),
    (re.compile(r"(?:\b[A-Za-z]:|(?<![\w.~*-]))(?:[\w.~*-]*+[/\\])++[\w.~*-]*+"), "<path>"),
    (re.compile(r"\b(?:0x)?[0-9a-f]{8}(?:-?[0-9a-f]{4,12}){0,4}\b"), "<id>"),
    (re.compile(r"#?\b\w[\w-]*+"), _without_number),
)


def masked(said: str) -> str:
    """A line of an error in lower case, with its URLs, quoted values, paths, ids and numbers masked."""
    said = said.lower()
    for pattern, mask in _MASKS:
        said = pattern.sub(mask, said)
    return " ".join(said.split())


def ends(text: str) -> str:
    """The beginning and the end of a long text, where errors are named. A shorter text is returned unchanged."""
    return text if len(text) <= 2 * _READ_CHARS else f"{text[:_READ_CHARS]}\n{text[-_READ_CHARS:]}"


def _by_http_code(lowered: str) -> ErrorCategory | None:
    found = _HTTP_CODE.search(lowered)
    return _BY_HTTP_CODE.get(int(found[1])) if found else None


def _by_wording(lowered: str) -> ErrorCategory | None:
    # Written out: each failing call waits for it, and `any` takes twice the time.
    for category, wordings in _WORDINGS:
        for wording in wordings:
            if wording in lowered:
                return category
    return None
