"""What a call asks for: its verb, its tokens, and whether it only reads or hides its errors. Pure.

Called by `trail.py` for every call. A call's arguments are JSON or text. Text is a shell's command or a database's
statement, perhaps wrapped: in a JSON object that holds one such text, in a code fence, or as `execute[...]`. A command
may have arguments beside it, such as a folder, and a statement any others, such as a limit.
"""

import re
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from typing import Any

import msgspec

from sidemirror_server.memory.recoveries.clients import statement_of
from sidemirror_server.memory.recoveries.reviewed_lookups import (
    COMMANDS,
    READING_TOOLS,
    READING_VERBS,
    STATEMENTS,
    ReviewedLookup,
)
from sidemirror_server.vocabulary.commands import ASSIGNMENT, ENGLISH, LEADING, PROGRAMS, STATEMENT_VERBS

# In code points of a call's arguments. Chosen here: what is longer is a file's content, and its head tells the verb.
_READ_CHARS = 8_000
# Longer JSON is compared by its digest alone, at the length that detectors take: parsing it costs too much.
_PARSED_CHARS = 16_384
# Levels of nested arguments. Chosen here: tools have two or three.
_DEEPEST = 12

# Fields of JSON arguments that hold a command or code, fields that hold a statement (by their names without `_`, in
# lower case), the one of them that may hold a question in prose, fields that may stand beside a command, and those of
# them that change nothing.
_COMMAND_FIELDS = ("command", "cmd", "code", "script")
# Of these, those that may also hold a name, such as a currency's code; code is more than one word.
_ALSO_NAMES = frozenset(("code", "script"))
_NAME = re.compile(r"[\w.-]*")
_STATEMENT_FIELDS = frozenset(("sql", "query", "statement", "sqlquery", "sqlstatement"))
_OF_PROSE = "query"
_BESIDE_NAMES = (
    "timeout timeout_ms description cwd workdir working_directory run_in_background is_input security_risk thought "
    "explanation shell language database"
)
_BESIDE = frozenset(_BESIDE_NAMES.split())
_REMARKS = frozenset(("description", "security_risk", "thought", "explanation"))

_FENCE = re.compile(r"```[a-zA-Z]*\s*(.*?)\s*(?:```|\Z)", re.S)
_WRAPPED = re.compile(r"[a-z_]{1,20}\[(.*)\]\s*\Z", re.S)
_WORD = re.compile(r"[^\W_]\w*")
_WORD_PARTS = re.compile(r"[=/,]")
_OWN_NAME = re.compile(r"__|[./:]")
_NAME_PART = re.compile(r"[_-]|(?<=[a-z])(?=[A-Z])")
_FIELD = re.compile(r"[A-Za-z_][\w-]{0,63}\Z", re.A)
_DIGITS = re.compile(r"\d{3}")
# What a look-up may have beside it: where it stands, and where its complaints go.
_QUIETLY = re.compile(r" 2>\s?(?:/dev/null|&1)")
# The end of a statement that ends the command, as in `sqlite3 shop.db "PRAGMA table_info(orders);"`.
_LAST_END = re.compile(r";([\"'])\Z")
_CHANGED_FOLDER = re.compile(r"cd [^\s;&|]+ && ")
_PROGRAM = re.compile(r"[a-z][a-z0-9_.+-]{0,30}\Z")

# Tools that let time pass and do nothing else.
_WAITING = frozenset(("wait", "sleep", "pause"))

# The tools of MCP by which an agent asks the sidecar (`http/mcp/tools.py`).
OWN_TOOLS = frozenset(("critique_answer", "recall_lessons", "report_outcome", "what_worked"))

_SAME_VERB = {"desc": "describe"}
# How a statement goes on, where prose may stand too: "show me hotels" and "update on the strike" have limits as well.
_STATEMENT = re.compile(
    r"\s*(?:select\b.*?(?:\bfrom\s+[\w\"`\[(]|\s[\d(*'@]|\w\()|with\s+(?:recursive\s+)?\w+\s*(?:\([^)]*\)\s*)?as\s*"
    r"(?:\w+\s+)?\(|show\s+(?:full\s+|create\s+)?(?:tables?|columns|databases|schemas|index(?:es)?|views?)\b|"
    r"(?:desc|describe)\s+[\w.\"`]+\s*;?\s*\Z|explain\s+(?:\w+\s+)?(?:select|insert|update|delete|with)\b|insert\s+"
    r"(?:\w+\s+)?into\s|replace\s+into\s|update\s+[\w.\"`]+\s+(?:\w+\s+)?set\s|delete\s+from\s|truncate\s+table\s|"
    r"(?:create|alter|drop)\s+(?:or\s+replace\s+|unique\s+|temp(?:orary)?\s+)?(?:table|view|index|schema|database)\s|"
    r"pragma\s+\w+\s*(?:[;(=]|\Z)|use\s+[\w\"`]+\s*;?\s*\Z)",
    re.I | re.S,
)

