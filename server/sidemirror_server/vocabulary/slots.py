"""Names that may stand in a slot of a fixed sentence: names of tools and of arguments. Pure.

Sentences that an agent is told hold no recorded text. A name is the exception, since without it a sentence tells
nothing. It must look like one, be short, and name no act that advice must not name (decisions 046 and 064).
"""

import re

# Names of tools and arguments, as programs choose them. A dot could make a host of one, and a long run of digits is an
# id of somebody's data.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*\Z")
_LONGEST_NAME = 48
_MOST_PARTS = 7
_ID_LIKE = re.compile(r"\d{3}")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

# Parts of names that advice does not name. Of any name: what deletes, installs, sends, runs a program or raises
# privilege, what holds a secret, and what speaks to a model.
_ACTS = (
    "delete remove drop destroy purge erase wipe truncate kill terminate unlink rm "
    "install uninstall upgrade pip npm apt brew download upload curl wget exec execute eval run shell bash sh "
    "send mail sendmail post publish push deploy notify forward reply sms "
    "sudo root admin administrator su chmod chown grant revoke elevate privilege privileged impersonate "
    "password passwd passphrase secret token credential credentials key apikey cookie otp cvv "
    "ignore disregard forget instruction instructions prompt system assistant"
)
# Of an argument's name also: what turns off a check, hides an error, or confirms in a person's place.
_GUARDS = (
    "force forced skip bypass override disable disabled enable enabled insecure unsafe verify verification "
    "validate validation check checks strict secure safe safety ssl tls cert certificate auth sandbox suppress silent "
    "quiet confirm confirmed confirmation approve approved approval consent yes allow role owner session pin"
)
_UNSAID_TOOLS = frozenset(_ACTS.split())
_UNSAID_ARGUMENTS = _UNSAID_TOOLS | frozenset(_GUARDS.split())


def is_tool_name(name: str) -> bool:
    """Whether a fixed sentence may name this tool."""
    return _is_name(name, _UNSAID_TOOLS)


def is_argument_name(name: str) -> bool:
    """Whether a fixed sentence may name this argument."""
    return _is_name(name, _UNSAID_ARGUMENTS)


def _is_name(name: str, unsaid: frozenset[str]) -> bool:
    if len(name) > _LONGEST_NAME or not _NAME.match(name) or _ID_LIKE.search(name):
        return False
    parts = [part.lower() for part in _PARTS.findall(name)]
    return len(parts) <= _MOST_PARTS and unsaid.isdisjoint(parts)
