"""The signature of a failing call: by its error, without what the call was given. Pure."""

import re

import msgspec

from sidemirror_server.memory.kin.given import Given
from sidemirror_server.memory.kin.signature import error_signature
from sidemirror_server.memory.recoveries.asked import OTHER_TEXT, Asked, is_of_database
from sidemirror_server.vocabulary.commands import PROGRAMS

# Literals of a text in quotation marks, unless they are the key of an object, and the words of a command.
_QUOTED = re.compile(r"(?:'([^'\n]{1,400})'|\"([^\"\n]{1,400})\")(?!\s{0,4}:)")
_COMMAND_WORD = re.compile(r"[^\s;&|<>()'\"`]{1,400}")
# The program and what it shall do, as in `git push`: what comes behind is given.
_OF_PROGRAM = 2
_LITERALS = frozenset(("true", "false", "null"))


def failure_signature(asked: Asked, error_text: str) -> str:
    """The signature of a call that failed with this text; empty if it gives no cause."""
    return error_signature(asked.tool, error_text, given_to(asked))


def given_to(asked: Asked) -> Given:
    """What a call was given: the values of its arguments, but for those beside a command or code. Of a statement and
    of code, what stands in quotation marks; of a command of one line also what stands behind its program, but for
    options."""
    own = asked.values if asked.is_json or is_of_database(asked) else ()
    values = tuple(_text(value) for _, value in own if value not in _LITERALS)
    names = (asked.tool, asked.verb, *(path for path, _ in own))
    if not asked.text:
        return Given(values, names)
    names = (*names, *PROGRAMS.intersection(_COMMAND_WORD.findall(asked.text)))
    quoted = tuple(one or other for one, other in _QUOTED.findall(asked.text))
    is_command = asked.verb != OTHER_TEXT and not is_of_database(asked) and "\n" not in asked.text
    words = _operands(asked.text) if is_command else ()
    return Given((*values, *quoted, *words), names)


def _text(value: str) -> str:
    """A leaf of JSON arguments as an error would say it."""
    if not value.startswith('"'):
        return value
    decoded: str = msgspec.json.decode(value, type=str)
    return decoded


def _operands(command: str) -> tuple[str, ...]:
    """The words behind the program and what it shall do, without options; the value of `--name=value` is one."""
    words = _COMMAND_WORD.findall(command)[_OF_PROGRAM:]
    valued = (word.partition("=")[2] if word.startswith("-") else word for word in words)
    return tuple(word for word in valued if word)