# The label of a text that begins with no program that is known.
OTHER_TEXT = "<text>"

# Forms that hide an error instead of mending it: of shells, of common programs' options, of SQL and Python.
_SUPPRESSED = re.compile(
    r"2>\s*/dev/null|&>\s*/dev/null|>&\s*/dev/null|>\s*/dev/null\s+2>&1|2>&-|\|\|\s*(?:true|:|echo|exit 0|printf)|"
    r";\s*(?:true|:)\s*\Z|\bset \+e\b|--no-verify\b|--ignore-errors\b|--no-check|--insecure\b|"
    r"\bcurl\b[^|;]{0,200} -k\b|--force\b|--quiet\b|--silent\b|\b(?:insert|update) ignore\b|\bif (?:not )?exists\b|"
    r"\bexcept[^:\n]{0,60}:\s*pass\b|contextlib\.suppress|silentlycontinue",
    re.I,
)
_HIDING_FIELD = re.compile(r"(?:ignore|suppress|skip|force|silent|no_verify|no_check)[A-Za-z_]*\Z", re.I)
_WRITES = re.compile(r">(?!&)|`|\$\(|<\(|\btee\b|\bxargs\b|\n")
# It begins with a class of letters, so that a text without them is passed over quickly.
_PIPED = re.compile(r"[|;&](?:(?<=\|)\||(?<=&)&)?")
# Programs that only pass on what they read, so that they may follow a look-up, and the options by which they write.
_FILTERS = frozenset(("head", "tail", "grep", "wc", "sort", "cut", "tr", "cat", "nl", "column"))
# A command that may begin prose as well, such as "find hotels in Paris", has an option, a path or a pattern.
_SIGN = re.compile(r"^-|[/.*~$]")
_TO_FILE = re.compile(r" -[A-Za-z]*[oO]| --output")


class Asked(msgspec.Struct, frozen=True):
    """What one call asks for.

    `verb`: the program, the statement's verb, or for JSON arguments the tool. `label`: the look-up as advice names it,
    else the verb if it is a known one. `text`: without its wrapping and outer space, and `tokens`: its words in lower
    case; both empty for JSON. `values`: for JSON, each leaf of the arguments as JSON with its path, sorted; for a
    command or a statement, those of the arguments beside it, without remarks. `reads`: a reviewed look-up, or a tool
    whose name says so. `is_reviewed`: `label` names a reviewed look-up. `suppresses`: it hides errors. `has_secret`:
    some of it was redacted.
    """

    tool: str
    is_json: bool
    verb: str
    label: str
    text: str = ""
    tokens: frozenset[str] = frozenset()
    values: tuple[tuple[str, str], ...] = ()
    reads: bool = False
    is_reviewed: bool = False
    suppresses: bool = False
    has_secret: bool = False


def asked(tool: str, arguments: str) -> Asked:
    """What a call of `tool` with these arguments asks for."""
    found = _asked(tool, arguments)
    return msgspec.structs.replace(found, has_secret=True) if "[redacted:" in arguments else found


def look_up_of(tool: str, arguments: str) -> str:
    """`asked(tool, arguments).label` if it `reads`, else empty. It stands in the way of every call that works, so that
    nothing is read beside it."""
    if _is_long_json(arguments):
        return tool if _reads(tool) else ""
    parsed, field = _form(arguments)
    if parsed is not None and not field:
        return tool if _reads(tool) else ""
    text = _text(arguments, parsed, field)
    lookup = _reviewed_statement(_plain(text)) if _is_statement(_first_word(text)) else _lookup(text)
    return lookup.said if lookup else ""


