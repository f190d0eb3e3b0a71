"""What a lesson in the words of the model `rules` says. Pure.

Judged by hand, such lessons were of use in 4 of 173 cases (decision 087), because most agents read in the error itself
what they say. `memory/finding/context.py` tells them only where they are about what the agent meets (decision 095).
Lessons in other words, of a model, an agent or a person, are `None` here.
"""

import re
from enum import Enum, auto

import msgspec

from sidemirror_server.vocabulary.telling import without_references


class RuleKind(Enum):
    """RESTATED: that calls failed, what their errors said, that a later one worked, that calls were repeated or should
    not be. QUOTED: what a user said. GENERAL: what helps against failures of a kind.
    NAMED: to look up what exists in the place of a name that does not."""

    RESTATED = auto()
    QUOTED = auto()
    GENERAL = auto()
    NAMED = auto()


class RuleWords(msgspec.Struct, frozen=True):
    """What a text of the rules says. `name`: what does not exist, of a NAMED one."""

    kind: RuleKind
    name: str = ""


# A tool as the rules write it.
_TOOL = r"(?:`[^`]{1,64}`|the tool|a call)"
# A call that is to be made again, or a program that a shell is to run again.
_AGAIN = rf"(?:calling {_TOOL}|running `[^`]{{1,64}}`) again"
_KIND = r"a [a-z ]{1,20} failure"
_FAILED = (
    rf"{_TOOL} failed(?:: its error says “[^”]*”(?:, {_KIND})?| with {_KIND})?(?:; a later call of it worked)?"
    rf"|{_TOOL} was called \d+ times with the same arguments"
    rf"|the last calls (?:of {_TOOL} )?alternate between .{{1,140}}? without anything new"
    rf"|do not call {_TOOL} with the same arguments again: use its last result, or change one argument"
    rf"|do not call {_TOOL} with the same arguments again: change one argument, or use another source"
    rf"|in \d+ cases {_TOOL} failed in the same way \([a-z_]+\)"
)
_RESTATED = re.compile(rf"(?:{_FAILED})(?:\.\s+(?:{_FAILED}))*\.?")
_QUOTED = re.compile(r"the user corrected the agent: “")
# The advice of `models/adapters/rules/advice.py`; a test holds that every such sentence is known here.
_GENERAL = re.compile(
    rf"ask {_TOOL} for less at once: .*"
    rf"|check the arguments of {_TOOL} against its schema before calling it again, .*"
    rf"|do not retry {_TOOL} as it is: .*"
    rf"|list or look up what exists before {_AGAIN}: .*"
    rf"|wait before calling {_TOOL} again, .*"
    rf"|try {_TOOL} once more after a pause; .*"
    rf"|look whether {_TOOL} has done it before you call it again: .*"
    rf"|read what {_TOOL} printed before the failure, .*"
    rf"|shorten the input of {_TOOL}, .*"
    rf"|give {_TOOL} a smaller input or free what it ran out of, .*"
    rf"|fix the code or the assumption behind the call of {_TOOL} before running it again: .*"
    r"|the command `[^`]+` is not there: .*"
    r"|the module `[^`]+` is not installed where .*"
    r"|there is no tool `[^`]+`: call one of those that you were given\."
    rf"|{_TOOL} has no argument `[^`]+`: take the arguments from its schema\."
    r"|there is no option `[^`]+`: look at the help of .*"
)
_NAMED = re.compile(rf"there is no [a-z]{{1,20}} `([^`]{{1,64}})`: list or look up what exists before {_AGAIN}.*")


def rule_words(text: str) -> RuleWords | None:
    """What a text says in the words of the rules; None if it has other words."""
    said = without_references(text).strip().lower()
    if _QUOTED.search(said):
        return RuleWords(RuleKind.QUOTED)
    if _RESTATED.fullmatch(said):
        return RuleWords(RuleKind.RESTATED)
    if named := _NAMED.fullmatch(said):
        return RuleWords(RuleKind.NAMED, named[1])
    return RuleWords(RuleKind.GENERAL) if _GENERAL.fullmatch(said) else None


def own_words(text: str) -> str:
    """What a text tells of one case: of general advice by the rules the name that does not exist, or nothing. Their
    other words stand in every such lesson."""
    words = rule_words(text)
    if words is None or words.kind not in (RuleKind.NAMED, RuleKind.GENERAL):
        return text
    return words.name


def quotes_user(text: str) -> bool:
    """Whether a text quotes a user in the words of the rules: what one user said is not told to others."""
    return _QUOTED.search(text.lower()) is not None
