"""Finds the name in an error that does not exist: a command, tool, column, table, argument, file or module. Pure.

The wordings are those of POSIX shells, Python, SQL databases and JSON tools. A name has no spaces, so that no sentence
from a tool's output is repeated.
"""

import re
from functools import lru_cache

import msgspec

from sidemirror_server.vocabulary.telling import without_values

_NAME = r"[\w.$/-]{1,60}"
_QUOTED = rf"(?:['\"`]({_NAME})['\"`]|(?!['\"`])({_NAME}))"
_COLUMN = r"(?:column|field|attribute|key|property)"
_READ_CHARS = 2_000
# How many errors are remembered. Chosen here: those of the turns under way, which ask of each several times.
_MOST_HELD = 256

# `ENOENT: no such file or directory` begins with a code, and names no file there.
_NO_CODE = r"(?!(?-i:E[A-Z]{3,12}|\w{1,40}(?:Error|Exception)):)"
# What the name is called, and where it stands; the first that matches holds.
_WORDINGS = tuple(
    (what, re.compile(pattern, re.IGNORECASE | re.MULTILINE))
    for what, pattern in (
        ("command", rf"(?:^|[\s:])({_NAME}): command not found\b"),
        ("command", rf"^(?:/bin/)?(?:ba|z|da)?sh: (?:(?:line )?\d{{1,5}}: )?({_NAME}): not found\b"),
        ("command", rf"command not found: {_QUOTED}"),
        ("command", rf"['\"]({_NAME})['\"] is not recognized as an internal or external command"),
        ("command", rf"['\"`]({_NAME})['\"`] is not a \w{{1,20}} command"),
        ("module", rf"no module named {_QUOTED}"),
        ("module", rf"cannot find module {_QUOTED}"),
        ("table", rf"(?:no such table:?|table|relation) {_QUOTED}(?:$|[\s;,)]| (?:doesn't|does not) exist)"),
        # A clause of groups sees only what is selected: a column that it does not know may well exist.
        (
            "column",
            rf"(?:unknown|no such|invalid) column:?(?: name)? {_QUOTED}(?![\w.$/-])(?! in ['\"]?having clause)",
        ),
        ("column", rf"column {_QUOTED} (?:does not|doesn't) exist"),
        ("argument", rf"unexpected keyword argument {_QUOTED}"),
        ("argument", rf"(?:unrecognized|unknown|unexpected|extra) (?:argument|parameter|property|field)s?:? {_QUOTED}"),
        ("argument", rf"^({_NAME})\n\s+(?:extra inputs are not permitted|unexpected keyword)"),
        ("option", rf"(?:unrecognized|unknown|invalid|illegal) option(?: --|:)? ?{_QUOTED}"),
        ("tool", rf"(?:unknown|no such) (?:tool|function|action):? {_QUOTED}"),
        ("tool", rf"(?:tool|function|action) {_QUOTED} (?:is )?(?:not found|unknown|(?:does not|doesn't) exist)"),
        ("attribute", rf"has no attribute {_QUOTED}"),
        ("name", rf"name {_QUOTED} is not defined"),
        ("key", rf"^KeyError: {_QUOTED}$"),
        (
            "file",
            (
                rf"(?:no such file or directory(?:, \w{{2,12}}|:)? {_QUOTED}|"
                rf"(?:^|[\s:]){_NO_CODE}{_QUOTED}: no such file or directory)"
            ),
        ),
        ("field", rf"no {_COLUMN} (?:named|called) {_QUOTED}"),
    )
)
# "table x" alone says nothing; an error about a missing table says so.
_SAYS_MISSING = re.compile(r"no such table|does not exist|doesn't exist|not found", re.IGNORECASE)
# Words that stand where a name would, such as "column not found".
_NO_NAME = re.compile(r"not|is|was|does|doesn|error|the|an?|in|or|and|line|name", re.IGNORECASE)


class MissingName(msgspec.Struct, frozen=True):
    """A name that does not exist. `what`: the kind of thing, as a noun."""

    what: str
    name: str


def missing_name(error_text: str) -> MissingName | None:
    """The name that an error says does not exist; None if it names none, or one that looks like a value."""
    return _missing_in(error_text[:_READ_CHARS])


@lru_cache(_MOST_HELD)
def _missing_in(text: str) -> MissingName | None:
    for what, pattern in _WORDINGS:
        if what == "table" and not _SAYS_MISSING.search(text):
            continue
        for found in pattern.finditer(text):
            name = next(filter(None, found.groups()), "").strip(".:")
            if name and not _NO_NAME.fullmatch(name) and without_values(name) == name:
                return MissingName(what, name)
    return None
