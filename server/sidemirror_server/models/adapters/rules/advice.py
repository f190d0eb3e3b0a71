"""Says what to do next, by the category of a failure. The wordings are written for this project.

Keys are the values of `trace.failure.ErrorCategory`, passed to this adapter as plain text. Nothing is said of an error
that names no cause: a sentence that suits every failure helps with none.
"""

import re
from typing import get_args

from sidemirror_server.models.adapters.rules.pointing.texts import name_words, stem_set
from sidemirror_server.models.answers import CategoryWord
from sidemirror_server.vocabulary.commands import program_in, runs_commands
from sidemirror_server.vocabulary.missing_names import missing_name
from sidemirror_server.vocabulary.telling import says_why, without_values

# In code points: errors name their cause at the beginning.
_READ_CHARS = 2_000
# The exception at the end of a traceback; the lines before it only show the call stack.
_EXCEPTION = re.compile(r"^[ \t]{0,8}(?:\w{1,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception)\b.{0,400}", re.MULTILINE)
# A name without spaces, so that no sentence from a tool's output is repeated.
_NAME = r"[\w.$/-]{1,60}"
_FIELD = re.compile(
    r"(?:column|field|argument|parameter|option|key|property|table|attribute|file|module|predicate|KeyError:)"
    rf":?\s+['\"`]({_NAME})['\"`]|['\"`]({_NAME})['\"`]\s+(?:is required|is not|must|does|doesn|has no)"
    rf"|^({_NAME})\n\s+(?:field required|input should|value error)|directory: ['\"`]({_NAME})['\"`]",
    re.IGNORECASE | re.MULTILINE,
)

_ADVICE = {
    "timeout": "Ask {tool} for less at once: narrow the query, take one page, or raise its time limit if it has one.",
    "validation": "Check the arguments of {tool} against its schema before calling it again, and change {field}.",
    "permission": "Do not retry {tool} as it is: use credentials or a path that is allowed, or ask for access.",
    "not_found": "List or look up what exists before {again} again: what it was asked for does not exist.",
    "rate_limit": "Wait before calling {tool} again, and combine several requests into one.",
    "network": "Try {tool} once more after a pause; if it fails again, use another source.",
    "tool": "Read what {tool} printed before the failure, and call it with a smaller input to find what breaks it.",
    "model": "Shorten the input of {tool}, or split the request into parts.",
    "resource": "Give {tool} a smaller input or free what it ran out of, then call it again.",
    "logic": "Fix the code or the assumption behind the call of {tool} before running it again: look at {field}.",
}
# Of a call that changes something and got no answer.
_MAY_BE_DONE = "Look whether {tool} has done it before you call it again: it may have, though its answer did not come."
_CHANGES = stem_set(
    "add approve book buy cancel charge checkout create delete deploy insert issue order pay place post publish put "
    "refund remove reserve schedule send submit transfer update wire write"
)
# Failures that neither a pause nor a smaller input mends: what is wrong stands in the error.
_NOT_MENDED_SO = re.compile(
    r"certificate|insufficient_quota|billing|waiting for (?:locator|selector|element)|locator\.", re.IGNORECASE
)
# By what does not exist. Elsewhere a name is looked up; a tool and an argument stand in the schema.
_MISSING = {
    "command": "The command `{name}` is not there: call {tool} with one that is installed, or install it first.",
    "module": "The module `{name}` is not installed where {tool} runs: install it first, or do without it.",
    "tool": "There is no tool `{name}`: call one of those that you were given.",
    "argument": "{tool} has no argument `{name}`: take the arguments from its schema.",
    "option": "There is no option `{name}`: look at the help of what {tool} calls.",
}
_LOOK_UP = "There is no {what} `{name}`: list or look up what exists before {again} again."
# Of these, it is worth saying that what exists can be looked up; of others an error says by itself what is wrong.
_LOOKED_UP = ("table", "column", "field", "tool", "argument")
# Kinds of failures whose advice needs no name.
_OF_A_KIND = ("timeout", "rate_limit", "network", "model", "resource")
# An error that names what to take in the place of what it did not find.
_OFFERS = re.compile(
    r"did you mean|perhaps you meant|similar: |(?:available|possible|valid) \w+(?: are)?:", re.IGNORECASE
)
_FIELD_UNNAMED = {"validation": "what its error names", "logic": "the line that its error names"}


# The categories that say something about the failure.
_NAMED: dict[str, CategoryWord] = {word: word for word in get_args(CategoryWord) if word != "unknown"}


def named(category: str | None) -> CategoryWord | None:
    """`category` if it is known and not `unknown`, else None."""
    return _NAMED.get(category or "")


def advice(category: str | None, tool: str, error_text: str, arguments: str = "") -> str:
    """One sentence on what to do about a failure of this category. It names what does not exist as that, else the field
    that the error names. Empty if the error names no cause, or one that no rule knows: then it is quoted elsewhere. Of
    a shell it names the program in the call's `arguments`; empty where none may be named, but the program would matter.

    `tool` is inserted unchanged: the caller quotes and clips it.
    """
    missing = missing_name(error_text)
    again = _again(tool, arguments)
    if missing is not None:
        template = _MISSING.get(missing.what, _LOOK_UP)
        if template is _LOOK_UP and not again:
            return ""
        return template.format(tool=tool, name=missing.name, what=missing.what, again=again)
    if named(category) is None:
        return ""
    if (category == "tool" and not says_why(error_text)) or (category == "not_found" and not again):
        return ""
    if category in _OF_A_KIND and _NOT_MENDED_SO.search(error_text[:_READ_CHARS]):
        return ""
    if category in {"timeout", "network"} and _CHANGES.intersection(name_words(tool.strip("`"))[:1]):
        return _MAY_BE_DONE.format(tool=tool)
    field = named_field(error_text) or _FIELD_UNNAMED.get(category or "", "")
    return _ADVICE[category or ""].format(tool=tool, field=field, again=again)


def _again(tool: str, arguments: str) -> str:
    """What is done again after a look-up: of a shell the program's run, and empty if no program may be named."""
    if not runs_commands(tool.strip("`"), arguments):
        return f"calling {tool}"
    program = program_in(arguments)
    return f"running `{program}`" if program else ""


def tells_more(category: str | None, error_text: str) -> bool:
    """Whether the advice tells an agent in the midst of its turn more than the error itself: a name to look up, or what
    helps against a failure of this kind whatever it was asked for. Judged by hand, the other advice was of use in 6 of
    82 reflections (bench/judging)."""
    missing = missing_name(error_text)
    if missing is not None:
        return missing.what in _LOOKED_UP and not _OFFERS.search(error_text[:_READ_CHARS])
    return category in _OF_A_KIND and not _NOT_MENDED_SO.search(error_text[:_READ_CHARS])


def named_field(error_text: str) -> str:
    """The argument, column, file or name that an error quotes or begins with, in backquotes; empty if none."""
    found = _FIELD.search(error_text[:_READ_CHARS])
    name = next(filter(None, found.groups()), "") if found else ""
    return f"`{name}`" if name and without_values(name) == name else ""


def telling(error_text: str) -> str:
    """The last exception in an error text; the whole text if there is none."""
    exceptions = _EXCEPTION.findall(error_text)
    return str(exceptions[-1]).strip() if exceptions else error_text
