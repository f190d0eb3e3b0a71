"""Whether a text tells anything: stock errors, bare outcomes, references to events, values of one episode. Pure.

What tells nothing is neither stored as a lesson nor shown (decision 053). Used by the model `rules`, by what keeps and
shows lessons, and by the signatures of failures.
"""

import re

from sidemirror_server.vocabulary.terms import telling_terms

# Words that only say that something failed. The signatures of failures rest on them: they may only grow.
SAYS_NOTHING = telling_terms(
    "error exception failed failure fatal warning exit code status execution exitcode output id var please try again"
)
# Words of stock errors, such as "An error occurred while running the tool": a text of these alone names no cause.
STOCK = SAYS_NOTHING | telling_terms(
    "occurred occurring happened encountered went wrong something somehow while during running executing calling "
    "processing performing completing tool function command request operation action task call "
    "unexpected unspecified generic sorry retry later contact support unable could cannot"
)
# In code points: errors name their cause at the beginning.
_READ_CHARS = 2_000

_ENDED = (
    r"(?:was |is |has been |got )?(?:done|completed?|finished|ended|over|failed|succeeded|successful|unsuccessful)"
    r"(?: (?:in part|successfully|with (?:an error|a failure|success|errors)|completely))?"
    r"|ran out of time|did not succeed"
)
_WHAT = r"(?:the|this) (?:whole )?(?:task|goal|turn|episode|run|work|job|call|tool call|attempt)"
_BARE = re.compile(
    rf"(?:{_WHAT} (?:{_ENDED})"
    r"|\d+ of \d+ (?:tool )?calls (?:worked|failed)(?:, the last of them `[^`]*`)?"
    r"|none of the \d+ tool calls(?: so far)? (?:has )?worked"
    r"|the only tool call(?: so far)? (?:failed|worked)"
    r"|(?:no tool|nothing) has (?:been )?returned(?: anything)?(?: yet)?"
    r"|no reason was reported|and no reason was reported"
    r"|no tasks were reported, so there is nothing to repeat or to avoid)"
)
# A goal's reflection says it of a goal that failed without a word; it is kept as an answer, and no lesson for others.
_UNEXPLAINED = re.compile(r"the goal failed(?: at [^:]{1,200})?: no reason was reported")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|;\s+")
# The ids that this server and most agents give to events, in the brackets that earlier versions of the rules wrote.
_REFERENCE = re.compile(
    r"\s?\[(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|event-\d{1,6}|call_[A-Za-z0-9]{6,64})\]"
)
# Words with a digit that are no status codes or small numbers, addresses of mail, and what follows a number sign.
_VALUE = re.compile(
    r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,24})+|#\w+|\b(?=\w*\d)(?=\w{5})\w+(?:[-_]\w+)*\b|\b\w+_\w*\d\w*\b"
)
VALUE = "(…)"


# As Node.js and execa begin an error: what was run, before what it wrote.
_COMMAND = re.compile(r"(?:\w{0,40}Error: )?Command failed(?: with exit code \d{1,6}(?: \([^)\n]{0,80}\))?)?: ")


def beyond_the_command(error_text: str) -> str:
    """An error without the lines that only name the command that failed, unless there are no others."""
    kept = [line for line in error_text.split("\n") if not _COMMAND.match(line.lstrip())]
    return "\n".join(kept) if any(map(str.strip, kept)) else error_text


def says_why(error_text: str) -> bool:
    """Whether an error says anything but that something failed."""
    terms = telling_terms(error_text[:_READ_CHARS])
    return not {term for term in terms if not any(map(str.isdigit, term))} <= STOCK


def says_only_outcome(text: str) -> bool:
    """Whether a text is empty or says no more than how a task or its calls ended."""
    return all(_BARE.fullmatch(sentence) is not None for sentence in _sentences(text))


def says_no_lesson(text: str) -> bool:
    """Whether a text is no more than an outcome, or a goal's failure without a cause."""
    return all(_BARE.fullmatch(one) is not None or _UNEXPLAINED.fullmatch(one) for one in _sentences(text))


def _sentences(text: str) -> list[str]:
    split = _SENTENCE_END.split(without_references(text).strip().lower())
    return [sentence.strip().rstrip(".!;:, ") for sentence in split if sentence]


def without_references(text: str) -> str:
    """The text without the ids of events in brackets, which lead nowhere outside of their turn."""
    return _REFERENCE.sub("", text)


def without_values(text: str) -> str:
    """The text without ids, addresses of mail and long numbers, which belong to one episode."""
    return _VALUE.sub(VALUE, text)