def _asked(tool: str, arguments: str) -> Asked:
    if _is_long_json(arguments):
        digest = blake2b(arguments.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        return Asked(tool, True, tool, tool, values=(("?", digest),), reads=_reads(tool))
    parsed, field = _form(arguments)
    values = () if parsed is None else _values(parsed, field)
    hides = any(_HIDING_FIELD.search(path) and value == "true" for path, value in values)
    if parsed is not None and not field:
        return Asked(tool, True, tool, tool, values=values, reads=_reads(tool), suppresses=hides)
    text = _text(arguments, parsed, field)
    tokens = frozenset(word.lower() for word in _WORD.findall(text))
    suppresses = hides or _SUPPRESSED.search(text) is not None
    verb = _first_word(text)
    if _is_statement(verb):
        return _statement(tool, text, tokens, values, suppresses)
    lookup = _lookup(text)
    label = lookup.said if lookup else verb if verb in PROGRAMS else OTHER_TEXT
    known = lookup is not None
    return Asked(tool, False, verb, label, text, tokens, values, known, known, suppresses)


def _is_long_json(arguments: str) -> bool:
    return len(arguments) > _PARSED_CHARS and arguments.lstrip().startswith("{")


def _form(arguments: str) -> tuple[dict[str, Any] | None, str]:
    """JSON arguments, and the field of theirs that holds the text; None for a text without them."""
    parsed = _object(arguments)
    return parsed, "" if parsed is None else _text_field(parsed)


def _text(arguments: str, parsed: dict[str, Any] | None, field: str) -> str:
    return _unwrapped((arguments if parsed is None else parsed[field])[:_READ_CHARS])


def _is_statement(verb: str) -> bool:
    return verb.lower() in STATEMENT_VERBS or verb.startswith((".", "\\"))


def same_intent(failed: Asked, later: Asked) -> bool:
    """Whether a later call pursues what the failed one did: the same tool, and for text the same verb and at least half
    of its tokens. A reviewed look-up pursues only what the same look-up did: `npm run` is no try of `npm run biuld`."""
    if later.is_reviewed and later.label != failed.label:
        return False
    if failed.tool != later.tool or failed.is_json != later.is_json or failed.verb != later.verb:
        return False
    return failed.is_json or 2 * len(failed.tokens & later.tokens) >= len(failed.tokens)


def only_waits(tool: str) -> bool:
    """Whether a tool's name says that it waits and does nothing else."""
    return _OWN_NAME.split(tool)[-1].lower() in _WAITING


def is_of_database(what: Asked) -> bool:
    """Whether a call's text is a statement, or a command of a database's client such as `.tables`."""
    return _is_statement(what.verb)


def asks_the_sidecar(tool: str) -> bool:
    """Whether a tool's name says that it is one of the sidecar's. Some hosts put one `_` behind a server's name."""
    name = tool.lower()
    own = next((one for one in OWN_TOOLS if name.endswith(one)), "")
    return bool(own) and not name.removesuffix(own)[-1:].isalnum()


def _reads(tool: str) -> bool:
    """Whether a tool's name says that it reads, or is known to; of `server__get_thing` and `server.get_thing` its last
    part."""
    name = _OWN_NAME.split(tool)[-1]
    return name in READING_TOOLS or _NAME_PART.split(name, maxsplit=1)[0].lower() in READING_VERBS


def _statement(
    tool: str, text: str, tokens: frozenset[str], values: tuple[tuple[str, str], ...], suppresses: bool
) -> Asked:
    statement = _plain(text)
    word = statement.split(" ", 1)[0]
    verb = _SAME_VERB.get(word, word).upper()
    lookup = _reviewed_statement(statement)
    known = lookup is not None
    label = lookup.said if lookup else verb if verb.lower() in STATEMENT_VERBS else OTHER_TEXT
    return Asked(tool, False, verb, label, text, tokens, values, known, known, suppresses)


def _plain(text: str) -> str:
    return " ".join(text.lower().rstrip("; \n").split())


def _reviewed_statement(statement: str) -> ReviewedLookup | None:
    return next((lookup for lookup, pattern in _statements() if pattern.fullmatch(statement)), None)


@cache
def _statements() -> tuple[tuple[ReviewedLookup, re.Pattern[str]], ...]:
    return tuple((lookup, re.compile(pattern, re.S)) for lookup, pattern in STATEMENTS)


def _lookup(text: str) -> ReviewedLookup | None:
    """The reviewed look-up that a command is; None if it does, or might do, anything else."""
    text = _QUIETLY.sub("", _CHANGED_FOLDER.sub("", text, count=1) if text.startswith("cd ") else text)
    text = _LAST_END.sub(r"\1", text)
    if _WRITES.search(text):
        return None
    first, *rest = _PIPED.split(text)
    if any(_first_word(piece) not in _FILTERS or _TO_FILE.search(piece) for piece in rest):
        return None
    words = first.split()
    statement = statement_of(first)
    if statement:
        return _reviewed_statement(_plain(statement))
    if len(words) > 2 and words[0] in ENGLISH and not any(_SIGN.search(word) for word in words[1:]):
        return None
    for lookup in COMMANDS:
        begins = words if lookup.is_whole else words[: len(lookup.words)]
        if tuple(begins) == lookup.words and not _is_refused(lookup, words):
            return lookup
    return None


def _is_refused(lookup: ReviewedLookup, words: list[str]) -> bool:
    said = {part for word in words[len(lookup.words) :] for part in _WORD_PARTS.split(word)}
    return not said.isdisjoint(lookup.refused)


def _first_word(text: str) -> str:
    """The program of a command after `cd …`, assignments and words such as `sudo`; `OTHER_TEXT` if it is none."""
    for piece in _pieces(text):
        first = next((word for word in piece.split() if word not in LEADING and not ASSIGNMENT.match(word)), "cd")
        if first == "cd":
            continue
        word = first.lstrip("(").rsplit("/", 1)[-1]
        if first.startswith((".", "\\")) and len(first) > 1 and first[1].isalpha():
            return first
        return word if _PROGRAM.match(word) or word.lower() in STATEMENT_VERBS else OTHER_TEXT
    return "cd" if text.strip().startswith("cd") else OTHER_TEXT


def _pieces(text: str) -> Iterator[str]:
    """`_PIPED.split(text)`, only as far as it is asked for."""
    at = 0
    for between in _PIPED.finditer(text):
        yield text[at : between.start()]
        at = between.end()
    yield text[at:]


def _unwrapped(text: str) -> str:
    text = text.strip()
    fenced = _FENCE.search(text)
    if fenced:
        text = fenced[1].strip()
    wrapped = _WRAPPED.fullmatch(text)
    return (wrapped[1] if wrapped else text).strip().removeprefix("$ ")


def _object(arguments: str) -> dict[str, Any] | None:
    text = arguments.strip()
    if not text.startswith("{"):
        return None if text else {}
    try:
        parsed = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _text_field(parsed: dict[str, Any]) -> str:
    """The field of JSON arguments that holds the command or the statement; empty if they are of another kind. A command
    has only what is in `_BESIDE` beside it; a statement may have more."""
    for key, value in parsed.items():
        name = key.replace("_", "").lower()
        if not isinstance(value, str) or (key not in _COMMAND_FIELDS and name not in _STATEMENT_FIELDS):
            continue
        is_alone = parsed.keys() <= {key} | _BESIDE
        if key in _COMMAND_FIELDS:
            if is_alone and (key not in _ALSO_NAMES or not _NAME.fullmatch(value.strip())):
                return key
            continue
        text = _unwrapped(value[:_READ_CHARS])
        is_statement = _first_word(text).lower() in STATEMENT_VERBS
        if is_statement and (is_alone or name != _OF_PROSE or _STATEMENT.match(text)):
            return key
    return ""


def _values(parsed: dict[str, Any], field: str) -> tuple[tuple[str, str], ...]:
    """The leaves of JSON arguments; where a `field` holds the text, of those beside it that are no remarks."""
    beside = {key: value for key, value in parsed.items() if key != field and key not in _REMARKS} if field else parsed
    return tuple(sorted(_leaves(beside))) if beside or not field else ()


def _field(key: str) -> str:
    """A key as the name of a field; `?` for one that is data, such as an id or an address, so that it is not kept."""
    return key if _FIELD.match(key) and not _DIGITS.search(key) else "?"


def _leaves(value: Any, path: str = "", depth: int = 0) -> list[tuple[str, str]]:
    """Each leaf with its path; list indexes are left out, so that a path names a field and not a place. What lies
    deeper than _DEEPEST is one leaf."""
    if isinstance(value, dict) and value and depth < _DEEPEST:
        parts = [(f"{path}.{_field(key)}" if path else _field(key), inner) for key, inner in value.items()]
    elif isinstance(value, list) and value and depth < _DEEPEST:
        parts = [(f"{path}[]", inner) for inner in value]
    else:
        return [(path, msgspec.json.encode(value).decode())]
    return [leaf for at, inner in parts for leaf in _leaves(inner, at, depth + 1)]
