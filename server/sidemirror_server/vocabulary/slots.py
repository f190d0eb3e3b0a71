"""Names that may stand in a slot of a fixed sentence: names of tools and of arguments. Pure.

Sentences that an agent is told hold no recorded text. A name is the exception, since without it a sentence tells
nothing. It must look like one, be short, and name no act that advice must not name (decisions 046 and 064).
"""

import re
from itertools import pairwise

# Names of tools and arguments, as programs choose them. A dot could make a host of one, and a long run of digits, or of
# hexadecimal ones, is an id of somebody's data.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*\Z")
_LONGEST_NAME = 48
_MOST_WORDS = 7
_ID_LIKE = re.compile(r"\d{3}|(?=[a-f]*\d)[0-9a-f]{8}", re.I)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# How hosts name a tool of an MCP server: `mcp__server__tool`, `server__tool` or `MCP:tool`. The longest name is that
# which the APIs of models take.
_OF_SERVER = "__"
_OF_ANY_SERVER = "MCP:"
_LONGEST_OF_SERVER = 64

# Words of names that advice does not name. Of any name: what deletes, installs, sends, runs a program or raises
# privilege, what turns off a check or hides an error, what holds a secret, and what speaks to a model.
_ACTS = (
    "delete remove drop destroy purge erase wipe truncate kill terminate unlink rm "
    "install uninstall upgrade pip npm apt brew download upload curl wget exec execute eval run shell bash sh "
    "send mail sendmail post publish push deploy notify forward reply sms "
    "sudo root admin administrator su chmod chown grant revoke elevate privilege privileged impersonate "
    "force forced skip bypass override disable disabled insecure unsafe suppress "
    "password passwd passphrase secret token credential credentials key apikey cookie otp cvv "
    "ignore disregard forget instruction instructions prompt system assistant"
)
# Of an argument's name also: what may be a check, which its value turns off, or confirms in a person's place. And of a
# tool's behind a "no", as in `no_verify`.
_GUARDS = (
    "enable enabled verify verification validate validation strict secure safe safety ssl tls cert certificate auth "
    "sandbox silent quiet confirm confirmed approve approved approval consent yes allow role pin"
)
# And these, unless the name ends in a word for data and the value is no flag: `confirmation_number`, `owner_id`,
# `session_date`, `check_in`.
_PERHAPS_GUARDS = "check checks confirmation owner session"
_DATA = "id ids number numbers date dates day month year time times email in out"

_UNSAID_OF_ALL = frozenset(_ACTS.split())
_UNSAID_OF_ARGUMENTS = frozenset(_GUARDS.split())
_UNSAID_OF_FLAGS = frozenset(_PERHAPS_GUARDS.split())
_CHECKS = _UNSAID_OF_ARGUMENTS | _UNSAID_OF_FLAGS
_DATA_WORDS = frozenset(_DATA.split())


def is_tool_name(name: str) -> bool:
    """Whether a fixed sentence may name this tool."""
    return not why_no_tool_name(name)


def why_no_tool_name(name: str) -> str:
    """Why a fixed sentence may not name this tool; empty if it may."""
    names = name.removeprefix(_OF_ANY_SERVER).split(_OF_SERVER)
    longest = _LONGEST_OF_SERVER if len(names) > 1 else _LONGEST_NAME
    if len(name) > longest:
        return f"it has more than {longest} characters"
    return next(filter(None, map(_why_no_name, names)), "") or _why_unsaid(name) or _why_off(words_of(name))


def why_no_argument_name(name: str, *, is_flag: bool) -> str:
    """Why a fixed sentence may not name this argument; empty if it may. `is_flag`: the sentence says that the argument
    is left out, or set to true, false or null."""
    why = _why_no_name(name) or _why_unsaid(name)
    if why:
        return why
    words = words_of(name)
    guard = next((word for word in words if word in _UNSAID_OF_ARGUMENTS), "")
    perhaps = next((word for word in words if word in _UNSAID_OF_FLAGS), "")
    if not guard and (is_flag or words[-1] not in _DATA_WORDS):
        guard = perhaps
    return f'"{guard}" may be a check or a consent' if guard else ""


def _why_no_name(name: str) -> str:
    if len(name) > _LONGEST_NAME:
        return f"it has more than {_LONGEST_NAME} characters"
    if not _NAME.match(name):
        return "it has other characters than names have"
    return "it may hold an id" if _ID_LIKE.search(name) else ""


def _why_unsaid(name: str) -> str:
    words = words_of(name)
    if len(words) > _MOST_WORDS:
        return f"it has more than {_MOST_WORDS} words"
    act = next((word for word in words if word in _UNSAID_OF_ALL), "")
    return f'"{act}" is an act or a secret' if act else ""


def _why_off(words: list[str]) -> str:
    off = next((word for no, word in pairwise(words) if no == "no" and word in _CHECKS), "")
    return f'"no {off}" turns off a check' if off else ""


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case."""
    return [word.lower() for word in _WORDS.findall(name)]
