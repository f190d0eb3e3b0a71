"""Whether a tool's result reports a failure, where the tool does not say so. Pure.

Agents often report a failed call as an ordinary result. The signs, in this order: a field of a JSON object, an exit
status, an error word at the beginning, the failures that a test run counts, an exception at the end, and lines in which
a program says what went wrong. A text that only quotes an error, such as a log or a file's content, has mostly other
lines and is no failure.
`uv run python -m bench.recoveries --classifier` prints precision and recall on recorded results.
"""

import ast
import re
from functools import lru_cache
from typing import Any

import msgspec

from sidemirror_server.trace.failure import ErrorCategory, category_of, ends

# Fields of an answer that say what went wrong, and fields that say whether it worked.
_ERROR_FIELDS = ("error", "errors", "err", "exception", "error_message", "errormessage")
_FAILED_FLAGS = ("iserror", "is_error", "failed", "has_error")
_WORKED_FLAGS = ("success", "ok", "succeeded", "successful")
_EXIT_FIELDS = ("exit_code", "exitcode", "returncode", "return_code", "exit_status")
_STATUS_FIELDS = ("status", "state", "result", "type", "outcome")
_BAD_STATUS = frozenset(("error", "failed", "failure", "fatal", "exception"))
_HTTP_FIELDS = ("status_code", "statuscode", "http_status", "code", "status")

# In code points and lines. Chosen here: longer JSON is a result; a report of a failure says so in its first lines.
_PARSED_CHARS = 100_000
_LITERAL_CHARS = 8_000
_READ_LINES = 20

_EXIT_LINE = re.compile(
    r"^[\[(]?\s{0,2}(?:(?:the )?(?:command|process|program|script)\b.{0,40}?)?\bexit(?:ed)?[ _-]?(?:with )?[ _-]?"
    r"(?:code|status)?['\"]?\s{0,2}[:= ]\s{0,2}(\d{1,3})\b",
    re.I,
)
_BEGINS = re.compile(
    r"^[\W_]{0,4}(?:(?:var_\d{1,4} = )\W?)?(?:fatal |internal |unexpected |runtime |tool |system )?"
    r"(?:error|errors|exception|fatal|failed|failure|panic|abort(?:ed)?)\b(?!\s?[:=]?\s?0(?:$|[,;]))"
    r"(?:\s?[:(\[!\d]| (?!(?:handling|reporting|logging|tracking)\b[^:]*$)\w+ing\b| in | while | at |$)",
    re.I,
)
_SAYS_SO = re.compile(
    r"^(?:traceback \(most recent call last\)|[\w .'\"-]{0,60}\b(?:timed out|did not pass)\b|"
    r"failed \d{1,6}/\d{1,6}\b|invalid (?:action|argument|request|option|command|parameter|input)\b|"
    r"could not find\b|no such (?:file|tool|command|table|column)\b|unknown (?:command|tool|option|column|table)\b|"
    r"(?:npm|yarn) err!|oci runtime exec failed|permission denied|access denied|command not found|"
    r"no \w+ code was found|format your \w+ command as follows|tool \S{1,60} (?:not found|does not exist|failed)|"
    r"malformed \w+\s*$|usage: |[\w .'\"-]{0,60}\bwas not found, so\b|[\w .'\"-]{0,60}\bis expected to be one of\b)",
    re.I,
)
_EXCEPTION_LINE = re.compile(r"^(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Exit)\b(?::|$)")
# What a run of tests counts, as pytest and most others write it: "1 failed, 3 passed in 0.12s".
_TESTS_FAILED = re.compile(r"^=*\s?[1-9]\d{0,5} failed(?:[:,]| in [\d.]| ?=*$)")
# `program: what went wrong`, perhaps with a file or a line between.
_SAID_BY_PROGRAM = re.compile(r"^(?:/[\w./-]{1,80}|[a-z][\w.+-]{0,30}|-\w{1,3})(?: \([\w ]{1,20}\))?: .{3,400}")
_SAID_ONLY = frozenset((ErrorCategory.UNKNOWN, ErrorCategory.TOOL))
# A shell's complaint about the text that it was given; the lines after it quote that text.
_SAID_BY_SHELL = re.compile(
    r"^.{0,200}?: (?:-c: )?line \d{1,5}: (?:syntax error|unexpected eof|"
    r".{0,80}: (?:command not found|no such file|is a directory|permission denied|bad substitution))",
    re.I,
)
_GAVE_UP = re.compile(
    r"^\S{1,40}: (?:error is not recoverable|exiting with failure status|child returned status)", re.I
)
_TRY_HELP = re.compile(r"^(?:try ['`\"]?[\w.-]{1,40} --?help|usage: )", re.I)


