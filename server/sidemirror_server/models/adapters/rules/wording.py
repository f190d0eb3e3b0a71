"""Puts recorded texts into sentences: names in backquotes, quotations on one line and whole, errors as what they say.

A quotation that would have to be cut is left out: half a sentence of a tool may say the opposite. A quotation is what
was said, on one line: quotation marks in it become single ones, and what could pass for a heading or a tag is
marked as left out.
"""

import re

from sidemirror_server.models.adapters.rules.advice import telling
from sidemirror_server.models.evidence import EvidenceStep
from sidemirror_server.vocabulary.error_object import message_of, parsed
from sidemirror_server.vocabulary.telling import VALUE, beyond_the_command, says_why, without_values
from sidemirror_server.vocabulary.text import clip

# In code points. Chosen here: enough for an exception's line, too short for an elaborate order hidden in it.
_QUOTE_CHARS = 160
_NAME_CHARS = 48
_READ_CHARS = 4_000
_QUOTE_MARKS = str.maketrans({"“": "'", "”": "'", '"': "'", "`": "'"})
_NAME_MARKS = str.maketrans({"“": "'", "”": "'", '"': "'", "`": "'", "[": "(", "]": ")", "<": "(", ">": ")"})
# Brackets with a word, as headings and tags have it; `[Errno 2]`, `[[65]]` and `['amount']` are none.
_HEADING = re.compile(
    r"[\[<]\s{0,4}[/|!#]?\s{0,4}(?!Errno\b)[^\W\d_][^\[\]<>]{0,80}[\]>]"
    r"|[\[<](?=\s{0,4}[/|!#]?\s{0,4}(?!Errno\b)[^\W\d_])"
)
_REPR = re.compile(r"^[A-Za-z_][\w.]{0,80}\((['\"])(.*)\1,?\)$", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


def spoken_name(name: str) -> str:
    """A tool's name without what no name has, for a sentence without backquotes."""
    plain = " ".join("".join(letter for letter in name if letter.isalnum() or letter in "_- ").split())
    return plain[:_NAME_CHARS] or "a tool"


def tool_name(step: EvidenceStep) -> str:
    """The tool's name in backquotes, on one line, clipped."""
    name = " ".join(step.name.translate(_NAME_MARKS).split())
    return f"`{clip(name, _NAME_CHARS)}`" if name else "the tool"


def quoted(text: str) -> str:
    """A recorded text in quotation marks, on one line; empty if it is empty or too long to be quoted whole."""
    shown = _on_one_line(text)
    return f"“{shown}”" if 0 < len(shown) <= _QUOTE_CHARS else ""


def arguments_of(call_text: str) -> str:
    """A call's arguments in quotation marks, those of an object as names and values; empty if they are too long."""
    given = parsed(call_text) if call_text.lstrip().startswith("{") else None
    if not isinstance(given, dict):
        return quoted(call_text)
    return quoted("; ".join(f"{name}: {value}" for name, value in given.items()))


def what_it_says(error_text: str) -> str:
    """What an error says, in quotation marks: its message where it is an object, its exception where it is a traceback,
    else its first line or sentence. Empty if it says nothing but that something failed, or says it at length."""
    said = _message(telling(beyond_the_command(error_text[:_READ_CHARS])))
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    # An error's fields, as an object below its message, say the same once more.
    lines = [line for line in lines if not line.startswith("{")] or lines
    first = lines[0] if lines else ""
    for part in (" ".join(lines), first, _SENTENCE_END.split(first)[0]):
        if part and len(_on_one_line(part)) <= _QUOTE_CHARS:
            return quoted(part) if says_why(part) else ""
    return ""


def what_it_says_to_all(error_text: str) -> str:
    """The same without the values of one episode, for a lesson that others are shown."""
    shown = without_values(what_it_says(error_text))
    return shown if says_why(shown) else ""


def _on_one_line(text: str) -> str:
    shown = "".join(c if c.isprintable() else " " for c in text[:_READ_CHARS]).translate(_QUOTE_MARKS)
    return _HEADING.sub(VALUE, " ".join(shown.split()))


def _message(said: str) -> str:
    """The message of an error that is an object, or an exception as Python writes it; else the text."""
    said = said.strip()
    if said.startswith("{"):
        return message_of(parsed(said)) or said
    inner = _REPR.match(said)
    return inner[2] if inner else said
