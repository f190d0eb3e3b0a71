"""Whether what a lesson quotes of an error is an ordinary complaint of a tool. Pure; used by `trust.py`.

Most errors say what failed in the words that tools have for it: "the branch is not fully merged", "Run 'x --help' for
usage". A claim or an order that poses as an error is made of other words. A quotation is ordinary if it says that
something failed, or what to try, and if three in five of its words are words of errors or of the agent's own call. In
Arabic, Chinese, Hebrew, Hindi, Japanese and Korean each sentence has to say that something failed. The wordings of
`trust_wordings.py` hold for it as for any other text.
"""

import re

from sidemirror_server.memory.kin.given import GRAMMAR
from sidemirror_server.memory.lessons.ordinary_wordings import (
    ADVICE,
    ADVISED,
    COMPLAINTS,
    LABELS,
    POSES,
    POSES_ELSEWHERE,
    SPACED,
    SPACED_COMPLAINTS,
    SPACED_STEMS,
    TECHNICAL,
    UNSPACED,
    UNSPACED_COMPLAINTS,
)
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

# Letters of scripts without blanks, and of those in which other wordings than the English ones are known.
_RUN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_OWN_LETTERS = "\u0590-\u06ff\u0900-\u0963\uac00-\ud7a3"
_NAME = re.compile(r"'([^'\n]{1,60})'")
# Paths, options, assignments, numbers and names with a dot in them.
_DATA = re.compile(
    rf"[^\s{_RUN}]{{0,200}}[/\\=_@\d][^\s{_RUN}]{{0,200}}|--?[a-z][^\s{_RUN}]{{0,60}}|"
    rf"(?<!\w)[^\W{_RUN}]{{1,60}}\.[^\W{_RUN}][^\s{_RUN}]{{0,60}}"
)
_IN_RUNS = re.compile(f"[{_RUN}]")
_ELSEWHERE = re.compile(f"[{_RUN}{_OWN_LETTERS}]")
# The signs of vowels in Hindi are no letters.
_WORD = re.compile(rf"[{_RUN}]+|(?:[^\W\d_{_RUN}]|[\u0900-\u0963])+")
_POSES = re.compile(f"{POSES}|{POSES_ELSEWHERE}", re.I)
# What stands before a complaint: `bash: line 1: `, `error: `, `ValueError: `, `HTTP 404: `.
_BEFORE = re.compile(
    r"(?:\W?ERROR\W{1,3})?[^\w'\"]{0,4}"
    rf"(?:\(?(?:(?:[^\W{_RUN}]|[./+-]){{1,60}}|{LABELS})\)?"
    r"(?: (?:warn(?:ing)?|error|line \d+|\(?[A-Z\d()…]{1,12}\)?))?[:：] ?){0,5}"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^a-z])|(?<=[。！？])\s*(?=.)")
_SAYS_SO = re.compile(rf"\b(?:{COMPLAINTS})\b", re.I)
_SAYS_SO_ELSEWHERE = re.compile(
    rf"{UNSPACED_COMPLAINTS}|(?<![{_OWN_LETTERS}])(?:{SPACED_COMPLAINTS})(?![{_OWN_LETTERS}])"
)
_OF_A_RUN = re.compile("|".join(sorted(f"{UNSPACED_COMPLAINTS}|{UNSPACED}".split("|"), key=len, reverse=True)))
_OF_OWN_LETTERS = re.compile(
    rf"{SPACED_COMPLAINTS}|{SPACED}|(?:[ولبכהבלמשו]|ال|بال|وال|لل)?(?:{SPACED_STEMS})[{_OWN_LETTERS}]{{0,4}}"
)
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
    is_elsewhere = _ELSEWHERE.search(said) is not None
    is_remark = is_later and not is_elsewhere and len(said.split()) <= _MOST_REMARK_WORDS
    says_so = is_remark or _SAYS_SO.search(said) or (not is_elsewhere and _SAYS_WHAT_TO_TRY.match(said))
    if not (says_so or _SAYS_SO_ELSEWHERE.search(said)):
        return False
    said = _DATA.sub(" ", _NAME.sub(_without_name, said))
    words = _WORD.findall(said)
    # What is only said to fail in another language is told in that one.
    if not says_so and sum(not _ELSEWHERE.match(word) for word in words) > _MOST_NAME_WORDS:
        return False
    counted = [_counted(word, own) for word in words]
    total = sum(of for _, of in counted)
    if not total and len(sentence) > _MOST_BARE_CHARS:
        return False
    return sum(known for known, _ in counted) >= _LEAST_KNOWN_RATIO * total


def _counted(word: str, own: frozenset[str]) -> tuple[float, float]:
    """How many terms of a word are known, and how many it has. In a script without blanks two characters are a term."""
    if _IN_RUNS.match(word):
        return _covered(word, own) / 2, len(word) / 2
    terms = telling_terms(word)
    if _ELSEWHERE.match(word):
        return float(_OF_OWN_LETTERS.fullmatch(word) is not None or terms <= own), 1.0
    return sum(term in _KNOWN or term in own for term in terms), len(terms)


def _covered(run: str, own: frozenset[str]) -> int:
    """How many characters of a run are of words that are known, or of the agent's own pairs of characters."""
    covered = {at for found in _OF_A_RUN.finditer(run) for at in range(*found.span())}
    covered |= {at + more for at in range(len(run) - 1) if run[at : at + 2] in own for more in (0, 1)}
    return len(covered)


def _without_name(found: re.Match[str]) -> str:
    return " " if len(found[1].split()) + len(_IN_RUNS.findall(found[1])) / 2 <= _MOST_NAME_WORDS else found[0]
