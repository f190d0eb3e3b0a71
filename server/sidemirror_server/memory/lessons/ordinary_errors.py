"""Whether what a lesson quotes of an error is an ordinary complaint of a tool. Pure; used by `trust.py`.

Most errors say what failed in the words that tools have for it: "the branch is not fully merged", "Run 'x --help' for
usage". A claim or an order that poses as an error is made of other words. A quotation is ordinary if it says that
something failed, or what to try, and if three in five of its words are words of errors or of the agent's own call. The
wordings of `trust_wordings.py` hold for it as for any other text.
"""

import re

from sidemirror_server.memory.kin.given import GRAMMAR
from sidemirror_server.memory.lessons.ordinary_wordings import ADVICE, ADVISED, COMPLAINTS, POSES, TECHNICAL
from sidemirror_server.vocabulary.terms import telling_terms

# Chosen here: 2 of 204 ordinary errors are not known by it, and no text that poses as an error is taken for one.
_LEAST_KNOWN_RATIO = 0.6
# In code points. Longer ones can hold more than a complaint, and the patterns below are for short texts.
_MOST_CHARS = 200
# A name in quotation marks has a few words.
_MOST_NAME_WORDS = 3
# A sentence of data alone, such as "Got '18.1.0'".
_MOST_BARE_CHARS = 40
# A remark after a complaint: "Stop.", "Is the daemon running?".
_MOST_REMARK_WORDS = 8

_NAME = re.compile(r"'([^'\n]{1,60})'")
# Paths, options, assignments, numbers and names with a dot in them.
_DATA = re.compile(r"\S{0,200}[/\\=_@\d]\S{0,200}|--?[a-z]\S{0,60}|\b\w{1,60}\.\w\S{0,60}")
_WORD = re.compile(r"[^\W\d_]+")
_POSES = re.compile(POSES, re.I)
# What stands before a complaint: `bash: line 1: `, `error: `, `ValueError: `, `HTTP 404: `.
_BEFORE = re.compile(
    r"(?:\W?ERROR\W{1,3})?[^\w'\"]{0,4}"
    r"(?:\(?[\w./+-]{1,60}\)?(?: (?:warn(?:ing)?|error|line \d+|\(?[A-Z\d()…]{1,12}\)?))?: ?){0,5}"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^a-z])")
_SAYS_SO = re.compile(rf"\b(?:{COMPLAINTS})\b", re.I)
_SAYS_WHAT_TO_TRY = re.compile(rf"(?=.*(?:{ADVISED})){ADVICE}", re.I)

_KNOWN = GRAMMAR | telling_terms(TECHNICAL)


def is_ordinary(quoted: str, own: frozenset[str]) -> bool:
    """Whether a quotation is an ordinary complaint of a tool. `own`: the terms of what the agent and its user said."""
    if len(quoted) > _MOST_CHARS or _POSES.search(quoted):
        return False
    first, *later = _SENTENCE_END.split(quoted)
    return _is_complaint(first, own) and all(_is_complaint(one, own, is_later=True) for one in later)


def _is_complaint(sentence: str, own: frozenset[str], *, is_later: bool = False) -> bool:
    """Whether a sentence says what failed or what to try. What comes later may be a short remark."""
    said = _BEFORE.sub("", sentence, count=1)
    is_remark = is_later and len(said.split()) <= _MOST_REMARK_WORDS
    if not (is_remark or _SAYS_SO.search(said) or _SAYS_WHAT_TO_TRY.match(said)):
        return False
    said = _DATA.sub(" ", _NAME.sub(_without_name, said))
    terms = [term for word in _WORD.findall(said) for term in telling_terms(word)]
    if not terms and len(sentence) > _MOST_BARE_CHARS:
        return False
    known = sum(term in _KNOWN or term in own for term in terms)
    return known >= _LEAST_KNOWN_RATIO * len(terms)


def _without_name(found: re.Match[str]) -> str:
    return " " if len(found[1].split()) <= _MOST_NAME_WORDS else found[0]