def call_failed(text: str, *, is_error: bool, has_worked: bool) -> bool:
    """Whether a call that returned has failed: its text decides where nobody says how it ended."""
    return is_error or (not has_worked and reports_failure(text))


@lru_cache(maxsize=1)  # a turn and its calls ask of the same text, one after the other
def reports_failure(text: str) -> bool:
    """Whether a result that is not marked as an error reports a failure."""
    said = text.strip()
    if not said:
        return False
    if said[0] in "{[":
        answer = _parsed(said)
        if answer is not None:
            return isinstance(answer, dict) and _says_failed(answer)
    lines = [line.strip() for line in ends(said).splitlines() if line.strip()]
    exit_status = _exit_status(lines)
    if exit_status is not None:
        return exit_status != 0
    first, last = lines[0], lines[-1]
    if any(sign.match(first) for sign in (_BEGINS, _SAYS_SO, _SAID_BY_SHELL)):
        return True
    if _TESTS_FAILED.match(first) or _TESTS_FAILED.match(last):
        return True
    if _EXCEPTION_LINE.match(last) or _GAVE_UP.match(last):
        return True
    read = lines[:_READ_LINES]
    return 2 * sum(map(_is_complaint, read)) >= len(read)


def _is_complaint(line: str) -> bool:
    """A program says in this line what went wrong."""
    if _TRY_HELP.match(line):
        return True
    return _SAID_BY_PROGRAM.match(line) is not None and category_of(line) not in _SAID_ONLY


def _exit_status(lines: list[str]) -> int | None:
    """The exit status that the first or the last lines name; None if there is none."""
    for line in (*lines[:2], *lines[-2:]):
        found = _EXIT_LINE.match(line)
        if found:
            return int(found[1])
    return None


def _parsed(said: str) -> Any:
    """A JSON value, or a dictionary as Python writes it; None if the text is neither."""
    if len(said) > _PARSED_CHARS:
        return None
    try:
        return msgspec.json.decode(said)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        pass
    if not said.startswith("{'") or len(said) > _LITERAL_CHARS:
        return None
    try:
        return ast.literal_eval(said)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _says_failed(answer: dict[Any, Any]) -> bool:
    fields = {str(name).lower(): value for name, value in answer.items()}
    if any(_is_said(fields.get(name)) for name in _ERROR_FIELDS):
        return True
    if any(fields.get(name) is True for name in _FAILED_FLAGS):
        return True
    if any(fields.get(name) is False for name in _WORKED_FLAGS):
        return True
    if any(_number(fields.get(name)) not in (None, 0) for name in _EXIT_FIELDS):
        return True
    if any(str(fields.get(name)).lower() in _BAD_STATUS for name in _STATUS_FIELDS):
        return True
    return any(400 <= (_number(fields.get(name)) or 0) <= 599 for name in _HTTP_FIELDS)


def _is_said(value: Any) -> bool:
    """An error's field says something: `"error": ""`, null, false and an empty list say that there is none."""
    return value is not None and value is not False and value not in ("", [], {}, 0, "null", "none", "None")


def _number(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 6 else None
